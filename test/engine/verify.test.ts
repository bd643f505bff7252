/** The invariants: each fails on a corrupt state. */
import { expect, test } from "vitest";
import { Broken } from "../../engine/assert.ts";
import type { Catalog } from "../../engine/catalog.ts";
import { CART_TTL_SECONDS, NONE } from "../../engine/constants.ts";
import { ChangeList, initialLinks, Partition } from "../../engine/inventory/partition.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { buildLayout } from "../../engine/layout/layout.ts";
import {
  checkCatalog,
  checkPartition,
  checkState,
  digest,
  digestPartition,
} from "../../engine/verify.ts";
import { replayed, World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";

/** A1 ACTIVE, A2 held by A, A3 SOLD, A4 unpriced; of the Pit's ten places A holds two, B three. */
function busyWorld(): World {
  const made = new World([section("Stalls", { A: "1 2 3 4" }), area("Pit", 10), area("Lawn", 5)], {
    unpriced: ["A4", "Lawn"],
  });
  made.clock.timeMs += 1;
  made.book("lock", made.selection("A", "A2", "Pit:2"));
  made.book("lock", made.selection("B", "Pit:3"));
  made.clock.timeMs += 1;
  made.book("directsale", made.selection(null, "A3"));
  return made;
}

const [A1, A2, A4, PIT, LAWN] = [0, 1, 3, 0, 1];
const { ACTIVE, LOCKED } = SeatState;

/** Gives A1 to the hold in the slot. */
function lockFirst(partition: Partition, slot: number): void {
  partition.holdOrFence[A1] = slot;
  partition.state[A1] = LOCKED;
}

/** Opens a hold of one seat or place. @returns Its slot. */
function openHold({ holds }: Partition, seatCount: number): number {
  const slot = holds.nextSlot;
  const fence = holds.copy().fenceBound;
  holds.open(slot, { ...holds.get(0), fence, seats: new Uint32Array(seatCount) }, 1);
  return slot;
}

const CORRUPT_PARTITIONS: readonly [what: string, broken: string, (p: Partition) => unknown][] = [
  ["a seat in no state", "a state is one of the six", (p) => (p.state[A1] = 6)],
  ["a LOCKED seat without a hold", "LOCKED means held", (p) => (p.holdOrFence[A2] = NONE)],
  ["an ACTIVE seat in a hold", "a free seat is in no hold", (p) => (p.holdOrFence[A1] = 0)],
  ["an ACTIVE seat without a price", "an ACTIVE seat has a price", (p) => (p.price[A1] = 0)],
  ["a priced seat off sale", "a seat off sale has no price", (p) => (p.price[A4] = 1)],
  ["a hold with another's seat", "as many places as its size", (p) => (p.holdOrFence[A2] = 1)],
  [
    "a hold that is too small",
    "a hold has as many places as its size",
    (p) => p.holds.release(0, 1),
  ],
  ["a hold that has nothing", "a hold has as many places as its size", (p) => openHold(p, 0)],
  ["a seat of no hold", "only existing holds have seats or places", (p) => lockFirst(p, 7)],
  ["places of a hold that ended", "a named hold exists", (p) => p.holds.release(1, 3)],
  ["LOCKED places of no hold", "LOCKED places are held", (p) => p.areas.add(PIT, LOCKED, 1)],
  ["held places off the count", "LOCKED places are held", (p) => p.areas.add(PIT, LOCKED, -1)],
  [
    "a hold lost by its session",
    "a session's holds are found",
    (p) => Object.assign(p.holds.get(1), { session: "C" }),
  ],
  [
    "a hold of no places",
    "a hold has places where it is listed",
    (p) => (p.areas.holdsIn(LAWN) as Map<number, number>).set(0, 0),
  ],
  [
    "a hold that began with more seats than exist",
    "a hold began with seats of the layout",
    (p) => lockFirst(p, openHold(p, 5)),
  ],
  [
    "two holds of one lock",
    "two holds have different fences",
    (p) => Object.assign(p.holds.get(1), { fence: p.holds.get(0).fence }),
  ],
  [
    "a hold that ended before it began",
    "a hold ends after it began",
    (p) => Object.assign(p.holds.get(0), { expiresAtMs: 1 }),
  ],
  ["an unpriced area on sale", "an area on sale has a price", (p) => p.areas.add(LAWN, ACTIVE, 1)],
  ["an area whose price is lost", "an area on sale has a price", (p) => (p.areas.price[PIT] = 0)],
  ["a seat listed too early", "is in order of time", (p) => (p.changedAtMs[A1]! += 1_000)],
  ["a count of seats that is wrong", "seats of each state", (p) => (p.seatsIn[ACTIVE]! += 1)],
  ["a change that never happened", "is in order of time", (p) => p.changes.touch(A1)],
];

test.each(CORRUPT_PARTITIONS)("in a partition, %s is found", (_what, broken, corrupt) => {
  const { partition } = busyWorld();
  expect(() => checkPartition(partition)).not.toThrow();
  corrupt(partition);
  expect(() => checkPartition(partition)).toThrow(Broken);
  expect(() => checkPartition(partition)).toThrow(broken);
});

const CORRUPT_STATES: readonly [what: string, broken: string, (made: World) => unknown][] = [
  [
    "a partition of no event",
    "there is one partition per event",
    ({ engine, partition }) => engine.state.partitions.set(99, partition),
  ],
  [
    "an event whose partition has another number",
    "every event has its partition",
    ({ engine, event, partition }) => {
      engine.state.partitions.set(99, partition);
      engine.state.partitions.delete(event.partition);
    },
  ],
  [
    "a seat index of no stored layout",
    "there is one seat index per stored layout",
    ({ engine, partition }) => engine.state.layouts.set(99, partition.layout),
  ],
  [
    "a partition with another layout",
    "a partition has its schema's layout",
    ({ engine, schemaId }) => {
      const { document } = engine.state.catalog.layouts.get(schemaId)!;
      engine.state.layouts.set(schemaId, buildLayout(document));
    },
  ],
  [
    "a seat with an unknown price",
    "an assigned price exists",
    ({ partition }) => (partition.price[A1] = 9),
  ],
  [
    "an area with an unknown price",
    "an assigned price exists",
    ({ partition }) => (partition.areas.price[PIT] = 9),
  ],
  [
    "a layout without a schema",
    "a layout belongs to a schema",
    ({ engine, schemaId }) => engine.state.catalog.schemas.delete(schemaId),
  ],
];

test.each(CORRUPT_STATES)("in a state, %s is found", (_what, broken, corrupt) => {
  const made = busyWorld();
  expect(() => checkState(made.engine.state)).not.toThrow();
  corrupt(made);
  expect(() => checkState(made.engine.state)).toThrow(Broken);
  expect(() => checkState(made.engine.state)).toThrow(broken);
});

test("a change list that lacks a seat is found", () => {
  const { partition } = busyWorld();
  partition.changedAtMs.fill(5);
  const short = Object.assign(partition, { changes: new ChangeList(initialLinks(3)) });
  expect(() => checkPartition(short)).toThrow("the change list has every seat");
});

test("a partition with fewer states than seats is found", () => {
  const { layout } = busyWorld().partition;
  const short = Object.assign(new Partition(layout, 0), { state: new Uint8Array(3) });
  expect(() => checkPartition(short)).toThrow("every seat has one state");
});

// The invariants of the catalog: each fails on a corrupt catalog.

const CLONE = "00000000-0000-4000-8000-0000000000c1";
const TOKENS = {
  tokenSha256: "a",
  tokenExpiresAtMs: 9e15,
  refreshSha256: "b",
  refreshExpiresAtMs: 9e15,
};

/** A row in nearly every table. */
function catalogState() {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { caller, schemaId, eventId, labels, engine } = world;
  const { id: seriesId } = world.must("createSeries", caller, { body: { name: "Ring" } });
  world.must("bindEvent", caller, { eventId, body: { seriesId } });
  const body = [{ name: "Gold", schemaId }];
  const [gold] = world.must("createZones", caller, { schemaId, body });
  const seats = [{ objectId: labels.idOf("A1"), assignmentId: gold!.id }];
  world.must("assignZones", caller, { schemaId, body: { seats } });
  world.must("cloneSchema", caller, { schemaId, cloneId: CLONE });
  const [accountId] = engine.state.catalog.accounts.keys();
  world.must("openLogin", caller, { accountId: accountId!, tokens: TOKENS, network: "home" });
  return engine.state;
}

/** Removes the first row of a table, but not from the indexes. */
function loseFirst<Key>(rows: Map<Key, unknown>): void {
  rows.delete([...rows.keys()][0]!);
}

/** Replaces members of the first row of a table, but not in the indexes. */
function changeFirst<Key, Row>(rows: Map<Key, Row>, members: Partial<Row>): void {
  const [key, row] = [...rows][0]!;
  rows.set(key, { ...row, ...members });
}

test.each<[invariant: string, corrupt: (catalog: Catalog) => unknown]>([
  ["an organization belongs to a tenant", ({ tenants }) => loseFirst(tenants)],
  ["an owner exists", ({ organizations }) => loseFirst(organizations)],
  [
    "an account belongs to organizations that exist",
    ({ accounts }) => changeFirst(accounts, { organizationIds: [999] }),
  ],
  [
    "an account is found by its email",
    ({ accounts }) => changeFirst(accounts, { email: "other@house.example" }),
  ],
  [
    "the networks of an account are bounded",
    (catalog) => {
      const [account] = catalog.accounts.values();
      const networks = Array.from({ length: 17 }, () => ({ hash: "", untilMs: 0 }));
      catalog.put({ table: "accounts", row: { ...account!, networks } });
    },
  ],
  ["a login belongs to an account", ({ logins }) => changeFirst(logins, { accountId: 999 })],
  ["a schema has a venue of its owner", ({ venues }) => loseFirst(venues)],
  ["an event is in a series of its owner", ({ series }) => loseFirst(series)],
  ["a price belongs to an event", ({ events }) => loseFirst(events)],
  ["a price has its own slot", ({ prices }) => changeFirst(prices, { slot: 2 })],
  [
    "a layout belongs to a schema",
    ({ layouts }) => layouts.set(999, { ...[...layouts.values()][0]!, id: 999 }),
  ],
  ["a pricing zone belongs to a schema", ({ zones }) => changeFirst(zones, { schemaId: 999 })],
  ["an assigned zone is one of the schema", ({ zones }) => loseFirst(zones)],
  [
    "an object with a zone is in the layout",
    ({ zoneAssignments }) => zoneAssignments.put({ ...[...zoneAssignments.values()][0]!, id: 999 }),
  ],
  [
    "a clone operation names the schema that it created",
    ({ clones }) => changeFirst(clones, { schemaId: 999 }),
  ],
  ["the key of a row is its id", ({ replies }) => replies.set("key", { id: "other" } as never)],
  ["an id was given out", (catalog) => (catalog.nextId = 1)],
])("a catalog that breaks it is found: %s", (invariant, corrupt) => {
  const state = catalogState();
  expect(() => checkCatalog(state)).not.toThrow();
  corrupt(state.catalog);
  expect(() => checkCatalog(state)).toThrow(invariant);
});

// Digests: equal for states with the same meaning, different for others.

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 5)];

function heldWorld(): World {
  const world = new World(HALL);
  world.book("lock", world.selection("A", "A1", "Pit:2"));
  return world;
}

test("states with the same history have the same digest, live or replayed", () => {
  const [one, two] = [heldWorld(), heldWorld()];
  expect(digest(one.engine.state)).toBe(digest(two.engine.state));
  expect(digest(replayed(one.journal))).toBe(digest(one.engine.state));
  expect(digest(one.engine.state)).toMatch(/^[0-9a-f]{16}$/);
});

test("a change of any part of the inventory changes the digest", () => {
  const changes: Record<string, (partition: Partition) => void> = {
    "a state": ({ state }) => (state[1] = SeatState.SOLD),
    "a price": ({ price }) => (price[1] = 7),
    "a time of change": ({ changedAtMs }) => (changedAtMs[1]! += 1),
    "a time of change beyond 32 bits": ({ changedAtMs }) => (changedAtMs[1]! += 2 ** 32),
    "an area's price": ({ areas }) => (areas.price[0] = 7),
    "an area's time": ({ areas }) => (areas.changedAtMs[0]! += 1),
    "a counter": ({ areas }) => areas.add(0, SeatState.BLOCKED, 1),
    "the places of a hold": ({ areas }) => areas.removeHeld(0, 0, 1),
  };
  const original = digestPartition(heldWorld().partition);
  const seen = new Set([original]);
  for (const [what, change] of Object.entries(changes)) {
    const { partition } = heldWorld();
    change(partition);
    const changed = digestPartition(partition);
    expect(seen.has(changed), what).toBe(false);
    seen.add(changed);
  }
});

test("the session, the type and the expiry of a hold change the digest", () => {
  const digests = ["A", "B"].flatMap((session) =>
    ["CART", "RESERVED"].flatMap((holdType) =>
      [0, 1].map((delayMs) => {
        const world = new World(HALL);
        world.clock.timeMs += delayMs;
        world.book("lock", { ...world.selection(session, "A1"), holdType });
        // The same times of change in all, so only the hold differs.
        world.partition.changedAtMs.fill(5);
        return digestPartition(world.partition);
      }),
    ),
  );
  expect(new Set(digests).size).toBe(8);
});

test("the digest tells where one text of a hold ends and the next begins", () => {
  const digests = [
    ["A", "BCART"],
    ["AB", "CART"],
  ].map(([session, holdType]) => {
    const world = new World(HALL);
    const body = [{ name: "BCART", ttlSeconds: CART_TTL_SECONDS }];
    world.must("replaceHoldTypes", world.caller, { body });
    world.book("lock", { ...world.selection(session!, "A1"), holdType });
    return digestPartition(world.partition);
  });
  expect(digests[0]).not.toBe(digests[1]);
});

test("the slot of a hold does not change the digest", () => {
  const plain = new World(HALL);
  plain.book("block", plain.selection("", "A2"));
  plain.book("lock", plain.selection("A", "A1"));
  plain.book("unblock", plain.selection("", "A2"));
  const reused = new World(HALL);
  reused.book("lock", reused.selection("X", "A2"));
  reused.book("lock", reused.selection("A", "A1"));
  reused.book("unlock", reused.selection("X", "A2"));
  expect(reused.partition.holdOf(0)).not.toBe(plain.partition.holdOf(0));
  expect(digestPartition(reused.partition)).toBe(digestPartition(plain.partition));
});

test("a changed row changes the digest, another order of rows or members does not", () => {
  const world = new World(HALL);
  const { state } = world.engine;
  const before = digest(state);
  const { catalog } = state;
  const [venue] = [...catalog.venues.values()];
  catalog.put({ table: "venues", row: { ...venue!, address: "elsewhere" } });
  expect(digest(state)).not.toBe(before);
  const { name, id, ...rest } = venue!;
  catalog.put({ table: "venues", row: { ...rest, name, id } });
  expect(digest(state)).toBe(before);
  const prices = [...catalog.prices.values()];
  catalog.prices.clear();
  for (const row of prices.toReversed()) catalog.put({ table: "prices", row });
  expect(digest(state)).toBe(before);
  catalog.nextId += 1;
  expect(digest(state)).not.toBe(before);
});
