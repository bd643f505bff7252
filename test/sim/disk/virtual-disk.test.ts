/** The virtual disk: like any other while all is well, and merciless when the power goes. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { DiskFault } from "../../../persistence/disk/faults.ts";
import { testDisk } from "../../persistence/disk/disk.suite.ts";
import { type Outcome, ProcessDied } from "../../support/memory-disk.ts";
import { Timeline } from "../timeline.ts";
import { Random } from "../workload/random.ts";
import { VirtualDisk } from "./virtual-disk.ts";
import { Loss, LOSSES, SECTOR_BYTES } from "./virtual-inode.ts";

const SECTORS = 40;

function openDisk(seed = 1, outcome: Outcome | null = null) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "frontrow-disk-"));
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
  const timeline = new Timeline();
  const disk = new VirtualDisk({ folder, timeline, random: new Random(seed) });
  const faults = { outcome };
  const process = disk.begin({ decide: () => faults.outcome, latencyUs: () => 10 });
  return { disk, folder, timeline, process, faults };
}

testDisk(() => {
  const { folder, timeline, process } = openDisk();
  const timer = setInterval(() => timeline.step(), 0);
  onTestFinished(() => clearInterval(timer));
  return { disk: process, folder };
});

/** Each sector full of a number of its own. */
function pattern(from: number): Buffer {
  const sectors = Array.from({ length: SECTORS }, (_, i) => Buffer.alloc(SECTOR_BYTES, from + i));
  return Buffer.concat(sectors);
}

/** How many sectors have their pattern, are zero, or are anything else. */
function fates(bytes: Buffer, expected: Buffer) {
  const counts = { kept: 0, lost: 0, garbled: 0 };
  for (let at = 0; at < bytes.length; at += SECTOR_BYTES) {
    const sector = bytes.subarray(at, at + SECTOR_BYTES);
    if (sector.equals(expected.subarray(at, at + SECTOR_BYTES))) counts.kept += 1;
    else if (sector.every((byte) => byte === 0)) counts.lost += 1;
    else counts.garbled += 1;
  }
  return counts;
}

test("what was synced stays; what was not is kept, lost or garbled, by the sector", () => {
  const seen = { kept: 0, lost: 0, garbled: 0, short: 0 };
  for (let seed = 1; seed <= 60; seed++) {
    const { disk, folder, process } = openDisk(seed);
    const name = `${folder}/a`;
    const file = process.createNow(name);
    file.writeNow(pattern(1), 0);
    file.syncNow();
    process.syncFolderNow(folder);
    file.writeNow(pattern(1), SECTORS * SECTOR_BYTES);
    disk.kill();
    disk.losePower(LOSSES[seed % LOSSES.length]!);
    const bytes = disk.files().get(name)!;
    const synced = SECTORS * SECTOR_BYTES;
    expect(bytes.subarray(0, synced).equals(pattern(1))).toBe(true);
    const counts = fates(bytes.subarray(synced), pattern(1));
    seen.kept += counts.kept;
    seen.lost += counts.lost;
    seen.garbled += counts.garbled;
    if (bytes.length < 2 * synced) seen.short += 1;
  }
  for (const [fate, times] of Object.entries(seen)) expect(times, fate).toBeGreaterThan(5);
});

test("names last once their folder is synced; before, up to some change of it", () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const { disk, folder, process } = openDisk(seed);
    process.createNow(`${folder}/a`).closeNow();
    process.syncFolderNow(folder);
    process.renameNow(`${folder}/a`, `${folder}/b`);
    process.createNow(`${folder}/c`).closeNow();
    disk.kill();
    disk.losePower(0);
    outcomes.add([...disk.files().keys()].map((name) => path.basename(name)).join());
  }
  expect([...outcomes].toSorted()).toEqual(["a", "b", "b,c"]);
});

test("a failed sync leaves data readable, and a later one does not write it", () => {
  let lost = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const { disk, folder, process, faults } = openDisk(seed);
    const name = `${folder}/a`;
    const file = process.createNow(name);
    file.writeNow(pattern(1), 0);
    process.syncFolderNow(folder);
    faults.outcome = { code: "EIO" };
    expect(() => file.syncNow()).toThrow("EIO");
    faults.outcome = null;
    file.syncNow();
    expect(disk.files().get(name)!.equals(pattern(1))).toBe(true);
    disk.kill();
    expect(disk.files().get(name)!.equals(pattern(1))).toBe(true);
    disk.losePower(1);
    lost += fates(disk.files().get(name)!, pattern(1)).lost;
  }
  expect(lost).toBeGreaterThan(100);
});

test("on a full disk only what is there can be written", () => {
  const { disk, folder, process } = openDisk();
  const file = process.createNow(`${folder}/a`);
  file.writeNow(pattern(1), 0);
  disk.isFull = true;
  expect(file.writeNow(pattern(2), 0)).toBe(SECTORS * SECTOR_BYTES);
  const attempts = Array.from({ length: 40 }, () => {
    try {
      return file.writeNow(Buffer.alloc(1_000_000), file.sizeNow());
    } catch (error) {
      return (error as DiskFault).code;
    }
  });
  expect(attempts).toContain("ENOSPC");
  expect(attempts.some((written) => typeof written === "number")).toBe(true);
});

test("a process that ended gets nothing done, and what it had under way may have happened", () => {
  const happened = new Set<boolean>();
  for (let seed = 1; seed <= 30; seed++) {
    const { disk, folder, process, timeline } = openDisk(seed);
    let isTold = false;
    process.create(`${folder}/a`, () => {
      isTold = true;
    });
    disk.kill();
    expect(timeline.step()).toBe(false);
    expect(isTold).toBe(false);
    expect(() => process.listNow(folder)).toThrow(ProcessDied);
    happened.add(disk.files().has(`${folder}/a`));
  }
  expect(happened.size).toBe(2);
});

test("a disk that was saved is the same again and again, whatever happened meanwhile", () => {
  const { disk, folder } = openDisk();
  const begin = () => disk.begin({ decide: () => null, latencyUs: () => 10 });
  const name = `${folder}/a`;
  const first = begin().createNow(name);
  first.writeNow(pattern(1), 0);
  first.syncNow();
  disk.process!.syncFolderNow(folder);
  first.writeNow(pattern(2), 0);
  disk.kill();
  const saved = disk.save();
  for (let time = 0; time < 3; time++) {
    expect([...disk.files()]).toEqual([[name, pattern(2)]]);
    const process = begin();
    const file = process.openNow(name);
    file.writeNow(pattern(3 + time), 0);
    file.syncNow();
    process.renameNow(name, `${folder}/b`);
    disk.damage(`${folder}/b`, Buffer.from("seat"));
    disk.kill();
    disk.restore(saved);
  }
  disk.losePower(Loss.ALL);
  expect([...disk.files()]).toEqual([[name, pattern(1)]]);
});

test("what was read of a disk stays, whatever is written to it afterwards", () => {
  const { disk, folder, process } = openDisk();
  const file = process.createNow(`${folder}/a`);
  file.writeNow(pattern(1), 0);
  const files = disk.files();
  file.writeNow(pattern(2), 0);
  expect([...files]).toEqual([[`${folder}/a`, pattern(1)]]);
  expect([...disk.files()]).toEqual([[`${folder}/a`, pattern(2)]]);
});
