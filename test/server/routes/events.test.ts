/** The rows that create, read and list events, and change their status. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { expectPage, expectProblem, invalid, NOWHERE, UUID } from "../wire/wire.ts";

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

test("an event is a draft when its body says so or its schema is a draft", async () => {
  const server = new TestServer();
  expect((await create(server, { status: "DRAFT" })).status).toBe("DRAFT");
  const { caller, venueId } = server.a;
  const body = { name: "Sketch", venueId, draft: true };
  const { id: schemaId } = server.world.must("createSchema", caller, { body });
  expect((await create(server, { schemaId })).status).toBe("DRAFT");
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
  ["null for the name", { name: null }, "name NOT_NULL"],
  ["no name", { name: undefined }, "name NOT_NULL"],
  ["an empty name", { name: "" }, "name SIZE"],
  ["a name of 256 characters", { name: `${LONG_NAME}x` }, "name SIZE"],
  ["a name of two lines", { name: "a\nb" }, "name FORMAT"],
  ["a number for the name", { name: 7 }, "name TYPE"],
  ["no start", { start: undefined }, "start NOT_NULL"],
  ["a start with an offset", { start: "2026-06-01T19:30:00Z" }, "start FORMAT"],
  ["a date for the start", { start: "2026-06-01" }, "start FORMAT"],
  ["a start on 30 February", { start: "2026-02-30T19:30:00" }, "start FORMAT"],
  ["a start at 24:00", { start: "2026-02-03T24:00:00" }, "start FORMAT"],
  ["no end", { endDate: undefined }, "endDate NOT_NULL"],
  ["an end before the start", { endDate: "2026-06-01T19:29:59" }, "endDate RANGE"],
  ["no schema", { schemaId: undefined }, "schemaId NOT_NULL"],
  ["a string for the schema", { schemaId: "1" }, "schemaId TYPE"],
  ["a schema beyond 2^53", { schemaId: 2 ** 53 }, "schemaId RANGE"],
  ["an unknown schema", { schemaId: 999_999 }, "schemaId NOT_FOUND"],
  ["a schema of organization B", { schemaId: unchanged.b.schemaId }, "schemaId NOT_FOUND"],
  ["a schema of organization C", { schemaId: unchanged.c.schemaId }, "schemaId NOT_FOUND"],
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
  for (const name of ["x", LONG_NAME, "🎭".repeat(255), "ליל הפתיחה", "  a  b  "]) {
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

const { a, b } = festival;
const FILTERS: readonly (readonly [string, readonly string[]])[] = [
  ["name=LPH", ["alpha"]],
  ["name=a", ["Beta", "alpha"]],
  ["name=.*", ["100% .*"]],
  ["name=%25", ["100% .*"]],
  ["name=zzz", []],
  ["startDate=2026-01-02", ["100% .*", "Beta", "Night"]],
  ["startDate=2026-01-02T10:00", ["100% .*", "Beta", "Night"]],
  ["startDate=2026-01-02T10:00:00.001", ["Night"]],
  ["endDate=2026-01-02T12:00:00.5", ["Beta", "alpha"]],
  ["endDate=2026-01-02T12:00:00.500", ["Beta", "alpha"]],
  ["endDate=2026-01-02T12:00:00.499", ["alpha"]],
  ["endDate=2026-01-03", ["100% .*", "Beta", "alpha"]],
  ["startDate=2026-01-02&endDate=2026-01-02T23:59", ["Beta"]],
  ["status=PUBLISHED", ["100% .*", "Beta", "Night", "alpha"]],
  ["status=DRAFT", []],
  ["schemaId=999999", []],
  ["venueId=999999", []],
  [`id=${a.eventId}`, ["Night"]],
  [`id=${b.eventId}`, []],
  [`schemaId=${a.schemaId}&venueId=${a.venueId}`, ["100% .*", "Beta", "Night", "alpha"]],
  [`schemaId=${b.schemaId}`, []],
];

test.each(FILTERS)("the list filtered by %s contains %j", async (query, names) => {
  expect((await list(festival, `?${query}`)).sort()).toEqual(names);
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
  ["schemaId=0", "schemaId RANGE"],
  ["schemaId=9007199254740993", "schemaId RANGE"],
  ["startDate=yesterday", "startDate FORMAT"],
  ["startDate=2026-01-02T10:00:00Z", "startDate FORMAT"],
  ["endDate=2026-13-01", "endDate FORMAT"],
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
