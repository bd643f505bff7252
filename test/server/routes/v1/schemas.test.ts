/** Schemas over v1: the list, the details, and the metadata with the composite keys. */
import { expect, test } from "vitest";
import { guidOf } from "../../../support/layout.ts";
import { DENIED, expectProblem, invalid } from "../../wire/wire.ts";
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
    const reply = await this.get<readonly SchemaBody[]>(PATH + query);
    expect(reply.status).toBe(200);
    return reply.body;
  }

  async ids(query = ""): Promise<readonly number[]> {
    return (await this.list(query)).map(({ id }) => id);
  }

  async metadata(query = ""): Promise<Metadata> {
    const reply = await this.get<Metadata>(`${PATH}${this.a.schemaId}/${query}`);
    expect(reply.status).toBe(200);
    return reply.body;
  }

  createSchema(name: string, venueId = this.a.venueId): number {
    return this.world.must("createSchema", this.a.caller, { body: { name, venueId } }).id;
  }
}

test("v1 lists schemas, with their event when they have only one", async () => {
  const desk = new SchemaDesk();
  const { schemaId, venueId, eventId } = desk.a;
  const second = desk.createSchema("Second");
  expect(await desk.list()).toEqual([
    { id: schemaId, capacity: null, name: "Plan", venueId, eventId },
    { id: second, capacity: null, name: "Second", venueId, eventId: null },
  ]);
  desk.world.createEvent();
  expect((await desk.list("?limit=1"))[0]!.eventId).toBeNull();
  desk.world.createEvent();
  expect((await desk.list("?limit=1"))[0]!.eventId).toBeNull();
});

test("v1 hides draft schemas", async () => {
  const desk = new SchemaDesk();
  const { a, world } = desk;
  const body = { name: "Sketch", venueId: a.venueId, draft: true };
  const { id } = world.must("createSchema", a.caller, { body });
  expect(await desk.ids()).toEqual([a.schemaId]);
  for (const end of ["", "details/"]) {
    const expected = { status: 400, errorCode: "ENTITY_NOT_FOUND" };
    expectProblem(await desk.get(`${PATH}${id}/${end}`), expected);
  }
  world.must("updateSchema", a.caller, { body: { ...body, id, draft: false } });
  expect(await desk.ids()).toEqual([a.schemaId, id]);
});

test("the v1 list of schemas takes limit, offset and venueId", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk;
  const venueId = world.must("createVenue", a.caller, { body: { name: "Annex" } }).id;
  const others = [desk.createSchema("Two", venueId), desk.createSchema("Three", venueId)];
  expect(await desk.ids("?limit=2")).toEqual([a.schemaId, others[0]]);
  expect(await desk.ids("?limit=2&offset=2")).toEqual([others[1]]);
  expect(await desk.ids(`?venueId=${venueId}`)).toEqual(others);
  expect(await desk.ids(`?venueId=${venueId}&offset=1`)).toEqual([others[1]]);
  expect(await desk.ids("?venueId=999999")).toEqual([]);
});

test("the v1 list of schemas shows those that were updated after lastUpdated", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk;
  // The world began at 2026-03-19T10:00:00.
  world.clock.timeMs += 60_000;
  const second = desk.createSchema("Second");
  expect(await desk.ids("?lastUpdated=2026-03-19T09:59:59.999")).toEqual([a.schemaId, second]);
  expect(await desk.ids("?lastUpdated=2026-03-19T10:00:00")).toEqual([second]);
  expect(await desk.ids("?lastUpdated=2026-03-19T10:01")).toEqual([]);
  expect(await desk.ids("?lastUpdated=2026-03-19")).toEqual([a.schemaId, second]);
  world.clock.timeMs += 60_000;
  const changed = { clientViewBox: { width: 100 } };
  world.must("putLayout", a.caller, { schemaId: a.schemaId, body: changed, forceDelete: false });
  expect(await desk.ids("?lastUpdated=2026-03-19T10:01")).toEqual([a.schemaId]);
  world.clock.timeMs += 60_000;
  const body = { id: second, name: "Renamed", venueId: a.venueId };
  world.must("updateSchema", a.caller, { body });
  expect(await desk.ids("?lastUpdated=2026-03-19T10:02")).toEqual([second]);
});

test.each([
  ["venueId=x", "venueId TYPE"],
  ["lastUpdated=yesterday", "lastUpdated FORMAT"],
])("the v1 list of schemas refuses %s", async (query, error) => {
  expectProblem(await new Desk().get(`${PATH}?${query}`), invalid(error));
});

test("the v1 details show the capacity of the layout", async () => {
  const desk = new SchemaDesk();
  const { schemaId, venueId, eventId } = desk.b;
  const reply = await desk.get(`${PATH}${schemaId}/details/`, desk.b);
  // Ten seats in rows, two at the table, and a hundred places in the pit.
  const expected = { id: schemaId, capacity: 112, name: "Bravo plan", venueId, eventId };
  expect([reply.status, reply.body]).toEqual([200, expected]);
});

test("the v1 details show the declared capacity while there is no layout", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk;
  const empty = desk.createSchema("Empty");
  const capacities = { gaCapacity: 5, seatsCapacity: 300 };
  const body = { name: "Declared", venueId: a.venueId, ...capacities };
  const declared = world.must("createSchema", a.caller, { body }).id;
  for (const [id, capacity] of [
    [empty, null],
    [declared, 305],
  ]) {
    const reply = await desk.get<SchemaBody>(`${PATH}${id}/details/`);
    expect(reply.body.capacity).toBe(capacity);
  }
});

test("the v1 metadata shows sectors, rows and seats", async () => {
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
    guid: guidOf("Stalls"),
    id: desk.a.labels.idOf("Stalls"),
    rows: expect.any(Array) as [],
    shapes: [],
  });
  const [rowA, rowB] = stalls!.rows;
  expect([rowA!.key, rowA!.name, rowB!.key]).toEqual(["Stalls;;A", "A", "Stalls;;B"]);
  expect(rowA!.seats.map(({ name }) => name)).toEqual(["1", "2", "3", "4", "5", "6"]);
  const seat = { key: "Stalls;;B;;3", name: "3", x: 2, y: 1, ix: 2, iy: 1 };
  expect(rowB!.seats[2]).toEqual(seat);
});

test("v1 booking accepts the keys of the metadata", async () => {
  const desk = new SchemaDesk();
  const { sectors } = await desk.metadata();
  const seats = sectors.flatMap(({ rows }) => rows.flatMap((row) => row.seats));
  await desk.books("lock", [...seats.map(({ key }) => String(key)), "Pit:1"]);
});

test("the v1 metadata numbers sections and shows ids when asked to", async () => {
  const desk = new SchemaDesk();
  const { sectors } = await desk.metadata("?numberedSections=true&useInternalIds=true");
  const textOf = (label: string) => String(desk.a.labels.idOf(label));
  expect(sectors.map(({ key, name }) => [key, name])).toEqual([
    [textOf("Stalls"), "1. Stalls"],
    [textOf("Round"), "2. Round"],
    [textOf("Pit"), "3. Pit"],
  ]);
  const [row] = sectors[0]!.rows;
  expect([row!.key, row!.name]).toEqual([textOf("row A"), "A"]);
  expect([row!.seats[0]!.key, row!.seats[0]!.name]).toEqual([textOf("A1"), "1"]);
});

test("the v1 metadata shows how sections are drawn", async () => {
  const desk = new SchemaDesk();
  const { world, a } = desk;
  const drawing = { width: 40, height: 30, x: 5, y: 6, angle: 90, labelOffsetX: 1 };
  const label = { labelOffsetY: 2, labelStyle: { size: 9 }, labelVisible: false };
  const sectors = [{ guid: guidOf("Stalls"), name: "Stalls", ga: false, ...drawing, ...label }];
  const [id, groupOfSeatsGuid] = [guidOf("shape"), guidOf("Stalls")];
  const shapes = [{ id, groupOfSeatsGuid, left: 3, fill: "red" }, { id: guidOf("other") }];
  const body = { sectors, shapes };
  world.must("putLayout", a.caller, { schemaId: a.schemaId, body, forceDelete: false });
  const [stalls] = (await desk.metadata()).sectors;
  expect(stalls).toMatchObject({ ...drawing, ...label });
  expect(stalls!.shapes).toMatchObject([{ id, x: 3, fill: "red" }]);
});

test("the v1 metadata of an empty schema has no sectors", async () => {
  const desk = new SchemaDesk();
  const reply = await desk.get(`${PATH}${desk.createSchema("Empty")}/`);
  expect([reply.status, reply.body]).toEqual([200, { sectors: [] }]);
});

test.each(["", "details/"])(
  "the v1 schema at %s is 400 for an unknown or malformed id, and 403 for a foreign one",
  async (end) => {
    const desk = new Desk();
    const read = (id: number | string) => desk.get(`${PATH}${id}/${end}`);
    expectProblem(await read("x"), invalid("schemaId TYPE"));
    expectProblem(await read(999_999), { status: 400, errorCode: "ENTITY_NOT_FOUND" });
    expectProblem(await read(desk.b.schemaId), DENIED);
  },
);

test("a flag of the v1 metadata is true or false", async () => {
  const desk = new SchemaDesk();
  const reply = await desk.get(`${PATH}${desk.a.schemaId}/?numberedSections=yes`);
  expectProblem(reply, invalid("numberedSections TYPE"));
});
