/** The rows of series. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { expectPage, expectProblem, NOWHERE } from "../wire/wire.ts";

const SERIES = `${V2}/series/`;
const INVALID = { status: 400, errorCode: "VALIDATION_FAILED" };
const NOT_FOUND = { status: 404, errorCode: "ENTITY_NOT_FOUND" };
const DENIED = { status: 403, errorCode: "ACCESS_DENIED" };

interface SeriesBody {
  readonly id: number;
  readonly name: string;
}

async function create(server: TestServer, name: string, { key } = server.a): Promise<SeriesBody> {
  const reply = await server.call<SeriesBody>("POST", SERIES, { key, body: { name } });
  expect(reply.status).toBe(201);
  return reply.body;
}

test("POST /api/private/v2.0/series/ creates a series with a name", async () => {
  const server = new TestServer();
  const { id } = await create(server, "Ring");
  expect(await create(server, "Ring")).toEqual({ id: id + 1, name: "Ring" });
  for (const [body, error] of [
    [{}, "name NOT_NULL"],
    [{ name: "" }, "name SIZE"],
    [{ name: 7 }, "name TYPE"],
  ] as const) {
    const reply = await server.call("POST", SERIES, { key: server.a.key, body });
    expectProblem(reply, { ...INVALID, path: SERIES, errors: [error] });
  }
  const reply = await server.call("POST", SERIES, { body: { name: "x" } });
  expectProblem(reply, { ...DENIED, path: SERIES });
});

test("GET /api/private/v2.0/series/ gives pages of the caller's own series", async () => {
  const server = new TestServer();
  const made = [await create(server, "B"), await create(server, "A")];
  await create(server, "Foreign", server.b);
  const { key } = server.a;
  const read = (query: string) =>
    server.call<PageBody<SeriesBody>>("GET", `${SERIES}${query}`, { key });
  const all = await read("");
  expectPage(all, { total: 2, count: 2 });
  expect(all.body.content).toEqual(made);
  expect((await read("?sort=name&size=1")).body.content).toEqual([made[1]]);
  const bad = await server.call("GET", `${SERIES}?sort=colour`, { key });
  expectProblem(bad, { ...INVALID, path: SERIES, errors: ["sort UNKNOWN"] });
  expectProblem(await server.call("GET", SERIES), { ...DENIED, path: SERIES });
});

test("PUT /api/private/v2.0/events/{id}/series binds an event and sets it free", async () => {
  const server = new TestServer();
  const { eventId, key } = server.a;
  const { id: seriesId } = await create(server, "Ring");
  const path = `${V2}/events/${eventId}/series`;
  for (const body of [{ seriesId }, { seriesId: null }]) {
    const reply = await server.call("PUT", path, { key, body });
    expect([reply.status, reply.body]).toEqual([200, { id: eventId, name: "Night", ...body }]);
  }
});

test("PUT /api/private/v2.0/events/{id}/series refuses what it cannot bind", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const { id: foreign } = await create(server, "Foreign", b);
  const { id: seriesId } = await create(server, "Ring");
  const cases: [string, unknown, object][] = [
    [a.eventId, {}, { ...INVALID, errors: ["seriesId NOT_NULL"] }],
    [a.eventId, { seriesId: "x" }, { ...INVALID, errors: ["seriesId TYPE"] }],
    [a.eventId, { seriesId: foreign }, { ...INVALID, errors: ["seriesId NOT_FOUND"] }],
    ["7", { seriesId }, { ...INVALID, errors: ["id FORMAT"] }],
    [NOWHERE, { seriesId }, NOT_FOUND],
    [b.eventId, { seriesId }, DENIED],
  ];
  const before = server.digest;
  for (const [eventId, body, expected] of cases) {
    const path = `${V2}/events/${eventId}/series`;
    const reply = await server.call("PUT", path, { key: a.key, body });
    expectProblem(reply, { ...(expected as typeof NOT_FOUND), path });
  }
  expect(server.digest).toBe(before);
});

test("DELETE /api/private/v2.0/series/{id} leaves its events, which may move again", async () => {
  const server = new TestServer();
  const { eventId, key, schemaId } = server.a;
  const { id: seriesId } = await create(server, "Ring");
  await server.call("PUT", `${V2}/events/${eventId}/series`, { key, body: { seriesId } });
  const reply = await server.call("DELETE", `${SERIES}${seriesId}`, { key });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  const times = { start: "2026-06-01T20:00", endDate: "2026-06-01T23:00" };
  const body = { id: eventId, name: "Night", schemaId, ...times };
  expect((await server.call("PUT", `${V2}/events/`, { key, body })).status).toBe(200);
});

test(`DELETE ${V2}/series/{id} is 404, 403 and 400 for what it cannot name`, async () => {
  const server = new TestServer();
  const { id: foreign } = await create(server, "Foreign", server.b);
  for (const [id, expected] of [
    [999_999, NOT_FOUND],
    [foreign, DENIED],
    ["x", { ...INVALID, errors: ["id TYPE"] }],
  ] as const) {
    const path = `${SERIES}${id}`;
    const reply = await server.call("DELETE", path, { key: server.a.key });
    expectProblem(reply, { ...expected, path });
  }
});
