/** The check of histories finds every violation and accepts every possible history. */
import { describe, expect, test } from "vitest";
import { Random } from "../../sim/workload/random.ts";
import {
  ACTIVE,
  type Booking,
  type BookingCall,
  type Call,
  contradictionIn,
  LOCKED,
  lockedBy,
  type ReadCall,
  type SeatCall,
  seatFaults,
  SOLD,
} from "../linearizable.ts";

const SEAT = 7;

/** A booking from one place to another; without the second one it was never answered. */
function booked(kind: Booking, session: string, from: number, to = Infinity): BookingCall {
  return { kind, session, seat: SEAT, begunAt: from, answeredAt: to, isGranted: true };
}

function refused(kind: Booking, session: string, from: number, to: number): BookingCall {
  return { ...booked(kind, session, from, to), isGranted: false };
}

function read(state: string, from: number, to: number): ReadCall {
  return { kind: "read", state, seat: SEAT, begunAt: from, answeredAt: to };
}

describe("a history that may have happened has no fault", () => {
  test.each<[string, SeatCall[]]>([
    ["nothing happened", []],
    [
      "one call after the other",
      [booked("lock", "ann", 1, 2), booked("sale", "ann", 3, 4), read(SOLD, 5, 6)],
    ],
    [
      "of two calls at the same time one is refused",
      [booked("lock", "ann", 1, 4), refused("lock", "ben", 2, 3)],
    ],
    [
      "reads at the same time as a call see the state before and after it",
      [booked("lock", "ann", 1, 9), read(ACTIVE, 2, 3), read(lockedBy("ann"), 4, 5)],
    ],
    [
      "the call that began last took effect first",
      [booked("lock", "ann", 1, 8), booked("lock", "ben", 2, 7), booked("unlock", "ben", 3, 6)],
    ],
    [
      "a call without an answer took effect",
      [booked("lock", "ann", 1), read(lockedBy("ann"), 2, 3)],
    ],
    [
      "a read of a locked seat does not show the session",
      [booked("lock", "ann", 1, 2), read(LOCKED, 3, 4)],
    ],
    ["a call without an answer had no effect", [booked("lock", "ann", 1), read(ACTIVE, 2, 3)]],
    [
      "a call without an answer took effect after later calls",
      [
        booked("lock", "ann", 1),
        booked("lock", "ben", 2, 3),
        booked("unlock", "ben", 4, 5),
        read(lockedBy("ann"), 6, 7),
      ],
    ],
    [
      "an answer at the place where another call begins overlaps with it",
      [booked("lock", "ann", 1, 2), read(ACTIVE, 2, 3)],
    ],
    [
      "other seats do not matter",
      [booked("lock", "ann", 1, 2), { ...booked("lock", "ben", 3, 4), seat: SEAT + 1 }],
    ],
  ])("%s", (_, calls) => {
    expect(seatFaults(calls)).toEqual([]);
  });
});

describe("a history that cannot have happened names the first answer that contradicts it", () => {
  test.each<[string, SeatCall[], string]>([
    [
      "an acknowledged lock is lost",
      [booked("lock", "ann", 1, 2), read(ACTIVE, 3, 4)],
      "read ACTIVE (3 to 4), but LOCKED by ann",
    ],
    [
      "an acknowledged sale is lost, as another customer notices",
      [booked("lock", "ann", 1, 2), booked("sale", "ann", 3, 4), booked("lock", "ben", 5, 6)],
      "lock by ben granted (5 to 6), but SOLD",
    ],
    [
      "an acknowledged sale is lost, as a read without the session shows",
      [booked("lock", "ann", 1, 2), booked("sale", "ann", 3, 4), read(LOCKED, 5, 6)],
      "read LOCKED (5 to 6), but SOLD",
    ],
    [
      "a seat is given to two customers",
      [booked("lock", "ann", 1, 4), booked("lock", "ben", 2, 3)],
      "lock by ann granted (1 to 4), but LOCKED by ben",
    ],
    [
      "a call happens a second time after its effect was undone",
      [booked("lock", "ann", 1, 2), booked("unlock", "ann", 3, 4), read(lockedBy("ann"), 5, 6)],
      "read LOCKED by ann (5 to 6), but ACTIVE",
    ],
    [
      "a call without an answer happens twice",
      [
        booked("lock", "ann", 1),
        read(lockedBy("ann"), 2, 3),
        booked("unlock", "ann", 4, 5),
        read(lockedBy("ann"), 6, 7),
      ],
      "read LOCKED by ann (6 to 7), but ACTIVE",
    ],
    [
      "a read shows the state before a change that another read has shown",
      [booked("lock", "ann", 1, 9), read(lockedBy("ann"), 2, 3), read(ACTIVE, 4, 5)],
      "read ACTIVE (4 to 5), but LOCKED by ann",
    ],
    [
      "two calls take effect in another order than that of their answers",
      [booked("lock", "ann", 1, 2), booked("unlock", "ann", 3, 4), refused("lock", "ben", 5, 6)],
      "lock by ben refused (5 to 6), but ACTIVE",
    ],
    [
      "a call takes effect before it begins",
      [read(lockedBy("ann"), 1, 2), booked("lock", "ann", 3, 4)],
      "read LOCKED by ann (1 to 2), but ACTIVE",
    ],
    [
      "a refusal has an effect",
      [booked("lock", "ann", 1, 2), refused("unlock", "ben", 3, 4), read(ACTIVE, 5, 6)],
      "read ACTIVE (5 to 6), but LOCKED by ann",
    ],
  ])("%s", (_, calls, fault) => {
    expect(seatFaults(calls)).toEqual([`seat ${SEAT}: ${fault}`]);
  });
});

const SESSIONS = ["ann", "ben", "cid"];
const BOOKINGS: readonly Booking[] = ["lock", "lock", "unlock", "sale", "revertsale"];

/** A possible history: each call takes effect at a random moment between its ends. */
function happened(random: Random, count: number, width: number): SeatCall[] {
  const moments = Array.from({ length: count }, (_, i) => {
    const effectAt = 10 * i;
    const begunAt = effectAt - 1 - random.below(width);
    const isLost = random.once(8);
    return { begunAt, answeredAt: isLost ? Infinity : effectAt + 1 + random.below(width) };
  });
  let state = ACTIVE;
  return moments.map(({ begunAt, answeredAt }) => {
    if (random.once(3)) return { ...read(state, begunAt, answeredAt) };
    const call = booked(random.pick(BOOKINGS), random.pick(SESSIONS), begunAt, answeredAt);
    // A call without an answer may have had no effect.
    if (answeredAt === Infinity && random.once(2)) return call;
    const next = stateAfter(call, state);
    state = next ?? state;
    return { ...call, isGranted: next !== null };
  });
}

/** The rules once more, in other words. */
function stateAfter({ kind, session }: BookingCall, state: string): string | null {
  if (kind === "lock") return state === ACTIVE ? lockedBy(session) : null;
  if (kind === "revertsale") return state === SOLD ? ACTIVE : null;
  if (kind === "unlock" && state === ACTIVE) return ACTIVE;
  if (state !== lockedBy(session)) return null;
  return kind === "sale" ? SOLD : ACTIVE;
}

test("a history that happened has no fault, however many calls overlap", () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = Random.stream(seed, "history");
    const calls = happened(random, 200, random.pick([5, 30, 100]));
    expect(seatFaults(calls), `seed ${seed}`).toEqual([]);
  }
});

/** The definition: some order of all answered calls and of some others explains every answer. */
function hasOrder(calls: readonly Call[], state: string): boolean {
  if (calls.every(({ answeredAt }) => answeredAt === Infinity)) return true;
  const firstAnswer = Math.min(...calls.map(({ answeredAt }) => answeredAt));
  return calls.some((call) => {
    if (call.begunAt > firstAnswer) return false;
    const next = call.effect(state);
    const others = calls.filter((other) => other !== call);
    return next !== null && hasOrder(others, next);
  });
}

test("the check agrees with a search through all orders, for histories with random answers", () => {
  let faulty = 0;
  for (let seed = 1; seed <= 3_000; seed++) {
    const random = Random.stream(seed, "orders");
    const calls = Array.from({ length: 6 }, (_, number): Call => {
      const begunAt = random.below(20);
      const answeredAt = random.once(5) ? Infinity : begunAt + random.below(12);
      const [from, to] = [random.below(3), random.below(3)].map(String);
      const effect = (state: string) => (state === from ? to! : null);
      return { name: String(number), begunAt, answeredAt, effect, mayChange: from !== to };
    });
    const isFaulty = contradictionIn(calls, "0") !== null;
    expect(isFaulty, `seed ${seed}`).toBe(!hasOrder(calls, "0"));
    if (isFaulty) faulty += 1;
  }
  expect(faulty).toBeGreaterThan(500);
  expect(faulty).toBeLessThan(2_900);
});

test("a changed answer of a history that happened is usually found", () => {
  let found = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const random = Random.stream(seed, "changed");
    const calls = happened(random, 60, 3);
    const answered = calls.filter(({ answeredAt }) => answeredAt < Infinity);
    const victim = random.pick(answered);
    const changed = calls.map((call) => (call === victim ? withOtherAnswer(call) : call));
    if (seatFaults(changed).length > 0) found += 1;
  }
  expect(found).toBeGreaterThan(250);
});

function withOtherAnswer(call: SeatCall): SeatCall {
  if (call.kind !== "read") return { ...call, isGranted: !call.isGranted };
  return { ...call, state: call.state === ACTIVE ? SOLD : ACTIVE };
}
