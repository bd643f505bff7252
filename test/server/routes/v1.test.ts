/** Events, prices, assignments and schemas over v1, and requests that all its rows refuse. */
import { expect, test } from "vitest";
import { API_ROUTES } from "../../../server/routes/table.ts";
import { LEGACY_ROUTES } from "../../../server/routes/v1.ts";
import { guidOf } from "../../support/layout.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { expectConsistent } from "../../support/table.ts";
import {
  DENIED,
  EVENT_DENIED,
  type ExpectedProblem,
  expectProblem,
  IN_USE,
  invalid,
  NOT_FOUND,
  NOWHERE,
  UUID,
} from "../wire/wire.ts";
import { Desk, type Entry, V1 } from "./desk.ts";

/** The rows below a base path, as `POST /booking/lock`. */
function rowsBelow(base: string): string[] {
  return API_ROUTES.filter((route) => route.path.startsWith(`${base}/`)).map(
    (route) => `${route.method.toUpperCase()} ${route.path.slice(base.length)}`,
  );
}

test("all rows of v1, and no others, are marked as legacy", () => {
  const legacy = API_ROUTES.filter(({ isLegacy }) => isLegacy === true);
  expect(legacy).toEqual([...LEGACY_ROUTES]);
  expect(legacy.every((route) => route.path.startsWith(`${V1}/`))).toBe(true);
});

/** For requests that are refused: it never changes. */
const unchanged = new TestServer();

test.each(rowsBelow(V1))(
  "%s with a wrong key is 403 and says so in the words of v1",
  async (row) => {
    const [method = "", template = ""] = row.split(" ");
    const target = V1 + template.replace("{id}", NOWHERE).replace("{schemaId}", "1");
    const body = method === "POST" || method === "PUT" ? {} : undefined;
    const reply = await unchanged.call(method, target, { key: "unknown", body });
    expectProblem(reply, DENIED);
    expect(reply.body.detail).toMatch(/correct private key/);
  },
);

const keyed = { compositeKey: "Stalls;;A;;1" };
const priced = { ...keyed, price: 1 };
const EVENT_ROWS: readonly (readonly [string, string, unknown])[] = [
  ["POST", "/booking/lock", [keyed]],
  ["POST", "/booking/sale", [keyed]],
  ["POST", "/booking/unlock", [keyed]],
  ["POST", "/assignments/", [priced]],
  ["POST", "/assignments/clean", undefined],
  ["DELETE", "/assignments/", [keyed]],
  ["GET", "/prices/", undefined],
];

test.each(EVENT_ROWS)(
  "%s %s refuses a foreign, unknown, missing or malformed event",
  async (...row) => {
    const [method, template, body] = row;
    const before = unchanged.digest;
    for (const [query, expected] of [
      [`id=${unchanged.b.eventId}`, EVENT_DENIED],
      [`id=${NOWHERE}`, EVENT_DENIED],
      ["", invalid("id NOT_NULL")],
      ["id=7", invalid("id FORMAT")],
    ] as const) {
      const target = `${V1}${template}?${query}`;
      const reply = await unchanged.call(method, target, { ...unchanged.a, body });
      expectProblem(reply, expected);
      if (expected === EVENT_DENIED) expect(reply.body.detail).toMatch(/correct private key/);
    }
    expect(unchanged.digest).toBe(before);
  },
);

test.each(["/events/", "/venues/schemas/"])(
  "GET %s refuses wrong limits and offsets",
  async (row) => {
    for (const [query, error] of [
      ["limit=0", "limit RANGE"],
      ["limit=1001", "limit RANGE"],
      ["limit=x", "limit TYPE"],
      ["offset=-1", "offset RANGE"],
      ["offset=1.5", "offset TYPE"],
    ] as const) {
      expectProblem(await unchanged.get(`${V1}${row}?${query}`), invalid(error));
    }
  },
);

interface EventBody {
  readonly id: string;
  readonly start: string;
  readonly endDate: string;
  readonly killAfter?: string;
  readonly name: string;
  readonly schemaId: number;
}

const EVENTS = `${V1}/events/`;
/** v1 has no 404. */
const UNKNOWN: ExpectedProblem = { status: 400, errorCode: "ENTITY_NOT_FOUND" };

class EventDesk extends Desk {
  readonly event = { name: "Gala", start: "2026-06-01T20:00:00", schemaId: this.a.schemaId };

  async create(event: object = this.event): Promise<EventBody> {
    const reply = await this.post<EventBody>(EVENTS, event);
    expect(reply.status).toBe(200);
    expectConsistent(this.world);
    return reply.body;
  }

  async list(query = ""): Promise<readonly EventBody[]> {
    const reply = await this.get<readonly EventBody[]>(EVENTS + query);
    expect(reply.status).toBe(200);
    return reply.body;
  }
}

test("v1 creates an event, which v2 shows without killAfter", async () => {
  const desk = new EventDesk();
  const killAfter = "2026-06-01T21:00:00";
  const endDate = "2026-06-01T23:00:00";
  const created = await desk.create({ id: null, ...desk.event, endDate, killAfter });
  const id = expect.stringMatching(UUID) as string;
  expect(created).toEqual({ id, ...desk.event, endDate, killAfter });
  const { body } = await desk.get(`${V2}/events/${created.id}`);
  expect(body).toMatchObject({ ...desk.event, endDate, status: "PUBLISHED" });
  expect(Object.keys(body)).not.toContain("killAfter");
});

test("a v1 event without an end ends at killAfter, or else at its start", async () => {
  const desk = new EventDesk();
  const { start } = desk.event;
  const killAfter = "2026-06-02T00:00:00";
  const created = await desk.create({ ...desk.event, killAfter, endDate: null });
  expect(created).toMatchObject({ killAfter, endDate: killAfter });
  const bare = await desk.create();
  expect([bare.endDate, "killAfter" in bare]).toEqual([start, false]);
});

/** For requests that are refused: it never changes. */
const events = new EventDesk();
const { b: other } = events;

const BAD_EVENTS: readonly (readonly [string, object, string])[] = [
  ["no schema", { schemaId: undefined }, "schemaId NOT_NULL"],
  ["an id", { id: NOWHERE }, "id TYPE"],
  ["a killAfter that is not a time", { killAfter: "soon" }, "killAfter FORMAT"],
  ["an unknown schema", { schemaId: 999_999 }, "schemaId NOT_FOUND"],
  ["a foreign schema", { schemaId: other.schemaId }, "schemaId NOT_FOUND"],
  ["an end before the start", { endDate: "2026-05-31T20:00:00" }, "endDate RANGE"],
];

test.each(BAD_EVENTS)("a new v1 event is refused: %s", async (_, change, error) => {
  const before = events.digest;
  expectProblem(await events.post(EVENTS, { ...events.event, ...change }), invalid(error));
  expect(events.digest).toBe(before);
});

test("v1 lists the oldest events first, fifty by default", async () => {
  const desk = new EventDesk();
  const made = [await desk.create(), await desk.create(), await desk.create()];
  const ids = [desk.a.eventId, ...made.map(({ id }) => id)];
  const idsOf = async (query: string) => (await desk.list(query)).map(({ id }) => id);
  expect(await idsOf("")).toEqual(ids);
  expect(await idsOf("?limit=2")).toEqual(ids.slice(0, 2));
  expect(await idsOf("?limit=2&offset=1")).toEqual(ids.slice(1, 3));
  expect(await idsOf("?offset=4")).toEqual([]);
  for (let i = 0; i < 50; i++) desk.world.createEvent();
  expect((await desk.list()).length).toBe(50);
  expect((await desk.list("?limit=1000")).length).toBe(54);
});

test("v1 lists only published events", async () => {
  const desk = new EventDesk();
  const { id } = await desk.create();
  desk.setStatus("ARCHIVED");
  expect((await desk.list()).map((event) => event.id)).toEqual([id]);
  desk.setStatus("DRAFT");
  expect((await desk.list()).length).toBe(1);
  desk.setStatus("PUBLISHED");
  expect((await desk.list()).length).toBe(2);
});

test("a v1 update changes what it carries and keeps the rest", async () => {
  const desk = new EventDesk();
  const created = await desk.create({ ...desk.event, killAfter: "2026-06-01T21:00:00" });
  const change = { id: created.id.toUpperCase(), name: "Matinee", start: "2026-06-01T14:00:00" };
  const reply = await desk.put(EVENTS, { ...change, endDate: null, killAfter: null });
  const expected = { ...created, name: change.name, start: change.start };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await desk.put(EVENTS, { id: created.id })).body).toEqual(expected);
  const late = "2026-07-01T20:00:00";
  const moved = { ...expected, start: late, endDate: late };
  expect((await desk.put(EVENTS, { id: created.id, start: late })).body).toEqual(moved);
  expect((await desk.put(EVENTS, { id: created.id, start: change.start })).status).toBe(200);
  expect((await desk.put(EVENTS, expected)).body).toEqual(expected);
  expectConsistent(desk.world);
  expect(await desk.list("?offset=1")).toEqual([expected]);
});

test("a v2 update keeps the killAfter of v1", async () => {
  const desk = new EventDesk();
  const killAfter = "2026-06-01T21:00:00";
  const { id } = await desk.create({ ...desk.event, killAfter });
  const body = { ...desk.event, id, endDate: "2026-06-01T22:00:00" };
  expect((await desk.put(`${V2}/events/`, body)).status).toBe(200);
  expect(await desk.list("?offset=1")).toMatchObject([{ killAfter }]);
});

test("a v1 update is 400 for an unknown event or no id, and 403 for a foreign event", async () => {
  const before = events.digest;
  const { event } = events;
  expectProblem(await events.put(EVENTS, { ...event, id: NOWHERE }), UNKNOWN);
  expectProblem(await events.put(EVENTS, event), invalid("id NOT_NULL"));
  expectProblem(await events.put(EVENTS, { ...event, id: other.eventId }), DENIED);
  expect(events.digest).toBe(before);
});

test("a v1 update to another schema is 400 while a seat is held", async () => {
  const desk = new EventDesk();
  const body = { name: "Other plan", venueId: desk.a.venueId };
  const schemaId = desk.world.must("createSchema", desk.a.caller, { body }).id;
  await desk.books("lock", ["A1"]);
  const reply = await desk.put(EVENTS, { ...desk.event, id: desk.a.eventId, schemaId });
  expectProblem(reply, { status: 400, errorCode: "INVENTORY_IN_USE" });
});

test("v1 deletes an event even when seats are sold; a second time is 400", async () => {
  const desk = new EventDesk();
  await desk.book("directsale", null, "A1");
  const path = EVENTS + desk.a.eventId;
  const reply = await desk.delete(path);
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  expectConsistent(desk.world);
  expect(await desk.list()).toEqual([]);
  expectProblem(await desk.delete(path), UNKNOWN);
});

test("v1 refuses to delete a malformed id with 400, and a foreign event with 403", async () => {
  expectProblem(await events.delete(`${EVENTS}7`), invalid("id FORMAT"));
  const reply = await events.delete(EVENTS + other.eventId);
  expectProblem(reply, DENIED);
  expect(reply.body.detail).toMatch(/correct private key/);
});

interface PriceBody {
  readonly id: number;
  readonly name: string;
  readonly eventId: string;
  readonly externalId: string | null;
}

const PRICES = `${V1}/prices/`;
const DUPLICATE = { status: 409, errorCode: "DUPLICATE_NAME", errors: ["name DUPLICATE"] };

class PriceDesk extends Desk {
  readonly eventId = this.a.eventId;

  async create(name: string): Promise<PriceBody> {
    const reply = await this.post<PriceBody>(PRICES, { name, eventId: this.eventId });
    expect(reply.status).toBe(200);
    expectConsistent(this.world);
    return reply.body;
  }

  async list(): Promise<readonly PriceBody[]> {
    const reply = await this.get<readonly PriceBody[]>(`${PRICES}?id=${this.eventId}`);
    expect(reply.status).toBe(200);
    return reply.body;
  }
}

test("v1 lists the prices of an event in order of id", async () => {
  const desk = new PriceDesk();
  const first = await desk.create("Child");
  await desk.create("Adult");
  desk.world.createPrice("Elsewhere", desk.b.eventId, desk.b.caller);
  const prices = await desk.list();
  expect(prices.map(({ name }) => name)).toEqual(["Full", "Child", "Adult"]);
  expect(prices[1]).toEqual(first);
});

test("v1 creates a price", async () => {
  const desk = new PriceDesk();
  const sent = { id: null, name: "Adult", eventId: desk.eventId.toUpperCase(), externalId: "x-1" };
  const reply = await desk.post(PRICES, sent);
  const id = expect.any(Number) as number;
  const price = { id, name: "Adult", eventId: desk.eventId, externalId: "x-1" };
  expect([reply.status, reply.body]).toEqual([200, price]);
});

test("v1 refuses a name that a price of the event has, in the same letter case", async () => {
  const desk = new PriceDesk();
  const { eventId } = desk;
  const { id } = await desk.create("Child");
  const before = desk.digest;
  expectProblem(await desk.post(PRICES, { name: "Full", eventId }), DUPLICATE);
  expectProblem(await desk.put(PRICES, { id, name: "Full", eventId }), DUPLICATE);
  expect(desk.digest).toBe(before);
  await desk.create("full");
});

/** For requests that are refused: it never changes. */
const prices = new PriceDesk();
const { b, eventId: pricedEvent } = prices;
const { priceId: knownPrice } = prices.a;

const REFUSED: readonly (readonly [string, object, ExpectedProblem])[] = [
  ["no name", { eventId: pricedEvent }, invalid("name NOT_NULL")],
  ["no event", { name: "x" }, invalid("eventId NOT_NULL")],
  ["an id", { name: "x", eventId: pricedEvent, id: 7 }, invalid("id TYPE")],
  ["a foreign event", { name: "Full", eventId: b.eventId }, EVENT_DENIED],
  ["an unknown event", { name: "Full", eventId: NOWHERE }, EVENT_DENIED],
];

test.each(REFUSED)("a new v1 price is refused: %s", async (_, body, expected) => {
  expectProblem(await prices.post(PRICES, body), expected);
});

test("v1 updates a price, also without changing its name", async () => {
  const desk = new PriceDesk();
  const { id } = await desk.create("Child");
  for (const change of [{ name: "Youth" }, { name: "Youth", externalId: "y" }]) {
    const body = { id, eventId: desk.eventId, ...change };
    const reply = await desk.put(PRICES, body);
    expect([reply.status, reply.body]).toEqual([200, { externalId: null, ...body }]);
    expectConsistent(desk.world);
  }
});

// The event has the name: that the price is unknown is reported first.
const fullPrice = { name: "Full", eventId: pricedEvent };
const otherEvent = prices.world.createEvent();
const UPDATES: readonly (readonly [string, object, ExpectedProblem])[] = [
  ["no id", fullPrice, invalid("id NOT_NULL")],
  ["an unknown price", { ...fullPrice, id: 999_999 }, NOT_FOUND],
  ["a foreign price", { ...fullPrice, id: b.priceId }, NOT_FOUND],
  ["a price of another event", { ...fullPrice, id: knownPrice, eventId: otherEvent }, NOT_FOUND],
  ["an unknown event", { ...fullPrice, id: knownPrice, eventId: NOWHERE }, NOT_FOUND],
  ["a foreign event", { ...fullPrice, id: b.priceId, eventId: b.eventId }, DENIED],
];

test.each(UPDATES)("a v1 update of a price is refused: %s", async (_, body, expected) => {
  const before = prices.digest;
  expectProblem(await prices.put(PRICES, body), expected);
  expect(prices.digest).toBe(before);
});

test("v1 deletes a price and its assignments", async () => {
  const desk = new PriceDesk();
  const reply = await desk.delete(`${PRICES}?id=${desk.a.priceId}`);
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  expectConsistent(desk.world);
  expect(await desk.list()).toEqual([]);
  expect(await desk.seats()).toEqual([]);
});

test.each([
  ["lock", "A1"],
  ["block", "Pit:1"],
] as const)("after %s of %s v1 does not delete the price: 409", async (kind, object) => {
  const desk = new PriceDesk();
  await desk.book(kind, null, object);
  const before = desk.digest;
  expectProblem(await desk.delete(`${PRICES}?id=${desk.a.priceId}`), IN_USE);
  expect(desk.digest).toBe(before);
});

const DELETIONS: readonly (readonly [string, string, ExpectedProblem])[] = [
  ["no id", "", invalid("id NOT_NULL")],
  ["a malformed id", "?id=x", invalid("id TYPE")],
  ["an unknown price", "?id=999999", { status: 400, errorCode: "ENTITY_NOT_FOUND" }],
  ["a foreign price", `?id=${b.priceId}`, DENIED],
];

test.each(DELETIONS)("v1 refuses to delete %s", async (_, query, expected) => {
  expectProblem(await prices.delete(PRICES + query), expected);
});

class AssignmentDesk extends Desk {
  readonly half = this.world.createPrice("Half");
  readonly full = this.a.priceId;

  priced(price: number, ...objects: readonly string[]): Entry[] {
    return this.entries(...objects).map((entry) => ({ ...entry, price }));
  }

  path(rest = "/"): string {
    return `${V1}/assignments${rest}?id=${this.a.eventId}`;
  }

  /** Assigns, and expects that the entries at these positions are returned. */
  async assigns(entries: readonly Entry[], failed: readonly number[] = [], query = "") {
    const reply = await this.post(this.path() + query, entries);
    expect([reply.status, reply.body]).toEqual([200, failed.map((i) => entries[i])]);
    expectConsistent(this.world);
  }

  async unassigns(objects: readonly string[], failed: readonly string[] = []) {
    const options = { ...this.a, body: this.entries(...objects) };
    const reply = await this.call("DELETE", this.path(), options);
    expect([reply.status, reply.body]).toEqual([200, this.entries(...failed)]);
    expectConsistent(this.world);
  }

  async cleans() {
    const reply = await this.post(this.path("/clean"));
    expect([reply.status, reply.text]).toEqual([200, "true"]);
    expectConsistent(this.world);
  }

  /** `label state price` of the seats of row A that are listed. */
  async rowA(): Promise<string[]> {
    const seats = (await this.seats()).filter(({ rowName }) => rowName === "A");
    return seats.map(
      ({ seatName, state, priceName }) => `A${seatName} ${state} ${priceName ?? null}`,
    );
  }
}

/** The rest of row A, which nothing happened to. */
const active = (from: number) =>
  [1, 2, 3, 4, 5, 6].slice(from - 1).map((number) => `A${number} ACTIVE Full`);

test("v1 assigns a price to seats and areas", async () => {
  const desk = new AssignmentDesk();
  await desk.book("lock", "s", "A2", "Pit:4");
  await desk.assigns(desk.priced(desk.half, "A1", "A2", "Pit:30"));
  expect(await desk.rowA()).toEqual(["A1 ACTIVE Half", "A2 LOCKED Half", ...active(3)]);
  expect(await desk.pit()).toEqual([26, 4, 0, 0]);
});

test("v1 returns the assignments that fail, with all their members", async () => {
  const desk = new AssignmentDesk();
  await desk.book("lock", "s", "Pit:4");
  const entries = [
    { compositeKey: "Nowhere", price: desk.half, properties: { colour: "red" } },
    ...desk.priced(desk.half, "A1", "Pit", "Pit:3", "B9"),
    ...desk.priced(999_999, "A2"),
    ...desk.priced(desk.b.priceId, "A3", "Pit:50"),
    { compositeKey: "Stalls;;A;;4", price: desk.half, properties: null },
  ];
  await desk.assigns(entries, [0, 2, 3, 4, 5, 6, 7]);
  const [, second, third] = active(1);
  const rowA = ["A1 ACTIVE Half", second, third, "A4 ACTIVE Half", ...active(5)];
  expect(await desk.rowA()).toEqual(rowA);
  expect(await desk.pit()).toEqual([96, 4, 0, 0]);
});

test("of two v1 assignments to one object the later one counts", async () => {
  const desk = new AssignmentDesk();
  const { half, full } = desk;
  await desk.assigns([...desk.priced(half, "A1", "Pit:9"), ...desk.priced(full, "A1", "Pit:7")]);
  expect(await desk.rowA()).toEqual(active(1));
  expect(await desk.pit()).toEqual([7, 0, 0, 0]);
});

test("v1 assignments with clean remove all other prices, except of what is sold", async () => {
  const desk = new AssignmentDesk();
  await desk.book("lock", "s", "A1", "Pit:4");
  await desk.book("directsale", null, "A2", "Pit:5");
  await desk.book("block", null, "A3", "Pit:6");
  const entries = desk.priced(desk.half, "A1", "A4", "Nowhere", "Pit:15");
  await desk.assigns(entries, [2], "&clean=true");
  expect(await desk.rowA()).toEqual(["A1 ACTIVE Half", "A2 SOLD Full", "A4 ACTIVE Half"]);
  expect(await desk.pit()).toEqual([0, 4, 5, 6]);
});

test("v1 assignments with clean take prices away even when nothing is assigned", async () => {
  for (const objects of [[], ["Nowhere"]]) {
    const desk = new AssignmentDesk();
    const entries = desk.priced(desk.half, ...objects);
    await desk.assigns(entries, [...entries.keys()], "&clean=true");
    expect(await desk.seats()).toEqual([]);
  }
});

test("v1 assignments without entries change nothing", async () => {
  const desk = new AssignmentDesk();
  const before = desk.digest;
  await desk.assigns([]);
  expect(desk.digest).toBe(before);
});

test("v1 clean removes prices of locked seats too, but not of what is sold", async () => {
  const desk = new AssignmentDesk();
  await desk.book("lock", "s", "A1", "Pit:4");
  await desk.book("directsale", null, "A2", "Pit:5");
  await desk.book("block", null, "A3", "Pit:6");
  await desk.cleans();
  expect(await desk.rowA()).toEqual(["A2 SOLD Full"]);
  expect(await desk.pit()).toEqual([85, 4, 5, 6]);
  expectProblem(await desk.delete(`${V1}/prices/?id=${desk.full}`), {
    status: 409,
    errorCode: "INVENTORY_IN_USE",
  });
  const before = desk.digest;
  await desk.cleans();
  expect(desk.digest).toBe(before);
});

test("v1 deletes assignments, whatever the capacity in the request", async () => {
  const desk = new AssignmentDesk();
  await desk.unassigns(["A1", "Pit", "A1"]);
  await desk.unassigns(["A1", "Pit:7"]);
  expect(await desk.rowA()).toEqual(active(2));
  expect(await desk.pit()).toEqual([0, 0, 0, 0]);
  await desk.books("lock", ["A1", "Pit:1"], ["A1", "Pit:1"]);
});

test("v1 does not delete assignments of objects that are in use or unknown", async () => {
  const desk = new AssignmentDesk();
  await desk.book("lock", "s", "A1");
  await desk.book("directsale", null, "A2", "Pit:1");
  await desk.book("block", null, "A3");
  const failed = ["A1", "Stalls", "A3", "Pit", "A2"];
  await desk.unassigns(["A1", "Stalls", "A4", "A3", "Pit", "A2"], failed);
  const taken = ["A1 LOCKED Full", "A2 SOLD Full", "A3 BLOCKED Full"];
  expect(await desk.rowA()).toEqual([...taken, ...active(5)]);
});

test("v1 does not delete the assignment of an area that has only blocked places", async () => {
  const desk = new AssignmentDesk();
  await desk.book("block", null, "Pit:2");
  await desk.unassigns(["Pit"], ["Pit"]);
  expect((await desk.pit())[3]).toBe(2);
});

test.each([
  [{ price: 1 }, "[0].compositeKey NOT_NULL"],
  [{ compositeKey: "Pit" }, "[0].price NOT_NULL"],
  [{ compositeKey: "Pit", price: "1" }, "[0].price TYPE"],
  [{ compositeKey: "Pit", price: 0 }, "[0].price RANGE"],
  [{ compositeKey: "Pit", price: 1, capacity: -1 }, "[0].capacity RANGE"],
])("v1 refuses the assignment %j", async (entry, error) => {
  const desk = new AssignmentDesk();
  expectProblem(await desk.post(desk.path(), [entry]), invalid(error));
});

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

const SCHEMAS = `${V1}/venues/schemas/`;

class SchemaDesk extends Desk {
  async list(query = ""): Promise<readonly SchemaBody[]> {
    const reply = await this.get<readonly SchemaBody[]>(SCHEMAS + query);
    expect(reply.status).toBe(200);
    return reply.body;
  }

  async ids(query = ""): Promise<readonly number[]> {
    return (await this.list(query)).map(({ id }) => id);
  }

  async metadata(query = ""): Promise<Metadata> {
    const reply = await this.get<Metadata>(`${SCHEMAS}${this.a.schemaId}/${query}`);
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
    expectProblem(await desk.get(`${SCHEMAS}${id}/${end}`), expected);
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
  expectProblem(await new Desk().get(`${SCHEMAS}?${query}`), invalid(error));
});

test("the v1 details show the capacity of the layout", async () => {
  const desk = new SchemaDesk();
  const { schemaId, venueId, eventId } = desk.b;
  const reply = await desk.get(`${SCHEMAS}${schemaId}/details/`, desk.b);
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
    const reply = await desk.get<SchemaBody>(`${SCHEMAS}${id}/details/`);
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
  const reply = await desk.get(`${SCHEMAS}${desk.createSchema("Empty")}/`);
  expect([reply.status, reply.body]).toEqual([200, { sectors: [] }]);
});

test.each(["", "details/"])(
  "the v1 schema at %s is 400 for an unknown or malformed id, and 403 for a foreign one",
  async (end) => {
    const desk = new Desk();
    const read = (id: number | string) => desk.get(`${SCHEMAS}${id}/${end}`);
    expectProblem(await read("x"), invalid("schemaId TYPE"));
    expectProblem(await read(999_999), { status: 400, errorCode: "ENTITY_NOT_FOUND" });
    expectProblem(await read(desk.b.schemaId), DENIED);
  },
);

test("a flag of the v1 metadata is true or false", async () => {
  const desk = new SchemaDesk();
  const reply = await desk.get(`${SCHEMAS}${desk.a.schemaId}/?numberedSections=yes`);
  expectProblem(reply, invalid("numberedSections TYPE"));
});
