/** `repairFolder` saves what it can, reports the losses, and keeps the originals. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { RecordType } from "../../../engine/records.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { FolderRefused } from "../../../persistence/disk/faults.ts";
import type { RepairPlan } from "../../../persistence/rescue/repair-plan.ts";
import { repairFolder } from "../../../persistence/rescue/repair.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { Random } from "../../sim/workload/random.ts";
import { sameFiles } from "../log/log-fixture.ts";
import { contentOf } from "../store/store-fixture.ts";
import {
  flip,
  history,
  preview,
  repaired,
  segmentsIn,
  snapshotsIn,
  storeOf,
  twinOf,
  usedBytes,
} from "./folder-fixture.ts";

test("a sound folder has nothing to repair", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 5 });
  const before = contentOf(folder);
  const { plan, aside } = repairFolder({ disk: realDisk, folder });
  expect(plan).toMatchObject({ findings: [], snapshots: [], segments: [], cut: null });
  expect([plan.lost.total, aside]).toEqual([0, []]);
  const after = contentOf(folder);
  expect(sameFiles(after, before)).toBe(true);
});

test.each(["newest", "older"])(
  "a damaged %s snapshot is set aside, and nothing is lost",
  async (which) => {
    const folder = await storeOf({ snapshots: 3, batches: 5 });
    const [older, newest] = snapshotsIn(folder);
    const damaged = which === "newest" ? newest! : older!;
    fs.truncateSync(damaged, 9_000);
    const { plan, aside } = await repaired(folder);
    expect(plan).toMatchObject({ segments: [], cut: null, sequence: 475 });
    expect(plan.lost.total).toBe(0);
    expect(aside).toEqual([`${damaged}.broken`]);
  },
);

test("a damaged log is cut at the damage, and lost records are counted per event", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 60 });
  const segments = segmentsIn(folder);
  const damaged = segments[2]!;
  flip(damaged, Math.floor((4_096 + usedBytes(damaged)) / 2));
  const { plan } = await repaired(folder);
  expect(plan.cut?.name).toBe(path.basename(damaged));
  expect(plan.segments).toEqual(
    segments
      .slice(3)
      .toReversed()
      .map((name) => path.basename(name)),
  );
  const { lost, sequence } = plan;
  expect(lost.total).toBe(300 - sequence);
  // The damaged frame has five records.
  expect(lost.unreadable).toBe(5);
  const behind = history.records.slice(sequence + 5, 300);
  const catalog = behind.filter(({ record }) => record.type === RecordType.CATALOG);
  expect(lost.catalog).toBe(catalog.length);
  expect(lost.byEvent.size).toBeGreaterThan(0);
  for (const event of lost.byEvent.keys()) expect(event).toMatch(/^[0-9a-f]{8}-/);
});

test("damage before the newest snapshot costs the older snapshot, but no record", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 20 });
  const [older] = snapshotsIn(folder);
  const [first] = segmentsIn(folder);
  flip(first!, usedBytes(first!) - 600);
  const { plan, aside } = await repaired(folder);
  expect(plan).toMatchObject({ sequence: 550, cut: null });
  expect(plan.lost.total).toBe(0);
  expect(plan.snapshots).toEqual([path.basename(older!)]);
  expect(aside).toContain(`${first!}.broken`);
});

test("a log without snapshots is cut before a missing segment", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 60 });
  const segments = segmentsIn(folder);
  fs.rmSync(segments[2]!);
  const { plan } = await repaired(folder);
  expect(plan.cut).toBeNull();
  expect(plan.segments).toHaveLength(segments.length - 3);
  expect(plan.lost.total).toBe(300 - plan.sequence);
  expect(plan.lost.unreadable).toBeGreaterThan(0);
});

test("with two damaged snapshots and no beginning of the log, a repair is refused", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 5 });
  for (const name of snapshotsIn(folder)) fs.truncateSync(name, 9_000);
  expect(() => preview(folder)).toThrow(/nothing can be saved: restore a backup/);
  expect(() => repairFolder({ disk: realDisk, folder })).toThrow(FolderRefused);
});

test("with a given cut, a sound log is cut after a whole batch", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 60 });
  const { plan } = await repaired(folder, 212);
  // Batches have five records.
  expect(plan).toMatchObject({ findings: [], sequence: 210, snapshots: [] });
  expect(plan.lost).toMatchObject({ total: 240, unreadable: 0 });
});

test("a snapshot that is ahead of the cut is set aside", async () => {
  const folder = await storeOf({ snapshots: 2, batches: 5 });
  const { plan } = await repaired(folder, 200);
  expect(plan.sequence).toBe(200);
  expect(plan.snapshots).toHaveLength(1);
});

test("a cut before the oldest snapshot is refused", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 5 });
  expect(() => preview(folder, 100)).toThrow(/nothing that ends with record 100 can be saved/);
});

test("a file whose name resembles a segment's is set aside", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 20 });
  fs.writeFileSync(path.join(folder, "wal", "7.log"), "x");
  const { plan } = await repaired(folder);
  expect(plan).toMatchObject({ segments: ["7.log"], cut: null, sequence: 100 });
});

test("a second repair does not overwrite the originals that the first one kept", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 20 });
  await repaired(folder, 50);
  const name = fs.readdirSync(path.join(folder, "wal")).find((one) => one.endsWith(".broken"));
  expect(name).toBeDefined();
  await repaired(folder, 30);
  expect(fs.readdirSync(path.join(folder, "wal"))).toContain(`${name}-2`);
});

test(
  "after damage in any one or two places, a repair leaves a sound store",
  { timeout: 60_000 },
  async () => {
    const random = new Random(5);
    const folders = [
      await storeOf({ snapshots: 3, batches: 20 }),
      await storeOf({ snapshots: 1, batches: 30 }),
      await storeOf({ snapshots: 0, batches: 30 }),
    ];
    let repairs = 0;
    for (let round = 0; round < 40; round++) {
      const folder = twinOf(random.pick(folders));
      for (let i = 0; i <= random.below(2); i++) damage(folder, random);
      if (verifyFolder({ disk: realDisk, folder }).findings.length === 0) continue;
      let plan: RepairPlan;
      try {
        plan = preview(folder);
      } catch (error) {
        expect(error).toBeInstanceOf(FolderRefused);
        continue;
      }
      await repaired(folder);
      expect(plan.sequence).toBeGreaterThan(0);
      repairs += 1;
    }
    expect(repairs).toBeGreaterThan(15);
  },
);

function damage(folder: string, random: Random): void {
  const file = random.pick([...segmentsIn(folder), ...snapshotsIn(folder)]);
  const used = file.endsWith(".log") ? usedBytes(file) : fs.statSync(file).size;
  if (used === 0) return;
  const kind = random.below(4);
  if (kind === 0) fs.truncateSync(file, random.below(used));
  else if (kind === 1 && segmentsIn(folder).length > 1) fs.rmSync(file);
  else flip(file, random.below(used), random.below(8));
}

test("a folder in use is neither read nor repaired", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 2 });
  const { takeFolder } = await import("../../../persistence/disk/data-folder.ts");
  const release = takeFolder(realDisk, folder);
  expect(() => preview(folder)).toThrow(/another process uses it/);
  expect(() => repairFolder({ disk: realDisk, folder })).toThrow(/another process uses it/);
  release();
  expect(preview(folder).sequence).toBe(10);
});
