/** Best-effort locks: refused objects, and the seats offered in their place. */
import { expect, test } from "vitest";
import type { StateSelection } from "../../engine/bodies.ts";
import { withAlternatives } from "../../engine/queries/alternatives.ts";
import { isRefused, Result } from "../../engine/results.ts";
import { Random } from "../sim/workload/random.ts";
import { World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { RandomHouse } from "../support/random-hall.ts";
import { checkMore, errorsOf, expectConsistent } from "../support/table.ts";

const HALL = [
  section("Stalls", { A: "1 2 3 4 5 6", B: "1 2 3 4 5 6" }),
  area("Pit", 5),
  area("Bar", 9),
];

/** @returns The locked objects and the errors of the others; the refusal alone where nothing was. */
function lock(world: World, body: StateSelection) {
  const { caller, eventId, labels } = world;
  const outcome = world.submit("lockBestEffort", caller, { eventId, body });
  expectConsistent(world);
  if (isRefused(outcome)) return [outcome.refused, ...errorsOf(outcome)];
  const { seats, groupOfSeats, refused } = outcome.value;
  const locked = [
    ...seats.map(({ id }) => labels.labelOf(id)),
    ...groupOfSeats.map(({ id, capacity }) => `${labels.labelOf(id)}:${capacity}`),
  ];
  return [locked.join(" "), ...refused.map(({ field, code }) => `${field} ${code}`)];
}

test("objects that are held, sold, unknown or too many → left out, the rest in one hold", () => {
  const world = new World(HALL);
  checkMore(
    world,
    `
    directsale  -  A1 Pit:3  ok
    lock        B  A2        ok
    block       -  A3        ok
    lock        A  B6        ok
  `,
  );
  const { sequence } = world.engine;
  const { seats = [], groupOfSeats = [] } = world.selection(
    "A",
    "A1",
    "A4",
    "A2",
    "A3",
    "B6",
    "B1",
    "Pit:3",
    "Bar:2",
  );
  const unknown = [...seats!, { id: 999_999 }];
  expect(lock(world, { sessionId: "A", seats: unknown, groupOfSeats })).toEqual([
    "A4 B1 Bar:2",
    "seats[0].id SOLD",
    "seats[2].id LOCKED",
    "seats[3].id BLOCKED",
    "seats[4].id HELD_BY_THIS_SESSION",
    "seats[6].id NOT_FOUND",
    "groupOfSeats[0].capacity INSUFFICIENT_CAPACITY",
  ]);
  expect(world.engine.sequence).toBe(sequence + 1);
  expect(world.partition.fenceOf(world.seat("A4"))).toBe(sequence + 1);
  expect(world.partition.holds.count).toBe(3);
});

test("everything can be had → as a lock, nothing refused; BLOCKED and prices as a lock has them", () => {
  const world = new World(HALL);
  checkMore(world, `block  -  A1 A2  ok`);
  const half = world.createPrice("Half");
  const body = { ...world.selection("A", "A1", "A2"), fromBlocked: true };
  const [a1, a2] = body.seats!.map(({ id }) => String(id));
  const priceIds = { [a1!]: world.priceId, [a2!]: half };
  expect(lock(world, { ...body, priceIds })).toEqual(["A1", "seats[1].id PRICE_CHANGED"]);
  expect(lock(world, { ...body, seats: [body.seats![1]!] })).toEqual(["A2"]);
});

test("limits on holds → in the order of the request, places of an area whole or not at all", () => {
  const world = new World(HALL, { settings: { heldPerSession: 5 } });
  checkMore(world, `lock  A  B1 B2  ok`);
  expect(lock(world, world.selection("A", "A1", "A2", "Pit:2", "Bar:1"))).toEqual([
    "A1 A2 Bar:1",
    "groupOfSeats[0].capacity HELD_LIMIT",
  ]);
  expect(lock(world, world.selection("A", "A3"))).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "seats[0].id HELD_LIMIT",
  ]);
});

test("seats beside one left alone → left out; what they were beside is then no longer", () => {
  const world = new World(HALL, { settings: { orphanPrevention: true } });
  checkMore(world, `directsale  -  A4  ok`);
  // A2 would leave A1 and A3 alone; B2 would leave B1 alone.
  expect(lock(world, world.selection("A", "A2", "B2", "B3", "A5", "A6", "A4"))).toEqual([
    "B3 A5 A6",
    "seats[0].id ORPHAN_SEAT",
    "seats[1].id ORPHAN_SEAT",
    "seats[5].id SOLD",
  ]);
  const other = new World(HALL, { settings: { orphanPrevention: true } });
  checkMore(other, `directsale  -  A4  ok`);
  expect(lock(other, other.selection("A", "A4", "A2", "B3", "B2", "A5", "A6"))).toEqual([
    "B3 A5 A6",
    "seats[0].id SOLD",
    "seats[1].id ORPHAN_SEAT",
    "seats[3].id ORPHAN_SEAT",
  ]);
});

test("nothing can be had → refused as the lock, with the errors of all objects; nothing changes", () => {
  const world = new World(HALL, { settings: { orphanPrevention: true } });
  checkMore(world, `directsale  -  A4  ok`);
  const { sequence } = world.engine;
  expect(lock(world, world.selection("A", "A2"))).toEqual([
    Result.ORPHAN_SEAT,
    "seats[0].id ORPHAN_SEAT",
  ]);
  expect(lock(world, world.selection("A", "A2", "A4", "Pit:6"))).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "seats[0].id ORPHAN_SEAT",
    "seats[1].id SOLD",
    "groupOfSeats[0].capacity INSUFFICIENT_CAPACITY",
  ]);
  expect(world.engine.sequence).toBe(sequence);
  expect(lock(world, world.selection("A"))).toEqual([Result.VALIDATION_FAILED, "seats NOT_NULL"]);
});

/** By the words of the rule: each seat is tried alone, the nearest three are taken. */
function expected(house: RandomHouse, body: StateSelection, refused: readonly { field: string }[]) {
  const { world, eventId, layout } = house;
  const { state } = world.engine;
  const partition = state.partitionOf(state.catalog.events.get(eventId)!);
  const gone = new Set(body.seats!.map(({ id }) => id));
  return refused.slice(0, 20).map(({ field }) => {
    const seat = layout.seatIndexes.get(body.seats![Number(/\d+/.exec(field)![0])]!.id)!;
    const price = partition.price[seat]!;
    if (price === 0 || Number.isNaN(layout.x[seat])) return [];
    const distanceOf = (id: number) => {
      const other = layout.seatIndexes.get(id)!;
      return (layout.x[other]! - layout.x[seat]!) ** 2 + (layout.y[other]! - layout.y[seat]!) ** 2;
    };
    const free = house.seatIds.filter((id) => {
      const other = layout.seatIndexes.get(id)!;
      if (gone.has(id) || partition.price[other] !== price) return false;
      if (Number.isNaN(layout.x[other])) return false;
      if ((layout.marks[other]! & 1) !== (layout.marks[seat]! & 1)) return false;
      const alone = { ...body, seats: [{ id }] };
      const command = { kind: "lock", caller: world.caller, eventId, body: alone } as const;
      return world.engine.check(command).refused === Result.OK;
    });
    free.sort((a, b) => distanceOf(a) - distanceOf(b) || a - b);
    for (const id of free.slice(0, 3)) gone.add(id);
    return free.slice(0, 3);
  });
}

test("alternatives in random halls → those that are found by trying each seat alone", () => {
  const random = new Random(5);
  let offered = 0;
  for (let round = 0; round < 120; round++) {
    const world = new World([]);
    const house = new RandomHouse(random, world);
    const { eventId } = house;
    const { caller } = world;
    const { organizationId } = caller;
    const heldPerSession = random.once(6) ? 2 : 0;
    world.must("changeSettings", world.tenant, { organizationId, body: { heldPerSession } });
    for (let i = 0; i < 4; i++) {
      const count = 1 + random.below(random.once(4) ? 30 : 5);
      const ids = new Set(Array.from({ length: count }, () => random.pick(house.seatIds)));
      const channel = random.pick([null, "agency", "press"]);
      const body = { sessionId: "buyer", channel, seats: [...ids].map((id) => ({ id })) };
      const outcome = world.submit("lockBestEffort", caller, { eventId, body });
      const refused = isRefused(outcome) ? outcome.errors : outcome.value.refused;
      const { state } = world.engine;
      const event = state.catalog.events.get(eventId)!;
      const shown = withAlternatives(state, event, body, refused);
      const offers = shown.map(({ alternatives }) => alternatives?.map(({ id }) => id));
      const wanted = expected(house, body, refused);
      expect(offers).toEqual(refused.map((_, at) => wanted[at]));
      offered += wanted.flat().length;
      world.must("unlock", caller, { eventId, body: { sessionId: "buyer", all: true } });
      house.disturb();
    }
  }
  expect(offered).toBeGreaterThan(200);
});
