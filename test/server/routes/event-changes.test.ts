/** The rows that update and delete events. */
import { expect, test } from "vitest";
import { type House, type PageBody, TestServer, V2 } from "../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectProblem,
  IN_USE,
  invalid,
  NO_ID,
  NOT_FOUND,
  NOWHERE,
} from "../wire/wire.ts";

const EVENTS = `${V2}/events/`;

interface EventBody {
  readonly id: string;
  readonly schemaId: number;
}

const bodyOf = ({ eventId, schemaId }: House) => ({
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
  const reply = await server.put(EVENTS, { ...bodyOf(a), ...changes, ...ignored, id });
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

const unchanged = new TestServer();
const body = bodyOf(unchanged.a);

const REFUSED: readonly (readonly [string, unknown, ExpectedProblem])[] = [
  ["no id", { ...body, id: undefined }, invalid("id NOT_NULL")],
  ["null for the id", { ...body, id: null }, invalid("id NOT_NULL")],
  ["an id that is not a UUID", { ...body, id: "7" }, invalid("id FORMAT")],
  ["no name", { ...body, name: undefined }, invalid("name NOT_NULL")],
  ["a name of 256 characters", { ...body, name: "x".repeat(256) }, invalid("name SIZE")],
  ["no start", { ...body, start: undefined }, invalid("start NOT_NULL")],
  ["an end before the start", { ...body, endDate: "2026-05-01T19:00" }, invalid("endDate RANGE")],
  ["an unknown schema", { ...body, schemaId: NO_ID }, invalid("schemaId NOT_FOUND")],
  ["a list", [body], invalid(" TYPE")],
  ["an unknown event", { ...body, id: NOWHERE }, NOT_FOUND],
  ["an event of another organization", { ...body, id: unchanged.b.eventId }, DENIED],
];

test.each(REFUSED)("PUT /api/private/v2.0/events/ refuses %s", async (_, sent, expected) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.put(EVENTS, sent), expected);
  expect(unchanged.digest).toBe(before);
});

test(`PUT ${V2}/events/ changes the schema of held seats only with force`, async () => {
  const server = new TestServer();
  const { world, a } = server;
  await server.book("lock", "s", "A1");
  const schema = { name: "Two", venueId: a.venueId };
  const { id: schemaId } = world.must("createSchema", a.caller, { body: schema });
  const moved = { ...bodyOf(a), schemaId };
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
  const reply = await server.put(EVENTS, { ...bodyOf(a), start: "2026-05-01T19:59" });
  expectProblem(reply, { status: 409, errorCode: "EVENT_BOUND_TO_SERIES" });
  expect((await server.put(EVENTS, { ...bodyOf(a), endDate: "2026-05-02T00:00" })).status).toBe(
    200,
  );
});

test("a published event does not move to a draft schema", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const draft = { body: { name: "Sketch", venueId: a.venueId, draft: true } };
  const { id: schemaId } = world.must("createSchema", a.caller, draft);
  const errorCode = "INVALID_STATUS_TRANSITION";
  const moved = { ...bodyOf(a), schemaId };
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
