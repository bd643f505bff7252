/** The event rows of the interface. */
import { expect, test } from "vitest";
import { type PageBody, type ProblemBody, TestServer, V2 } from "../../support/server.ts";
import { expectPage, expectProblem, LOCAL_DATE_TIME, NOWHERE, UUID } from "../wire/wire.ts";

/** For what is refused: it never changes. */
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
  const { key } = server.a;
  const reply = await server.call<EventBody>("POST", EVENTS, {
    key,
    body: bodyOf(server, changes),
  });
  expect(reply.status).toBe(201);
  return reply.body;
}

test("an event is created with an id, its date and its status", async () => {
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

test("an event is a draft when its body says so, or its schema is one", async () => {
  const server = new TestServer();
  expect((await create(server, { status: "DRAFT" })).status).toBe("DRAFT");
  const { caller, venueId } = server.a;
  const body = { name: "Sketch", venueId, draft: true };
  const { id: schemaId } = server.world.must("createSchema", caller, { body });
  expect((await create(server, { schemaId })).status).toBe("DRAFT");
});

test("null id and createdDate are as good as absent; no member of ours is written", async () => {
  const server = new TestServer();
  const { b } = server;
  const changes = {
    id: null,
    createdDate: null,
    organizationId: b.id,
    partition: 1,
    state: "SOLD",
  };
  const event = await create(server, changes);
  const { key } = server.a;
  expect((await server.call("GET", EVENTS + event.id, { key })).status).toBe(200);
  expect((await server.call("GET", EVENTS + event.id, { key: b.key })).status).toBe(403);
});

const LONG_NAME = "x".repeat(255);
const INVALID: readonly (readonly [string, object, string])[] = [
  ["an id", { id: NOWHERE }, "id TYPE"],
  ["no name", { name: null }, "name NOT_NULL"],
  ["a missing name", { name: undefined }, "name NOT_NULL"],
  ["an empty name", { name: "" }, "name SIZE"],
  ["a name of 256", { name: `${LONG_NAME}x` }, "name SIZE"],
  ["a name of two lines", { name: "a\nb" }, "name FORMAT"],
  ["a name as a number", { name: 7 }, "name TYPE"],
  ["no start", { start: undefined }, "start NOT_NULL"],
  ["a start with an offset", { start: "2026-06-01T19:30:00Z" }, "start FORMAT"],
  ["a start that is a date", { start: "2026-06-01" }, "start FORMAT"],
  ["a start on 30 February", { start: "2026-02-30T19:30:00" }, "start FORMAT"],
  ["a start at 24 o'clock", { start: "2026-02-03T24:00:00" }, "start FORMAT"],
  ["no end", { endDate: undefined }, "endDate NOT_NULL"],
  ["an end before the start", { endDate: "2026-06-01T19:29:59" }, "endDate RANGE"],
  ["no schema", { schemaId: undefined }, "schemaId NOT_NULL"],
  ["a schema as text", { schemaId: "1" }, "schemaId TYPE"],
  ["a schema beyond 2^53", { schemaId: 2 ** 53 }, "schemaId RANGE"],
  ["a schema that is nobody's", { schemaId: 999_999 }, "schemaId NOT_FOUND"],
  ["an unknown status", { status: "OPEN" }, "status ENUM"],
];

test.each(INVALID)("an event with %s is refused", async (_, changes, error) => {
  const before = unchanged.digest;
  const { key } = unchanged.a;
  const reply = await unchanged.call("POST", EVENTS, { key, body: bodyOf(unchanged, changes) });
  const errors = [error];
  expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: EVENTS, errors });
  expect(unchanged.digest).toBe(before);
});

test("another organization's schema is as good as none", async () => {
  const server = new TestServer();
  const { a, b, c } = server;
  for (const { schemaId } of [b, c]) {
    const body = bodyOf(server, { schemaId });
    const reply = await server.call("POST", EVENTS, { key: a.key, body });
    const errors = ["schemaId NOT_FOUND"];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: EVENTS, errors });
  }
});

test("all that is wrong is said at once", async () => {
  const server = new TestServer();
  const reply = await server.call("POST", EVENTS, { key: server.a.key, body: { start: 1 } });
  const fields = reply.body.errors.map(({ field }) => field).sort();
  expect(fields).toEqual(["endDate", "name", "schemaId", "start"]);
});

test("names of 1 and of 255 code points are kept, emoji and right-to-left too", async () => {
  const server = new TestServer();
  for (const name of ["x", LONG_NAME, "🎭".repeat(255), "ליל הפתיחה", "  a  b  "]) {
    expect((await create(server, { name })).name).toBe(name);
  }
});

test("an event read by id carries its schema and its venue", async () => {
  const server = new TestServer();
  const { key, schemaId, venueId } = server.a;
  const made = await create(server);
  const reply = await server.call<object>("GET", EVENTS + made.id.toUpperCase(), { key });
  expect(reply.status).toBe(200);
  const more = { schemaName: "Plan", venueId: String(venueId), venueName: "House" };
  expect(reply.body).toEqual({ ...made, schemaId, ...more });
});

test("an event that is nowhere is 404, another organization's 403, no UUID 400", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const cases: [string, number, string, string[]][] = [
    [NOWHERE, 404, "ENTITY_NOT_FOUND", []],
    [server.b.eventId, 403, "ACCESS_DENIED", []],
    [server.c.eventId, 403, "ACCESS_DENIED", []],
    ["7", 400, "VALIDATION_FAILED", ["id FORMAT"]],
    ["%20", 400, "VALIDATION_FAILED", ["id FORMAT"]],
  ];
  for (const [id, status, errorCode, errors] of cases) {
    for (const rest of ["", "/seats/", "/areas/"]) {
      const path = `${EVENTS}${id}${rest}`;
      expectProblem(await server.call("GET", path, { key }), { status, errorCode, path, errors });
    }
    const path = `${EVENTS}${id}/status`;
    const reply = await server.call("POST", path, { key, body: { status: "ARCHIVED" } });
    expectProblem(reply, { status, errorCode, path, errors });
  }
});

async function list(server: TestServer, query: string, key = server.a.key): Promise<string[]> {
  const reply = await server.call<PageBody<EventBody>>("GET", EVENTS + query, { key });
  expect([query, reply.status]).toEqual([query, 200]);
  return reply.body.content.map(({ name }) => name);
}

/** Events besides the server's own, which is called Night. */
async function festival(): Promise<TestServer> {
  const server = new TestServer();
  await create(server, { name: "alpha", start: "2026-01-01T10:00", endDate: "2026-01-01T12:00" });
  await create(server, {
    name: "Beta",
    start: "2026-01-02T10:00",
    endDate: "2026-01-02T12:00:00.5",
  });
  await create(server, { name: "100% .*", start: "2026-01-02T10:00", endDate: "2026-01-03T00:00" });
  return server;
}

test("the list gives pages of the caller's own events, in order of id", async () => {
  const server = await festival();
  const { key } = server.a;
  const reply = await server.call<PageBody<EventBody>>("GET", EVENTS, { key });
  expectPage(reply, { total: 4, count: 4 });
  const ids = reply.body.content.map(({ id }) => id);
  expect(ids).toEqual([...ids].sort());
  const one = await server.call<object>("GET", EVENTS + ids[0], { key });
  expect(reply.body.content[0]).toEqual(one.body);
  expect(await list(server, "", server.b.key)).toEqual(["Night"]);
});

const FILTERS: readonly (readonly [string, readonly string[]])[] = [
  ["name=LPH", ["alpha"]],
  ["name=a", ["alpha", "Beta"]],
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
];

test("each filter narrows the list, literally and without regard to case", async () => {
  const server = await festival();
  for (const [query, names] of FILTERS) {
    const expected = [...names].sort();
    expect([query, (await list(server, `?${query}`)).sort()]).toEqual([query, expected]);
  }
  const { eventId, schemaId, venueId } = server.a;
  expect(await list(server, `?id=${eventId}`)).toEqual(["Night"]);
  expect(await list(server, `?id=${server.b.eventId}`)).toEqual([]);
  expect((await list(server, `?schemaId=${schemaId}&venueId=${venueId}`)).length).toBe(4);
  expect(await list(server, `?schemaId=${server.b.schemaId}`)).toEqual([]);
});

const SORTS: readonly (readonly [string, readonly string[]])[] = [
  ["sort=name", ["100% .*", "Beta", "Night", "alpha"]],
  ["sort=name,asc", ["100% .*", "Beta", "Night", "alpha"]],
  ["sort=name,desc", ["alpha", "Night", "Beta", "100% .*"]],
  ["sort=name,DESC", ["alpha", "Night", "Beta", "100% .*"]],
  ["sort=start,desc&sort=name", ["Night", "100% .*", "Beta", "alpha"]],
  ["sort=start&sort=name,desc", ["alpha", "Beta", "100% .*", "Night"]],
  ["sort=endDate,desc&size=2", ["Night", "100% .*"]],
  ["sort=endDate,desc&size=2&page=1", ["Beta", "alpha"]],
  ["sort=endDate,desc&size=2&page=2", []],
];

test("the list sorts by several criteria, ascending where nothing is said", async () => {
  const server = await festival();
  for (const [query, names] of SORTS) {
    expect([query, await list(server, `?${query}`)]).toEqual([query, names]);
  }
});

const BAD_QUERIES: readonly (readonly [string, string])[] = [
  ["page=-1", "page RANGE"],
  ["page=abc", "page TYPE"],
  ["page=1.5", "page TYPE"],
  ["page=", "page TYPE"],
  ["page=1&page=2", "page TYPE"],
  ["size=0", "size RANGE"],
  ["size=101", "size RANGE"],
  ["size=abc", "size TYPE"],
  ["size=1e2", "size TYPE"],
  ["size=1000000000", "size RANGE"],
  ["sort=nothing", "sort UNKNOWN"],
  ["sort=name,up", "sort UNKNOWN"],
  ["sort=name,asc,desc", "sort UNKNOWN"],
  ["sort=name&sort=__proto__", "sort UNKNOWN"],
  ["sort=", "sort UNKNOWN"],
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

test("a query that is not valid is refused, never bent", async () => {
  const server = new TestServer();
  const { key } = server.a;
  for (const [query, error] of BAD_QUERIES) {
    const reply = await server.call("GET", `${EVENTS}?${query}`, { key });
    const errors = [error];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: EVENTS, errors });
  }
});

test("the page past the end is empty, the last page says so", async () => {
  const server = await festival();
  const { key } = server.a;
  const pages: [string, { number: number; size: number; total: number; count: number }][] = [
    ["page=0&size=3", { number: 0, size: 3, total: 4, count: 3 }],
    ["page=1&size=3", { number: 1, size: 3, total: 4, count: 1 }],
    ["page=2&size=3", { number: 2, size: 3, total: 4, count: 0 }],
    ["page=99&size=100", { number: 99, size: 100, total: 4, count: 0 }],
    ["name=nothing&size=5", { number: 0, size: 5, total: 0, count: 0 }],
  ];
  for (const [query, expected] of pages) {
    expectPage(await server.call<PageBody<object>>("GET", `${EVENTS}?${query}`, { key }), expected);
  }
});

test("an event goes from draft to published to archived and back, and no other way", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const { id, name } = await create(server, { status: "DRAFT" });
  const path = `${EVENTS}${id}/status`;
  const change = (status: string) =>
    server.call<ProblemBody & { publishedAt: string | null }>("POST", path, {
      key,
      body: { status },
    });
  server.world.clock.timeMs += 1_234;
  for (const [status, publishedAt] of [
    ["PUBLISHED", "2026-03-19T10:00:01.234"],
    ["ARCHIVED", "2026-03-19T10:00:01.234"],
    ["DRAFT", "2026-03-19T10:00:01.234"],
  ] as const) {
    for (const wrong of ["DRAFT", "PUBLISHED", "ARCHIVED"].filter((other) => other !== status)) {
      const refused = await change(wrong);
      expectProblem(refused, { status: 409, errorCode: "INVALID_STATUS_TRANSITION", path });
    }
    const reply = await change(status);
    expect([reply.status, reply.body]).toEqual([200, { id, name, status, publishedAt }]);
    expect(reply.body.publishedAt).toMatch(LOCAL_DATE_TIME);
  }
});

test("a status that is none is refused", async () => {
  const server = new TestServer();
  const { key, eventId } = server.a;
  const path = `${EVENTS}${eventId}/status`;
  for (const [body, error] of [
    [{}, "status NOT_NULL"],
    [{ status: null }, "status NOT_NULL"],
    [{ status: "OPEN" }, "status ENUM"],
    [{ status: "published" }, "status ENUM"],
    [[], " TYPE"],
  ] as const) {
    const reply = await server.call("POST", path, { key, body });
    const errors = [error];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  }
});
