/** Images: the restored partition equals the original and behaves like it from then on. */
import { expect, test } from "vitest";
import { apply } from "../../../engine/apply.ts";
import {
  copyPartition,
  packImage,
  packInSteps,
  restorePartition,
} from "../../../engine/inventory/image.ts";
import type { Partition } from "../../../engine/inventory/partition.ts";
import { State } from "../../../engine/state.ts";
import { checkPartition, digest, digestPartition } from "../../../engine/verify.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";

const STEPS = 6_000;
const IMAGE_STEPS = 150;
const STEP = { done: false, value: undefined };

function imaged(partition: Partition): Partition {
  return restorePartition(packImage(copyPartition(partition)), partition.layout);
}

/** The state outside the digest. */
function insides({ changes, holds, areas }: Partition): unknown {
  const { held } = areas.copy();
  const slotsOf = (session: string) => [...holds.slotsOf(session)].sort((a, b) => a - b);
  return {
    order: [...changes.oldestFirst()],
    newest: changes.newest,
    touches: changes.touches,
    slots: holds.slots().map((slot) => ({ slot, size: holds.size(slot), ...holds.get(slot) })),
    count: holds.count,
    free: holds.copy().free,
    fenceBound: holds.copy().fenceBound,
    held,
    sessions: holds.slots().map((slot) => slotsOf(holds.get(slot).session)),
  };
}

test.each([1, 2, 3])(
  "seed %i: an image restores the whole partition, hidden parts included",
  (seed) => {
    const workload = new Workload(seed);
    const { state } = workload.bench.engine;
    let holds = 0;
    for (let step = 1; step <= STEPS; step++) {
      workload.step();
      if (step % IMAGE_STEPS !== 0) continue;
      for (const partition of state.partitions.values()) {
        const copy = imaged(partition);
        checkPartition(copy);
        expect(digestPartition(copy)).toBe(digestPartition(partition));
        expect(insides(copy)).toEqual(insides(partition));
        holds += copy.holds.count;
      }
    }
    expect(holds).toBeGreaterThan(20);
  },
);

test("later records have the same effect on restored partitions as on the originals", () => {
  const workload = new Workload(4);
  const { journal, engine } = workload.bench;
  for (let step = 0; step < STEPS; step++) workload.step();
  const from = journal.kept.length;
  const twin = new State();
  for (const { sequence, record, timeMs } of journal.kept) apply(twin, record, timeMs, sequence);
  for (const [number, partition] of engine.state.partitions) {
    twin.partitions.set(number, imaged(partition));
    const schema = twin.partitions.get(number)!.layout;
    for (const event of twin.catalog.events.values()) {
      if (event.partition === number) twin.layouts.set(event.schemaId, schema);
    }
  }
  for (let step = 0; step < STEPS; step++) workload.step();
  for (const { sequence, record, timeMs } of journal.kept.slice(from))
    apply(twin, record, timeMs, sequence);
  expect(digest(twin)).toBe(digest(engine.state));
  for (const [number, partition] of engine.state.partitions) {
    expect(insides(twin.partitions.get(number)!)).toEqual(insides(partition));
  }
});

test("a copy keeps its moment while the partition changes, also when it is packed later", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4" }), area("Pit", 5)]);
  world.book("lock", world.selection("A", "A1", "A2", "Pit:2"));
  const before = digestPartition(world.partition);
  const copy = copyPartition(world.partition);
  world.book("sale", world.selection("A", "A1", "A2", "Pit:2"));
  world.book("lock", world.selection("B", "A3", "Pit:1"));
  expect(digestPartition(world.partition)).not.toBe(before);
  const image = packImage(copy);
  expect(digestPartition(restorePartition(image, world.partition.layout))).toBe(before);
});

test("an image with other seats or areas than the layout is rejected", () => {
  const one = new World([section("Stalls", { A: "1 2 3" }), area("Pit", 5)]);
  const fewer = new World([section("Stalls", { A: "1 2" }), area("Pit", 5)]);
  const noArea = new World([section("Stalls", { A: "1 2 3" })]);
  const image = packImage(copyPartition(one.partition));
  for (const { partition } of [fewer, noArea]) {
    expect(() => restorePartition(image, partition.layout)).toThrow(/of its layout/);
  }
});

test("an image whose change list skips or repeats seats is rejected", () => {
  const { partition } = new World([section("Stalls", { A: "1 2 3" })]);
  const image = packImage(copyPartition(partition));
  const { later, oldest } = image.changes;
  for (const broken of [later.map(() => oldest), later.map(() => later[later.length - 1]!)]) {
    const changes = { ...image.changes, later: broken };
    expect(() => restorePartition({ ...image, changes }, partition.layout)).toThrow(
      /a change list/,
    );
  }
});

test("an image that is packed in steps equals the one that is packed at once", () => {
  const seats = Array.from({ length: 5_000 }, (_, i) => i + 1);
  const world = new World([section("Stalls", { A: seats.join(" ") })]);
  for (const seat of seats) world.book("lock", world.selection(`S${seat}`, `A${seat}`));
  const copy = copyPartition(world.partition);
  const packing = packInSteps(copy);
  expect([packing.next(), packing.next()]).toEqual([STEP, STEP]);
  expect(packing.next()).toEqual({ done: true, value: packImage(copy) });
});
