/** The door of an event: settings, the draw, invitations at the rate, admissions, and their ends. */
import { createHash, createHmac } from "node:crypto";
import { describe, expect, test } from "vitest";
import { doorStateOf } from "../../engine/door.ts";
import { copyPartition, packImage } from "../../engine/inventory/image.ts";
import { Door } from "../../engine/inventory/door.ts";
import { Result } from "../../engine/results.ts";
import { checkDoor } from "../../engine/verify.ts";
import { decodeImage, encodeImage } from "../../persistence/snapshot/file.ts";
import { entryOf } from "../../server/door/keys.ts";
import { DoorWorld, MINUTE_MS } from "../support/door.ts";
import { replayed, START_MS } from "../support/engine.ts";
import { area, layoutOf, section } from "../support/layout.ts";
import { expectConsistent } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6 7 8" }), area("Pit", 10)];
const NAMES = Array.from({ length: 20 }, (_, i) => `visitor-${i}`);

function opened(body: object = {}, names: readonly string[] = NAMES): DoorWorld {
  const world = new DoorWorld(HALL);
  expect(world.put(body)).toMatchObject({ refused: Result.OK, value: true });
  for (const name of names) world.join(name);
  world.open();
  return world;
}

/** Names by their places, as anybody recomputes them. */
function drawn(world: DoorWorld, names: readonly string[]): string[] {
  const seed = world.keys.seedOf(world.door.id);
  const keyOf = (name: string) =>
    createHmac("sha256", seed).update(entryOf(name).toString("hex")).digest("hex");
  return [...names].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
}

const statesOf = (world: DoorWorld, names = NAMES) => names.map((name) => world.facts(name).state);
const invited = (world: DoorWorld, names = NAMES) =>
  statesOf(world, names).filter((state) => state === "invited").length;

/** Enters with the first places. */
function inside(world: DoorWorld, count: number): string[] {
  const names = drawn(world, NAMES).slice(0, count);
  for (let i = 0; i < count; i++) world.wait(1_000);
  for (const name of names) expect(world.enter(name).refused).toBe(Result.OK);
  return names;
}

test("a set-up → the event keeps its sequence, the commitment is of the seed, which stays unknown", () => {
  const world = new DoorWorld(HALL);
  const { state } = world.engine;
  const before = state.sequenceOf(world.event);
  expect(world.put()).toMatchObject({ value: true });
  expect(world.put({ perMinute: 5 })).toMatchObject({ value: false });
  expect(state.sequenceOf(world.event)).toBe(before);
  const seed = world.keys.seedOf(world.door.id);
  expect(world.door.row.commitment).toBe(createHash("sha256").update(seed).digest("hex"));
  expect(JSON.stringify(world.journal.kept)).not.toContain(seed.toString("hex"));
  world.open();
  expect(Buffer.from(world.door.seed)).toEqual(seed);
  expect(state.sequenceOf(world.event)).toBe(before);
  expectConsistent(world);
});

test("opensAt that has passed → RANGE with a draw, opens at once without one", () => {
  const world = new DoorWorld(HALL);
  world.opensAtMs = START_MS;
  expect(world.put()).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "opensAt", code: "RANGE" }],
  });
  expect(world.put({ draw: false }).refused).toBe(Result.OK);
  expect(world.door.isOpen).toBe(true);
  expectConsistent(world);
});

test("an open door → opensAt and draw no longer change, other settings do", () => {
  const world = opened();
  world.opensAtMs += 1;
  expect(world.put().refused).toBe(Result.INVALID_STATUS_TRANSITION);
  world.opensAtMs -= 1;
  expect(world.put({ draw: false }).refused).toBe(Result.INVALID_STATUS_TRANSITION);
  expect(world.put({ perMinute: 600 }).refused).toBe(Result.OK);
  expectConsistent(world);
});

test("a shop → RANGE: the session configuration has no origins", () => {
  expect(new DoorWorld(HALL).put({ shop: "https://shop.example/" })).toMatchObject({
    errors: [{ field: "shop", code: "RANGE" }],
  });
});

test("the draw → places in the order of HMAC(seed, entry); later ones stand behind by arrival", () => {
  const world = new DoorWorld(HALL);
  world.put();
  for (const name of NAMES) world.join(name);
  world.leave(NAMES[3]!);
  world.leave(NAMES[4]!);
  world.join(NAMES[4]!);
  expect(world.facts(NAMES[0]!).place).toBeNull();
  // Between opensAt and the record of the opening: too late for the draw.
  world.clock.timeMs = world.opensAtMs;
  world.join("late");
  world.open();
  world.join("later");
  const order = drawn(world, NAMES);
  expect(order.map((name) => world.facts(name).place)).toEqual(order.map((_, i) => i + 1));
  expect(world.facts("late").place).toBe(21);
  expect(world.facts("later").place).toBe(22);
  expect(world.door.drawn).toBe(20);
  expect(world.facts(NAMES[3]!).state).toBe("gone");
  expectConsistent(world);
});

test("no draw → places by arrival, from the start", () => {
  const world = new DoorWorld(HALL);
  world.put({ draw: false });
  for (const name of ["a", "b", "c"]) world.join(name);
  world.leave("a");
  world.join("a");
  expect(["a", "b", "c"].map((name) => world.facts(name).place)).toEqual([4, 2, 3]);
  // Before the opening the draw can still be chosen, and given up.
  world.put({ draw: true });
  expect(world.facts("b").place).toBeNull();
  world.put({ draw: false });
  expect(["a", "b", "c"].map((name) => world.facts(name).place)).toEqual([1, 2, 3]);
  world.open();
  expect(world.door.drawn).toBe(0);
  expectConsistent(world);
});

test("openDoor before its time, twice, or with another order → refused", () => {
  const world = new DoorWorld(HALL);
  world.put();
  const { eventId, caller } = world;
  const open = (order: Uint32Array) =>
    world.submit("openDoor", caller, { eventId, order, beacon: null }).refused;
  expect(open(new Uint32Array(0))).toBe(Result.INVALID_STATUS_TRANSITION);
  world.join("a");
  world.clock.timeMs = world.opensAtMs;
  expect(open(new Uint32Array(0))).toBe(Result.INVALID_STATUS_TRANSITION);
  expect(open(Uint32Array.of(0))).toBe(Result.OK);
  expect(open(Uint32Array.of(0))).toBe(Result.INVALID_STATUS_TRANSITION);
});

describe("a beacon", () => {
  const NAME = { name: "drand round 7" };
  const FULL = { ...NAME, value: "a3c1" };
  const refusedBy = (world: DoorWorld, body: object) => {
    const outcome = world.put(body);
    if (outcome.refused === Result.OK) return "OK";
    const [error] = outcome.errors;
    return error === undefined ? outcome.refused : `${error.field} ${error.code}`;
  };

  test("named before the opening, fulfilled after it → decides the draw beside the seed", () => {
    const world = new DoorWorld(HALL);
    world.put({ beacon: { name: "another" } });
    world.put({ beacon: NAME });
    for (const name of NAMES) world.join(name);
    expect(refusedBy(world, { beacon: FULL })).toBe("beacon.value RANGE");
    world.clock.timeMs = world.opensAtMs;
    expect(() => world.open()).toThrow(/openDoor was refused/);
    expect(world.put({ beacon: FULL }).refused).toBe(Result.OK);
    world.open();
    const seed = world.keys.seedOf(world.door.id);
    const keyOf = (name: string) =>
      createHmac("sha256", seed)
        .update(`${entryOf(name).toString("hex")}:a3c1`)
        .digest("hex");
    const order = [...NAMES].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    expect(order.map((name) => world.facts(name).place)).toEqual(order.map((_, i) => i + 1));
    expect(order).not.toEqual(drawn(world, NAMES));
    expectConsistent(world);
    expect(replayed(world.journal).doors.get(world.event.partition)!.row.beacon).toEqual(FULL);
  });

  test("its time has come → the name stays, a value may come once", () => {
    const world = new DoorWorld(HALL);
    world.put({ beacon: NAME });
    world.clock.timeMs = world.opensAtMs;
    const isFixed = Result.INVALID_STATUS_TRANSITION;
    for (const beacon of [null, { name: "another" }, { name: "another", value: "a3c1" }]) {
      expect(refusedBy(world, { beacon })).toBe(isFixed);
    }
    expect(world.put({ beacon: NAME, perMinute: 7 }).refused).toBe(Result.OK);
    expect(world.put({ beacon: FULL }).refused).toBe(Result.OK);
    for (const beacon of [NAME, { ...NAME, value: "b" }]) {
      expect(refusedBy(world, { beacon })).toBe(isFixed);
    }
    world.open();
    expect(world.put({ beacon: FULL, perMinute: 9 }).refused).toBe(Result.OK);
    expect(refusedBy(world, {})).toBe(isFixed);
  });

  test("a door without one → none is named from its time on", () => {
    const world = opened();
    expect(refusedBy(world, { beacon: FULL })).toBe(Result.INVALID_STATUS_TRANSITION);
  });

  test("no value for a minute → opens with the seed alone, and takes none afterwards", () => {
    const world = new DoorWorld(HALL);
    world.put({ beacon: NAME });
    for (const name of NAMES) world.join(name);
    const { eventId, caller, door } = world;
    world.clock.timeMs = world.opensAtMs + MINUTE_MS - 1;
    const order = world.order();
    const openBy = (beacon: string | null) =>
      world.submit("openDoor", caller, { eventId, order, beacon }).refused;
    expect(openBy(null)).toBe(Result.INVALID_STATUS_TRANSITION);
    world.join("late");
    world.clock.timeMs += 1;
    expect(openBy("a3c1")).toBe(Result.INVALID_STATUS_TRANSITION);
    expect(openBy(null)).toBe(Result.OK);
    expect(door.isOpen).toBe(true);
    expect(world.facts("late").place).toBe(NAMES.length + 1);
    expect(drawn(world, NAMES).map((name) => world.facts(name).place)).toEqual(
      NAMES.map((_, i) => i + 1),
    );
    expect(refusedBy(world, { beacon: FULL })).toBe(Result.INVALID_STATUS_TRANSITION);
    expect(world.put({ beacon: NAME }).refused).toBe(Result.OK);
  });

  test("no draw → CONFLICT", () => {
    expect(refusedBy(new DoorWorld(HALL), { draw: false, beacon: NAME })).toBe("beacon CONFLICT");
  });

  test("a value that comes while the draw is made without it → that order is refused", () => {
    const world = new DoorWorld(HALL);
    world.put({ beacon: NAME });
    for (const name of NAMES) world.join(name);
    const { eventId, caller } = world;
    world.clock.timeMs = world.opensAtMs + MINUTE_MS;
    const order = world.order();
    expect(world.put({ beacon: FULL }).refused).toBe(Result.OK);
    const stale = { eventId, order, beacon: null };
    expect(world.submit("openDoor", caller, stale).refused).toBe(Result.INVALID_STATUS_TRANSITION);
    world.open();
  });
});

test.each([1, 7, 59, 60, 61, 100, 3_000])(
  "%i a minute → after k seconds exactly ceil(perMinute · k / 60) invited",
  (perMinute) => {
    const many = Array.from({ length: 400 }, (_, i) => `v${i}`);
    const world = opened({ perMinute }, many);
    world.engine.serveDoors();
    for (let second = 1; second <= 60; second++) {
      const wanted = Math.min(400, Math.ceil((perMinute * second) / 60));
      expect(invited(world, many)).toBe(wanted);
      // Further calls in the same second invite nobody.
      world.wait(400);
      world.wait(400);
      expect(invited(world, many)).toBe(wanted);
      world.wait(200);
    }
    expectConsistent(world);
  },
);

test("a second in which nobody served → is not made up", () => {
  const world = opened({ perMinute: 120 });
  world.engine.serveDoors();
  expect(invited(world)).toBe(2);
  world.wait(5_000);
  expect(invited(world)).toBe(4);
});

test("a pause → nobody is invited; its end, and another rate, begin the seconds anew", () => {
  const world = opened({ perMinute: 60 });
  world.engine.serveDoors();
  world.put({ perMinute: 60, paused: true });
  world.wait(3_500);
  expect(invited(world)).toBe(1);
  world.put({ perMinute: 60 });
  world.wait(0);
  expect(invited(world)).toBe(2);
  // The second second begins at 4,500.
  world.wait(900);
  expect(invited(world)).toBe(2);
  world.wait(100);
  expect(invited(world)).toBe(3);
  world.put({ perMinute: 90 });
  world.wait(0);
  expect(invited(world)).toBe(5);
  expectConsistent(world);
});

test.each([
  ["archived", (world: DoorWorld) => setStatus(world, "ARCHIVED"), null],
  [
    "disabled for booking",
    (world: DoorWorld) => world.change({ bookingEnabled: false }),
    (world: DoorWorld) => world.change({ bookingEnabled: true }),
  ],
])("an event that is %s → pauses its door", (_, pause, resume) => {
  const world = opened();
  world.engine.serveDoors();
  pause(world);
  world.wait(2_500);
  expect(invited(world)).toBe(1);
  expect(world.facts(NAMES[0]!)).toMatchObject({ ahead: null, estimatedSeconds: null });
  if (resume === null) return;
  resume(world);
  world.wait(0);
  world.wait(900);
  expect(invited(world)).toBe(2);
  expectConsistent(world);
});

function setStatus(world: DoorWorld, status: "PUBLISHED" | "ARCHIVED"): void {
  world.must("changeEventStatus", world.caller, { eventId: world.eventId, body: { status } });
}

test("maxInside → invited and inside never exceed it; who leaves makes room", () => {
  const world = opened({ perMinute: 600, maxInside: 3 });
  world.engine.serveDoors();
  expect(invited(world)).toBe(3);
  world.wait(1_000);
  expect(invited(world)).toBe(3);
  const [first] = drawn(world, NAMES);
  world.enter(first!);
  world.wait(1_000);
  expect(world.door.visitorsIn).toEqual(Uint32Array.of(17, 2, 1, 0));
  world.leave(first!);
  world.wait(1_000);
  expect(world.door.visitorsIn).toEqual(Uint32Array.of(16, 3, 0, 1));
  // A lower cap sends nobody out.
  world.put({ perMinute: 600, maxInside: 1 });
  world.wait(1_000);
  expect(invited(world)).toBe(3);
  expectConsistent(world);
});

test("nothing ACTIVE → nobody is invited, until something is", () => {
  const world = opened({ perMinute: 600 });
  world.change({ salesControl: true });
  const seats = world.labels.seats;
  world.must("directsale", world.caller, {
    eventId: world.eventId,
    body: world.selection(null, ...seats, "Pit:10"),
  });
  expect(doorStateOf(world.engine.state, world.event)).toBe("soldout");
  world.wait(1_000);
  expect(invited(world)).toBe(0);
  world.book("revertsale", world.selection(null, "Pit:1"));
  expect(doorStateOf(world.engine.state, world.event)).toBe("open");
  world.wait(0);
  expect(invited(world)).toBe(10);
});

test("an invitation that is not used → gone after claimSeconds, at once for who asks", () => {
  const world = opened({ claimSeconds: 5 });
  world.engine.serveDoors();
  const [first, second] = drawn(world, NAMES);
  world.clock.timeMs += 4_999;
  expect(world.facts(first!).state).toBe("invited");
  world.clock.timeMs += 1;
  expect(world.facts(first!)).toMatchObject({ state: "gone", untilMs: null });
  expect(world.enter(first!).refused).toBe(Result.INVALID_STATUS_TRANSITION);
  expect(world.enter(second!).refused).toBe(Result.INVALID_STATUS_TRANSITION);
  expect(world.door.noShows).toBe(0);
  world.engine.serveDoors();
  expect(world.door.noShows).toBe(1);
  expect(world.door.visitorsIn[3]).toBe(1);
  expectConsistent(world);
});

test("who comes back → stands at the end with a new place", () => {
  const world = opened({ claimSeconds: 5 });
  const [first] = drawn(world, NAMES);
  world.engine.serveDoors();
  const known = world.join(first!);
  expect(world.facts(first!).place).toBe(1);
  world.clock.timeMs += 5_000;
  // Not swept yet.
  expect(world.join(first!)).toBe(known);
  expect(world.facts(first!)).toMatchObject({ state: "waiting", place: 21 });
  world.engine.serveDoors();
  expect(world.facts(first!).state).toBe("waiting");
  expectConsistent(world);
});

test("ahead and estimate → of who waits in an open door", () => {
  const world = opened({ perMinute: 7 });
  world.engine.serveDoors();
  const [, second, third] = drawn(world, NAMES);
  expect(world.facts(second!)).toMatchObject({ ahead: 0, estimatedSeconds: Math.ceil(60 / 7) });
  expect(world.facts(third!)).toMatchObject({ ahead: 1, estimatedSeconds: Math.ceil(120 / 7) });
});

test("a door under a lock → ADMISSION_REQUIRED, also before its opening, unless the hold type is exempt", () => {
  const world = new DoorWorld(HALL);
  world.put({ exemptHoldTypes: ["RESERVED"] });
  const lock = (more: object) => world.book("lock", { ...world.selection("S", "A1"), ...more });
  expect(lock({}).refused).toBe(Result.ADMISSION_REQUIRED);
  expect(lock({ admission: "" }).refused).toBe(Result.ADMISSION_REQUIRED);
  const { eventId, caller } = world;
  const best = world.submit("best", caller, { eventId, body: { quantity: 1 } });
  expect(best.refused).toBe(Result.ADMISSION_REQUIRED);
  expect(lock({ holdType: "RESERVED" }).refused).toBe(Result.OK);
  expect(world.book("directsale", world.selection(null, "A3")).refused).toBe(Result.OK);
  expect(world.book("unlock", world.selection("S", "A1")).refused).toBe(Result.OK);
  world.must("deleteAdmission", caller, { eventId });
  expect(lock({}).refused).toBe(Result.OK);
  expectConsistent(world);
});

test("tokens → the first refusal that applies", () => {
  const world = opened();
  const [first, second] = inside(world, 2);
  const lock = (admission: string, sessionId: string | null = "S", label = "A1") =>
    world.book("lock", { ...world.selection(sessionId, label), admission });
  const codeOf = (admission: string, session?: string | null) => {
    const outcome = lock(admission, session);
    return "errors" in outcome ? outcome.errors[0]?.code : outcome.refused;
  };
  const token = world.token(first!);
  const [head, payload, signature] = token.split(".") as [string, string, string];
  const of = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = JSON.parse(Buffer.from(payload, "base64url").toString()) as object;
  expect(codeOf("nonsense")).toBe("SIGNATURE");
  expect(codeOf(`${head}.${of({})}.${signature}`)).toBe("SIGNATURE");
  expect(codeOf(`${head}.${of({ ...claims, aud: "another" })}.${signature}`)).toBe("EVENT");
  expect(codeOf(world.token(first!, { aud: "another" }))).toBe("EVENT");
  expect(codeOf(`${head}.${of({ ...claims, sub: second })}.${signature}`)).toBe("SIGNATURE");
  expect(codeOf(`${of({ alg: "none" })}.${payload}.`)).toBe("SIGNATURE");
  expect(codeOf(`${of({ alg: "none", typ: "JWT" })}.${payload}.${signature}`)).toBe("SIGNATURE");
  expect(codeOf(`${token}.`)).toBe("SIGNATURE");
  expect(codeOf(`${token}=`)).toBe("SIGNATURE");
  const hs512 = `${of({ alg: "HS512", typ: "JWT" })}.${payload}`;
  const key = Buffer.from(world.keys.tokenKeyOf(world.door.id), "base64url");
  const other = createHmac("sha512", key).update(hs512).digest("base64url");
  expect(codeOf(`${hs512}.${other}`)).toBe("SIGNATURE");
  // A right signature under the name of another algorithm.
  const renamed = createHmac("sha256", key).update(hs512).digest("base64url");
  expect(codeOf(`${hs512}.${renamed}`)).toBe("SIGNATURE");
  expect(codeOf(world.token(first!, { sub: "stranger" }))).toBe("SIGNATURE");
  // The same claims under a key that is of another algorithm's form.
  const forged = createHmac("sha256", Buffer.alloc(32)).update(`${head}.${payload}`);
  expect(codeOf(`${head}.${payload}.${forged.digest("base64url")}`)).toBe("SIGNATURE");
  expect(JSON.stringify(lock(`${token}x`))).not.toContain(payload);

  expect(lock(token, "S").refused).toBe(Result.OK);
  expect(codeOf(token, "T")).toBe("SESSION");
  expect(codeOf(token, null)).toBe("SESSION");
  expect(lock(token, "S", "A3").refused).toBe(Result.OK);
  // No session is one too.
  expect(lock(world.token(second!), null, "A5").refused).toBe(Result.OK);
  expect(codeOf(world.token(second!), "S")).toBe("SESSION");
  world.leave(first!);
  expect(codeOf(token)).toBe("LEFT");
  const late = world.token(second!);
  world.clock.timeMs = world.facts(second!).untilMs! - 1;
  expect(lock(late, null, "A7").refused).toBe(Result.OK);
  world.clock.timeMs += 1;
  expect(codeOf(late, null)).toBe("EXPIRED");
  expect(codeOf(token)).toBe("EXPIRED");
  world.engine.serveDoors();
  expect(codeOf(late, null)).toBe("EXPIRED");
  expectConsistent(world);
});

test("a token of an earlier stay or an earlier door → LEFT, SIGNATURE", () => {
  const world = opened({ perMinute: 6_000 });
  const [first] = inside(world, 1);
  const token = world.token(first!);
  world.leave(first!);
  world.join(first!);
  world.wait(1_000);
  expect(world.enter(first!).refused).toBe(Result.OK);
  const lock = (admission: string) =>
    world.book("lock", { ...world.selection("S", "A1"), admission });
  expect(lock(token)).toMatchObject({ errors: [{ code: "LEFT" }] });
  const present = world.token(first!);
  expect(lock(present).refused).toBe(Result.OK);
  const { eventId, caller } = world;
  world.must("deleteAdmission", caller, { eventId });
  world.opensAtMs = world.clock.timeMs + MINUTE_MS;
  world.put();
  expect(world.door.count).toBe(0);
  expect(lock(present)).toMatchObject({ errors: [{ code: "SIGNATURE" }] });
  expectConsistent(world);
});

test("seatsPerVisitor → VISITOR_LIMIT for the objects beyond it; taken follows holds and sales", () => {
  const world = opened({ seatsPerVisitor: 4 });
  world.change({ salesControl: true });
  const [first] = inside(world, 1);
  const admission = world.token(first!);
  const lock = (...objects: string[]) =>
    world.book("lock", { ...world.selection("S", ...objects), admission });
  expect(lock("A1", "A2", "Pit:3")).toMatchObject({
    refused: Result.INVENTORY_NOT_AVAILABLE,
    errors: [{ field: "groupOfSeats[0].capacity", code: "VISITOR_LIMIT", rejectedValue: 3 }],
  });
  expect(lock("A1", "A2", "Pit:2").refused).toBe(Result.OK);
  expect(world.facts(first!).taken).toBe(4);
  expect(lock("A3")).toMatchObject({ errors: [{ field: "seats[0].id", code: "VISITOR_LIMIT" }] });
  const { eventId, caller } = world;
  const body = { quantity: 1, sessionId: "S", admission };
  expect(world.submit("best", caller, { eventId, body })).toMatchObject({
    errors: [{ field: "quantity", code: "VISITOR_LIMIT" }],
  });
  // What is given back no longer counts; what is sold does, even when the sale is reverted.
  world.book("unlock", world.selection("S", "A2"));
  expect(world.facts(first!).taken).toBe(3);
  world.book("sale", world.selection("S", "A1", "Pit:1"));
  expect(world.facts(first!).taken).toBe(3);
  world.book("revertsale", world.selection(null, "A1"));
  expect(world.facts(first!).taken).toBe(3);
  expectConsistent(world);
  world.clock.timeMs += 15 * MINUTE_MS;
  world.engine.expireAll();
  // One place of the area was still held, and ran out.
  expect(world.facts(first!).taken).toBe(2);
  expectConsistent(world);
});

test("best effort at a door → asks for the token, and takes what the visitor may still take", () => {
  const world = opened({ seatsPerVisitor: 2 });
  const [first] = inside(world, 1);
  const { eventId, caller } = world;
  const lock = (more: object) =>
    world.submit("lockBestEffort", caller, {
      eventId,
      body: { ...world.selection("S", "A1", "A2", "A3"), ...more },
    });
  expect(lock({}).refused).toBe(Result.ADMISSION_REQUIRED);
  const admission = world.token(first!);
  expect(lock({ admission: `${admission}x` }).refused).toBe(Result.ADMISSION_INVALID);
  expect(lock({ admission })).toMatchObject({
    refused: Result.OK,
    value: { refused: [{ field: "seats[2].id", code: "VISITOR_LIMIT" }] },
  });
  expect(world.facts(first!).taken).toBe(2);
  expectConsistent(world);
});

test("HELD_LIMIT comes before VISITOR_LIMIT", () => {
  const world = opened({ seatsPerVisitor: 1 });
  world.change({ heldPerSession: 2 });
  const [first] = inside(world, 1);
  const admission = world.token(first!);
  const labels = ["A1", "A2", "A3"];
  expect(world.book("lock", { ...world.selection("S", ...labels), admission })).toMatchObject({
    errors: [{ field: "seats[2].id", code: "HELD_LIMIT" }],
  });
});

test("another layout → the door stays, and a removed seat is no longer taken", () => {
  const world = opened();
  const [first] = inside(world, 1);
  const admission = world.token(first!);
  world.book("lock", { ...world.selection("S", "A7", "A8"), admission });
  const { seats = [], ...others } = layoutOf(...HALL);
  const left = (seats ?? []).map((seat) =>
    seat.name === "8" ? { ...seat, toRemove: true } : seat,
  );
  world.putLayout({ ...others, seats: left }, true);
  expect(world.facts(first!).taken).toBe(1);
  expect(world.door.count).toBe(20);
  expectConsistent(world);
});

test("the image of a door → restores it", () => {
  const world = opened({ seatsPerVisitor: 4 });
  world.change({ salesControl: true });
  const [first, second] = inside(world, 2);
  for (const [i, name] of [first!, second!].entries()) {
    const selection = world.selection(`session ${name} ü`, `A${2 * i + 1}`, "Pit:2");
    const booked = world.book("lock", { ...selection, admission: world.token(name) });
    expect(booked.refused).toBe(Result.OK);
  }
  world.book("sale", world.selection(null, "A1"));
  world.leave(second!);
  world.join(second!);
  const image = packImage(copyPartition(world.partition, world.door));
  const decoded = decodeImage(encodeImage(image));
  expect(decoded).toEqual(image);
  const copy = Door.restore(decoded.door!, world.door.row);
  checkDoor(copy, world.partition);
  expect(copy.copy(world.partition)).toEqual(image.door);
  const due = (door: Door) => door.due(world.clock.timeMs + 15 * MINUTE_MS, 100);
  expect(due(copy)).toEqual(due(world.door));
});

test("more visitors than there is memory for → NO_ROOM, until a door is deleted", () => {
  const world = opened();
  const { state } = world.engine;
  expect(state.doors.visitorCount).toBe(20);
  state.quota = { catalog: Infinity, events: state.used.events + 200 };
  const { eventId, caller } = world;
  const join = (name: string) =>
    world.submit("joinDoor", caller, { eventId, entry: entryOf(name) });
  expect(join("one more").refused).toBe(Result.OK);
  expect(join("another").refused).toBe(Result.NO_ROOM);
  expect(join(NAMES[0]!).refused).toBe(Result.OK);
  world.must("deleteAdmission", caller, { eventId });
  expect(state.doors.visitorCount).toBe(0);
  expect(replayed(world.journal).doors.visitorCount).toBe(0);
});

test("a moving organization → refused while an event has a door", () => {
  const world = opened();
  const { organizationId } = world.caller;
  const move = { phase: "LEAVING" as const, cell: 2, url: "http://127.0.0.1:1/" };
  const command = { organizationId, move: move as never };
  expect(world.submit("moveOrganization", world.tenant, command).refused).toBe(
    Result.ENTITY_IN_USE,
  );
});
