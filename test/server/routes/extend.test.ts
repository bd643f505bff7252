/** Extension over HTTP: its answer, its check, its retry, and the views that show the later end. */
import { expect, test } from "vitest";
import { TestServer, V2 } from "../../support/server.ts";
import { expectProblem, invalid, NOWHERE } from "../wire/wire.ts";

interface Holds {
  readonly sequence: number;
  readonly seats: readonly { readonly id: number; readonly expiresAt?: string }[];
  readonly areas: readonly object[];
  readonly until: string | null;
}

/** SHORT: a minute, with extensions ten. */
function newServer(): TestServer {
  const server = new TestServer();
  const body = [{ name: "SHORT", ttlSeconds: 60, maxSeconds: 600 }];
  server.world.must("replaceHoldTypes", server.a.caller, { body });
  return server;
}

const lock = (server: TestServer, ...labels: string[]) =>
  server.post(server.bookingPath("lock"), {
    ...server.selection("ann", ...labels),
    holdType: "SHORT",
  });

const path = (server: TestServer, eventId = server.a.eventId) =>
  `${V2}/booking/extend?eventId=${eventId}`;
const extend = (server: TestServer, body: object, headers = {}) =>
  server.post<Holds>(path(server), body, { ...server.a, headers });

test("an extension answers with the holds and their end, and every view shows it", async () => {
  const server = newServer();
  const { labels, priceId, eventId } = server.a;
  await lock(server, "A2", "A1", "Pit:2");
  const fence = server.engine.sequence;
  server.world.clock.timeMs += 30_000;
  const reply = await extend(server, { sessionId: "ann", seconds: 300 });
  const expiresAt = "2026-03-19T10:05:30.000";
  const [first, second] = ["A1", "A2"].map((label) => labels.idOf(label));
  const seat = { section: "Stalls", row: "A", state: "LOCKED", priceId, expiresAt, fence };
  expect([reply.status, reply.headers["Preference-Applied"]]).toEqual([200, undefined]);
  expect(reply.body).toEqual({
    sequence: fence + 1,
    seats: [
      { id: first, label: "Stalls;;A;;1", seat: "1", ...seat },
      { id: second, label: "Stalls;;A;;2", seat: "2", ...seat },
    ],
    areas: [
      {
        groupOfSeatsId: labels.idOf("Pit"),
        capacity: 100,
        active: 98,
        locked: 2,
        sold: 0,
        blocked: 0,
      },
    ],
    until: expiresAt,
  });
  const event = `${V2}/events/${eventId}`;
  const { body: changes } = await server.get<{ changes: object[] }>(
    `${event}/changes/?since=${fence}`,
  );
  expect(changes.changes).toEqual([
    {
      sequence: fence + 1,
      previous: fence,
      time: "2026-03-19T10:00:30.000",
      call: "extend",
      sessionId: "ann",
      seats: [first, second].map((id) => ({ id, state: "LOCKED", priceId, expiresAt })),
      areas: reply.body.areas,
    },
  ]);
  const { body: map } = await server.get<{ expiresAt: object }>(`${event}/map/`);
  expect(map.expiresAt).toEqual({ [first!]: expiresAt, [second!]: expiresAt });
  const { body: holds } = await server.get(`${event}/holds/`);
  expect(holds).toMatchObject({ content: [{ fence, until: expiresAt }] });
  const listed = await server.seats();
  const updated = listed.filter(({ seatId }) => seatId === first || seatId === second);
  expect(updated.map(({ updatedAt }) => updatedAt)).toEqual(
    Array(2).fill("2026-03-19T10:00:30.000"),
  );
  const { body: trail } = await server.get(`${event}/audit/?fromSequence=${fence + 1}`);
  const entry = { call: "extend", fromState: "LOCKED", toState: "LOCKED", holdSequence: fence };
  expect(trail).toMatchObject({
    content: [
      { ...entry, seatId: second, sessionId: "ann", holdType: "SHORT" },
      { ...entry, seatId: first },
      { ...entry, groupOfSeatsId: labels.idOf("Pit"), capacity: 2 },
    ],
  });
});

test("a check says what the extension would answer, and changes nothing", async () => {
  const server = newServer();
  await lock(server, "A1");
  const before = server.digest;
  const check = (body: object) =>
    server.post<Holds>(`${V2}/booking/check?eventId=${server.a.eventId}&call=extend`, body);
  const checked = await check({ sessionId: "ann", seconds: 300 });
  expect(checked.body).toMatchObject({
    until: "2026-03-19T10:05:00.000",
    seats: [{ state: "LOCKED" }],
  });
  const problemPath = `${V2}/booking/extend`;
  expectProblem(await check({ sessionId: "ann" }), {
    ...invalid("seconds NOT_NULL"),
    path: problemPath,
  });
  expectProblem(await check({ sessionId: "bob", seconds: 1 }), {
    status: 400,
    errorCode: "INVENTORY_NOT_AVAILABLE",
    errors: ["sessionId NOT_FOUND"],
    path: problemPath,
  });
  expect(server.digest).toBe(before);
  const made = await extend(server, { sessionId: "ann", seconds: 300 });
  expect(made.body).toEqual({ ...checked.body, sequence: checked.body.sequence + 1 });
});

test("a retry with its key → the first answer, and no longer hold", async () => {
  const server = newServer();
  await lock(server, "A1");
  const headers = { "idempotency-key": "k" };
  const first = await extend(server, { sessionId: "ann", seconds: 100 }, headers);
  server.world.clock.timeMs += 50_000;
  const again = await extend(server, { seconds: 100.0, sessionId: "ann" }, headers);
  expect(again.text).toBe(first.text);
  expect(again.headers["Idempotency-Replayed"]).toBe("true");
  const other = await extend(server, { sessionId: "ann", seconds: 101 }, headers);
  expectProblem(other, { status: 422, errorCode: "IDEMPOTENCY_KEY_REUSED" });
});

test("wrong members, unknown events and closed events are refused", async () => {
  const server = newServer();
  await lock(server, "A1");
  const before = server.digest;
  const session = { sessionId: "ann" };
  const cases: [object, string][] = [
    [session, "seconds NOT_NULL"],
    [{ ...session, seconds: 0 }, "seconds RANGE"],
    [{ ...session, seconds: 86_401 }, "seconds RANGE"],
    [{ ...session, seconds: 1.5 }, "seconds TYPE"],
    [{ seconds: 1 }, "seats NOT_NULL"],
    [{ ...session, seconds: 1, groupOfSeats: [{ id: 1, capacity: 1 }] }, "groupOfSeats NULL"],
    [{ ...session, seconds: 1, groupOfSeats: "x" }, "groupOfSeats NULL"],
    [{ ...session, seconds: 1, fence: 0 }, "fence RANGE"],
    [{ ...session, seconds: 1, fences: { 9: 1 } }, "fences[9] UNKNOWN"],
  ];
  for (const [body, error] of cases) expectProblem(await extend(server, body), invalid(error));
  const foreign = await server.post(path(server, NOWHERE), { ...session, seconds: 1 });
  expectProblem(foreign, { status: 403, errorCode: "EVENT_ACCESS_DENIED" });
  expect(server.digest).toBe(before);
  await server.post(`${V2}/events/${server.a.eventId}/status`, { status: "ARCHIVED" });
  const archived = await extend(server, { ...session, seconds: 1 });
  expectProblem(archived, { status: 422, errorCode: "EVENT_NOT_PUBLISHED" });
  server.world.change({ bookingEnabled: false });
  const disabled = await extend(server, { ...session, seconds: 1 });
  expectProblem(disabled, { status: 402, errorCode: "ORGANIZATION_DISABLED" });
});
