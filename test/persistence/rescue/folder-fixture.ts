/** A whole data folder under test: snapshots, a log, and ways to damage them. */
import fs from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { checkState, digest } from "../../../engine/verify.ts";
import { makeAuditFile } from "../../../persistence/history/keeper.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import type { RepairPlan } from "../../../persistence/rescue/repair-plan.ts";
import { previewRepair, type Repaired, repairFolder } from "../../../persistence/rescue/repair.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { History } from "../../support/store.ts";
import { sameFiles } from "../log/log-fixture.ts";
import {
  contentOf,
  diskOn,
  folderOf,
  snapshotPaths,
  StoreProcess,
} from "../store/store-fixture.ts";

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

/** Starts, and checks the state against the one after the last recovered record. */
export async function recovered(folder: string, disk = diskOn(folder)): Promise<StoreProcess> {
  const process = await StoreProcess.start({ folder, history, disk });
  checkState(process.state);
  expect(digest(process.state)).toBe(history.digestAt(process.report.sequence));
  return process;
}

/** A store after so many batches of ten records, with a trail still empty. */
export async function storeWithTrail(batches: number) {
  const folder = folderOf();
  const process = await start(folder);
  makeAuditFile(realDisk, folder);
  await process.commit(batches, 10);
  return { folder, process };
}

export interface Shape {
  /** Number of snapshots, each after thirty batches. */
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

// Repairs of a folder under test, and the checks after each of them.

/** The plan of the repair; it changes nothing. */
export function preview(folder: string, cutAfter?: number): RepairPlan {
  const before = contentOf(folder);
  const { plan } = previewRepair({ disk: realDisk, folder, cutAfter });
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  return plan;
}

/**
 * Repairs, and checks: the plan is carried out, the folder is sound, no byte is lost,
 * and the store can be used.
 */
export async function repaired(folder: string, cutAfter?: number): Promise<Repaired> {
  const before = contentOf(folder);
  const said = preview(folder, cutAfter);
  const done = repairFolder({ disk: realDisk, folder, cutAfter });
  expect({ ...done.plan, lost: done.plan.lost.total }).toEqual({ ...said, lost: said.lost.total });
  expect(done.verified.findings).toEqual([]);
  expect(done.verified.digest).toBe(history.digestAt(said.sequence));
  const after = [...contentOf(folder).values()].map((bytes) => bytes.toString("base64"));
  const kept = new Set(after);
  const gone = [...before].filter(([, bytes]) => !kept.has(bytes.toString("base64")));
  expect(gone.map(([name]) => name)).toEqual([]);
  const process = await StoreProcess.start({ folder, history });
  expect(process.report.sequence).toBe(said.sequence);
  expect(digest(process.state)).toBe(history.digestAt(said.sequence));
  await process.commit(3);
  await process.close();
  expect(verifyFolder({ disk: realDisk, folder }).findings).toEqual([]);
  return done;
}
