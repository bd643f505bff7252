/** v1 events: `killAfter`, an end that may be left out, lists by limit and offset. */
import { expect, test } from "vitest";
import { V2 } from "../../../support/server.ts";
import { expectProblem, NOWHERE, UUID } from "../../wire/wire.ts";
import { Desk, V1 } from "./desk.ts";

interface EventBody {
  readonly id: string;
  readonly start: string;
  readonly endDate: string;
  readonly killAfter: string | null;
  readonly name: string;
  readonly schemaId: number;
}

const PATH = `${V1}/events/`;

class EventDesk extends Desk {
  readonly event = {
    name: "Gala",
    start: "2026-06-01T20:00:00",
    schemaId: this.server.a.schemaId,
  };

  async create(event: object = this.event): Promise<EventBody> {
    const reply = await this.call<EventBody>("POST", "/events/", event);
    expect(reply.status).toBe(200);
    this.check();
    return reply.body;
  }

  async list(query = ""): Promise<readonly EventBody[]> {
    const reply = await this.call<readonly EventBody[]>("GET", `/events/${query}`);
    expect(reply.status).toBe(200);
    return reply.body;
  }
}

test("POST /api/private/v1.0/events/ creates an event that v2 shows too", async () => {
  const desk = new EventDesk();
  const killAfter = "2026-06-01T21:00:00";
  const endDate = "2026-06-01T23:00:00";
  const created = await desk.create({ id: null, ...desk.event, endDate, killAfter });
  const id = expect.stringMatching(UUID) as string;
  expect(created).toEqual({ id, ...desk.event, endDate, killAfter });
  const { key } = desk.server.a;
  const { body } = await desk.server.call("GET", `${V2}/events/${created.id}`, { key });
  expect(body).toMatchObject({ ...desk.event, endDate, status: "PUBLISHED" });
  expect(Object.keys(body)).not.toContain("killAfter");
});

test("POST /api/private/v1.0/events/ has an end without one being given", async () => {
  const desk = new EventDesk();
  const { start } = desk.event;
  const killAfter = "2026-06-02T00:00:00";
  expect(await desk.create({ ...desk.event, killAfter, endDate: null })).toMatchObject({
    killAfter,
    endDate: killAfter,
  });
  expect(await desk.create()).toMatchObject({ killAfter: null, endDate: start });
});

test.each([
  [{}, "schemaId NOT_NULL"],
  [{ id: NOWHERE }, "id TYPE"],
  [{ name: "" }, "name SIZE"],
  [{ start: "2026-06-01" }, "start FORMAT"],
  [{ killAfter: "soon" }, "killAfter FORMAT"],
  [{ killAfter: 7 }, "killAfter TYPE"],
])("POST /api/private/v1.0/events/ refuses %j", async (change, error) => {
  const desk = new EventDesk();
  const isEmpty = Object.keys(change).length === 0;
  const body = isEmpty ? { name: "x", start: desk.event.start } : { ...desk.event, ...change };
  const reply = await desk.call<never>("POST", "/events/", body);
  const problem = { status: 400, errorCode: "VALIDATION_FAILED", errors: [error] };
  expectProblem(reply, { ...problem, path: PATH });
});

test("POST /api/private/v1.0/events/ is 400 for a schema that is not there", async () => {
  const desk = new EventDesk();
  for (const [change, error] of [
    [{ schemaId: 999_999 }, "schemaId NOT_FOUND"],
    [{ schemaId: desk.server.b.schemaId }, "schemaId NOT_FOUND"],
    [{ endDate: "2026-05-31T20:00:00" }, "endDate RANGE"],
  ] as const) {
    const reply = await desk.call<never>("POST", "/events/", { ...desk.event, ...change });
    const problem = { status: 400, errorCode: "VALIDATION_FAILED", errors: [error] };
    expectProblem(reply, { ...problem, path: PATH });
  }
});

test("GET /api/private/v1.0/events/ lists the events, the oldest first", async () => {
  const desk = new EventDesk();
  const { eventId } = desk.server.a;
  const made = [await desk.create(), await desk.create(), await desk.create()];
  const ids = [eventId, ...made.map(({ id }) => id)];
  const idsOf = async (query: string) => (await desk.list(query)).map(({ id }) => id);
  expect(await idsOf("")).toEqual(ids);
  expect(await idsOf("?limit=2")).toEqual(ids.slice(0, 2));
  expect(await idsOf("?limit=2&offset=1")).toEqual(ids.slice(1, 3));
  expect(await idsOf("?offset=4")).toEqual([]);
});

test("GET /api/private/v1.0/events/ gives fifty events unless it is told otherwise", async () => {
  const desk = new EventDesk();
  for (let i = 0; i < 50; i++) desk.server.world.createEvent();
  expect((await desk.list()).length).toBe(50);
  expect((await desk.list("?limit=1000")).length).toBe(51);
});

test.each(["limit=0", "limit=1001", "limit=-1", "limit=x", "offset=-1", "offset=1.5"])(
  "GET /api/private/v1.0/events/ refuses %s",
  async (query) => {
    const desk = new EventDesk();
    const reply = await desk.call<never>("GET", `/events/?${query}`);
    expect(reply.status).toBe(400);
    expect(reply.body["errorCode"]).toBe("VALIDATION_FAILED");
  },
);

test("PUT /api/private/v1.0/events/ changes an event, all of it", async () => {
  const desk = new EventDesk();
  const created = await desk.create({ ...desk.event, killAfter: "2026-06-01T21:00:00" });
  const change = { id: created.id.toUpperCase(), name: "Matinee", start: "2026-06-01T14:00:00" };
  const body = { ...change, schemaId: desk.event.schemaId };
  const reply = await desk.call("PUT", "/events/", body);
  const expected = { ...body, id: created.id, endDate: change.start, killAfter: null };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  desk.check();
  expect(await desk.list("?offset=1")).toEqual([expected]);
});

test("PUT /api/private/v2.0/events/ keeps the moment that v1 gave", async () => {
  const desk = new EventDesk();
  const killAfter = "2026-06-01T21:00:00";
  const { id } = await desk.create({ ...desk.event, killAfter });
  const { key } = desk.server.a;
  const body = { ...desk.event, id, endDate: "2026-06-01T22:00:00" };
  expect((await desk.server.call("PUT", `${V2}/events/`, { key, body })).status).toBe(200);
  expect(await desk.list("?offset=1")).toMatchObject([{ killAfter }]);
});

test("PUT /api/private/v1.0/events/ is 400 for an unknown event, 403 for another's", async () => {
  const desk = new EventDesk();
  const before = desk.server.digest;
  const unknown = await desk.call<never>("PUT", "/events/", { ...desk.event, id: NOWHERE });
  expectProblem(unknown, { status: 400, errorCode: "ENTITY_NOT_FOUND", path: PATH });
  const missing = await desk.call<never>("PUT", "/events/", desk.event);
  const errors = ["id NOT_NULL"];
  expectProblem(missing, { status: 400, errorCode: "VALIDATION_FAILED", path: PATH, errors });
  const { eventId } = desk.server.b;
  const foreign = await desk.call<never>("PUT", "/events/", { ...desk.event, id: eventId });
  expectProblem(foreign, { status: 403, errorCode: "ACCESS_DENIED", path: PATH });
  expect(desk.server.digest).toBe(before);
});

test("PUT /api/private/v1.0/events/ is 400 when the state of the event forbids it", async () => {
  const desk = new EventDesk();
  const { world, a } = desk.server;
  const body = { name: "Other plan", venueId: a.venueId };
  const schemaId = world.must("createSchema", a.caller, { body }).id;
  await desk.books("lock", ["A1"]);
  const moved = { ...desk.event, id: a.eventId, schemaId };
  const reply = await desk.call<never>("PUT", "/events/", moved);
  expectProblem(reply, { status: 400, errorCode: "INVENTORY_IN_USE", path: PATH });
});

test("DELETE /api/private/v1.0/events/{id} deletes whatever was sold", async () => {
  const desk = new EventDesk();
  await desk.book("directsale", undefined, "A1");
  const path = `/events/${desk.server.a.eventId}`;
  const reply = await desk.call("DELETE", path);
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  desk.check();
  expect(await desk.list()).toEqual([]);
  const again = await desk.call<never>("DELETE", path);
  expectProblem(again, { status: 400, errorCode: "ENTITY_NOT_FOUND", path: `${V1}${path}` });
});

test("DELETE /api/private/v1.0/events/{id} is 400 for no id, 403 for another's event", async () => {
  const desk = new EventDesk();
  expect((await desk.call("DELETE", "/events/7")).status).toBe(400);
  const path = `/events/${desk.server.b.eventId}`;
  const reply = await desk.call<never>("DELETE", path);
  expectProblem(reply, { status: 403, errorCode: "ACCESS_DENIED", path: `${V1}${path}` });
  expect(reply.body["detail"]).toMatch(/correct private key/);
});

test.each([
  ["GET", "/events/", undefined],
  ["POST", "/events/", {}],
  ["PUT", "/events/", {}],
  ["DELETE", `/events/${NOWHERE}`, undefined],
] as const)("%s /api/private/v1.0%s is 403 with a wrong key", async (method, path, body) => {
  const desk = new EventDesk();
  const reply = await desk.call<never>(method, path, body, "nobody's");
  expectProblem(reply, { status: 403, errorCode: "ACCESS_DENIED", path: `${V1}${path}` });
  expect(reply.body["detail"]).toMatch(/correct private key/);
});
