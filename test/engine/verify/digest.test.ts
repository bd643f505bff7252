/** Digests: equal for states that mean the same, different for others. */
import { expect, test } from "vitest";
import { CART_TTL_SECONDS } from "../../../engine/constants.ts";
import type { Partition } from "../../../engine/inventory/partition.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { digest, digestPartition } from "../../../engine/verify.ts";
import { replayed, World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";

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
        // The same times of change in all, so that only the hold differs.
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
  expect(reused.partition.hold[0]).not.toBe(plain.partition.hold[0]);
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
