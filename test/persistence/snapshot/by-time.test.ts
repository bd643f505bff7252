/** Snapshots made because time has passed. */
import { expect, test } from "vitest";
import { settle } from "../log/log-fixture.ts";
import { history } from "../rescue/folder-fixture.ts";
import { folderOf, StoreProcess } from "../store/store-fixture.ts";

const MINUTE_MS = 60_000;
/** More than a snapshot of the history takes. */
const TURNS = 200;

/** Lets the time pass, and waits for a snapshot if one is due. @returns How many were made. */
async function pass(process: StoreProcess, minutes: number): Promise<number> {
  await process.time.pass(minutes * MINUTE_MS);
  process.snapshots.tick();
  for (let turn = 0; turn < TURNS; turn++) await settle();
  return process.reports.length;
}

test("a snapshot is made when the last one is old enough and the log has new records", async () => {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history, everyMinutes: 10 });
  expect(await pass(process, 11)).toBe(0);
  await process.commit(30);
  expect(await pass(process, 1)).toBe(1);
  await process.commit(30);
  expect(await pass(process, 9)).toBe(1);
  expect(await pass(process, 1)).toBe(2);
  expect(await pass(process, 30)).toBe(2);
  expect(process.reports.every(({ failure }) => failure === null)).toBe(true);
  await process.commit(5);
  // The age counts from the snapshot, begun 22 minutes after the first start.
  const next = await StoreProcess.start({ folder, history, everyMinutes: 10 });
  expect(next.report.records).toBeGreaterThan(0);
  expect(await pass(next, 31)).toBe(0);
  expect(await pass(next, 1)).toBe(1);
});
