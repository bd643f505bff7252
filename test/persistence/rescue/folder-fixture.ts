/** A whole data folder under test: snapshots, a log, and ways to damage them. */
import fs from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { checkState, digest } from "../../../engine/verify.ts";
import { makeAuditFile } from "../../../persistence/audit/keeper.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { History } from "../../support/store.ts";
import { diskOn, folderOf, snapshotPaths, StoreProcess } from "../store/store-fixture.ts";

export const history = new History(7, 1_500);

/** A copy of the folder. */
export function twinOf(folder: string): string {
  const twin = folderOf();
  fs.cpSync(folder, twin, { recursive: true });
  return twin;
}

export function start(folder: string): Promise<StoreProcess> {
  return StoreProcess.start({ folder, history });
}

/** Starts, and checks that the state is the one after the last record that was recovered. */
export async function recovered(folder: string, disk = diskOn(folder)): Promise<StoreProcess> {
  const process = await StoreProcess.start({ folder, history, disk });
  checkState(process.state);
  expect(digest(process.state)).toBe(history.digestAt(process.report.sequence));
  return process;
}

/** A store after so many batches of ten records, with a trail that is still empty. */
export async function storeWithTrail(batches: number) {
  const folder = folderOf();
  const process = await start(folder);
  makeAuditFile(realDisk, folder);
  await process.commit(batches, 10);
  return { folder, process };
}

export interface Shape {
  /** How many snapshots are taken, each after thirty batches. */
  readonly snapshots: number;
  /** Batches after the last snapshot. */
  readonly batches: number;
}

/** A store whose process was killed after its last batch. */
export async function storeOf({ snapshots, batches }: Shape): Promise<string> {
  const folder = folderOf();
  const process = await start(folder);
  for (let i = 0; i < snapshots; i++) {
    await process.commit(30);
    await process.snapshot();
  }
  await process.commit(batches);
  // The durable mark of the last batch.
  await process.time.pass(20);
  return folder;
}

export function segmentsIn(folder: string): string[] {
  const wal = path.join(folder, "wal");
  const names = fs.readdirSync(wal).filter((name) => name.endsWith(".log"));
  return names.toSorted().map((name) => path.join(wal, name));
}

/** The oldest first. */
export function snapshotsIn(folder: string): string[] {
  return fs.existsSync(path.join(folder, "snapshots")) ? snapshotPaths(folder).toReversed() : [];
}

/** The end of the last non-zero byte. */
export function usedBytes(file: string): number {
  return fs.readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;
}

export function flip(file: string, offset: number, bit = 0): void {
  const bytes = fs.readFileSync(file);
  bytes[offset]! ^= 1 << bit;
  fs.writeFileSync(file, bytes);
}

/** A folder with two snapshots and records after each; the log before the older one is gone. */
export async function twoSnapshots(): Promise<{ folder: string; records: number }> {
  const folder = folderOf();
  const process = await StoreProcess.start({ folder, history });
  for (let i = 0; i < 3; i++) {
    await process.commit(30);
    await process.snapshot();
  }
  await process.commit(10);
  return { folder, records: process.durable };
}
