/** A death at any disk operation loses no acknowledged record and splits no batch. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Admission } from "../../../engine/ports.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { realScheduler } from "../../../persistence/disk/clock.ts";
import { type FakeDisk } from "../../support/disk/fake-disk.ts";
import { CHANGES, ProcessDied } from "../../support/disk/process-disk.ts";
import { LogProcess, emptyDisk, settle } from "./log-fixture.ts";

const SEGMENT_BYTES = 8 * 1024;

type Ending = "kill" | "power cut";
const ENDINGS: readonly Ending[] = ["kill", "power cut"];

/** The promises of all processes together to callers. */
interface Ledger {
  acknowledged: number;
  appended: number;
}

/** Two processes: batches, marks, full segments, an orderly end, and a start after it. */
async function workload(disk: FakeDisk, ledger: Ledger): Promise<void> {
  for (const rounds of [16, 11]) {
    const log = await started(disk, ledger);
    for (let i = 0; i < rounds; i++) {
      ledger.appended = log.report.sequence + countAfter(i + 1);
      const admission = await log.commit(countAfter(i + 1) - countAfter(i));
      if (disk.isDead) throw new ProcessDied();
      if (admission !== Admission.OPEN) throw new Error("there is room for all");
      if (i % 2 === 1) await log.time.pass(10);
      if (disk.isDead) throw new ProcessDied();
    }
    await log.close();
  }
}

/** Records appended in the first rounds: batches of one to several sectors. */
function countAfter(rounds: number): number {
  let count = 0;
  for (let i = 0; i < rounds; i++) count += 1 + ((5 * i) % 9);
  return count;
}

async function started(disk: FakeDisk, ledger: Ledger): Promise<LogProcess> {
  const log = await LogProcess.start({ disk, segmentBytes: SEGMENT_BYTES });
  log.expectWhole();
  expect(log.report.records).toBeGreaterThanOrEqual(ledger.acknowledged);
  expect(log.report.records).toBeLessThanOrEqual(ledger.appended);
  // Recovered records may have been observed.
  ledger.acknowledged = log.report.records;
  ledger.appended = log.report.records;
  log.journal.durable = (sequence) => {
    ledger.acknowledged = sequence;
  };
  return log;
}

/** Runs until the process ends, at the latest at the given change of the disk. */
async function run(disk: FakeDisk, change: number, act: () => Promise<unknown>) {
  disk.endAtChange(change);
  const finished = act().then(
    () => "finished",
    (error: unknown) => {
      if (error instanceof ProcessDied) return "died";
      throw error;
    },
  );
  const over = { isTrue: false };
  void finished.then(() => (over.isTrue = true));
  while (!over.isTrue && !disk.isDead) await settle();
  const how = disk.isDead ? "died" : await finished;
  // Pending operations of this process must not reach the disk of the next one.
  await settle();
  disk.decide = () => null;
  return how;
}

function endProcess(disk: FakeDisk, ending: Ending): void {
  if (ending === "kill") disk.kill();
  else disk.losePower();
}

/** Number of the workload's changes of the disk. */
async function countChanges(): Promise<number> {
  const disk = emptyDisk();
  let count = 0;
  disk.decide = ({ operation }) => {
    if (CHANGES.has(operation)) count += 1;
    return null;
  };
  await workload(disk, { acknowledged: 0, appended: 0 });
  return count;
}

for (const ending of ENDINGS) {
  test(`a ${ending} at any change of the disk keeps every acknowledged record`, async () => {
    const total = await countChanges();
    expect(total).toBeGreaterThan(150);
    for (let step = 1; step <= total; step++) {
      const disk = emptyDisk();
      const ledger: Ledger = { acknowledged: 0, appended: 0 };
      expect(await run(disk, step, () => workload(disk, ledger))).toBe("died");
      endProcess(disk, ending);
      const next = await started(disk, ledger);
      ledger.appended += 2;
      await next.commit(2);
      expect(ledger.acknowledged).toBe(ledger.appended);
      endProcess(disk, ending);
      await started(disk, ledger);
    }
  });

  test(`after a ${ending} a recovery may be interrupted by another one`, async () => {
    const total = await countChanges();
    for (let step = 1; step <= total; step += 7) {
      for (let again = 1; ; again++) {
        const disk = emptyDisk();
        const ledger: Ledger = { acknowledged: 0, appended: 0 };
        await run(disk, step, () => workload(disk, ledger));
        endProcess(disk, ending);
        const how = await run(disk, again, () => started(disk, ledger));
        endProcess(disk, ending);
        await started(disk, ledger);
        if (how === "died") continue;
        expect(again).toBeGreaterThan(10);
        break;
      }
    }
  });
}

test("on the real disk a log can be written, closed and read", async () => {
  const folder = mkdtempSync(join(tmpdir(), "frontrow-log-"));
  const options = { disk: realDisk, folder, scheduler: realScheduler, segmentBytes: 64 * 1024 };
  try {
    const log = await LogProcess.start(options);
    for (let i = 0; i < 1_000; i++) {
      while (log.append(1) !== Admission.OPEN) await settle();
      if (i % 20 === 0) await settle();
    }
    await log.close();
    expect(log.acknowledged).toBe(1_000);
    expect(log.failures).toEqual([]);
    const next = await LogProcess.start(options);
    expect(next.report).toMatchObject({ records: 1_000, cleanShutdown: true, tornBytes: 0 });
    next.expectWhole();
    await next.close();
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a start without space for a segment fails with its cause", async () => {
  const disk = emptyDisk();
  disk.decide = ({ operation }) => (operation === "write" ? { code: "ENOSPC" } : null);
  const start = LogProcess.start({ disk, segmentBytes: SEGMENT_BYTES });
  await expect(start).rejects.toMatchObject({
    code: "ENOSPC",
    exitCode: 74,
    message: expect.stringMatching(
      /^cannot write .*: ENOSPC; .* needs 1 MiB: free them /,
    ) as string,
  });
  expect([...disk.files().keys()]).toEqual([]);
});

test("a start whose segment cannot be renamed fails with its cause", async () => {
  const disk = emptyDisk();
  disk.decide = ({ operation }) => (operation === "rename" ? { code: "EIO" } : null);
  const start = LogProcess.start({ disk, segmentBytes: SEGMENT_BYTES });
  await expect(start).rejects.toMatchObject({ code: "EIO", operation: "rename" });
});
