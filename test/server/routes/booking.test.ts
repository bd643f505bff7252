/** Booking over HTTP: answers, representations, dry runs, problems, and who may book. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../../engine/commands.ts";
import { commandErrors } from "../../../persistence/store/shape-check.ts";
import { actingFor, type CallOptions, type ProblemError } from "../../support/answers/exchange.ts";
import { BOOKING_KINDS } from "../../support/engine.ts";
import { sampleCommand } from "../../support/samples.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { EVENT_DENIED, expectProblem, invalid, NOWHERE } from "../wire/wire.ts";

test("every booking command answers true and moves the seats and places", async () => {
  const server = new TestServer();
  const steps: [BookingKind, string, number[]][] = [
    ["lock", "LOCKED", [97, 3, 0, 0]],
    ["unlock", "ACTIVE", [100, 0, 0, 0]],
    ["lock", "LOCKED", [97, 3, 0, 0]],
    ["sale", "SOLD", [97, 0, 3, 0]],
    ["revertsale", "ACTIVE", [100, 0, 0, 0]],
    ["directsale", "SOLD", [97, 0, 3, 0]],
    ["revertsale", "ACTIVE", [100, 0, 0, 0]],
    ["block", "BLOCKED", [97, 0, 0, 3]],
    ["unblock", "ACTIVE", [100, 0, 0, 0]],
  ];
  for (const [kind, state, places] of steps) {
    const reply = await server.book(kind, "s1", "A1", "A2", "Pit:3");
    expect([kind, reply.status, reply.text]).toEqual([kind, 200, "true"]);
    expect(reply.type).toBe("application/json; charset=utf-8");
    expect(await server.states("A1", "A2", "A3")).toEqual([state, state, "ACTIVE"]);
    expect([kind, await server.pit()]).toEqual([kind, places]);
  }
});

test("a refusal names each seat and area that is not available, with its state", async () => {
  const server = new TestServer();
  await server.book("lock", "other", "A1");
  await server.book("directsale", null, "A2");
  await server.book("block", null, "A3");
  const before = server.digest;
  const reply = await server.book("lock", "mine", "A4", "A1", "A2", "A3", "Pit:101");
  expectProblem(reply, {
    status: 400,
    errorCode: "INVENTORY_NOT_AVAILABLE",
    errors: [
      "seats[1].id LOCKED",
      "seats[2].id SOLD",
      "seats[3].id BLOCKED",
      "groupOfSeats[0].capacity INSUFFICIENT_CAPACITY",
    ],
  });
  const ids = ["A1", "A2", "A3"].map((label) => server.a.labels.idOf(label));
  const rejected = reply.body.errors.map(({ rejectedValue }) => rejectedValue);
  expect(rejected).toEqual([...ids, 101]);
  expect(reply.body.timestamp).toBe("2026-03-19T10:00:00.000Z");
  expect(server.digest).toBe(before);
});

test.each(BOOKING_KINDS)(
  "%s of an unknown event and of a foreign event get the same 403",
  async (kind) => {
    const server = new TestServer();
    const before = server.digest;
    const body = server.selection("s1", "A1");
    const book = (eventId: string) => server.post(server.bookingPath(kind, eventId), body);
    const unknown = await book(NOWHERE);
    expectProblem(unknown, EVENT_DENIED);
    for (const { eventId } of [server.b, server.c]) {
      expect((await book(eventId)).body).toEqual(unknown.body);
    }
    expect(server.digest).toBe(before);
  },
);

test("an event id in upper case names the same event", async () => {
  const server = new TestServer();
  const times = { start: "2026-05-01T20:00", endDate: "2026-05-01T21:00" };
  const event = { name: "N", ...times, schemaId: server.a.schemaId };
  const { id } = (await server.post<{ id: string }>(`${V2}/events/`, event)).body;
  const path = server.bookingPath("lock", id.toUpperCase());
  const reply = await server.post(path, server.selection("s1", "A1"));
  expect(reply.body.errors[0]?.code).toBe("NO_PRICE");
});

test("a tenant token books for the organization that it names", async () => {
  const server = new TestServer();
  const { a, b, tenantToken } = server;
  const unlock = (by: CallOptions) =>
    server.post(server.bookingPath("unlock"), server.selection("s1", "A1"), by);
  expect((await unlock(actingFor(tenantToken, a))).text).toBe("true");
  expectProblem(await unlock(actingFor(tenantToken, b)), EVENT_DENIED);
});

test("when several refusals apply, the documented order decides", async () => {
  const server = new TestServer();
  await server.book("lock", "other", "A1");
  const order: [string, () => void][] = [
    ["400 INVENTORY_NOT_AVAILABLE", () => {}],
    ["422 EVENT_NOT_PUBLISHED", () => server.setStatus("ARCHIVED")],
    ["403 SALES_CONTROL_REQUIRED", () => server.world.change({ salesControl: false })],
    ["402 ORGANIZATION_DISABLED", () => server.world.change({ bookingEnabled: false })],
  ];
  for (const [expected, worsen] of order) {
    worsen();
    const { status, body } = await server.book("sale", "s1", "A1");
    expect(`${status} ${body.errorCode}`).toBe(expected);
  }
  const path = server.bookingPath("sale", server.b.eventId);
  const twice = server.selection("s1", "A1", "A1");
  const worse: [string, CallOptions][] = [
    ["EVENT_ACCESS_DENIED", { ...server.a, body: server.selection("s1", "A1") }],
    ["VALIDATION_FAILED", { ...server.a, body: twice }],
    ["VALIDATION_FAILED", { ...server.a, body: {} }],
    ["MALFORMED_REQUEST", { ...server.a, body: "{" }],
    ["ACCESS_DENIED", { body: "{" }],
    ["UNSUPPORTED_MEDIA_TYPE", { body: "{", headers: { "content-type": "text/plain" } }],
  ];
  for (const [expected, options] of worse) {
    expect((await server.call("POST", path, options)).body.errorCode).toBe(expected);
  }
});

/** Causes, with the answer and the closed commands of each. */
const CLOSED: readonly (readonly [string, string, readonly BookingKind[]])[] = [
  ["a disabled organization", "402 ORGANIZATION_DISABLED", BOOKING_KINDS],
  ["no sales control", "403 SALES_CONTROL_REQUIRED", ["sale", "revertsale"]],
  ["an archived event", "422 EVENT_NOT_PUBLISHED", ["lock", "sale", "directsale"]],
];

test.each(CLOSED)("%s gets %s", async (_, refusal, kinds) => {
  const server = new TestServer();
  if (refusal.startsWith("402")) server.world.change({ bookingEnabled: false });
  else if (refusal.startsWith("403")) server.world.change({ salesControl: false });
  else server.setStatus("ARCHIVED");
  const before = server.digest;
  const [status, errorCode = ""] = refusal.split(" ");
  for (const kind of kinds) {
    const reply = await server.book(kind, "s1", "A1");
    expectProblem(reply, { status: Number(status), errorCode });
  }
  expect(server.digest).toBe(before);
});

test("a lock or sale that leaves a seat alone is 422 and names the requested seat", async () => {
  const server = new TestServer();
  await server.book("lock", "s1", "A2");
  server.world.change({ orphanPrevention: true });
  const before = server.digest;
  for (const [kind, label] of [
    ["lock", "A5"],
    ["sale", "A2"],
  ] as const) {
    const reply = await server.book(kind, "s1", label);
    const errors = ["seats[0].id ORPHAN_SEAT"];
    expectProblem(reply, { status: 422, errorCode: "ORPHAN_SEAT", errors });
    expect(reply.body.errors[0]?.rejectedValue).toBe(server.a.labels.idOf(label));
  }
  expect(server.digest).toBe(before);
});

const PREFER = { prefer: "return=representation" };

interface Booked {
  readonly sequence: number;
  readonly seats: readonly { readonly fence?: number }[];
  readonly areas: readonly { readonly hold?: object }[];
}

interface Options {
  readonly headers?: Readonly<Record<string, string>>;
  /** Further members of the body. */
  readonly more?: object;
}

/** Sends a booking call; by default it prefers a representation. */
function preferring(
  server: TestServer,
  kind: BookingKind,
  objects: readonly string[],
  { headers = PREFER, more = {} }: Options = {},
) {
  const body = { ...server.selection("ann", ...objects), ...more };
  return server.post<Booked>(server.bookingPath(kind), body, { ...server.a, headers });
}

function keyed(key: string, headers: Options["headers"] = {}): Options {
  return { headers: { ...headers, "idempotency-key": key } };
}

test("a lock shows seats and areas in the order of the request, with fence and end", async () => {
  const server = new TestServer();
  const { labels, priceId } = server.a;
  const reply = await preferring(server, "lock", ["B2", "A1", "Pit:2"]);
  const { sequence } = server.engine;
  expect([reply.status, reply.headers["Preference-Applied"]]).toEqual([
    200,
    "return=representation",
  ]);
  const held = {
    state: "LOCKED",
    priceId,
    expiresAt: "2026-03-19T10:15:00.000",
    fence: sequence,
  };
  expect(reply.body).toEqual({
    sequence,
    seats: [
      { id: labels.idOf("B2"), ...named("B", "2"), ...held },
      { id: labels.idOf("A1"), ...named("A", "1"), ...held },
    ],
    areas: [
      {
        groupOfSeatsId: labels.idOf("Pit"),
        capacity: 100,
        active: 98,
        locked: 2,
        sold: 0,
        blocked: 0,
        hold: { fence: sequence, expiresAt: "2026-03-19T10:15:00.000", capacity: 2 },
      },
    ],
  });
  const forEver = { more: { holdType: "RESERVED" } };
  const second = await preferring(server, "lock", ["Pit:3"], forEver);
  expect(second.body.areas[0]?.hold).toEqual({ fence: sequence + 1, expiresAt: null, capacity: 3 });
  const sold = await preferring(server, "sale", ["Pit:1"]);
  expect(sold.body.areas[0]?.hold).toBeUndefined();
});

/** The labels of a seat of the stalls. */
const named = (row: string, seat: string) => {
  return { label: `Stalls;;${row};;${seat}`, section: "Stalls", row, seat };
};

test("a hold without an end has no expiresAt, and sold seats have the fence of their sale", async () => {
  const server = new TestServer();
  const { labels, priceId } = server.a;
  const id = labels.idOf("A1");
  const seat = { id, ...named("A", "1"), priceId };
  const locked = await preferring(server, "lock", ["A1"], { more: { holdType: "RESERVED" } });
  const fence = server.engine.sequence;
  expect(locked.body.seats).toEqual([{ ...seat, state: "LOCKED", fence }]);
  const sold = await preferring(server, "sale", ["A1"], { more: { fences: { [id]: fence } } });
  expect(sold.body).toEqual({
    sequence: fence + 1,
    seats: [{ ...seat, state: "SOLD", fence: fence + 1 }],
    areas: [],
  });
  expect((await preferring(server, "directsale", ["A2"])).body).toMatchObject({
    sequence: fence + 2,
    seats: [{ state: "SOLD", fence: fence + 2 }],
  });
});

test("without the preference, and for other calls, the answer is true", async () => {
  const server = new TestServer();
  const plain = async (kind: BookingKind, headers: Readonly<Record<string, string>>) => {
    const reply = await preferring(server, kind, ["A1"], { headers });
    expect([reply.text, reply.headers["Preference-Applied"]]).toEqual(["true", undefined]);
  };
  await plain("lock", {});
  await plain("unlock", PREFER);
  await plain("lock", { prefer: "return=minimal" });
  await plain("sale", { prefer: "wait=5" });
  await plain("revertsale", PREFER);
  await plain("block", PREFER);
  await plain("unblock", PREFER);
});

test("a refused direct sale stays false, and other refusals stay problems", async () => {
  const server = new TestServer();
  await server.book("lock", "bob", "A1");
  const reply = await preferring(server, "directsale", ["A1"]);
  expect([reply.status, reply.text, reply.headers["Preference-Applied"]]).toEqual([
    200,
    "false",
    undefined,
  ]);
  const errors = ["seats[0].id LOCKED"];
  const problem = { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors };
  expectProblem(await preferring(server, "lock", ["A1"]), problem);
});

test("a retry gets the form of the first answer, whatever it prefers", async () => {
  const server = new TestServer();
  const first = await preferring(server, "lock", ["A1", "A2"], keyed("k1", PREFER));
  expect(first.body.seats).toHaveLength(2);
  await server.book("unlock", "ann", "A1");
  for (const headers of [{}, PREFER]) {
    const again = await preferring(server, "lock", ["A1", "A2"], keyed("k1", headers));
    expect(again.text).toBe(first.text);
    expect(again.headers["Preference-Applied"]).toBe("return=representation");
  }
  await preferring(server, "lock", ["A3"], keyed("k2"));
  const plain = await preferring(server, "lock", ["A3"], keyed("k2", PREFER));
  expect([plain.text, plain.headers["Preference-Applied"]]).toEqual(["true", undefined]);
});

test("a key with other fences is the key of another request", async () => {
  const server = new TestServer();
  const [first, second] = ["A1", "A2"].map((label) => server.a.labels.idOf(label));
  await preferring(server, "lock", ["A1", "A2"]);
  const fence = server.engine.sequence;
  const sale = (fences: object) =>
    preferring(server, "sale", ["A1", "A2"], { ...keyed("k"), more: { fences } });
  expect((await sale({ [first!]: fence, [second!]: fence })).text).toBe("true");
  expect((await sale({ [second!]: fence, [first!]: fence })).text).toBe("true");
  for (const fences of [{}, { [first!]: fence }, { [first!]: fence, [second!]: fence + 1 }]) {
    expectProblem(await sale(fences), { status: 422, errorCode: "IDEMPOTENCY_KEY_REUSED" });
  }
});

test("a late sale with the fence of an earlier lock is refused", async () => {
  const server = new TestServer();
  const id = server.a.labels.idOf("A1");
  const { fence } = (await preferring(server, "lock", ["A1"])).body.seats[0]!;
  server.world.clock.timeMs += 15 * 60_000;
  await preferring(server, "lock", ["A1"]);
  const errors = ["seats[0].id HELD_BY_ANOTHER_SESSION"];
  for (const kind of ["sale", "unlock"] as const) {
    const late = await preferring(server, kind, ["A1"], { more: { fences: { [id]: fence } } });
    expectProblem(late, { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors });
  }
});

test("a late refund with the fence of an earlier sale is refused, by a check, too", async () => {
  const server = new TestServer();
  const id = server.a.labels.idOf("A1");
  const { fence } = (await preferring(server, "directsale", ["A1"])).body.seats[0]!;
  await server.book("revertsale", "ann", "A1");
  await preferring(server, "directsale", ["A1"]);
  const late = await preferring(server, "revertsale", ["A1"], {
    more: { fences: { [id]: fence } },
  });
  const errors = ["seats[0].id STALE_FENCE"];
  expectProblem(late, { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors });
  const body = { ...server.selection("ann", "A1"), fence };
  const checked = await server.post(checkPath(server, "revertsale"), body);
  const path = `${V2}/booking/revertsale`;
  expectProblem(checked, { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors, path });
  const more = { fence: fence! + 2 };
  expect((await preferring(server, "revertsale", ["A1"], { more })).text).toBe("true");
});

test("a lock, a direct sale or a block with fences is invalid", async () => {
  const server = new TestServer();
  const id = server.a.labels.idOf("A1");
  for (const kind of ["lock", "directsale", "block"] as const) {
    const refused = await preferring(server, kind, ["A1"], {
      more: { fence: 1, fences: { [id]: 1 } },
    });
    const errors = ["fence NULL", "fences NULL"];
    expectProblem(refused, { status: 400, errorCode: "VALIDATION_FAILED", errors });
    expect((await preferring(server, kind, ["A1"], { more: { fence: null } })).status).toBe(200);
    await server.book("unlock", "ann", "A1");
    await server.book("revertsale", "ann", "A1");
  }
});

test("a sale of all that a session holds shows what is sold, as it was held at that moment", async () => {
  const server = new TestServer();
  const { labels } = server.a;
  await server.book("lock", "ann", "A3", "A1", "Pit:2");
  await server.book("lock", "ann", "Pit:1");
  await server.book("lock", "bob", "A2");
  const all = { seats: null, groupOfSeats: null, all: true };
  const checked = await server.post(checkPath(server, "sale"), { sessionId: "ann", all: true });
  expect(checked.text).toBe("true");
  const sold = await preferring(server, "sale", [], { ...keyed("k", PREFER), more: all });
  // The stored answer is a record of its own.
  const sequence = server.engine.sequence - 1;
  const seat = { state: "SOLD", fence: sequence };
  expect(sold.body).toMatchObject({
    sequence,
    seats: [
      { id: labels.idOf("A1"), ...seat },
      { id: labels.idOf("A3"), ...seat },
    ],
    areas: [{ groupOfSeatsId: labels.idOf("Pit"), sold: 3, locked: 0 }],
  });
  expect(await server.states("A1", "A2", "A3")).toEqual(["SOLD", "LOCKED", "SOLD"]);
  const other = await preferring(server, "sale", ["A1"], keyed("k"));
  expectProblem(other, { status: 422, errorCode: "IDEMPOTENCY_KEY_REUSED" });
  const nothing = await preferring(server, "sale", [], { more: all });
  const errors = ["sessionId NOT_FOUND"];
  expectProblem(nothing, { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors });
  expect((await preferring(server, "unlock", [], { more: all })).text).toBe("true");
});

test("fences that are no numbers, or of other seats, are invalid", async () => {
  const server = new TestServer();
  const refusal = async (fences: unknown) => {
    const reply = await preferring(server, "sale", ["A1"], { headers: {}, more: { fences } });
    return (reply.body as unknown as { errors: { field: string; code: string }[] }).errors.map(
      ({ field, code }) => `${field} ${code}`,
    );
  };
  expect(await refusal({ 7: "1" })).toEqual(["fences[7] TYPE"]);
  expect(await refusal({ 7: 0 })).toEqual(["fences[7] RANGE"]);
  expect(await refusal([1])).toEqual(["fences TYPE"]);
  expect(await refusal({ x: 1, 999: 2 })).toEqual(["fences[999] UNKNOWN", "fences[x] UNKNOWN"]);
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [i, 1]));
  expect(await refusal(many)).toEqual(["fences SIZE"]);
});

type Kind = (typeof BOOKING_KINDS)[number];

const checkPath = (server: TestServer, call: string, eventId = server.a.eventId) =>
  `${V2}/booking/check?eventId=${eventId}&call=${call}`;

/** Checks a call on the event of A. */
function check(server: TestServer, call: string, session: string | null, ...objects: string[]) {
  return server.post(checkPath(server, call), server.selection(session, ...objects));
}

test.each(BOOKING_KINDS)("a check of %s answers as the call does then", async (kind) => {
  const server = new TestServer();
  server.world.change({ orphanPrevention: true });
  await server.book("lock", "ann", "A1", "A2", "Pit:2");
  await server.book("directsale", null, "B1", "B2", "Pit:3");
  await server.book("block", null, "B3", "B4", "Pit:4");
  const selections: readonly (readonly [string | null, ...string[]])[] = [
    ["ann", "A1", "A2"],
    ["bob", "A1"],
    [null, "B1"],
    [null, "B3", "Pit:1"],
    ["ann", "A3", "A4", "Pit:2"],
    ["ann", "A5"],
    ["ann", "Pit:99"],
    [null],
  ];
  for (const [session, ...objects] of selections) {
    const before = [server.digest, server.engine.sequence];
    const checked = await check(server, kind, session, ...objects);
    expect([server.digest, server.engine.sequence]).toEqual(before);
    const called = await server.book(kind, session, ...objects);
    expect([kind, objects, checked.status, checked.text]).toEqual([
      kind,
      objects,
      called.status,
      called.text,
    ]);
  }
});

test("every refusal of a call is that of its check", async () => {
  const problemOf = async (server: TestServer, kind: Kind, label = "A1") => {
    const { status, body } = await check(server, kind, "ann", label);
    expect(body.path).toBe(`${V2}/booking/${kind}`);
    return [status, body.errorCode];
  };
  const server = new TestServer();
  server.world.change({ orphanPrevention: true });
  expect(await problemOf(server, "lock", "A2")).toEqual([422, "ORPHAN_SEAT"]);
  expect(await problemOf(server, "sale")).toEqual([400, "INVENTORY_NOT_AVAILABLE"]);
  server.world.change({ salesControl: false });
  expect(await problemOf(server, "sale")).toEqual([403, "SALES_CONTROL_REQUIRED"]);
  server.setStatus("ARCHIVED");
  expect(await problemOf(server, "directsale")).toEqual([422, "EVENT_NOT_PUBLISHED"]);
  server.world.change({ bookingEnabled: false });
  expect(await problemOf(server, "unblock")).toEqual([402, "ORGANIZATION_DISABLED"]);
  const unknown = await server.post(
    checkPath(server, "lock", NOWHERE),
    server.selection("ann", "A1"),
  );
  expectProblem(unknown, { ...EVENT_DENIED, path: `${V2}/booking/lock` });
});

test("a body that the call would refuse is refused, and so is an unknown call", async () => {
  const server = new TestServer();
  const path = `${V2}/booking/sale`;
  const empty = await server.post(checkPath(server, "sale"), {});
  expectProblem(empty, { ...invalid("seats NOT_NULL"), path });
  const wrong = await server.post(checkPath(server, "sale"), { seats: [{ id: "x" }] });
  expectProblem(wrong, { ...invalid("seats[0].id TYPE"), path });
  const body = server.selection("ann", "A1");
  expectProblem(await server.post(checkPath(server, "steal"), body), invalid("call ENUM"));
  const missing = `${V2}/booking/check?eventId=${server.a.eventId}`;
  expectProblem(await server.post(missing, body), invalid("call NOT_NULL"));
  const untyped = { groupOfSeats: [""] };
  const places = "groupOfSeats[0] TYPE";
  expectProblem(await server.post(missing, untyped), invalid("call NOT_NULL", places));
  const noEvent = await server.post(checkPath(server, "sale", "x"), untyped);
  expectProblem(noEvent, { ...invalid("eventId FORMAT", places), path });
});

test("Prefer and Idempotency-Key are not looked at", async () => {
  const server = new TestServer();
  const body = server.selection("ann", "A1");
  const headers = { prefer: "return=representation", "idempotency-key": "k" };
  const send = (path: string) => server.post(path, body, { ...server.a, headers });
  expect((await send(checkPath(server, "lock"))).text).toBe("true");
  await server.book("block", null, "A1");
  expect((await send(checkPath(server, "lock"))).status).toBe(400);
  await server.book("unblock", null, "A1");
  const locked = await send(server.bookingPath("lock"));
  expect(locked.text).toContain('"fence"');
  expect((await send(checkPath(server, "unlock"))).text).toBe("true");
});

test("a hold that ran out is over for a check", async () => {
  const server = new TestServer();
  await server.book("lock", "ann", "A1");
  expect((await check(server, "lock", "bob", "A1")).status).toBe(400);
  server.world.clock.timeMs += 15 * 60_000;
  expect((await check(server, "lock", "bob", "A1")).text).toBe("true");
  expect(await server.states("A1")).toEqual(["ACTIVE"]);
});

test("checks do not count against the limit of booking calls", async () => {
  const server = new TestServer();
  server.world.change({ bookingsPerSecond: 1 });
  for (let i = 0; i < 5; i++) {
    expect((await check(server, "lock", "ann", "A1")).text).toBe("true");
  }
  expect((await server.book("lock", "ann", "A1")).body).toBe(true);
  expect((await server.book("unlock", "ann", "A1")).body.errorCode).toBe("RATE_LIMITED");
});

/** No request of this file changes it. */
const refusing = new TestServer();
const { a: refusingHouse } = refusing;

const SEAT = { id: refusingHouse.labels.idOf("A1") };
const area = (capacity: unknown) => ({
  groupOfSeats: [{ id: refusingHouse.labels.idOf("Pit"), capacity }],
});

/** Bodies by what is wrong with them. */
const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["an empty object", {}, "seats NOT_NULL"],
  ["empty lists", { seats: [], groupOfSeats: [] }, "seats NOT_NULL"],
  ["an object for the seats", { seats: {} }, "seats TYPE"],
  ["null for a seat", { seats: [null] }, "seats[0] NOT_NULL"],
  ["a seat with id 0", { seats: [{ id: 0 }] }, "seats[0].id RANGE"],
  ["a seat with id 1.5", { seats: [{ id: 1.5 }] }, "seats[0].id TYPE"],
  ["a seat with id 2^53", { seats: [{ id: 2 ** 53 }] }, "seats[0].id RANGE"],
  ["a seat with id 2^53+1", '{"seats":[{"id":9007199254740993}]}', "seats[0].id RANGE"],
  ["a seat with id 1e400", '{"seats":[{"id":1e400}]}', "seats[0].id TYPE"],
  ["a seat with a capacity", { seats: [{ ...SEAT, capacity: 1 }] }, "seats[0].capacity NULL"],
  ["a wrong second seat", { seats: [SEAT, { id: "x" }] }, "seats[1].id TYPE"],
  ["a seat twice", { seats: [SEAT, SEAT] }, "seats[1].id DUPLICATE"],
  [
    "an area twice",
    { groupOfSeats: [...area(1).groupOfSeats, ...area(2).groupOfSeats] },
    "groupOfSeats[1].id DUPLICATE",
  ],
  ["capacity 0", area(0), "groupOfSeats[0].capacity RANGE"],
  ["capacity 1.5", area(1.5), "groupOfSeats[0].capacity TYPE"],
  ["capacity 2^31", area(2 ** 31), "groupOfSeats[0].capacity RANGE"],
  ["a list for the hold type", { holdType: [], seats: [SEAT] }, "holdType TYPE"],
  [
    "1,001 seats",
    { seats: Array.from({ length: 1_001 }, (_, i) => ({ id: i + 1 })) },
    "seats SIZE",
  ],
];

test.each(INVALID)("every booking command refuses %s", async (_, body, error) => {
  const before = refusing.digest;
  for (const kind of BOOKING_KINDS) {
    expectProblem(await refusing.post(refusing.bookingPath(kind), body), invalid(error));
  }
  expect(refusing.digest).toBe(before);
});

test("a request with exactly 1,000 seats and areas is valid", async () => {
  const seats = Array.from({ length: 999 }, (_, i) => ({ id: 10_000 + i }));
  const lock = (body: object) => refusing.post(refusing.bookingPath("lock"), body);
  const taken = await lock({ seats, ...area(1) });
  expect(taken.body.errorCode).toBe("INVENTORY_NOT_AVAILABLE");
  expect(taken.body.errors.length).toBe(999);
  const more = await lock({ seats: [...seats, { id: 1 }], ...area(1) });
  expect(more.body.errorCode).toBe("VALIDATION_FAILED");
});

const EVENT_IDS: readonly (readonly [string, string])[] = [
  ["", "eventId NOT_NULL"],
  ["eventId=7", "eventId FORMAT"],
  ["eventId=00000000-0000-4000-8000-0000000000011", "eventId FORMAT"],
  ["eventid=00000000-0000-4000-8000-000000000001", "eventId NOT_NULL"],
  [
    `eventId=${refusingHouse.eventId}&eventId=${refusingHouse.eventId.replace("1", "2")}`,
    "eventId TYPE",
  ],
];

test.each(EVENT_IDS)("every booking command refuses the query %j", async (query, error) => {
  for (const kind of BOOKING_KINDS) {
    const [path] = refusing.bookingPath(kind).split("?");
    const reply = await refusing.post(`${path}?${query}`, refusing.selection("s1", "A1"));
    expectProblem(reply, invalid(error));
  }
});

const TYPES: readonly (readonly [string, number])[] = [
  ["application/json", 200],
  ["application/json; charset=utf-8", 200],
  ["Application/JSON ;charset=UTF-8", 200],
  ["", 200],
  ["text/plain", 415],
  ["text/json", 415],
  ["application/x-www-form-urlencoded", 415],
  ["application/jsonp", 415],
  ["application/json, text/plain", 415],
  ["multipart/form-data; boundary=application/json", 415],
];

test.each(TYPES)("a body with the content type %j gets %d", async (type, status) => {
  const by = { ...refusingHouse, headers: { "content-type": type } };
  const reply = await refusing.post(
    refusing.bookingPath("unlock"),
    refusing.selection("s1", "A1"),
    by,
  );
  if (status === 200) expect(reply.text).toBe("true");
  else expectProblem(reply, { status, errorCode: "UNSUPPORTED_MEDIA_TYPE" });
});

test("members that are not documented are ignored", async () => {
  const fresh = new TestServer();
  const body = {
    ...fresh.selection("s1", "A1"),
    properties: [{ any: "thing" }],
    cartSeatIds: null,
    extra: { state: "SOLD" },
  };
  expect((await fresh.post(fresh.bookingPath("lock"), body)).text).toBe("true");
  expect(await fresh.states("A1")).toEqual(["LOCKED"]);
});

const V1 = "/api/private/v1.0";
/** One code point, two UTF-16 units, four bytes of UTF-8. */
const EMOJI = "\u{1f3ad}";

const measured = new TestServer();
const { a: house } = measured;

const listOf = (errors: readonly ProblemError[]) =>
  errors.map(({ field, code }) => `${field} ${code}`);

async function sizeErrors(path: string, body: object): Promise<readonly string[]> {
  const reply = await measured.call("POST", path, { key: house.key, body });
  return reply.status < 300 ? [] : listOf(reply.body.errors);
}

/** The errors that a library caller gets. */
function give(kind: "lock" | "directsale" | "createEvent", body: object): readonly string[] {
  const command = sampleCommand(kind, house.caller);
  return listOf(commandErrors({ ...command, body: { ...command.body, ...body } } as never));
}

test.each([
  ["sessionId", "lock", "A1", 255],
  ["holdType", "directsale", "A2", 64],
] as const)(
  "the %s of a %s of %s may have %i emoji, and no more",
  async (member, kind, label, most) => {
    const path = `${V2}/booking/${kind}?eventId=${house.eventId}`;
    const bodyOf = (length: number) => {
      return { seats: [{ id: house.labels.idOf(label) }], [member]: EMOJI.repeat(length) };
    };
    expect(await sizeErrors(path, bodyOf(most + 1))).toEqual([`${member} SIZE`]);
    expect(await sizeErrors(path, bodyOf(most))).toEqual([]);
    expect(Object.values(measured.world.lastRecord!)).toContain(EMOJI.repeat(most));
    expect(give(kind, bodyOf(most + 1))).toEqual([`${member} SIZE`]);
    expect(give(kind, bodyOf(most))).toEqual([]);
  },
);

test("the name of an event may have 255 emoji, and no more", async () => {
  const times = { start: "2030-05-01T20:00", endDate: "2030-05-01T23:00" };
  const bodyOf = (length: number) => {
    return { name: EMOJI.repeat(length), schemaId: house.schemaId, ...times };
  };
  for (const path of [`${V1}/events/`, `${V2}/events/`]) {
    expect(await sizeErrors(path, bodyOf(256))).toEqual(["name SIZE"]);
    expect(await sizeErrors(path, bodyOf(255))).toEqual([]);
  }
  expect(give("createEvent", bodyOf(256))).toEqual(["name SIZE"]);
  expect(give("createEvent", bodyOf(255))).toEqual([]);
});
