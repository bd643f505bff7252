/** Events over v1: `killAfter`, an optional end, and lists by limit and offset. */
import { expect, test } from "vitest";
import { V2 } from "../../../support/server.ts";
import { expectConsistent } from "../../../support/table.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectProblem,
  invalid,
  NOWHERE,
  UUID,
} from "../../wire/wire.ts";
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
/** v1 has no 404. */
const UNKNOWN: ExpectedProblem = { status: 400, errorCode: "ENTITY_NOT_FOUND" };

class EventDesk extends Desk {
  readonly event = { name: "Gala", start: "2026-06-01T20:00:00", schemaId: this.a.schemaId };

  async create(event: object = this.event): Promise<EventBody> {
    const reply = await this.post<EventBody>(PATH, event);
    expect(reply.status).toBe(200);
    expectConsistent(this.world);
    return reply.body;
  }

  async list(query = ""): Promise<readonly EventBody[]> {
    const reply = await this.get<readonly EventBody[]>(PATH + query);
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
  expect(await desk.create()).toMatchObject({ killAfter: null, endDate: start });
});

/** For requests that are refused: it never changes. */
const unchanged = new EventDesk();
const { b } = unchanged;

const INVALID: readonly (readonly [string, object, string])[] = [
  ["no schema", { schemaId: undefined }, "schemaId NOT_NULL"],
  ["an id", { id: NOWHERE }, "id TYPE"],
  ["an empty name", { name: "" }, "name SIZE"],
  ["a date for the start", { start: "2026-06-01" }, "start FORMAT"],
  ["a killAfter that is not a time", { killAfter: "soon" }, "killAfter FORMAT"],
  ["a number for killAfter", { killAfter: 7 }, "killAfter TYPE"],
  ["an unknown schema", { schemaId: 999_999 }, "schemaId NOT_FOUND"],
  ["a foreign schema", { schemaId: b.schemaId }, "schemaId NOT_FOUND"],
  ["an end before the start", { endDate: "2026-05-31T20:00:00" }, "endDate RANGE"],
];

test.each(INVALID)("a new v1 event is refused: %s", async (_, change, error) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.post(PATH, { ...unchanged.event, ...change }), invalid(error));
  expect(unchanged.digest).toBe(before);
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
  const reply = await desk.put(PATH, { ...change, endDate: null, killAfter: null });
  const expected = { ...created, name: change.name, start: change.start };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await desk.put(PATH, { id: created.id })).body).toEqual(expected);
  const late = "2026-07-01T20:00:00";
  const moved = { ...expected, start: late, endDate: late };
  expect((await desk.put(PATH, { id: created.id, start: late })).body).toEqual(moved);
  expect((await desk.put(PATH, { id: created.id, start: change.start })).status).toBe(200);
  expect((await desk.put(PATH, expected)).body).toEqual(expected);
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
  const before = unchanged.digest;
  const { event } = unchanged;
  expectProblem(await unchanged.put(PATH, { ...event, id: NOWHERE }), UNKNOWN);
  expectProblem(await unchanged.put(PATH, event), invalid("id NOT_NULL"));
  expectProblem(await unchanged.put(PATH, { ...event, id: b.eventId }), DENIED);
  expect(unchanged.digest).toBe(before);
});

test("a v1 update to another schema is 400 while a seat is held", async () => {
  const desk = new EventDesk();
  const body = { name: "Other plan", venueId: desk.a.venueId };
  const schemaId = desk.world.must("createSchema", desk.a.caller, { body }).id;
  await desk.books("lock", ["A1"]);
  const reply = await desk.put(PATH, { ...desk.event, id: desk.a.eventId, schemaId });
  expectProblem(reply, { status: 400, errorCode: "INVENTORY_IN_USE" });
});

test("v1 deletes an event even when seats are sold; a second time is 400", async () => {
  const desk = new EventDesk();
  await desk.book("directsale", null, "A1");
  const path = PATH + desk.a.eventId;
  const reply = await desk.delete(path);
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  expectConsistent(desk.world);
  expect(await desk.list()).toEqual([]);
  expectProblem(await desk.delete(path), UNKNOWN);
});

test("v1 refuses to delete a malformed id with 400, and a foreign event with 403", async () => {
  expectProblem(await unchanged.delete(`${PATH}7`), invalid("id FORMAT"));
  const reply = await unchanged.delete(PATH + b.eventId);
  expectProblem(reply, DENIED);
  expect(reply.body.detail).toMatch(/correct private key/);
});
