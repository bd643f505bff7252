/** The rows that create, read and list events, and change their status. */
import { expect, test } from "vitest";
import { type House, type PageBody, TestServer, V2 } from "../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectPage,
  expectProblem,
  IN_USE,
  invalid,
  NO_ID,
  NOT_FOUND,
  NOWHERE,
  UUID,
} from "../wire/wire.ts";

/** For requests that are refused: it never changes. */
const unchanged = new TestServer();

const EVENTS = `${V2}/events/`;

interface EventBody {
  readonly id: string;
  readonly createdDate: string;
  readonly start: string;
  readonly endDate: string;
  readonly name: string;
  readonly schemaId: number;
  readonly status: string;
}

function bodyOf(server: TestServer, changes: object = {}): object {
  const { schemaId } = server.a;
  const times = { start: "2026-06-01T19:30:00", endDate: "2026-06-01T22:00:00" };
  return { name: "Première", ...times, schemaId, ...changes };
}

async function create(server: TestServer, changes: object = {}): Promise<EventBody> {
  const reply = await server.post<EventBody>(EVENTS, bodyOf(server, changes));
  expect(reply.status).toBe(201);
  return reply.body;
}

test("a new event has an id, its creation date and a status", async () => {
  const server = new TestServer();
  const event = await create(server);
  expect(event).toEqual({
    id: expect.stringMatching(UUID) as string,
    createdDate: "2026-03-19T10:00:00.000",
    start: "2026-06-01T19:30:00",
    endDate: "2026-06-01T22:00:00",
    name: "Première",
    schemaId: server.a.schemaId,
    status: "PUBLISHED",
  });
});

test("null for id and createdDate is accepted, and internal members are ignored", async () => {
  const server = new TestServer();
  const { b } = server;
  const ignored = { organizationId: b.id, partition: 1, state: "SOLD" };
  const event = await create(server, { id: null, createdDate: null, ...ignored });
  expect((await server.get(EVENTS + event.id)).status).toBe(200);
  expect((await server.get(EVENTS + event.id, b)).status).toBe(403);
});

const LONG_NAME = "x".repeat(255);
const INVALID: readonly (readonly [string, object, string])[] = [
  ["an id", { id: NOWHERE }, "id TYPE"],
  ["no name", { name: undefined }, "name NOT_NULL"],
  ["no start", { start: undefined }, "start NOT_NULL"],
  ["a date for the start", { start: "2026-06-01" }, "start FORMAT"],
  ["an end before the start", { endDate: "2026-06-01T19:29:59" }, "endDate RANGE"],
  ["an unknown schema", { schemaId: 999_999 }, "schemaId NOT_FOUND"],
  ["a schema of organization B", { schemaId: unchanged.b.schemaId }, "schemaId NOT_FOUND"],
  ["an unknown status", { status: "OPEN" }, "status ENUM"],
];

test.each(INVALID)("an event with %s is refused", async (_, changes, error) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.post(EVENTS, bodyOf(unchanged, changes)), invalid(error));
  expect(unchanged.digest).toBe(before);
});

test("a refusal names all wrong fields", async () => {
  const reply = await unchanged.post(EVENTS, { start: 1 });
  const fields = reply.body.errors.map(({ field }) => field).sort();
  expect(fields).toEqual(["endDate", "name", "schemaId", "start"]);
});

test("names of 1 to 255 characters are kept, with emoji and right-to-left text", async () => {
  const server = new TestServer();
  for (const name of ["x", LONG_NAME, "🎭".repeat(255), "ליל הפתיחה", "a b"]) {
    expect((await create(server, { name })).name).toBe(name);
  }
});

test("reading an event by id shows its schema and its venue", async () => {
  const server = new TestServer();
  const made = await create(server);
  const reply = await server.get<object>(EVENTS + made.id.toUpperCase());
  expect(reply.status).toBe(200);
  const venueId = String(server.a.venueId);
  expect(reply.body).toEqual({ ...made, schemaName: "Plan", venueId, venueName: "House" });
});

async function list(server: TestServer, query: string, house = server.a): Promise<string[]> {
  const reply = await server.get<PageBody<EventBody>>(EVENTS + query, house);
  expect([query, reply.status]).toEqual([query, 200]);
  return reply.body.content.map(({ name }) => name);
}

/** Three events besides the event of A, which is called Night. */
const festival = new TestServer();
await create(festival, { name: "alpha", start: "2026-01-01T10:00", endDate: "2026-01-01T12:00" });
const second = { start: "2026-01-02T10:00", endDate: "2026-01-02T12:00:00.5" };
await create(festival, { name: "Beta", ...second });
await create(festival, { name: "100% .*", ...second, endDate: "2026-01-03T00:00" });

test("the list shows the events of the caller in the order of their creation", async () => {
  const reply = await festival.get<PageBody<EventBody>>(EVENTS);
  expectPage(reply, { total: 4, count: 4 });
  const ids = reply.body.content.map(({ id }) => id);
  expect(await list(festival, "")).toEqual(["Night", "alpha", "Beta", "100% .*"]);
  const byId = await festival.get<PageBody<EventBody>>(`${EVENTS}?sort=venueName`);
  expect(byId.body.content.map(({ id }) => id)).toEqual([...ids].sort());
  const one = await festival.get<object>(EVENTS + ids[0]);
  expect(reply.body.content[0]).toEqual(one.body);
  expect(await list(festival, "", festival.b)).toEqual(["Night"]);
  const last = await festival.get<PageBody<EventBody>>(`${EVENTS}?name=a&page=1&size=1`);
  expectPage(last, { number: 1, size: 1, total: 2, count: 1 });
});

const { a: festivalHouse, b: festivalOther } = festival;
const FILTERS: readonly (readonly [string, readonly string[]])[] = [
  ["name=LPH", ["alpha"]],
  ["name=a", ["Beta", "alpha"]],
  ["name=.*", ["100% .*"]],
  ["name=%25", ["100% .*"]],
  ["startDate=2026-01-02", ["100% .*", "Beta", "Night"]],
  ["startDate=2026-01-02T10:00:00.001", ["Night"]],
  ["endDate=2026-01-02T12:00:00.5", ["Beta", "alpha"]],
  ["endDate=2026-01-02T12:00:00.499", ["alpha"]],
  ["endDate=2026-01-03", ["100% .*", "Beta", "alpha"]],
  ["startDate=2026-01-02&endDate=2026-01-02T23:59", ["Beta"]],
  ["status=PUBLISHED", ["100% .*", "Beta", "Night", "alpha"]],
  [`id=${festivalHouse.eventId}`, ["Night"]],
  [`id=${festivalOther.eventId}`, []],
  [
    `schemaId=${festivalHouse.schemaId}&venueId=${festivalHouse.venueId}`,
    ["100% .*", "Beta", "Night", "alpha"],
  ],
  [`schemaId=${festivalOther.schemaId}`, []],
];

test.each(FILTERS)("the list filtered by %s contains %j", async (query, names) => {
  expect((await list(festival, `?${query}`)).sort()).toEqual(names);
});

test("an event whose schema was deleted is at no venue", async () => {
  const server = new TestServer();
  const { schemaId, venueId, caller } = server.a;
  expect(await list(server, `?venueId=${venueId}`)).toEqual(["Night"]);
  server.world.must("deleteSchema", caller, { schemaId });
  expect(await list(server, `?venueId=${venueId}`)).toEqual([]);
});

const SORTS: readonly (readonly [string, readonly string[]])[] = [
  ["sort=name", ["100% .*", "alpha", "Beta", "Night"]],
  ["sort=schemaName&sort=name", ["100% .*", "alpha", "Beta", "Night"]],
  ["sort=name,desc", ["Night", "Beta", "alpha", "100% .*"]],
  ["sort=name,DESC", ["Night", "Beta", "alpha", "100% .*"]],
  ["sort=start,desc&sort=name", ["Night", "100% .*", "Beta", "alpha"]],
  ["sort=start&sort=name,desc", ["alpha", "Beta", "100% .*", "Night"]],
  ["sort=endDate,desc&size=2", ["Night", "100% .*"]],
  ["sort=endDate,desc&size=2&page=1", ["Beta", "alpha"]],
  ["sort=endDate,desc&size=2&page=2", []],
];

test.each(SORTS)("the list with %s is %j", async (query, names) => {
  expect(await list(festival, `?${query}`)).toEqual(names);
});

const BAD_QUERIES: readonly (readonly [string, string])[] = [
  ["status=OPEN", "status ENUM"],
  ["id=7", "id FORMAT"],
  ["schemaId=abc", "schemaId TYPE"],
  ["startDate=yesterday", "startDate FORMAT"],
  [`name=${"x".repeat(256)}`, "name SIZE"],
];

test.each(BAD_QUERIES)("the list refuses the filter %s", async (query, error) => {
  expectProblem(await unchanged.get(`${EVENTS}?${query}`), invalid(error));
});

test("a change of status shows when the event was published; a wrong one is 409", async () => {
  const server = new TestServer();
  const { id, name } = await create(server, { status: "DRAFT" });
  const path = `${EVENTS}${id}/status`;
  server.world.clock.timeMs += 1_234;
  const publishedAt = "2026-03-19T10:00:01.234";
  for (const status of ["PUBLISHED", "ARCHIVED", "DRAFT"]) {
    const reply = await server.post(path, { status });
    expect([reply.status, reply.body]).toEqual([200, { id, name, status, publishedAt }]);
    const again = await server.post(path, { status });
    expectProblem(again, { status: 409, errorCode: "INVALID_STATUS_TRANSITION" });
  }
});

const BAD_STATUSES: readonly (readonly [unknown, string])[] = [
  [{}, "status NOT_NULL"],
  [{ status: null }, "status NOT_NULL"],
  [{ status: "OPEN" }, "status ENUM"],
  [{ status: "published" }, "status ENUM"],
  [[], " TYPE"],
];

test.each(BAD_STATUSES)("a change of status to %j is refused", async (body, error) => {
  const path = `${EVENTS}${unchanged.a.eventId}/status`;
  expectProblem(await unchanged.post(path, body), invalid(error));
});

const bodyOfNight = ({ eventId, schemaId }: House) => ({
  id: eventId,
  name: "Night",
  start: "2026-05-01T20:00",
  endDate: "2026-05-01T23:00",
  schemaId,
});

test(`PUT ${V2}/events/ changes the name and the times, and ignores other members`, async () => {
  const server = new TestServer();
  const { a } = server;
  const times = { start: "2026-05-01T14:00", endDate: "2026-05-01T17:00:00.50" };
  const changes = { name: "Matinée", ...times };
  const ignored = { createdDate: "2000-01-01T00:00:00", status: "DRAFT", organizationId: 1 };
  const id = a.eventId.toUpperCase();
  const reply = await server.put(EVENTS, { ...bodyOfNight(a), ...changes, ...ignored, id });
  const expected = {
    id: a.eventId,
    createdDate: "2026-03-19T10:00:00.000",
    name: "Matinée",
    start: "2026-05-01T14:00:00",
    endDate: "2026-05-01T17:00:00.5",
    schemaId: a.schemaId,
    status: "PUBLISHED",
  };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await server.get(`${EVENTS}${a.eventId}`)).body).toMatchObject(expected);
});
const night = bodyOfNight(unchanged.a);

const REFUSED: readonly (readonly [string, unknown, ExpectedProblem])[] = [
  ["no id", { ...night, id: undefined }, invalid("id NOT_NULL")],
  ["no name", { ...night, name: undefined }, invalid("name NOT_NULL")],
  ["an end before the start", { ...night, endDate: "2026-05-01T19:00" }, invalid("endDate RANGE")],
  ["an unknown schema", { ...night, schemaId: NO_ID }, invalid("schemaId NOT_FOUND")],
  ["an unknown event", { ...night, id: NOWHERE }, NOT_FOUND],
  ["an event of another organization", { ...night, id: unchanged.b.eventId }, DENIED],
];

test.each(REFUSED)("PUT /api/private/v2.0/events/ refuses %s", async (_, sent, expected) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.put(EVENTS, sent), expected);
  expect(unchanged.digest).toBe(before);
});

test("sales are protected, a seat is sold → v2 and v1 delete the event only with force", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  server.world.change({ protectSales: true });
  await server.book("directsale", null, "A1");
  expectProblem(await server.delete(`${EVENTS}${eventId}`), {
    status: 409,
    errorCode: "INVENTORY_IN_USE",
  });
  const v1 = `/api/private/v1.0/events/${eventId}`;
  expectProblem(await server.delete(v1), { status: 400, errorCode: "INVENTORY_IN_USE" });
  expectProblem(await server.delete(`${v1}?force=yes`), invalid("force TYPE"));
  expect((await server.delete(`${EVENTS}${eventId}?force=true`)).status).toBe(204);
});

test("an event is cloned → 201; an unknown one 404, another organization's 403", async () => {
  const server = new TestServer();
  const clone = (eventId: string, body?: unknown) =>
    server.post<EventBody>(`${EVENTS}${eventId}/clone`, body);
  const made = await clone(server.a.eventId, { name: "Next night" });
  expect([made.status, made.body.name]).toEqual([201, "Next night"]);
  expect((await clone(server.a.eventId)).status).toBe(201);
  const unknown = await clone("00000000-0000-4000-8000-00000000beef");
  expectProblem(unknown, { status: 404, errorCode: "ENTITY_NOT_FOUND" });
  expectProblem(await clone(server.b.eventId), { status: 403, errorCode: "ACCESS_DENIED" });
});

test(`PUT ${V2}/events/ changes the schema of held seats only with force`, async () => {
  const server = new TestServer();
  const { world, a } = server;
  await server.book("lock", "s", "A1");
  const schema = { name: "Two", venueId: a.venueId };
  const { id: schemaId } = world.must("createSchema", a.caller, { body: schema });
  const moved = { ...bodyOfNight(a), schemaId };
  expectProblem(await server.put(EVENTS, moved), IN_USE);
  expectProblem(await server.put(`${EVENTS}?force=perhaps`, moved), invalid("force TYPE"));
  expect((await server.put<EventBody>(`${EVENTS}?force=true`, moved)).body.schemaId).toBe(schemaId);
  expect(await server.seats()).toEqual([]);
});

test(`PUT ${V2}/events/ does not move the start of an event in a series`, async () => {
  const server = new TestServer();
  const { world, a } = server;
  const { id: seriesId } = world.must("createSeries", a.caller, { body: { name: "Ring" } });
  world.must("bindEvent", a.caller, { eventId: a.eventId, body: { seriesId } });
  const reply = await server.put(EVENTS, { ...bodyOfNight(a), start: "2026-05-01T19:59" });
  expectProblem(reply, { status: 409, errorCode: "EVENT_BOUND_TO_SERIES" });
  expect(
    (await server.put(EVENTS, { ...bodyOfNight(a), endDate: "2026-05-02T00:00" })).status,
  ).toBe(200);
});

test("a published event does not move to a draft schema", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const draft = { body: { name: "Sketch", venueId: a.venueId, draft: true } };
  const { id: schemaId } = world.must("createSchema", a.caller, draft);
  const errorCode = "INVALID_STATUS_TRANSITION";
  const moved = { ...bodyOfNight(a), schemaId };
  expectProblem(await server.put(EVENTS, moved), { status: 409, errorCode });
  expectProblem(await server.put("/api/private/v1.0/events/", moved), { status: 400, errorCode });
});

test(`DELETE ${V2}/events/{id} removes an event and its prices, even if sold`, async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  await server.book("directsale", null, "A1", "Pit:3");
  const path = `${EVENTS}${eventId}`;
  const reply = await server.delete(path);
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectProblem(await server.delete(path), NOT_FOUND);
  expect((await server.get<PageBody<EventBody>>(EVENTS)).body.content).toEqual([]);
  expect(server.engine.state.catalog.pricesOf(eventId).size).toBe(0);
  const booked = await server.book("lock", "s", "A2");
  expect([booked.status, booked.body.errorCode]).toEqual([403, "EVENT_ACCESS_DENIED"]);
});

const SERIES = `${V2}/series/`;

interface SeriesBody {
  readonly id: number;
  readonly name: string;
}

async function createSeries(server: TestServer, name: string, by = server.a): Promise<SeriesBody> {
  const reply = await server.post<SeriesBody>(SERIES, { name }, by);
  expect(reply.status).toBe(201);
  return reply.body;
}

test("POST /api/private/v2.0/series/ creates a series; names may repeat", async () => {
  const server = new TestServer();
  const { id } = await createSeries(server, "Ring");
  expect(await createSeries(server, "Ring")).toEqual({ id: id + 1, name: "Ring" });
  expectProblem(await server.post(SERIES, {}), invalid("name NOT_NULL"));
  expectProblem(await server.post(SERIES, { name: "" }), invalid("name SIZE"));
  expectProblem(await server.post(SERIES, { name: 7 }), invalid("name TYPE"));
  expectProblem(await server.post(SERIES, { name: "x" }, {}), DENIED);
});

test("GET /api/private/v2.0/series/ lists the series of the caller", async () => {
  const server = new TestServer();
  const made = [await createSeries(server, "B"), await createSeries(server, "A")];
  await createSeries(server, "Foreign", server.b);
  const read = (query: string) => server.get<PageBody<SeriesBody>>(`${SERIES}${query}`);
  const all = await read("");
  expectPage(all, { total: 2, count: 2 });
  expect(all.body.content).toEqual(made);
  expect((await read("?sort=name&size=1")).body.content).toEqual([made[1]]);
  expectProblem(await server.get(SERIES, {}), DENIED);
});

test("PUT /api/private/v2.0/events/{id}/series binds an event and unbinds it", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  const { id: seriesId } = await createSeries(server, "Ring");
  for (const body of [{ seriesId }, { seriesId: null }]) {
    const reply = await server.put(`${V2}/events/${eventId}/series`, body);
    expect([reply.status, reply.body]).toEqual([200, { id: eventId, name: "Night", ...body }]);
  }
});

test("PUT /api/private/v2.0/events/{id}/series refuses what is not a series", async () => {
  const server = new TestServer();
  const { id: foreign } = await createSeries(server, "Foreign", server.b);
  const before = server.digest;
  for (const [body, error] of [
    [{}, "seriesId NOT_NULL"],
    [{ seriesId: "x" }, "seriesId TYPE"],
    [{ seriesId: foreign }, "seriesId NOT_FOUND"],
  ] as const) {
    const reply = await server.put(`${V2}/events/${server.a.eventId}/series`, body);
    expectProblem(reply, invalid(error));
  }
  expect(server.digest).toBe(before);
});

test("v1 refuses to move an event in a series", async () => {
  const server = new TestServer();
  const { eventId: id, schemaId } = server.a;
  const { id: seriesId } = await createSeries(server, "Ring");
  await server.put(`${V2}/events/${id}/series`, { seriesId });
  const body = { id, name: "Night", schemaId, start: "2026-06-01T20:00" };
  const reply = await server.put("/api/private/v1.0/events/", body);
  expectProblem(reply, { status: 400, errorCode: "EVENT_BOUND_TO_SERIES" });
});
