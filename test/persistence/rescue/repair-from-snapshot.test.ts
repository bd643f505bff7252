/** Repairs ending in a new log from a snapshot on, because the old one is damaged before it. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { EventRow } from "../../../engine/catalog.ts";
import { RecordType } from "../../../engine/records.ts";
import { digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { restoreFolder, backupFolder } from "../../../persistence/rescue/copy-store.ts";
import { inspectFolder } from "../../../persistence/rescue/inspect.ts";
import { repairFolder } from "../../../persistence/rescue/repair.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { ProcessDied } from "../../support/disk/process-disk.ts";
import { diskOn, folderOf, StoreProcess } from "../store/store-fixture.ts";
import {
  flip,
  history,
  preview,
  repaired,
  segmentsIn,
  snapshotsIn,
  start,
  storeOf,
  twinOf,
  usedBytes,
} from "./folder-fixture.ts";

/** Flips a bit in the header of every segment except the newest ones. */
function rotHeads(folder: string, butNewest = 0): void {
  const segments = segmentsIn(folder);
  for (const segment of segments.slice(0, segments.length - butNewest)) flip(segment, 40);
}

/** The sequence number of its first record, from its name. */
function firstIn(segment: string): number {
  return Number.parseInt(path.basename(segment).split("-")[1]!, 16);
}

/** Two good snapshots at 150 and 300, records up to 325. */
const twoSnapshots = () => storeOf({ snapshots: 2, batches: 5 });

test("with a damaged log and two good snapshots, the newest one stays", async () => {
  const folder = await twoSnapshots();
  const [older, newest] = snapshotsIn(folder);
  rotHeads(folder);
  const before = segmentsIn(folder);
  const { plan, aside } = await repaired(folder);
  expect(plan).toMatchObject({ sequence: 300, cut: null, snapshots: [path.basename(older!)] });
  expect(plan.restart).toMatchObject({ base: path.basename(newest!), isRewritten: false });
  expect(plan.lost.range).toEqual({ from: 301, to: 325 });
  expect(plan.lost).toMatchObject({ total: 25, unreadable: 0 });
  expect(aside).toEqual([older!, ...before.toReversed()].map((name) => `${name}.broken`));
});

test("without any segment, the newest snapshot stays", async () => {
  const folder = await twoSnapshots();
  for (const segment of segmentsIn(folder)) fs.rmSync(segment);
  const { plan } = await repaired(folder);
  expect(plan).toMatchObject({ sequence: 300, segments: [] });
  // No trace of later records is left.
  expect(plan.lost.range).toBeNull();
});

test("if the newest snapshot is damaged too, the older one stays", async () => {
  const folder = await twoSnapshots();
  rotHeads(folder);
  fs.truncateSync(snapshotsIn(folder)[1]!, 9_000);
  const { plan } = await repaired(folder);
  expect(plan.sequence).toBe(150);
  expect(plan.lost.range).toEqual({ from: 151, to: 325 });
  expect(plan.lost.unreadable).toBe(0);
});

test("if the older snapshot is damaged too, the newest one stays", async () => {
  const folder = await twoSnapshots();
  rotHeads(folder);
  fs.truncateSync(snapshotsIn(folder)[0]!, 9_000);
  const { plan } = await repaired(folder);
  expect(plan.sequence).toBe(300);
});

test("if both snapshots are damaged too, a repair is refused", async () => {
  const folder = await twoSnapshots();
  rotHeads(folder);
  for (const name of snapshotsIn(folder)) fs.truncateSync(name, 9_000);
  expect(() => preview(folder)).toThrow(/nothing can be saved: restore a backup/);
});

test("with a given cut, no new log is begun", async () => {
  const folder = await twoSnapshots();
  rotHeads(folder);
  expect(() => preview(folder, 300)).toThrow(/nothing that ends with record 300 can be saved/);
});

test("segments of a later process that continue the snapshot's chain stay", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 5 });
  // An orderly end: a snapshot of the last record, and a mark after it in the log.
  const first = await start(folder);
  await first.commit(3);
  await first.close();
  const count = segmentsIn(folder).length;
  const second = await start(folder);
  await second.commit(40);
  await second.time.pass(20);
  rotHeads(folder, segmentsIn(folder).length - count);
  const { plan } = await repaired(folder);
  expect(plan.sequence).toBe(390);
  expect(plan.restart).toMatchObject({ segment: null, isRewritten: true, mark: { sequence: 190 } });
  expect([plan.lost.total, plan.lost.range]).toEqual([0, null]);
  expect(plan.segments).toHaveLength(count);
});

test("they also stay if the damage is after the snapshot's last record", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 5 });
  const first = await start(folder);
  await first.commit(3);
  await first.close();
  const last = segmentsIn(folder).at(-1)!;
  const second = await start(folder);
  await second.commit(40);
  await second.time.pass(20);
  // In the zeros after the last frame.
  flip(last, fs.statSync(last).size - 1);
  const { plan } = await repaired(folder);
  expect(plan.sequence).toBe(390);
  expect([plan.lost.total, plan.lost.range]).toEqual([0, null]);
});

test("segments after the snapshot that its chain does not cover are set aside", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 0 });
  await (await start(folder)).close();
  const count = segmentsIn(folder).length;
  const second = await start(folder);
  await second.commit(3);
  await second.time.pass(20);
  for (const segment of segmentsIn(folder).slice(0, count)) fs.rmSync(segment);
  const { plan } = await repaired(folder);
  expect(plan).toMatchObject({ sequence: 150, segments: [expect.any(String)] });
  expect(plan.lost).toMatchObject({ total: 15, range: { from: 151, to: 165 } });
});

/** Of `fuzzyStore`: the records before its own batches, and in each of them. */
const RECORDS_BEFORE = 160;
const BATCH_RECORDS = 5;
const BATCHES_MEANWHILE = 6;

/** The newest snapshot was taken while records were written. */
async function fuzzyStore(batches = 20): Promise<{ folder: string; from: number; to: number }> {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const process = await start(folder);
  expect(process.sequence).toBe(RECORDS_BEFORE);
  await process.commit(batches, BATCH_RECORDS);
  const from = process.sequence;
  const before = process.reports.length;
  process.snapshots.request();
  await process.commit(BATCHES_MEANWHILE, BATCH_RECORDS);
  await process.settled(() => process.reports.length > before);
  await process.time.pass(20);
  expect(process.reports.at(-1)!.failure).toBeNull();
  return { folder, from, to: process.sequence };
}

/**
 * A price of the newest event is created after the catalog was copied, in the second batch, and
 * used in the last one, before the event's partition is copied, which is the last.
 *
 * @returns The argument for `fuzzyStore`: batches before the first such place in the history.
 */
function batchesToUnsoundSnapshot(): number {
  let newest: EventRow | undefined;
  for (const { sequence, record } of history.records) {
    if (record.type !== RecordType.CATALOG) continue;
    for (const { table, row } of record.puts) {
      if (table === "events" && row.partition > (newest?.partition ?? 0)) newest = row;
    }
    const batches = Math.ceil((sequence - RECORDS_BEFORE) / BATCH_RECORDS) - 2;
    const isPriced = record.puts.some(({ table, row }) => {
      return table === "prices" && row.eventId === newest?.id;
    });
    if (batches < 0 || !isPriced) continue;
    const end = RECORDS_BEFORE + BATCH_RECORDS * (batches + BATCHES_MEANWHILE);
    const last = history.records.slice(end - BATCH_RECORDS, end);
    const isUsed = last.some(({ record: one }) => {
      return one.type === RecordType.PRICE && one.partition === newest?.partition;
    });
    if (isUsed) return batches;
  }
  throw new Error("the history has no such place: take another seed");
}

test("a snapshot that was taken between records is rewritten as a sound state", async () => {
  const { folder, from, to } = await fuzzyStore();
  rotHeads(folder);
  const said = preview(folder);
  const { restart, lost, sequence } = said;
  expect(restart?.isRewritten).toBe(true);
  expect(sequence).toBeGreaterThan(from);
  expect(lost.range?.from).toBeGreaterThan(from);
  expect(lost.range?.from).toBeLessThanOrEqual(sequence);
  expect(lost.range?.to).toBe(to);
  // The other records are in the partitions copied last.
  expect(lost.total).toBeLessThan(to - lost.range!.from + 1);
  const original = fs.readFileSync(snapshotsIn(folder).at(-1)!);
  const { verified, aside } = repairFolder({ disk: realDisk, folder });
  expect(verified.findings).toEqual([]);
  expect(verified.sequence).toBe(sequence);
  expect(aside.some((name) => fs.readFileSync(name).equals(original))).toBe(true);
  const process = await start(folder);
  expect(process.report.sequence).toBe(sequence);
  expect(digest(process.state)).toBe(verified.digest);
  await process.close();
});

test("later segments are not applied to a snapshot that lacks records before them", async () => {
  const { folder, to } = await fuzzyStore();
  const count = segmentsIn(folder).length;
  const second = await start(folder);
  await second.commit(3);
  await second.time.pass(20);
  const segments = segmentsIn(folder);
  rotHeads(folder, segments.length - count);
  const plan = preview(folder);
  expect([plan.sequence, plan.restart?.segment?.firstSequence]).toEqual([to, to + 1]);
  expect(plan.segments).toHaveLength(segments.length);
});

test("a cut within the records of a snapshot sets the snapshot aside", async () => {
  const { folder, from } = await fuzzyStore();
  const newest = snapshotsIn(folder).at(-1)!;
  const { plan } = await repaired(folder, from + 10);
  expect(plan).toMatchObject({ sequence: from + 10, snapshots: [path.basename(newest)] });
});

test("a snapshot that is inconsistent without later records is skipped", async () => {
  const { folder } = await fuzzyStore(batchesToUnsoundSnapshot());
  const [older] = snapshotsIn(folder);
  rotHeads(folder);
  const { plan } = await repaired(folder);
  expect(plan).toMatchObject({ sequence: 150, restart: { base: path.basename(older!) } });
});

test("such a snapshot is not given up for a shorter log, unless a cut is given", async () => {
  const { folder, from } = await fuzzyStore(batchesToUnsoundSnapshot());
  const newest = path.basename(snapshotsIn(folder).at(-1)!);
  const mark = from + BATCH_RECORDS;
  // With this segment, and those after it, the snapshot would become a sound state.
  flip(
    segmentsIn(folder).findLast((segment) => firstIn(segment) <= mark)!,
    40,
  );
  expect(() => preview(folder)).toThrow(
    new RegExp(`snapshot ${newest} is intact and has the records up to ${mark}`),
  );
  const { plan } = await repaired(folder, 250);
  expect(plan).toMatchObject({ sequence: 250, snapshots: [newest] });
});

test("damage right after a snapshot cuts the log, and no new log is begun", async () => {
  const folder = await storeOf({ snapshots: 2, batches: 1 });
  const [last, before] = [folder, await storeOf({ snapshots: 2, batches: 0 })].map((store) =>
    segmentsIn(store).at(-1)!,
  );
  // The batch after the snapshot is where the mark is without it.
  const used = usedBytes(before!);
  flip(last!, used - (used % 512) + 40);
  const { plan } = await repaired(folder);
  expect(plan).toMatchObject({ sequence: 300, restart: null, cut: { name: path.basename(last!) } });
});

test("records that a snapshot proves to have existed are reported as lost", async () => {
  const folder = await twoSnapshots();
  const later = segmentsIn(folder).filter((segment) => firstIn(segment) > 210);
  for (const segment of later) fs.rmSync(segment);
  const { plan } = await repaired(folder, 200);
  expect(plan.lost.range).toEqual({ from: 201, to: 300 });
});

test("the new segment has a greater number than those that were set aside", async () => {
  const folder = await twoSnapshots();
  const segments = segmentsIn(folder);
  for (const segment of segments) fs.renameSync(segment, `${segment}.broken`);
  const newest = Number.parseInt(path.basename(segments.at(-1)!), 16);
  expect(preview(folder).restart?.segment?.number).toBe(newest + 1);
});

test("each tool accepts a log that begins after a snapshot", async () => {
  const folder = await twoSnapshots();
  rotHeads(folder);
  repairFolder({ disk: realDisk, folder });
  const shown: unknown[] = [];
  const inspect = () =>
    inspectFolder({
      disk: realDisk,
      folder,
      from: 1,
      to: Infinity,
      emit: ({ sequence }) => shown.push(sequence) > 0,
    });
  expect(inspect().sequence).toBe(300);
  const copies = [path.join(folderOf(), "copy"), path.join(folderOf(), "copy")];
  const sound = { sequence: 300, digest: history.digestAt(300), findings: [] };
  expect(backupFolder({ disk: realDisk, from: folder, to: copies[0]! })).toMatchObject(sound);
  const [from, to] = copies as [string, string];
  expect(restoreFolder({ disk: realDisk, from, to })).toMatchObject(sound);
  const process = await start(to);
  await process.commit(2);
  await process.snapshot();
  await process.commit(2);
  await process.snapshot();
  await process.close();
  expect(verifyFolder({ disk: realDisk, folder: to })).toMatchObject({
    findings: [],
    sequence: 320,
    digest: history.digestAt(320),
  });
});

test("a repaired store can be copied after a start that wrote nothing", async () => {
  const folder = await twoSnapshots();
  for (const segment of segmentsIn(folder)) fs.rmSync(segment);
  repairFolder({ disk: realDisk, folder });
  const idle = await start(folder);
  await idle.close();
  const busy = await start(folder);
  await busy.commit(3);
  await busy.close();
  // The first two segments begin with the same record, because the first has none.
  expect(segmentsIn(folder).length).toBeGreaterThan(2);
  const to = path.join(folderOf(), "copy");
  expect(backupFolder({ disk: realDisk, from: folder, to })).toMatchObject({ findings: [] });
  expect(verifyFolder({ disk: realDisk, folder: to }).findings).toEqual([]);
  const next = await start(to);
  expect(next.sequence).toBe(315);
});

test.each([
  ["a snapshot", twoSnapshots],
  ["a rewritten snapshot", async () => (await fuzzyStore()).folder],
])("time does not step back in a log that begins after %s", async (_, make) => {
  const folder = await make();
  rotHeads(folder);
  repairFolder({ disk: realDisk, folder });
  const { report, state } = await start(folder);
  const changes = [...state.partitions.values()].map((one) => Math.max(0, ...one.changedAtMs));
  expect(report.timeMs).toBeGreaterThan(0);
  expect(report.timeMs).toBeGreaterThanOrEqual(Math.max(...changes));
});

test("a snapshot beside a log of another number is not joined to it", async () => {
  const folder = await twoSnapshots();
  rotHeads(folder);
  repairFolder({ disk: realDisk, folder });
  const [segment] = segmentsIn(folder);
  const twin = twinOf(folder);
  const bytes = fs.readFileSync(segment!);
  expect(bytes.length).toBeLessThan(10_000);
  fs.renameSync(
    path.join(twin, "wal", path.basename(segment!)),
    path.join(twin, "wal", path.basename(segment!).replace(/.\.log$/, "e.log")),
  );
  const { findings } = verifyFolder({ disk: realDisk, folder: twin });
  expect(findings.length).toBeGreaterThan(0);
});

interface Crash {
  readonly what: string;
  readonly make: () => Promise<string>;
}
const CRASHES: readonly Crash[] = [
  {
    what: "a new segment",
    make: async () => {
      const folder = await twoSnapshots();
      rotHeads(folder);
      return folder;
    },
  },
  {
    what: "a rewritten snapshot",
    make: async () => {
      const { folder } = await fuzzyStore();
      rotHeads(folder);
      return folder;
    },
  },
  {
    what: "a tail that stays",
    make: async () => {
      const folder = await storeOf({ snapshots: 2, batches: 1 });
      await (await start(folder)).close();
      const count = segmentsIn(folder).length;
      const process = await start(folder);
      await process.commit(6);
      await process.time.pass(20);
      rotHeads(folder, segmentsIn(folder).length - count);
      return folder;
    },
  },
];

test.each(CRASHES)(
  "a repair that is interrupted at any step can be repeated: $what",
  async ({ make }) => {
    const folder = await make();
    const whole = twinOf(folder);
    const { verified } = repairFolder({ disk: realDisk, folder: whole });
    let step = 1;
    for (let isDone = false; !isDone; step++) {
      for (const losesPower of [false, true]) {
        const twin = twinOf(folder);
        const disk = diskOn(twin);
        disk.endAtChange(step);
        isDone = !died(() => repairFolder({ disk: disk.begin(), folder: twin }));
        if (losesPower) disk.losePower();
        // The plan is the same, and is carried out.
        expect(preview(twin).sequence).toBe(verified.sequence);
        if (isDone) expect(preview(twin).findings).toEqual([]);
        const again = repairFolder({ disk: realDisk, folder: twin });
        expect(again.verified.findings).toEqual([]);
        expect(again.verified.sequence).toBe(verified.sequence);
        expect(again.verified.digest).toBe(verified.digest);
        const process = await StoreProcess.start({ folder: twin, history });
        expect(digest(process.state)).toBe(verified.digest);
      }
    }
    expect(step).toBeGreaterThan(5);
  },
);

function died(act: () => void): boolean {
  try {
    act();
    return false;
  } catch (error) {
    if (error instanceof ProcessDied) return true;
    throw error;
  }
}
