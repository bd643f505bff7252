/** Snapshots that are damaged while the process runs: the next one is written from memory. */
import fs from "node:fs";
import { expect, test } from "vitest";
import { digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { settle } from "../log/log-fixture.ts";
import { history, snapshotsIn, start, storeOf } from "../rescue/folder-fixture.ts";
import { namesIn, type StoreProcess } from "../store/store-fixture.ts";

const RETRY_MS = 60_000;

/** A process whose log has lost its beginning and whose snapshots are all damaged. */
async function damagedProcess(): Promise<{ folder: string; process: StoreProcess }> {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  const process = await start(folder);
  expect(namesIn(folder, "wal")[0]).not.toMatch(/^0{15}1-/);
  for (const name of snapshotsIn(folder)) fs.truncateSync(name, 9_000);
  await process.commit(2);
  return { folder, process };
}

async function expectWhole(folder: string, sequence: number): Promise<void> {
  const next = await start(folder);
  expect(next.report.sequence).toBe(sequence);
  expect(digest(next.state)).toBe(history.digestAt(sequence));
}

test("the second attempt copies everything from memory, and the store starts again", async () => {
  const { folder, process } = await damagedProcess();
  expect((await process.snapshot()).failure).toBeInstanceOf(Error);
  await process.time.pass(RETRY_MS);
  await process.settled(() => process.reports.length === 2);
  expect(process.reports[1]).toMatchObject({
    failure: null,
    copied: process.state.partitions.size,
    removedSegments: 0,
  });
  await process.commit(2);
  await expectWhole(folder, process.durable);
  // The next one is usual, and removes the damaged ones.
  const next = await start(folder);
  await next.commit(2);
  expect(await next.snapshot()).toMatchObject({ failure: null, removedSnapshots: 2 });
  expect(verifyFolder({ disk: realDisk, folder }).findings).toEqual([]);
});

test("an orderly close leaves a good snapshot, although all others are damaged", async () => {
  const { folder, process } = await damagedProcess();
  await process.close();
  expect(process.reports.map(({ failure }) => failure === null)).toEqual([false, true]);
  await expectWhole(folder, process.durable);
});

test(
  "records of every kind may be written while the catalog is handed over",
  { timeout: 60_000 },
  async () => {
    for (let extra = 0; extra < 60; extra += 11) {
      const { folder, process } = await damagedProcess();
      await process.commit(1, extra + 1);
      await process.snapshot();
      void process.time.pass(RETRY_MS);
      for (let i = 0; i < 12; i++) {
        process.append(2);
        await settle();
      }
      await process.settled(() => process.reports.length === 2);
      expect(process.reports[1]).toMatchObject({ failure: null });
      await expectWhole(folder, process.durable);
    }
  },
);
