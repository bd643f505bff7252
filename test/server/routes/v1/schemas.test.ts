/** v1 schemas: their list, their details, and the metadata with the composite keys. */
import { expect, test } from "vitest";
import { expectProblem } from "../../wire/wire.ts";
import { Desk, V1 } from "./desk.ts";

interface SchemaBody {
  readonly id: number;
  readonly capacity: number | null;
  readonly name: string;
  readonly venueId: number;
  readonly eventId: string | null;
}

interface SeatBody {
  readonly key: string | number;
  readonly name: string;
  readonly x: number | null;
  readonly y: number | null;
  readonly ix: number;
  readonly iy: number;
}

interface SectorBody {
  readonly key: string | number;
  readonly name: string;
  readonly rows: { key: string | number; name: string; seats: SeatBody[] }[];
  readonly shapes: { id: string }[];
}

interface Metadata {
  readonly sectors: readonly SectorBody[];
}

const PATH = `${V1}/venues/schemas/`;

class SchemaDesk extends Desk {
  async list(query = ""): Promise<readonly SchemaBody[]> {
    const reply = await this.call<readonly SchemaBody[]>("GET", `/venues/schemas/${query}`);
    expect(reply.status).toBe(200);
    return reply.body;
  }

  async ids(query = ""): Promise<readonly number[]> {
    return (await this.list(query)).map(({ id }) => id);
  }

  async metadata(query = ""): Promise<Metadata> {
    const path = `/venues/schemas/${this.server.a.schemaId}/${query}`;
    const reply = await this.call<Metadata>("GET", path);
    expect(reply.status).toBe(200);
    return reply.body;
  }

  createSchema(name: string, venueId = this.server.a.venueId): number {
    const { world, a } = this.server;
    return world.must("createSchema", a.caller, { body: { name, venueId } }).id;
  }
}

test("GET /api/private/v1.0/venues/schemas/ lists the organization's schemas", async () => {
  const desk = new SchemaDesk();
  const { schemaId, venueId, eventId } = desk.server.a;
  const second = desk.createSchema("Second");
  expect(await desk.list()).toEqual([
    { id: schemaId, capacity: null, name: "Plan", venueId, eventId },
    { id: second, capacity: null, name: "Second", venueId, eventId: null },
  ]);
  desk.server.world.createEvent();
  expect((await desk.list("?limit=1"))[0]!.eventId).toBeNull();
});

test("GET /api/private/v1.0/venues/schemas/ takes limit, offset and venueId", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk.server;
  const venueId = world.must("createVenue", a.caller, { body: { name: "Annex" } }).id;
  const others = [desk.createSchema("Two", venueId), desk.createSchema("Three", venueId)];
  expect(await desk.ids("?limit=2")).toEqual([a.schemaId, others[0]]);
  expect(await desk.ids("?limit=2&offset=2")).toEqual([others[1]]);
  expect(await desk.ids(`?venueId=${venueId}`)).toEqual(others);
  expect(await desk.ids(`?venueId=${venueId}&offset=1`)).toEqual([others[1]]);
  expect(await desk.ids("?venueId=999999")).toEqual([]);
});

test("GET /api/private/v1.0/venues/schemas/ tells what was updated after a moment", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk.server;
  // The world began at 2026-03-19T10:00:00.
  world.clock.timeMs += 60_000;
  const second = desk.createSchema("Second");
  expect(await desk.ids("?lastUpdated=2026-03-19T09:59:59.999")).toEqual([a.schemaId, second]);
  expect(await desk.ids("?lastUpdated=2026-03-19T10:00:00")).toEqual([second]);
  expect(await desk.ids("?lastUpdated=2026-03-19T10:01")).toEqual([]);
  expect(await desk.ids("?lastUpdated=2026-03-19")).toEqual([a.schemaId, second]);
  world.clock.timeMs += 60_000;
  world.must("putLayout", a.caller, { schemaId: a.schemaId, body: {}, forceDelete: false });
  expect(await desk.ids("?lastUpdated=2026-03-19T10:01")).toEqual([a.schemaId]);
  world.clock.timeMs += 60_000;
  const body = { id: second, name: "Renamed", venueId: a.venueId };
  world.must("updateSchema", a.caller, { body });
  expect(await desk.ids("?lastUpdated=2026-03-19T10:02")).toEqual([second]);
});

test.each(["limit=0", "limit=1001", "offset=-1", "venueId=x", "lastUpdated=yesterday"])(
  "GET /api/private/v1.0/venues/schemas/ refuses %s",
  async (query) => {
    const desk = new SchemaDesk();
    const reply = await desk.call<never>("GET", `/venues/schemas/?${query}`);
    const errors = [expect.stringMatching(query.split("=")[0]!) as string];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: PATH, errors });
  },
);

test("GET /api/private/v1.0/venues/schemas/{schemaId}/details/ adds up the capacity", async () => {
  const desk = new SchemaDesk();
  const { schemaId, venueId, eventId } = desk.server.b;
  const path = `/venues/schemas/${schemaId}/details/`;
  const reply = await desk.call("GET", path, undefined, desk.server.b.key);
  // Ten seats in rows, two at the table, a hundred places in the pit.
  const expected = { id: schemaId, capacity: 112, name: "Bravo plan", venueId, eventId };
  expect([reply.status, reply.body]).toEqual([200, expected]);
});

test("GET /api/private/v1.0/venues/schemas/{schemaId}/details/ prefers what is said", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk.server;
  const empty = desk.createSchema("Empty");
  const capacities = { gaCapacity: 5, seatsCapacity: 300 };
  const body = { name: "Declared", venueId: a.venueId, ...capacities };
  const declared = world.must("createSchema", a.caller, { body }).id;
  for (const [id, capacity] of [
    [empty, null],
    [declared, 305],
  ]) {
    const reply = await desk.call<SchemaBody>("GET", `/venues/schemas/${id}/details/`);
    expect(reply.body.capacity).toBe(capacity);
  }
});

test("GET /api/private/v1.0/venues/schemas/{schemaId}/ shows sectors, rows and seats", async () => {
  const desk = new SchemaDesk();
  const { sectors } = await desk.metadata();
  expect(sectors.map(({ key, name }) => [key, name])).toEqual([
    ["Stalls", "Stalls"],
    ["Round", "Round"],
    ["Pit", "Pit"],
  ]);
  const [stalls, , pit] = sectors;
  expect(pit!.rows).toEqual([]);
  expect(stalls).toEqual({
    key: "Stalls",
    name: "Stalls",
    x: null,
    y: null,
    width: null,
    height: null,
    angle: null,
    guid: "Stalls",
    id: desk.id("Stalls"),
    rows: expect.any(Array) as [],
    shapes: [],
    labelOffsetX: null,
    labelOffsetY: null,
    labelStyle: null,
    labelVisible: null,
  });
  const [rowA, rowB] = stalls!.rows;
  expect([rowA!.key, rowA!.name, rowB!.key]).toEqual(["Stalls;;A", "A", "Stalls;;B"]);
  expect(rowA!.seats.map(({ name }) => name)).toEqual(["1", "2", "3", "4", "5", "6"]);
  const seat = { key: "Stalls;;B;;3", name: "3", x: 2, y: 1, ix: 2, iy: 1 };
  expect(rowB!.seats[2]).toEqual(seat);
});

test("GET /api/private/v1.0/venues/schemas/{schemaId}/ names keys that booking takes", async () => {
  const desk = new SchemaDesk();
  const { sectors } = await desk.metadata();
  const seats = sectors.flatMap(({ rows }) => rows.flatMap((row) => row.seats));
  await desk.books("lock", [...seats.map(({ key }) => String(key)), "Pit:1"]);
});

test("GET /api/private/v1.0/venues/schemas/{schemaId}/ numbers sections, shows ids", async () => {
  const desk = new SchemaDesk();
  const { sectors } = await desk.metadata("?numberedSections=true&useInternalIds=true");
  expect(sectors.map(({ key, name }) => [key, name])).toEqual([
    [desk.id("Stalls"), "1. Stalls"],
    [desk.id("Round"), "2. Round"],
    [desk.id("Pit"), "3. Pit"],
  ]);
  const [row] = sectors[0]!.rows;
  expect([row!.key, row!.name]).toEqual([desk.id("row A"), "A"]);
  expect([row!.seats[0]!.key, row!.seats[0]!.name]).toEqual([desk.id("A1"), "1"]);
});

test("GET /api/private/v1.0/venues/schemas/{schemaId}/ shows how sections are drawn", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk.server;
  const drawing = { width: 40, height: 30, x: 5, y: 6, angle: 90, labelOffsetX: 1 };
  const label = { labelOffsetY: 2, labelStyle: { size: 9 }, labelVisible: false };
  const sectors = [{ guid: "Stalls", name: "Stalls", ga: false, ...drawing, ...label }];
  const shapes = [{ id: "s1", groupOfSeatsGuid: "Stalls", left: 3, fill: "red" }, { id: "s2" }];
  const body = { sectors, shapes };
  world.must("putLayout", a.caller, { schemaId: a.schemaId, body, forceDelete: false });
  const [stalls] = (await desk.metadata()).sectors;
  expect(stalls).toMatchObject({ ...drawing, ...label });
  expect(stalls!.shapes).toMatchObject([{ id: "s1", x: 3, fill: "red" }]);
});

test("GET /api/private/v1.0/venues/schemas/{schemaId}/ shows an empty schema", async () => {
  const desk = new SchemaDesk();
  const reply = await desk.call("GET", `/venues/schemas/${desk.createSchema("Empty")}/`);
  expect([reply.status, reply.body]).toEqual([200, { sectors: [] }]);
});

test.each(["", "details/"])(
  "GET /api/private/v1.0/venues/schemas/{schemaId}/%s is 400 for no schema, 403 for another's",
  async (end) => {
    const desk = new SchemaDesk();
    for (const [id, status, errorCode] of [
      ["x", 400, "VALIDATION_FAILED"],
      [999_999, 400, "ENTITY_NOT_FOUND"],
      [desk.server.b.schemaId, 403, "ACCESS_DENIED"],
    ] as const) {
      const path = `/venues/schemas/${id}/${end}`;
      const reply = await desk.call<never>("GET", path);
      const errors = id === "x" ? ["schemaId TYPE"] : [];
      expectProblem(reply, { status, errorCode, path: `${V1}${path}`, errors });
    }
  },
);

test.each(["", "1/details/", "1/"])(
  "GET /api/private/v1.0/venues/schemas/%s is 403 with a wrong key",
  async (end) => {
    const desk = new SchemaDesk();
    const reply = await desk.call<never>("GET", `/venues/schemas/${end}`, undefined, "nobody's");
    expectProblem(reply, { status: 403, errorCode: "ACCESS_DENIED", path: `${PATH}${end}` });
    expect(reply.body["detail"]).toMatch(/correct private key/);
  },
);

test("GET /api/private/v1.0/venues/schemas/ takes its flags as true or false alone", async () => {
  const desk = new SchemaDesk();
  const path = `/venues/schemas/${desk.server.a.schemaId}/?numberedSections=yes`;
  expect((await desk.call("GET", path)).status).toBe(400);
});
