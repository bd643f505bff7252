/** The best places: the search against an exhaustive one on random halls, and its rules one by one. */
import v8 from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { BestRequest, CartItem } from "../../engine/bodies.ts";
import type { Filter } from "../../engine/inventory/blocks.ts";
import { Places } from "../../engine/inventory/places.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import type { BookedChoices } from "../../engine/queries/holds.ts";
import { Result } from "../../engine/results.ts";
import { type Best, type BestWish, scoresOf, searchBest } from "../sim/model/best.ts";
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

test("in carts, granted or refused → what an exhaustive search finds on what earlier items leave", () => {
  const world = new World([]);
  const counts = { granted: 0, refused: 0, unsuitable: 0 };
  for (let seed = 1; seed <= HALLS / 5; seed++) {
    const random = new Random(seed);
    const house = new RandomHouse(random, world);
    const { eventId } = house;
    for (let turn = 0; turn < WISHES; turn++) {
      const { hall } = house;
      const wish = house.wish(hall);
      const free = hall.seats.filter(({ state }) => state === "ACTIVE").map(({ id }) => id);
      const taken = free.filter(() => random.once(4));
      const seats = hall.seats.map((seat) => {
        return taken.includes(seat.id) ? { ...seat, state: "BLOCKED" } : seat;
      });
      const label = `seed ${seed}, turn ${turn}: ${JSON.stringify(wish)} after ${taken.join()}`;
      const block = { eventId, call: "block", seats: taken.map((id) => ({ id })) } as const;
      const item = { eventId, call: "best", ...requestOf(wish) } as const;
      const never = { eventId, call: "unblock", seats: [{ id: -turn - 1 }] } as const;
      const items = [
        ...(taken.length > 0 ? [block] : []),
        item,
        ...(random.once(2) ? [never] : []),
      ];
      // The index is there, or is made in the cart.
      if (random.once(2)) expect(checked(house, wish), label).toEqual(searchBest(hall, wish));
      const outcome = world.submit("cart", world.caller, { body: { items } });
      const expected = searchBest({ ...hall, seats }, wish);
      if (outcome.refused === Result.OK) {
        const places = outcome.value.items.at(-1)!;
        const ids = [...places.seats!, ...places.groupOfSeats!].map(({ id }) => id);
        const wanted = expected.kind === "seats" ? expected.ids : [(expected as { id: number }).id];
        expect(ids, label).toEqual(wanted);
        counts.granted += 1;
      } else if (outcome.refused === Result.NOTHING_SUITABLE) {
        expect({ kind: "none", ...outcome.members }, label).toEqual(expected);
        counts.unsuitable += 1;
      } else {
        expect(items).toContain(never);
        expect(expected.kind, label).not.toBe("none");
        counts.refused += 1;
      }
      const { hall: after } = house;
      if (outcome.refused !== Result.OK) expect(after, label).toEqual(hall);
      expect(checked(house, wish), label).toEqual(searchBest(after, wish));
      house.disturb();
    }
  }
  for (const [kind, count] of Object.entries(counts)) {
    expect(count, kind).toBeGreaterThan((HALLS * WISHES) / 100);
  }
});

/** The places that a request would get now. */
function checked({ world, eventId }: RandomHouse, wish: BestWish): Best | Outcome {
  const { caller, engine } = world;
  return foundBy(engine.check({ kind: "best", caller, eventId, body: requestOf(wish) }));
}

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
  [
    "companions of a lone accessible seat sit in a longer row",
    [drawn(section("Stalls", { A: "1", B: "1 2 3 4 5" }), (i) => ({ isAccessible: i === 0 }))],
    [],
    { quantity: 6, accessible: 1, adjacent: "preferred" },
    "apart A1 B1 B2 B3 B4 B5",
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

const PLAIN: Filter = {
  prices: null,
  groupIds: null,
  accessible: 0,
  includeAccessible: false,
  orphanMode: "off",
  avoidOrphans: true,
  channel: 0,
};

/** Rows of so many seats, named R0-1, R0-2 …, R1-1 … */
function rowsOf(rowCount: number, length: number): LayoutPart {
  const labels = Array.from({ length }, (_, i) => `${i + 1}`).join(" ");
  const rows = Array.from({ length: rowCount }, (_, i) => [`R${i}-`, labels] as const);
  return section("Stalls", Object.fromEntries(rows));
}

/** A part with other members of its seats. */
function drawn(part: LayoutPart, members: (i: number) => Partial<LayoutPart["seats"][number]>) {
  return { ...part, seats: part.seats.map((seat, i) => ({ ...seat, ...members(i) })) };
}

/** Counts the items read of a column: the work of a search, on every machine the same. */
function countReads<K extends PropertyKey>(owner: Record<K, Uint8Array | Float64Array>, name: K) {
  const counter = { reads: 0 };
  const value = new Proxy(owner[name], {
    get(column, key) {
      counter.reads += 1;
      const item: unknown = Reflect.get(column, key);
      return typeof item === "function" ? item.bind(column) : item;
    },
  });
  Object.defineProperty(owner, name, { value });
  return counter;
}

test("an index that follows the changes finds what a new one finds, and reads a tenth", () => {
  const accessible = (i: number) => ({ isAccessible: i % 9 === 0, isHidden: i % 31 === 0 });
  const tables = Array.from({ length: 6 }, (_, i) => table(`T${i}-`, "1 2 3 4 5 6 7 8"));
  const parts = [rowsOf(100, 40), ...tables].map((part) => drawn(part, accessible));
  const world = new World(parts);
  const { partition } = world;
  const ids = Array.from(partition.layout.seatIds);
  const other = world.createPrice("Other");
  const seats = ids
    .filter((_, i) => i % 3 === 0)
    .map((objectId) => {
      return { objectId, assignmentId: other };
    });
  const { eventId, caller } = world;
  world.must("assignPrices", caller, { eventId, body: { seats, groupOfSeats: [] } });
  const groupIds = ["row R7-", "row R55-", "T1-", "row T4-"].map((name) => groupIdOf(world, name));
  const filters: Filter[] = [
    PLAIN,
    { ...PLAIN, orphanMode: "strict" },
    { ...PLAIN, orphanMode: "lenient", includeAccessible: true },
    { ...PLAIN, prices: new Set([partition.price[1]!]), includeAccessible: true },
    { ...PLAIN, groupIds: groupIds.sort((a, b) => a - b) },
    { ...PLAIN, accessible: 1 },
    { ...PLAIN, accessible: 2, includeAccessible: true, orphanMode: "strict" },
  ];
  const random = new Random(5);
  const counter = countReads(partition, "state");
  const spent = { following: 0, fresh: 0 };
  const answersOf = (places: Places, kind: keyof typeof spent) => {
    const before = counter.reads;
    const answers = filters.map((filter) => {
      const census = places.census(filter);
      const largest = Array.from({ length: 50 }, (_, i) => census.largest(i + 1));
      const best = [2, 5].map((size) => places.best(filter, size));
      const apart = filter.accessible === 0 ? apartOf(places, filter) : [];
      return { candidates: census.candidates, largest, best, apart };
    });
    spent[kind] += counter.reads - before;
    return answers;
  };
  answersOf(partition.places, "following");
  spent.following = 0;
  for (let turn = 0; turn < 60; turn++) {
    for (let i = random.below(6); i >= 0; i--) {
      const kind = random.pick(["lock", "lock", "unlock"] as const);
      const first = random.below(ids.length - 8);
      const chosen = ids.slice(first, first + 1 + random.below(8));
      for (const id of chosen) world.book(kind, { seats: [{ id }] });
    }
    const fresh = answersOf(new Places(partition), "fresh");
    expect([turn, answersOf(partition.places, "following")]).toEqual([turn, fresh]);
  }
  expect(spent.following).toBeLessThan(spent.fresh / 10);
});

test("a cart on a hall with indexes, refused and then granted → finds what its calls find alone", () => {
  const parts = [rowsOf(40, 20), table("T", "1 2 3 4 5 6 7 8")];
  const [world, twin] = [new World(parts), new World(parts)];
  const ids = Array.from(world.partition.layout.seatIds);
  const random = new Random(7);
  const groupOfSeatsIds = [groupIdOf(world, "row R7-"), groupIdOf(world, "T")];
  const wishes = [{}, { groupOfSeatsIds }, { adjacent: "preferred" }, { avoidOrphans: false }];
  const { eventId, caller } = world;
  const never = { eventId, call: "sale", seats: [{ id: ids.at(-1)! + 1_000 }] } as const;
  let [unsuitable, isUnsuitable] = [0, false];
  for (let turn = 0; turn < 150; turn++) {
    const alone: unknown[] = [];
    const items: CartItem[] = [];
    for (let i = random.below(6); i >= 0; i--) {
      if (random.once(2)) {
        const body = { quantity: 1 + random.below(5), ...(random.pick(wishes) as object) };
        items.push({ eventId, call: "best", ...body });
        const outcome = ask(twin, body);
        if (outcome.refused === Result.OK) alone.push(idsOf(outcome.value));
        else alone.push(outcome.refused);
        isUnsuitable = outcome.refused !== Result.OK;
        if (isUnsuitable) break;
      } else {
        const call = random.pick(["lock", "unlock"] as const);
        const { partition } = twin;
        const wanted = call === "lock" ? SeatState.ACTIVE : SeatState.LOCKED;
        const first = random.below(ids.length);
        const near = ids.slice(first, first + 1 + random.below(9));
        const seats = near.filter((id) => partition.state[ids.indexOf(id)] === wanted);
        if (seats.length === 0) continue;
        const body = { seats: seats.map((id) => ({ id })) };
        items.push({ eventId, call, ...body });
        expect(twin.book(call, body).refused).toBe(Result.OK);
        alone.push(idsOf(body));
      }
    }
    if (items.length === 0) continue;
    const send = (...all: CartItem[]) => {
      return world.submit("cart", caller, { body: { items: all } });
    };
    if (random.once(2)) expect(send(...items, never).refused).not.toBe(Result.OK);
    const outcome = send(...items);
    if (outcome.refused === Result.OK) expect(outcome.value.items.map(idsOf)).toEqual(alone);
    else expect([turn, outcome.refused]).toEqual([turn, alone.at(-1)]);
    if (!isUnsuitable) continue;
    unsuitable += 1;
    // The calls before it are done on the other side alone.
    const before = items.slice(0, -1);
    if (before.length > 0) expect(send(...before).refused).toBe(Result.OK);
    const held = ids.filter((_, seat) => twin.partition.state[seat] === SeatState.LOCKED);
    const some = { seats: held.filter(() => random.once(2)).map((id) => ({ id })) };
    for (const side of [world, twin]) expect(side.book("unlock", some).refused).toBe(Result.OK);
    isUnsuitable = false;
  }
  expect(Array.from(world.partition.state)).toEqual(Array.from(twin.partition.state));
  expect(unsuitable).toBeGreaterThan(10);
});

function idsOf({ seats }: Pick<BookedChoices, "seats">): string {
  return (seats ?? []).map(({ id }) => id).join();
}

/** A block of two seats, and three more near it. */
function apartOf(places: Places, filter: Filter): unknown[] {
  const division = places.divide(filter);
  const first = places.best(filter, 2);
  if (first === null) return [];
  division.take(first);
  division.anchorTo(first);
  return [5, 3, 5].map((size) => {
    const block = division.nearest(size);
    if (block !== null) division.take(block);
    return block;
  });
}

/** The id of a section or table by its name; of a row with `row ` before it. */
function groupIdOf(world: World, name: string): number {
  const { layout } = world.partition;
  const isRow = name.startsWith("row ");
  const groups = isRow ? layout.rows : layout.sections;
  return groups.find((group) => group.name === name.replace("row ", ""))!.id;
}

const gc = collector();

function collector(): () => void {
  v8.setFlagsFromString("--expose-gc");
  return runInNewContext("gc") as () => void;
}

/** Memory of this process: its objects and its buffers. */
function usedBytes(): number {
  // The first collection frees what the second one can take.
  gc();
  gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

test.each([
  { hall: "short rows", rows: 1_000, length: 20 },
  { hall: "one long row", rows: 1, length: 20_000 },
])(
  "$hall, many filters with groups and prices → the index has the counted memory",
  ({ rows, length }) => {
    const { partition } = new World([rowsOf(rows, length)]);
    const rowIds = partition.layout.rows.map(({ id }) => id);
    const filterOf = (number: number): Filter => ({
      ...PLAIN,
      prices: new Set(Array.from({ length: 100 }, (_, i) => number * 100 + i)),
      groupIds: rowIds.slice(number, number + 300),
      avoidOrphans: number % 2 === 0,
    });
    const fill = (number: number) => {
      const places = new Places(partition);
      for (let i = 0; i < 60; i++) places.best(filterOf(i), 1 + ((i + number) % 50));
      for (let i = 0; i < 60; i++) places.census(rows === 1 ? PLAIN : filterOf(i));
      return places;
    };
    fill(0);
    const before = usedBytes();
    const all = Array.from({ length: 10 }, (_, i) => fill(i));
    const used = usedBytes() - before;
    const counted = all.reduce((sum, { bytes }) => sum + bytes, 0);
    for (const { bytes } of all) expect(bytes).toBeLessThanOrEqual(24 * partition.layout.seatCount);
    expect({ used, counted, isCounted: used <= counted }).toEqual({
      used,
      counted,
      isCounted: true,
    });
    expect(used).toBeGreaterThan(counted / 2);
  },
);

const SMALL_ROWS = 400;

test("rows without positions, 50 places in rows of 3 → every seat is read at most three times", () => {
  const world = new World([drawn(rowsOf(SMALL_ROWS, 3), () => ({ x: undefined, y: undefined }))]);
  const { reads } = readsOf(world, { quantity: 50, adjacent: "preferred" });
  expect(reads).toBeLessThanOrEqual(3 * 3 * SMALL_ROWS);
});

test("blocks that all leave an orphan → every seat is read at most four times", () => {
  const world = new World([drawn(rowsOf(SMALL_ROWS, 4), (i) => ({ isHidden: i % 4 === 3 }))]);
  const { partition } = world;
  const { reads } = readsOf(world, { quantity: 50, adjacent: "preferred" });
  expect(reads).toBeLessThanOrEqual(4 * partition.layout.seatCount);
});

/** State reads of one granted request. */
function readsOf(world: World, body: BestRequest) {
  const counter = countReads(world.partition, "state");
  const outcome = ask(world, body);
  expect(outcome.refused).toBe(Result.OK);
  return counter;
}

test("tables of 12 at one place, six places beside twelve → at most 100,000 choices are compared", () => {
  const seats = Array.from({ length: 12 }, (_, i) => `${i + 1}`).join(" ");
  const world = new World(Array.from({ length: 300 }, (_, i) => table(`T${i}-`, seats)));
  // A search of all 924 choices at 300 tables would compare 277,200.
  const counter = countReads(world.partition.layout, "x");
  expect(ask(world, { quantity: 18, adjacent: "preferred" }).refused).toBe(Result.OK);
  // A choice adds its last seat to the sums of those before it, which it shares with others.
  expect(counter.reads).toBeLessThanOrEqual(2 * 100_000 + 10 * 12 * 300);
});

test("any four seats of a table of 13 → those nearest the first block, not the best by score", () => {
  // Ranks rise along the table, so its first seats are the best; the middle is at x = 6.5.
  expect(besideRow({ row: 14, seatsOfTable: 13 }, 18)).toEqual(["T1", "T3", "T12", "T13"]);
});

test("ten seats of a table of 40, with 847 million choices → the best by score", () => {
  const best = Array.from({ length: 10 }, (_, i) => `T${i + 1}`);
  expect(besideRow({ row: 40, seatsOfTable: 40 }, 50)).toEqual(best);
});

/** The seats taken at a table after a whole row. */
function besideRow({ row, seatsOfTable }: { row: number; seatsOfTable: number }, quantity: number) {
  const labels = Array.from({ length: seatsOfTable }, (_, i) => `${i + 1}`).join(" ");
  const first = drawn(rowsOf(1, row), () => ({ rank: 0 }));
  const second = drawn(table("T", labels), (i) => ({ rank: i }));
  const world = new World([first, second]);
  const outcome = ask(world, { quantity, adjacent: "preferred" });
  if (outcome.refused !== Result.OK) throw new Error("it is granted");
  return outcome.value.seats.slice(row).map(({ id }) => world.labels.labelOf(id));
}
