/** The rows that change and delete events. */
import { expect, test } from "vitest";
import { type House, type PageBody, TestServer, V2 } from "../../support/server.ts";
import { Booth } from "../onsale/booth.ts";
import { expectProblem, NOWHERE } from "../wire/wire.ts";

const EVENTS = `${V2}/events/`;
const INVALID = { status: 400, errorCode: "VALIDATION_FAILED" };

interface EventBody {
  readonly id: string;
  readonly createdDate: string;
  readonly start: string;
  readonly endDate: string;
  readonly name: string;
  readonly schemaId: number;
  readonly status: string;
}

function bodyOf({ eventId, schemaId }: House): Omit<EventBody, "createdDate" | "status"> {
  return {
    id: eventId,
    name: "Night",
    start: "2026-05-01T20:00",
    endDate: "2026-05-01T23:00",
    schemaId,
  };
}

function put(server: TestServer, body: unknown, query = "") {
  return server.call<EventBody>("PUT", `${EVENTS}${query}`, { key: server.a.key, body });
}

async function refused(server: TestServer, body: unknown, query = "") {
  return server.call("PUT", `${EVENTS}${query}`, { key: server.a.key, body });
}

/** A schema of A without a layout. */
function emptySchema({ world, a }: TestServer): number {
  return world.must("createSchema", a.caller, { body: { name: "Two", venueId: a.venueId } }).id;
}

test(`PUT ${V2}/events/ changes name and times, and nothing that is not its own`, async () => {
  const server = new TestServer();
  const { a } = server;
  const times = { start: "2026-05-01T14:00", endDate: "2026-05-01T17:00:00.50" };
  const changes = { name: "Matinée", ...times };
  const ignored = { createdDate: "2000-01-01T00:00:00", status: "DRAFT", organizationId: 1 };
  const id = a.eventId.toUpperCase();
  const reply = await put(server, { ...bodyOf(a), ...changes, ...ignored, id });
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
  const read = await server.call("GET", `${EVENTS}${a.eventId}`, { key: a.key });
  expect(read.body).toMatchObject(expected);
});

test.each<[string, (body: object) => unknown, string[]]>([
  ["no id", (body) => ({ ...body, id: undefined }), ["id NOT_NULL"]],
  ["a null for an id", (body) => ({ ...body, id: null }), ["id NOT_NULL"]],
  ["an id that is no UUID", (body) => ({ ...body, id: "7" }), ["id FORMAT"]],
  ["no name", (body) => ({ ...body, name: undefined }), ["name NOT_NULL"]],
  ["a name of 256", (body) => ({ ...body, name: "x".repeat(256) }), ["name SIZE"]],
  ["no start", (body) => ({ ...body, start: undefined }), ["start NOT_NULL"]],
  [
    "an end before the start",
    (body) => ({ ...body, endDate: "2026-05-01T19:00" }),
    ["endDate RANGE"],
  ],
  ["a schema that is nowhere", (body) => ({ ...body, schemaId: 9 ** 9 }), ["schemaId NOT_FOUND"]],
  ["a list", (body) => [body], [" TYPE"]],
])("PUT /api/private/v2.0/events/ refuses %s", async (_, change, errors) => {
  const server = new TestServer();
  const before = server.digest;
  const reply = await refused(server, change(bodyOf(server.a)));
  expectProblem(reply, { ...INVALID, path: EVENTS, errors });
  expect(server.digest).toBe(before);
});

test("PUT /api/private/v2.0/events/ is 404 for nobody's event, 403 for another's", async () => {
  const server = new TestServer();
  const body = bodyOf(server.a);
  const nowhere = await refused(server, { ...body, id: NOWHERE });
  expectProblem(nowhere, { status: 404, errorCode: "ENTITY_NOT_FOUND", path: EVENTS });
  const foreign = await refused(server, { ...body, id: server.b.eventId });
  expectProblem(foreign, { status: 403, errorCode: "ACCESS_DENIED", path: EVENTS });
  const force = await refused(server, body, "?force=perhaps");
  expectProblem(force, { ...INVALID, path: EVENTS, errors: ["force TYPE"] });
});

test(`PUT ${V2}/events/ changes the schema of held inventory only with force`, async () => {
  const booth = new Booth();
  const { server } = booth;
  await booth.book("lock", "s", "A1");
  const body = { ...bodyOf(server.a), schemaId: emptySchema(server) };
  const reply = await refused(server, body);
  expectProblem(reply, { status: 409, errorCode: "INVENTORY_IN_USE", path: EVENTS });
  expect((await put(server, body, "?force=true")).body.schemaId).toBe(body.schemaId);
  expect(await server.seats()).toEqual([]);
});

test("PUT /api/private/v2.0/events/ does not move the start of an event in a series", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const { id: seriesId } = world.must("createSeries", a.caller, { body: { name: "Ring" } });
  world.must("bindEvent", a.caller, { eventId: a.eventId, body: { seriesId } });
  const reply = await refused(server, { ...bodyOf(a), start: "2026-05-01T19:59" });
  expectProblem(reply, { status: 409, errorCode: "EVENT_BOUND_TO_SERIES", path: EVENTS });
  expect((await put(server, { ...bodyOf(a), endDate: "2026-05-02T00:00" })).status).toBe(200);
});

test(`DELETE ${V2}/events/{id} removes an event with its prices, whatever is sold`, async () => {
  const booth = new Booth();
  const { server } = booth;
  const { eventId, key } = server.a;
  await booth.book("directsale", undefined, "A1", "Pit:3");
  const path = `${EVENTS}${eventId}`;
  const reply = await server.call("DELETE", path, { key });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  const again = await server.call("DELETE", path, { key });
  expectProblem(again, { status: 404, errorCode: "ENTITY_NOT_FOUND", path });
  const list = await server.call<PageBody<EventBody>>("GET", EVENTS, { key });
  expect(list.body.content).toEqual([]);
  expect(server.engine.state.catalog.pricesOf(eventId).size).toBe(0);
  const booked = await booth.book("lock", "s", "A2");
  expect([booked.status, booked.body.errorCode]).toEqual([403, "EVENT_ACCESS_DENIED"]);
});

test(`DELETE ${V2}/events/{id} is 403 for another's event, 400 for no UUID`, async () => {
  const server = new TestServer();
  const { key } = server.a;
  const foreign = `${EVENTS}${server.b.eventId}`;
  const denied = await server.call("DELETE", foreign, { key });
  expectProblem(denied, { status: 403, errorCode: "ACCESS_DENIED", path: foreign });
  const path = `${EVENTS}7`;
  const reply = await server.call("DELETE", path, { key });
  expectProblem(reply, { ...INVALID, path, errors: ["id FORMAT"] });
});
