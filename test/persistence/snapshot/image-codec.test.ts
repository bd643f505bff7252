/** Decoded images equal the encoded ones, and malformed bytes are refused. */
import { expect, test } from "vitest";
import { copyPartition, packImage, restorePartition } from "../../../engine/inventory/image.ts";
import { digestPartition } from "../../../engine/verify.ts";
import { OtherFormat } from "../../../persistence/disk/formats.ts";
import { Malformed } from "../../../persistence/disk/faults.ts";
import { decodeImage, encodeImage } from "../../../persistence/snapshot/file.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { World } from "../../support/engine.ts";
import { area, section } from "../../support/layout.ts";

function heldWorld(): World {
  const world = new World([section("Stalls", { A: "1 2 3 4 5" }), area("Pit", 9)]);
  world.book("lock", world.selection("Åsa 🎭", "A1", "A2", "Pit:2"));
  world.book("lock", world.selection(null, "A4"));
  world.book("unlock", world.selection("Åsa 🎭", "A1"));
  return world;
}

test("every image of a random workload is decoded as it was encoded", () => {
  const workload = new Workload(5);
  for (let step = 1; step <= 3_000; step++) {
    workload.step();
    if (step % 500 !== 0) continue;
    for (const partition of workload.bench.engine.state.partitions.values()) {
      const bytes = encodeImage(packImage(copyPartition(partition)));
      const image = decodeImage(bytes);
      expect(encodeImage(image)).toEqual(bytes);
      const copy = restorePartition(image, partition.layout);
      expect(digestPartition(copy)).toBe(digestPartition(partition));
    }
  }
});

test("an image can be decoded at any offset of its buffer", () => {
  const { partition } = heldWorld();
  const bytes = encodeImage(packImage(copyPartition(partition)));
  for (let shift = 0; shift < 8; shift++) {
    const moved = Buffer.concat([Buffer.alloc(shift), bytes]).subarray(shift);
    const copy = restorePartition(decodeImage(moved), partition.layout);
    expect(digestPartition(copy)).toBe(digestPartition(partition));
    expect(copy.holds.get(0).session).toBe("Åsa 🎭");
  }
});

test("an image that is truncated anywhere is refused", () => {
  const bytes = encodeImage(packImage(copyPartition(heldWorld().partition)));
  for (let end = 0; end < bytes.length; end++) {
    expect(() => decodeImage(bytes.subarray(0, end))).toThrow(Malformed);
  }
  expect(() => decodeImage(Buffer.concat([bytes, Buffer.alloc(1)]))).toThrow("further bytes");
});

test("another version, other columns and columns of unequal length are refused", () => {
  const image = packImage(copyPartition(heldWorld().partition));
  const bytes = encodeImage(image);
  const changed = (at: number, value: number) => {
    const copy = Buffer.from(bytes);
    copy.writeUInt32LE(value, at);
    return copy;
  };
  expect(() => decodeImage(changed(0, 2))).toThrow(OtherFormat);
  expect(() => decodeImage(changed(4, 20))).toThrow("19 columns");
  const { seats, areas, holds } = image;
  const half = { ...image, seats: { ...seats, changedAtMs: Buffer.alloc(9) as never } };
  expect(() => decodeImage(encodeImage(half))).toThrow("expected whole entries, found 9 bytes");
  const unequal = [
    { ...image, seats: { ...seats, price: seats.price.slice(1) } },
    { ...image, areas: { ...areas, counts: areas.counts.slice(1) } },
    { ...image, areas: { ...areas, held: areas.held.slice(1) } },
    { ...image, holds: { ...holds, sizes: holds.sizes.slice(1) } },
    { ...image, holds: { ...holds, textUnits: holds.textUnits.slice(1) } },
  ];
  for (const broken of unequal) expect(() => decodeImage(encodeImage(broken))).toThrow(Malformed);
});
