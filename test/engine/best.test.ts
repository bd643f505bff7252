/** The best places: the search against an exhaustive one on random halls, and its rules one by one. */
import { expect, test } from "vitest";
import type { BestRequest } from "../../engine/bodies.ts";
import { Places } from "../../engine/inventory/places.ts";
import { Result } from "../../engine/results.ts";
import { type Best, scoresOf, searchBest } from "../sim/model/best.ts";
import { Random } from "../sim/workload/random.ts";
import { World } from "../support/engine.ts";
import { area, type LayoutPart, section, table } from "../support/layout.ts";
import { RandomHouse, requestOf } from "../support/random-hall.ts";

/** `FRONTROW_BEST_HALLS=10000` for the long form. */
const HALLS = Number(process.env["FRONTROW_BEST_HALLS"] ?? 1_000);
const WISHES = 6;

test(`on ${HALLS} random halls best is what an exhaustive search finds`, () => {
  const kinds = { seats: 0, apart: 0, area: 0, none: 0 };
  let world = new World([]);
  for (let seed = 1; seed <= HALLS; seed++) {
    if (seed % 100 === 0) world = new World([]);
    const house = new RandomHouse(new Random(seed), world);
    const { layout, eventId } = house;
    for (let turn = 0; turn < WISHES; turn++) {
      const { hall } = house;
      const scores = scoresOf(hall);
      const wish = house.wish(hall);
      const expected = searchBest(hall, wish);
      const label = `seed ${seed}, turn ${turn}: ${JSON.stringify(wish)}`;
      const other = hall.seats.filter(({ id }) => {
        return layout.scores[layout.seatIndexes.get(id)!] !== scores.get(id);
      });
      if (other.length > 0) expect(other, `${label}: seats with another score`).toEqual([]);
      const body = requestOf(wish);
      const outcome = world.submit("best", world.caller, { eventId, body });
      expect(foundBy(outcome), `${label} ${JSON.stringify(outcome)}`).toEqual(expected);
      const isApart = expected.kind === "seats" && !expected.together;
      kinds[isApart ? "apart" : expected.kind] += 1;
      house.disturb();
    }
  }
  for (const [kind, count] of Object.entries(kinds)) {
    expect(count, kind).toBeGreaterThan((HALLS * WISHES) / 200);
  }
});

type Outcome = ReturnType<typeof ask>;

function foundBy(outcome: Outcome): Best | Outcome {
  if (outcome.refused === Result.OK) {
    const { together, seats, groupOfSeats } = outcome.value;
    if (groupOfSeats.length > 0) return { kind: "area", id: groupOfSeats[0]!.id };
    return { kind: "seats", together, ids: seats.map(({ id }) => id) };
  }
  if (outcome.refused !== Result.NOTHING_SUITABLE) return outcome;
  return { kind: "none", ...outcome.members } as Best;
}

function ask(world: World, body: BestRequest) {
  return world.submit("best", world.caller, { eventId: world.eventId, body });
}

/** Labels of the places; the members of a refusal, or its errors. */
function found(world: World, body: BestRequest): unknown {
  const outcome = ask(world, body);
  if (outcome.refused === Result.OK) {
    const { seats, groupOfSeats, together } = outcome.value;
    const places = groupOfSeats.map(
      ({ id, capacity }) => `${world.labels.labelOf(id)}:${capacity}`,
    );
    const labels = [...seats.map(({ id }) => world.labels.labelOf(id)), ...places].join(" ");
    return together ? labels : `apart ${labels}`;
  }
  if (outcome.refused === Result.NOTHING_SUITABLE) return outcome.members;
  return outcome.errors.map(({ field, code }) => `${field} ${code}`).join();
}

const ROW = [section("Stalls", { A: "1 2 3 4 5 6 7 8 9" })];
type Take = readonly string[];

test.each<[string, readonly LayoutPart[], ...[Take, BestRequest, unknown]]>([
  ["the middle of the front row is best", ROW, [], { quantity: 3 }, "A4 A5 A6"],
  [
    "of equal sums the smaller ids are better",
    [section("Stalls", { A: "1 2", B: "3 4" })],
    [],
    { quantity: 1 },
    "A1",
  ],
  [
    "fewer single seats are better than a better score",
    ROW,
    ["A3", "A7"],
    { quantity: 2 },
    "A1 A2",
  ],
  [
    "single seats do not count without avoidOrphans",
    ROW,
    ["A3", "A7"],
    { quantity: 2, avoidOrphans: false },
    "A4 A5",
  ],
  [
    "an aisle ends a run",
    [section("Stalls", { A: "1 2 3 _ 4 5" })],
    [],
    { quantity: 4 },
    { largestTogether: 3, available: 5 },
  ],
  [
    "any seats of a table are together",
    [table("T", "1 2 3 4")],
    ["T2"],
    { quantity: 3 },
    "T1 T3 T4",
  ],
  [
    "preferred takes the largest blocks first, near each other",
    [section("Stalls", { A: "1 2 3 _ 4 5", B: "6" })],
    [],
    { quantity: 5, adjacent: "preferred" },
    "apart A1 A2 A3 A4 A5",
  ],
  [
    "nobody sits alone where a pair beside a smaller block can be had",
    [section("Stalls", { A: "1 2 3 _ 4 5" })],
    [],
    { quantity: 4, adjacent: "preferred" },
    "apart A4 A5 A2 A3",
  ],
  [
    "without another pair one person sits alone",
    [section("Stalls", { A: "1 2 3 _ 4" })],
    [],
    { quantity: 4, adjacent: "preferred" },
    "apart A1 A2 A3 A4",
  ],
])("%s", (_, parts, ...[taken, body, expected]) => {
  const world = new World(parts);
  if (taken.length > 0) world.book("block", world.selection(null, ...taken));
  expect(found(world, body)).toEqual(expected);
});

test("an area is taken when it is named and there is no block, the first one that suffices", () => {
  const world = new World([...ROW, area("Pit", 5), area("Lawn", 12)], { gaCapacity: null });
  const [pit, lawn, stalls] = ["Pit", "Lawn", "Stalls"].map((name) => world.labels.idOf(name));
  const groupOfSeatsIds = [pit!, lawn!, stalls!];
  expect(found(world, { quantity: 10 })).toEqual({ largestTogether: 9, available: 9 });
  expect(found(world, { quantity: 9, groupOfSeatsIds })).toBe("A1 A2 A3 A4 A5 A6 A7 A8 A9");
  expect(found(world, { quantity: 9, groupOfSeatsIds })).toBe("Lawn:9");
  expect(found(world, { quantity: 3, groupOfSeatsIds })).toBe("Pit:3");
  expect(found(world, { quantity: 4, groupOfSeatsIds, accessible: 1 })).toEqual({
    largestTogether: 0,
    available: 0,
  });
  expect(found(world, { quantity: 4, groupOfSeatsIds })).toEqual({
    largestTogether: 3,
    available: 5,
  });
});

test("a house with orphan prevention never leaves a single seat, whatever avoidOrphans says", () => {
  const world = new World(ROW, { settings: { orphanPrevention: true } });
  world.book("block", world.selection(null, "A4"));
  const body = { quantity: 4, avoidOrphans: false };
  expect(found(world, body)).toEqual({ largestTogether: 3, available: 8 });
});

test("a request beyond a limit of held places is refused for its quantity", () => {
  const world = new World(ROW, { settings: { heldPerSession: 3 } });
  const beyond = ask(world, { sessionId: "ann", quantity: 4 });
  expect(beyond).toMatchObject({
    refused: Result.INVENTORY_NOT_AVAILABLE,
    errors: [{ field: "quantity", code: "HELD_LIMIT", rejectedValue: 4 }],
  });
  expect(found(world, { sessionId: "ann", quantity: 3 })).toBe("A4 A5 A6");
  expect(found(world, { sessionId: "ann", quantity: 1 })).toBe("quantity HELD_LIMIT");
  expect(found(world, { sessionId: "bob", quantity: 1 })).toBe("A3");
});

test("members that are not valid, and ids of another event, are named", () => {
  const world = new World(ROW);
  const other = world.createPrice("Other", world.createEvent());
  const seat = world.labels.idOf("A1");
  expect(found(world, { quantity: 2, accessible: 3 })).toBe("accessible RANGE");
  expect(found(world, { quantity: 2, holdType: "NONE" })).toBe("holdType UNKNOWN");
  expect(found(world, { quantity: 2, fence: 3, fences: { 1: 2 } })).toBe("fence NULL,fences NULL");
  const ids = { priceIds: [world.priceId, other], groupOfSeatsIds: [seat] };
  expect(found(world, { quantity: 2, ...ids })).toBe(
    "priceIds[1] NOT_FOUND,groupOfSeatsIds[0] NOT_FOUND",
  );
});

test("the record is that of a lock, and the places can be sold by its session", () => {
  const world = new World(ROW);
  const outcome = ask(world, { sessionId: "ann", quantity: 2, holdType: "RESERVED" });
  expect(world.lastRecord).toMatchObject({ session: "ann", holdType: "RESERVED", expiresAtMs: 0 });
  if (outcome.refused !== Result.OK) throw new Error("it is granted");
  const { seats, groupOfSeats } = outcome.value;
  const sale = world.book("sale", { sessionId: "ann", seats, groupOfSeats });
  expect(sale).toMatchObject({ refused: Result.OK, value: true });
});

test("a changed layout counts from its moment on, and a price and a hold at once", () => {
  const world = new World(ROW, { unpriced: ["A5"] });
  expect(found(world, { quantity: 3 })).toBe("A2 A3 A4");
  world.priceAll();
  world.clock.timeMs += 900_000;
  expect(found(world, { quantity: 3 })).toBe("A4 A5 A6");
  world.putLayout({ focalPoint: { x: 0, y: 0 } });
  expect(found(world, { quantity: 3 })).toBe("A1 A2 A3");
});

test("an index that follows the changes finds what a new one finds", () => {
  const labels = Array.from({ length: 30 }, (_, i) => `${i + 1}`).join(" ");
  const rows = Array.from({ length: 10 }, (_, i) => [`R${i}-`, labels] as const);
  const world = new World([section("Stalls", Object.fromEntries(rows))]);
  const { partition } = world;
  const random = new Random(5);
  const plain = { prices: null, groupIds: null, accessible: 0, includeAccessible: false };
  const filter = { ...plain, orphanMode: "off", avoidOrphans: true } as const;
  const ids = Array.from(partition.layout.seatIds);
  for (let turn = 0; turn < 400; turn++) {
    for (let i = random.below(6); i >= 0; i--) {
      const kind = random.pick(["lock", "lock", "unlock"] as const);
      world.book(kind, { seats: [{ id: random.pick(ids) }] });
    }
    const fresh = new Places(partition);
    for (const size of [2, 5]) {
      const best = partition.places.best(filter, size);
      expect([turn, size, best]).toEqual([turn, size, fresh.best(filter, size)]);
    }
    const [census, other] = [partition.places, fresh].map((places) => places.census(filter));
    expect([census!.candidates, census!.largest(50)]).toEqual([
      other!.candidates,
      other!.largest(50),
    ]);
  }
});

test("many different wishes keep the index of an event within 24 bytes for each seat", () => {
  const labels = Array.from({ length: 40 }, (_, i) => `${i + 1}`).join(" ");
  const rows = Array.from({ length: 20 }, (_, i) => [`R${i}-`, labels] as const);
  const world = new World([section("Stalls", Object.fromEntries(rows))]);
  for (let quantity = 1; quantity <= 40; quantity++) {
    const outcome = ask(world, { quantity, sessionId: "ann" });
    if (outcome.refused === Result.OK) world.book("unlock", { seats: outcome.value.seats });
  }
  const { places } = world.partition;
  expect(places.bytes).toBeGreaterThan(10_000);
  expect(places.bytes).toBeLessThanOrEqual(24 * 800);
});
