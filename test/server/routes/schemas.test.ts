/** The schema rows of the interface, their layouts and their seat maps. */
import { expect, test } from "vitest";
import { area, layoutOf, section, table } from "../../support/layout.ts";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { expectPage, expectProblem } from "../wire/wire.ts";

/** For what is refused: it never changes. */
const unchanged = new TestServer();

const SCHEMAS = `${V2}/schemas/`;

interface SchemaBody {
  readonly id: number;
  readonly name: string;
}

interface GroupBody {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly parentId: number | null;
}

interface LayoutReply {
  readonly sectors: readonly Record<string, unknown>[];
  readonly rows: readonly Record<string, unknown>[];
  readonly seats: readonly Record<string, unknown>[];
  readonly shapes: readonly Record<string, unknown>[];
  readonly clientViewBox: unknown;
}

async function create(server: TestServer, changes: object = {}): Promise<SchemaBody> {
  const { key, venueId } = server.a;
  const body = { name: "Hall", venueId, ...changes };
  const reply = await server.call<SchemaBody>("POST", SCHEMAS, { key, body });
  expect(reply.status).toBe(201);
  return reply.body;
}

const PREVIEW = "0b0e7f2a-1111-4222-8333-444455556666";

test("a schema is created with what was given and read back the same", async () => {
  const server = new TestServer();
  const { key, venueId } = server.a;
  const id = expect.any(Number) as number;
  const rest = {
    description: null,
    draft: false,
    template: false,
    archived: false,
    externalId: null,
    gaCapacity: null,
    seatsCapacity: null,
    preview: null,
    thumbnail: null,
  };
  expect(await create(server)).toEqual({ id, name: "Hall", venueId, ...rest, venueName: "House" });
  const given = {
    name: "Grand Hall",
    description: "two\nlines, 🎭",
    draft: true,
    template: true,
    archived: true,
    externalId: "ext",
    gaCapacity: 0,
    seatsCapacity: 2_147_483_647,
    preview: PREVIEW,
    thumbnail: { any: ["thing", 1] },
  };
  const made = await create(server, { ...given, id: null, venueName: "mine", organizationId: 1 });
  expect(made).toEqual({ id, venueId, ...given, venueName: "House" });
  const read = await server.call("GET", SCHEMAS + made.id, { key });
  expect([read.status, read.body]).toEqual([200, made]);
});

const INVALID: readonly (readonly [string, unknown, readonly string[]])[] = [
  ["nothing", {}, ["name NOT_NULL", "venueId NOT_NULL"]],
  ["a text", '"x"', [" TYPE"]],
  ["an empty name", { name: "", venueId: 1 }, ["name SIZE"]],
  ["a name of 256", { name: "x".repeat(256), venueId: 1 }, ["name SIZE"]],
  ["a venue as text", { name: "x", venueId: "1" }, ["venueId TYPE"]],
  ["a venue that is nobody's", { name: "x", venueId: 999_999 }, ["venueId NOT_FOUND"]],
  ["a description as a number", { name: "x", venueId: 1, description: 1 }, ["description TYPE"]],
  ["a draft as text", { name: "x", venueId: 1, draft: "true" }, ["draft TYPE"]],
  ["a negative capacity", { name: "x", venueId: 1, gaCapacity: -1 }, ["gaCapacity RANGE"]],
  ["half a seat", { name: "x", venueId: 1, seatsCapacity: 0.5 }, ["seatsCapacity TYPE"]],
  ["a preview that is no UUID", { name: "x", venueId: 1, preview: "x" }, ["preview FORMAT"]],
];

test.each(INVALID)("%s is no schema", async (_, body, errors) => {
  const { key } = unchanged.a;
  const before = unchanged.digest;
  const reply = await unchanged.call("POST", SCHEMAS, { key, body });
  expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: SCHEMAS, errors });
  expect(unchanged.digest).toBe(before);
});

test("another organization's venue is as good as none", async () => {
  const server = new TestServer();
  const { key } = server.a;
  for (const { venueId } of [server.b, server.c]) {
    const reply = await server.call("POST", SCHEMAS, { key, body: { name: "x", venueId } });
    const errors = ["venueId NOT_FOUND"];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: SCHEMAS, errors });
  }
});

test("a schema that is nowhere is 404, another's 403, no id 400, on every row", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const cases: [string | number, number, string, string[]][] = [
    [999_999, 404, "ENTITY_NOT_FOUND", []],
    [server.b.schemaId, 403, "ACCESS_DENIED", []],
    [server.c.schemaId, 403, "ACCESS_DENIED", []],
    ["0", 400, "VALIDATION_FAILED", ["id RANGE"]],
    ["abc", 400, "VALIDATION_FAILED", ["id TYPE"]],
    ["9007199254740992", 400, "VALIDATION_FAILED", ["id RANGE"]],
  ];
  const before = server.digest;
  for (const [id, status, errorCode, errors] of cases) {
    const rows: [string, string, object | undefined][] = [
      ["GET", `${SCHEMAS}${id}`, undefined],
      ["GET", `${SCHEMAS}${id}/seatmaps/`, undefined],
      ["GET", `${SCHEMAS}${id}/layout`, undefined],
      ["PUT", `${SCHEMAS}${id}/layout`, {}],
      ["GET", `/api/seatmap/${id}/`, undefined],
      ["PUT", `/api/seatmap/${id}/`, {}],
    ];
    for (const [method, path, body] of rows) {
      const reply = await server.call(method, path, { key, body });
      // The interface calls the parameter of the seat map `schemaId`.
      const isSeatMap = path.endsWith("/seatmaps/");
      const named = errors.map((error) => (isSeatMap ? error.replace("id", "schemaId") : error));
      expectProblem(reply, { status, errorCode, path, errors: named });
    }
  }
  expect(server.digest).toBe(before);
});

test("the list gives pages of the caller's own schemas, of one venue when asked", async () => {
  const server = new TestServer();
  const { key, venueId, caller } = server.a;
  const other = server.world.must("createVenue", caller, { body: { name: "Barn" } }).id;
  await create(server, { name: "B" });
  await create(server, { name: "A", venueId: other, template: true });
  const reply = await server.call<PageBody<SchemaBody>>("GET", SCHEMAS, { key });
  expectPage(reply, { total: 3, count: 3 });
  const cases: [string, string[]][] = [
    ["", ["Plan", "B", "A"]],
    ["?sort=name", ["A", "B", "Plan"]],
    ["?sort=template,desc&sort=name,desc", ["A", "Plan", "B"]],
    ["?sort=venueId,desc&size=1", ["A"]],
    [`?venueId=${venueId}`, ["Plan", "B"]],
    [`?venueId=${other}`, ["A"]],
    [`?venueId=${server.b.venueId}`, []],
    ["?page=9", []],
  ];
  for (const [query, names] of cases) {
    const { body } = await server.call<PageBody<SchemaBody>>("GET", SCHEMAS + query, { key });
    expect([query, body.content.map(({ name }) => name)]).toEqual([query, names]);
  }
  for (const query of ["size=0", "size=101", "page=x", "sort=description", "venueId=House"]) {
    const refused = await server.call("GET", `${SCHEMAS}?${query}`, { key });
    expect([query, refused.status]).toEqual([query, 400]);
  }
});

test("the seat map lists all groups with every documented member", async () => {
  const server = new TestServer();
  const { key, schemaId, labels } = server.a;
  const path = `${SCHEMAS}${schemaId}/seatmaps/`;
  const { status, body } = await server.call<readonly GroupBody[]>("GET", path, { key });
  expect(status).toBe(200);
  expect(body.map(({ name, type, parentId }) => [name, type, parentId])).toEqual([
    ["Stalls", "SECTION", null],
    ["Round", "TABLE", null],
    ["Pit", "GA", null],
    ["A", "ROW", labels.idOf("Stalls")],
    ["B", "ROW", labels.idOf("Stalls")],
    ["Round", "ROW", labels.idOf("Round")],
  ]);
  expect(body[2]).toEqual({
    id: labels.idOf("Pit"),
    name: "Pit",
    prefix: null,
    seatPrefix: null,
    parentId: null,
    type: "GA",
    ga: true,
    schemaId,
    pricingZoneId: null,
    guid: "Pit",
    externalId: null,
    shapes: [],
    width: null,
    height: null,
    left: null,
    top: null,
    angle: null,
  });
});

test("the seat map is narrowed by parent and by type", async () => {
  const server = new TestServer();
  const { key, schemaId, labels } = server.a;
  const path = `${SCHEMAS}${schemaId}/seatmaps/`;
  const cases: [string, string[]][] = [
    [`parentId=${labels.idOf("Stalls")}`, ["A", "B"]],
    [`parentId=${labels.idOf("Stalls")}&type=SECTION`, []],
    [`parentId=${labels.idOf("Pit")}`, []],
    ["parentId=999999", []],
    ["type=ROW", ["A", "B", "Round"]],
    ["type=TABLE", ["Round"]],
    ["type=SECTION", ["Stalls"]],
    ["type=GA", ["Pit"]],
  ];
  for (const [query, names] of cases) {
    const { body } = await server.call<readonly GroupBody[]>("GET", `${path}?${query}`, { key });
    expect([query, body.map(({ name }) => name)]).toEqual([query, names]);
  }
  for (const [query, error] of [
    ["type=SEAT", "type ENUM"],
    ["type=ga", "type ENUM"],
    ["parentId=Stalls", "parentId TYPE"],
  ] as const) {
    const refused = await server.call("GET", `${path}?${query}`, { key });
    const errors = [error];
    expectProblem(refused, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  }
});

function at(address: string, id: number): string {
  return address.replace("{id}", String(id));
}

/** Both addresses of a layout. */
const ADDRESSES = [`${SCHEMAS}{id}/layout`, "/api/seatmap/{id}/"];

test.each(ADDRESSES)("a layout is put at %s and read at both addresses", async (address) => {
  const server = new TestServer();
  const { key } = server.a;
  const { id } = await create(server);
  const path = at(address, id);
  const empty = { sectors: [], rows: [], seats: [], shapes: [], clientViewBox: null };
  expect((await server.call("GET", path, { key })).body).toEqual(empty);
  const body = {
    ...layoutOf(section("S", { A: "1 2" }), table("T", "1"), area("G", 7)),
    shapes: [{ shapeType: "RECT", purpose: "GA", groupOfSeatsGuid: "G", left: 1.5, custom: [1] }],
    clientViewBox: { x: 0, y: 0, width: 10, height: 10 },
  };
  const put = await server.call<LayoutReply>("PUT", path, { key, body });
  expect(put.status).toBe(200);
  const named = (objects: readonly Record<string, unknown>[]) =>
    objects.map(({ id: objectId, ...rest }) => {
      expect(objectId).toBeTypeOf("number");
      return rest;
    });
  expect(named(put.body.sectors)).toEqual(body.sectors);
  expect(named(put.body.rows)).toEqual(body.rows);
  expect(named(put.body.seats)).toEqual(body.seats);
  expect(put.body.shapes[0]).toMatchObject(body.shapes[0]!);
  expect(put.body.clientViewBox).toEqual(body.clientViewBox);
  for (const other of ADDRESSES) {
    expect((await server.call("GET", at(other, id), { key })).body).toEqual(put.body);
  }
});

const BAD_LAYOUTS: readonly (readonly [string, object, string])[] = [
  ["sectors as an object", { sectors: {} }, "sectors TYPE"],
  ["a sector without name", { sectors: [{ guid: "s", ga: false }] }, "sectors[0].name NOT_NULL"],
  [
    "two sectors of one guid",
    {
      sectors: [
        { guid: "s", name: "a", ga: false },
        { guid: "s", name: "b", ga: false },
      ],
    },
    "sectors[1].guid DUPLICATE",
  ],
  [
    "two sectors of one name",
    {
      sectors: [
        { guid: "s", name: "a", ga: false },
        { guid: "t", name: "a", ga: false },
      ],
    },
    "sectors[1].name DUPLICATE",
  ],
  [
    "a name with two semicolons",
    { sectors: [{ guid: "s", name: "a;;b", ga: false }] },
    "sectors[0].name PATTERN",
  ],
  [
    "a row of no sector",
    { rows: [{ guid: "r", sectorGuid: "none", rowNumber: "A" }] },
    "rows[0].sectorGuid NOT_FOUND",
  ],
  [
    "a row of an area",
    {
      sectors: [{ guid: "g", name: "g", ga: true }],
      rows: [{ guid: "r", sectorGuid: "g", rowNumber: "A" }],
    },
    "rows[0].sectorGuid CONFLICT",
  ],
  [
    "a seat of no row",
    { seats: [{ guid: "x", rowGuid: "none", name: "1" }] },
    "seats[0].rowGuid NOT_FOUND",
  ],
  [
    "an unknown id",
    { sectors: [{ id: 999_999, guid: "s", name: "a", ga: false }] },
    "sectors[0].id NOT_FOUND",
  ],
  ["an x as text", { sectors: [{ guid: "s", name: "a", ga: false, x: "1" }] }, "sectors[0].x TYPE"],
];

test.each(BAD_LAYOUTS)(
  "a layout with %s is refused whole, at its field",
  async (_, body, error) => {
    const server = new TestServer();
    const { key } = server.a;
    const { id } = await create(server);
    const before = server.digest;
    for (const address of ADDRESSES) {
      const path = at(address, id);
      const reply = await server.call("PUT", path, { key, body });
      const errors = [error];
      expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
    }
    expect(server.digest).toBe(before);
  },
);

test.each(ADDRESSES)(
  "seats that are taken go only when they are forced, at %s",
  async (address) => {
    const server = new TestServer();
    const { key, schemaId, labels } = server.a;
    const { world } = server;
    world.book("lock", { seats: [{ id: labels.idOf("A1") }] });
    const path = at(address, schemaId);
    const body = { seats: [{ guid: "A1", rowGuid: "row A", name: "1", toRemove: true }] };
    const refused = await server.call("PUT", path, { key, body });
    const errors = ["seats INVENTORY_IN_USE"];
    expectProblem(refused, { status: 409, errorCode: "INVENTORY_IN_USE", path, errors });
    const unclear = await server.call("PUT", `${path}?forceDelete=yes`, { key, body });
    expect(unclear.body.errors[0]?.field).toBe("forceDelete");
    const forced = await server.call<LayoutReply>("PUT", `${path}?forceDelete=true`, { key, body });
    expect([forced.status, forced.body.seats.length]).toEqual([200, 11]);
  },
);

test("new seats of a schema in use appear in its events without a price", async () => {
  const server = new TestServer();
  const { key, schemaId } = server.a;
  const body = { seats: [{ guid: "A7", rowGuid: "row A", name: "7" }] };
  await server.call("PUT", `${SCHEMAS}${schemaId}/layout`, { key, body });
  const seats = await server.seats();
  expect(seats.length).toBe(13);
  expect(seats.at(-1)).toMatchObject({ rowName: "A", seatName: "7", state: null, priceId: null });
});
