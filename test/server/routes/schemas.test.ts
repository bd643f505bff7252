/** The rows of schemas, their layouts and their seat maps. */
import { expect, test } from "vitest";
import { area, guidOf, layoutOf, section, table } from "../../support/layout.ts";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectPage,
  expectProblem,
  IN_USE,
  invalid,
  NO_ID,
  NOT_FOUND,
  UUID,
} from "../wire/wire.ts";

/** For requests that are refused: it never changes. */
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
  readonly inUse?: { readonly renamed: number; readonly moved: number };
}

async function create(server: TestServer, changes: object = {}): Promise<SchemaBody> {
  const { venueId } = server.a;
  const reply = await server.post<SchemaBody>(SCHEMAS, { name: "Hall", venueId, ...changes });
  expect(reply.status).toBe(201);
  return reply.body;
}

test("a new schema has the given members and defaults, and is read back the same", async () => {
  const server = new TestServer();
  const { venueId } = server.a;
  const id = expect.any(Number) as number;
  const rest = {
    draft: false,
    template: false,
    archived: false,
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
    preview: "0b0e7f2a-1111-4222-8333-444455556666",
    thumbnail: { any: ["thing", 1] },
  };
  const made = await create(server, { ...given, id: null, venueName: "mine", organizationId: 1 });
  expect(made).toEqual({ id, venueId, ...given, venueName: "House" });
  const read = await server.get(SCHEMAS + made.id);
  expect([read.status, read.body]).toEqual([200, made]);
});

const named = { name: "x", venueId: 1 };
const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["an empty object", {}, "name NOT_NULL, venueId NOT_NULL"],
  ["an unknown venue", { ...named, venueId: 999_999 }, "venueId NOT_FOUND"],
  ["a venue of organization B", { ...named, venueId: unchanged.b.venueId }, "venueId NOT_FOUND"],
  ["a negative capacity", { ...named, gaCapacity: -1 }, "gaCapacity RANGE"],
  ["a preview that is not a UUID", { ...named, preview: "x" }, "preview FORMAT"],
];

test.each(INVALID)("a new schema is refused: %s", async (_, body, errors) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.post(SCHEMAS, body), invalid(...errors.split(", ")));
  expect(unchanged.digest).toBe(before);
});

test("the list shows the schemas of the caller, or those of one venue", async () => {
  const server = new TestServer();
  const { venueId, caller } = server.a;
  const other = server.world.must("createVenue", caller, { body: { name: "Barn" } }).id;
  await create(server, { name: "B" });
  await create(server, { name: "A", venueId: other, template: true });
  const read = (query: string) => server.get<PageBody<SchemaBody>>(SCHEMAS + query);
  expectPage(await read(""), { total: 3, count: 3 });
  for (const [query, names] of [
    ["", ["Plan", "B", "A"]],
    ["?sort=name", ["A", "B", "Plan"]],
    ["?sort=template,desc&sort=name,desc", ["A", "Plan", "B"]],
    ["?sort=venueId,desc&size=1", ["A"]],
    [`?venueId=${venueId}`, ["Plan", "B"]],
    [`?venueId=${other}`, ["A"]],
    [`?venueId=${server.b.venueId}`, []],
  ] as const) {
    const { body } = await read(query);
    expect([query, body.content.map(({ name }) => name)]).toEqual([query, names]);
  }
  expectProblem(await read("?venueId=House"), invalid("venueId TYPE"));
});

const SEAT_MAP = `${SCHEMAS}${unchanged.a.schemaId}/seatmaps/`;

test("the seat map lists all groups with every documented member", async () => {
  const { schemaId, labels } = unchanged.a;
  const { status, body } = await unchanged.get<readonly GroupBody[]>(SEAT_MAP);
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
    guid: guidOf("Pit"),
    externalId: null,
    shapes: [],
    width: null,
    height: null,
    left: null,
    top: null,
    angle: null,
  });
});

test("a group is drawn at left and top, or else at x and y", async () => {
  const server = new TestServer();
  const { id } = await create(server);
  const at = { x: 1, y: 2 };
  const [plain, shifted] = ["Plain", "Shifted"].map((name) => area(name, 5).sector);
  const sectors = [
    { ...plain, ...at },
    { ...shifted, ...at, left: 3, top: 4 },
  ];
  await server.put(`${SCHEMAS}${id}/layout`, { sectors });
  const { body } = await server.get<object[]>(`${SCHEMAS}${id}/seatmaps/`);
  expect(body).toMatchObject([
    { left: 1, top: 2 },
    { left: 3, top: 4 },
  ]);
});

const stalls = `parentId=${unchanged.a.labels.idOf("Stalls")}`;
const GROUPS: readonly (readonly [string, readonly string[]])[] = [
  [stalls, ["A", "B"]],
  [`${stalls}&type=SECTION`, []],
  [`parentId=${unchanged.a.labels.idOf("Pit")}`, []],
  ["parentId=999999", []],
  ["type=ROW", ["A", "B", "Round"]],
  ["type=TABLE", ["Round"]],
  ["type=SECTION", ["Stalls"]],
  ["type=GA", ["Pit"]],
];

test.each(GROUPS)("the seat map with %s lists %j", async (query, names) => {
  const { body } = await unchanged.get<readonly GroupBody[]>(`${SEAT_MAP}?${query}`);
  expect(body.map(({ name }) => name)).toEqual(names);
});

test.each([
  ["type=SEAT", "type ENUM"],
  ["type=ga", "type ENUM"],
  ["parentId=Stalls", "parentId TYPE"],
])("the seat map refuses %s", async (query, error) => {
  expectProblem(await unchanged.get(`${SEAT_MAP}?${query}`), invalid(error));
});

/** Both addresses of a layout. */
const ADDRESSES = [`${SCHEMAS}{id}/layout`, "/api/seatmap/{id}/"];
const at = (address: string, id: number) => address.replace("{id}", String(id));

test.each(ADDRESSES)("a layout is put at %s and read at both addresses", async (address) => {
  const server = new TestServer();
  const { id } = await create(server);
  const path = at(address, id);
  const empty = { sectors: [], rows: [], seats: [], shapes: [], clientViewBox: null };
  expect((await server.get(path)).body).toEqual(empty);
  const body = {
    ...layoutOf(section("S", { A: "1 2" }), table("T", "1"), area("G", 7)),
    shapes: [
      { shapeType: "RECT", purpose: "GA", groupOfSeatsGuid: guidOf("G"), left: 1.5, custom: [1] },
    ],
    clientViewBox: { x: 0, y: 0, width: 10, height: 10 },
  };
  const put = await server.put<LayoutReply>(path, body);
  expect(put.status).toBe(200);
  const withoutId = (objects: readonly Record<string, unknown>[]) =>
    objects.map(({ id: objectId, ...rest }) => {
      expect(objectId).toBeTypeOf("number");
      return rest;
    });
  expect(withoutId(put.body.sectors)).toEqual(body.sectors);
  expect(withoutId(put.body.rows)).toEqual(body.rows);
  expect(withoutId(put.body.seats)).toEqual(body.seats);
  expect(put.body.shapes[0]).toMatchObject(body.shapes[0]!);
  expect(put.body.clientViewBox).toEqual(body.clientViewBox);
  const { inUse, ...stored } = put.body;
  expect(inUse).toEqual({ renamed: 0, moved: 0 });
  for (const other of ADDRESSES) {
    expect((await server.get(at(other, id))).body).toEqual(stored);
  }
});

const hall = { guid: guidOf("s"), name: "a", ga: false };
const BAD_LAYOUTS: readonly (readonly [string, object, string])[] = [
  ["an object for the sectors", { sectors: {} }, "sectors TYPE"],
  ["a sector without a name", { sectors: [{ ...hall, name: null }] }, "sectors[0].name NOT_NULL"],
  [
    "two sectors of one guid",
    { sectors: [hall, { ...hall, name: "b" }] },
    "sectors[1].guid DUPLICATE",
  ],
  [
    "two sectors of one name",
    { sectors: [hall, { ...hall, guid: guidOf("t") }] },
    "sectors[1].name DUPLICATE",
  ],
  ["a name with ;;", { sectors: [{ ...hall, name: "a;;b" }] }, "sectors[0].name PATTERN"],
  [
    "a row without its sector",
    { rows: [{ guid: guidOf("r"), sectorGuid: guidOf("none"), rowNumber: "A" }] },
    "rows[0].sectorGuid NOT_FOUND",
  ],
  [
    "a row in an area",
    {
      sectors: [{ ...hall, ga: true }],
      rows: [{ guid: guidOf("r"), sectorGuid: guidOf("s"), rowNumber: "A" }],
    },
    "rows[0].sectorGuid CONFLICT",
  ],
  [
    "a seat without its row",
    { seats: [{ guid: guidOf("x"), rowGuid: guidOf("none"), name: "1" }] },
    "seats[0].rowGuid NOT_FOUND",
  ],
  ["a guid that is no UUID", { sectors: [{ ...hall, guid: "s" }] }, "sectors[0].guid FORMAT"],
  [
    "a row whose sectorGuid is no UUID",
    { rows: [{ guid: guidOf("r"), sectorGuid: "s", rowNumber: "A" }] },
    "rows[0].sectorGuid FORMAT",
  ],
  [
    "a seat with the guid of a sector, in capital letters",
    {
      sectors: [hall],
      seats: [{ guid: hall.guid.toUpperCase(), rowGuid: guidOf("row A"), name: "9" }],
    },
    "seats[0].guid DUPLICATE",
  ],
  [
    "two seats of one label in a row",
    { seats: [{ guid: guidOf("x"), rowGuid: guidOf("row A"), name: "1" }] },
    "seats[0].name DUPLICATE",
  ],
  ["an unknown purpose of a shape", { shapes: [{ purpose: "STAGE" }] }, "shapes[0].purpose ENUM"],
  ["a shape whose id is no UUID", { shapes: [{ id: "stage" }] }, "shapes[0].id FORMAT"],
  ["an unknown list", { sections: [hall] }, "sections UNKNOWN"],
  ["an unknown id", { sectors: [{ ...hall, id: 999_999 }] }, "sectors[0].id NOT_FOUND"],
  ["a string for x", { sectors: [{ ...hall, x: "1" }] }, "sectors[0].x TYPE"],
];

test.each(BAD_LAYOUTS)("a layout with %s is refused as a whole", async (_, body, error) => {
  const before = unchanged.digest;
  for (const address of ADDRESSES) {
    const path = at(address, unchanged.a.schemaId);
    expectProblem(await unchanged.put(path, body), invalid(error));
  }
  expect(unchanged.digest).toBe(before);
});

test("a guid is answered in lower case, and one file fits several schemas", async () => {
  const server = new TestServer();
  const guid = guidOf("zzz").toUpperCase();
  const body = { sectors: [{ guid, name: "S", ga: false }], shapes: [{ fill: "red" }] };
  for (let i = 0; i < 2; i++) {
    const path = at(ADDRESSES[0]!, (await create(server)).id);
    const { status, body: stored } = await server.put<LayoutReply>(path, body);
    expect([status, stored.sectors[0]!["guid"]]).toEqual([200, guid.toLowerCase()]);
    const shape = stored.shapes[0] as { id: string };
    expect(shape).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}$/) as string, fill: "red" });
    const again = await server.put<LayoutReply>(path, body);
    expect(again.body).toEqual(stored);
    const removal = { shapes: [{ id: shape.id.toUpperCase(), toRemove: true }] };
    expect((await server.put<LayoutReply>(path, removal)).body.shapes).toEqual([]);
  }
});

test.each(ADDRESSES)("If-Match names another version of the layout → 412, at %s", async (of) => {
  const server = new TestServer();
  const path = at(of, server.a.schemaId);
  const put = (name: string, ifMatch: string) =>
    server.call<LayoutReply>("PUT", path, {
      ...server.a,
      headers: { "if-match": ifMatch },
      body: { shapes: [{ purpose: "OBJECT", name }] },
    });
  const tag = (await server.get<LayoutReply>(path)).headers["ETag"]!;
  expect(tag).toMatch(/^"v\d+"$/);
  const first = await put("one", tag);
  expect([first.status, first.headers["ETag"]]).not.toEqual([200, tag]);
  expect((await server.get<LayoutReply>(path)).headers["ETag"]).toBe(first.headers["ETag"]);
  const before = server.digest;
  for (const other of [tag, `"x", ${tag}`, `W/${first.headers["ETag"]}`, "v1", '"', '"*"', ","]) {
    const refused = await put("two", other);
    expectProblem(refused, { status: 412, errorCode: "PRECONDITION_FAILED" });
    const isTag = other.includes(tag);
    expect(refused.text).toMatch(isTag ? /The layout was changed since / : /send the ETag /);
  }
  expect(server.digest).toBe(before);
  for (const right of [`${tag}, ${first.headers["ETag"]}`, " * "]) {
    expect((await put(right, right)).status, right).toBe(200);
  }
  const unknown = await server.call("PUT", at(of, 999_999), {
    ...server.a,
    headers: { "if-match": '"v9"' },
    body: {},
  });
  expect(unknown.status).toBe(404);
});

test.each(ADDRESSES)(
  "seats in use with another label → counted, in a replay too, at %s",
  async (of) => {
    const server = new TestServer();
    await server.book("lock", "A", "A1", "A2");
    await server.book("directsale", null, "B1");
    const path = at(of, server.a.schemaId);
    const seats = [
      { guid: guidOf("A1"), rowGuid: guidOf("row A"), name: "first" },
      { guid: guidOf("B1"), rowGuid: guidOf("row A"), name: "from B" },
    ];
    const keyed = { ...server.a, headers: { "idempotency-key": "k" }, body: { seats } };
    const put = () => server.call<LayoutReply>("PUT", path, keyed);
    const changed = await put();
    expect(changed.body).toMatchObject({ inUse: { renamed: 1, moved: 1 } });
    expect((await put()).text).toBe(changed.text);
    const { inUse, ...stored } = changed.body;
    expect((await server.get<LayoutReply>(path)).body).toEqual(stored);
    const sentBack = await server.put<LayoutReply>(path, { ...stored, inUse });
    expect(sentBack.body).toEqual({ ...stored, inUse: { renamed: 0, moved: 0 } });
  },
);

test.each(ADDRESSES)("seats that are held are removed only with forceDelete, at %s", async (of) => {
  const server = new TestServer();
  await server.book("lock", "s", "A1");
  const path = at(of, server.a.schemaId);
  const body = {
    seats: [{ guid: guidOf("A1"), rowGuid: guidOf("row A"), name: "1", toRemove: true }],
  };
  const errors = ["seats INVENTORY_IN_USE"];
  expectProblem(await server.put(path, body), { ...IN_USE, errors });
  const unclear = await server.put(`${path}?forceDelete=yes`, body);
  expectProblem(unclear, invalid("forceDelete TYPE"));
  const forced = await server.put<LayoutReply>(`${path}?forceDelete=true`, body);
  expect([forced.status, forced.body.seats.length]).toEqual([200, 11]);
});

interface CloneBody {
  readonly schemaId: number;
}

test("PUT /api/private/v2.0/schemas/ replaces a schema", async () => {
  const server = new TestServer();
  const { schemaId, venueId } = server.a;
  const body = { id: schemaId, name: "New plan", venueId, description: "D", archived: true };
  // Drawn seats count, not the declared number.
  const reply = await server.put(SCHEMAS, { ...body, seatsCapacity: 300 });
  const expected = {
    ...body,
    draft: false,
    template: false,
    gaCapacity: 100,
    seatsCapacity: 12,
    preview: null,
    thumbnail: null,
    venueName: "House",
  };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await server.get(`${SCHEMAS}${schemaId}`)).body).toEqual(expected);
});
const { a: houseA, b: houseB } = unchanged;
const sent = { id: houseA.schemaId, name: "New", venueId: houseA.venueId };

const REFUSED: readonly (readonly [string, object, ExpectedProblem])[] = [
  ["no id", { ...sent, id: undefined }, invalid("id NOT_NULL")],
  ["a foreign venue", { ...sent, venueId: houseB.venueId }, invalid("venueId NOT_FOUND")],
  ["an unknown schema", { ...sent, id: NO_ID }, NOT_FOUND],
  ["a foreign schema", { ...sent, id: houseB.schemaId }, DENIED],
];

test.each(REFUSED)("PUT /api/private/v2.0/schemas/ refuses %s", async (_, body, expected) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.put(SCHEMAS, body), expected);
  expect(unchanged.digest).toBe(before);
});

test("DELETE /api/private/v2.0/schemas/{id} leaves its events readable", async () => {
  const server = new TestServer();
  const { schemaId, eventId } = server.a;
  const path = `${SCHEMAS}${schemaId}`;
  const reply = await server.delete(path);
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectProblem(await server.get(path), NOT_FOUND);
  const event = await server.get(`${V2}/events/${eventId}`);
  const none = { schemaName: null };
  expect(event.body).toMatchObject({ id: eventId, schemaId, ...none });
  expect(await server.seats()).toEqual([]);
  expect((await server.get(`${V2}/events/${eventId}/areas/`)).body).toEqual([]);
});

test(`POST ${V2}/schemas/clone/{id} returns the id of a completed operation`, async () => {
  const server = new TestServer();
  const { schemaId, labels } = server.a;
  const cloned = await server.post<string>(`${SCHEMAS}clone/${schemaId}`);
  expect(cloned.status).toBe(200);
  expect(cloned.text).toBe(JSON.stringify(cloned.body));
  expect(cloned.body).toMatch(UUID);
  const result = await server.get<CloneBody>(`${SCHEMAS}clone/${cloned.body}`);
  const { schemaId: copyId } = result.body;
  const expected = { id: cloned.body, status: "COMPLETED", schemaId: copyId };
  expect([result.status, result.body]).toEqual([200, expected]);
  const list = await server.get<PageBody<SchemaBody>>(SCHEMAS);
  expect(list.body.content.map(({ id, name }) => [id, name])).toEqual([
    [schemaId, "Plan"],
    [copyId, "Plan (copy)"],
  ]);
  const layout = await server.get<{ seats: object[] }>(`${SCHEMAS}${copyId}/layout`);
  expect(layout.body.seats.length).toBe(labels.seats.length);
});
