/** The fake disk behaves like a real one, and loses what it may when the power fails. */
import fs from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { DiskFault } from "../../../persistence/disk/faults.ts";
import { Random } from "../../sim/workload/random.ts";
import { FakeDisk } from "../../support/disk/fake-disk.ts";
import { Loss, LOSSES, SECTOR_BYTES } from "../../support/disk/inode.ts";
import { ProcessDied } from "../../support/disk/process-disk.ts";
import { settle } from "../log/log-fixture.ts";
import { diskOn, folderOf } from "../store/store-fixture.ts";
import { testDisk } from "./disk.suite.ts";

const SECTORS = 40;
const folder = "/data";

function openDisk(seed = 1) {
  const disk = new FakeDisk({ folder, dice: new Random(seed) });
  return { disk, process: disk.begin() };
}

testDisk(() => ({ disk: openDisk().process, folder }));

/** Sectors, each filled with another number. */
function pattern(from: number): Buffer {
  const sectors = Array.from({ length: SECTORS }, (_, i) => Buffer.alloc(SECTOR_BYTES, from + i));
  return Buffer.concat(sectors);
}

/** Counts of sectors with their pattern, with zeros, and with other content. */
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

test("synced sectors stay; each other sector is kept, lost or garbled", () => {
  const seen = { kept: 0, lost: 0, garbled: 0, short: 0 };
  for (let seed = 1; seed <= 60; seed++) {
    const { disk, process } = openDisk(seed);
    const name = `${folder}/a`;
    const file = process.createNow(name);
    file.writeNow(pattern(1), 0);
    file.syncNow();
    process.syncFolderNow(folder);
    file.writeNow(pattern(1), SECTORS * SECTOR_BYTES);
    disk.losePower(LOSSES[seed % LOSSES.length]);
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

test("names are durable after a sync of their folder, and before it up to some change", () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const { disk, process } = openDisk(seed);
    process.createNow(`${folder}/a`).closeNow();
    process.syncFolderNow(folder);
    process.renameNow(`${folder}/a`, `${folder}/b`);
    process.createNow(`${folder}/c`).closeNow();
    disk.losePower(0);
    outcomes.add([...disk.files().keys()].map((name) => path.basename(name)).join());
  }
  expect([...outcomes].toSorted()).toEqual(["a", "b", "b,c"]);
});

test("after a failed sync the data is readable, and a later sync does not write it", () => {
  let lost = 0;
  for (let seed = 1; seed <= 30; seed++) {
    const { disk, process } = openDisk(seed);
    const name = `${folder}/a`;
    const file = process.createNow(name);
    file.writeNow(pattern(1), 0);
    process.syncFolderNow(folder);
    disk.decide = () => ({ code: "EIO" });
    expect(() => file.syncNow()).toThrow("EIO");
    disk.decide = () => null;
    file.syncNow();
    expect(disk.files().get(name)!.equals(pattern(1))).toBe(true);
    disk.kill();
    expect(disk.files().get(name)!.equals(pattern(1))).toBe(true);
    disk.losePower(1);
    lost += fates(disk.files().get(name)!, pattern(1)).lost;
  }
  expect(lost).toBeGreaterThan(100);
});

test("on a full disk only allocated bytes can be written", () => {
  const { disk, process } = openDisk();
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

test("a process that ended does nothing more, but operations in flight may happen", async () => {
  const happened = new Set<boolean>();
  for (let seed = 1; seed <= 30; seed++) {
    const { disk, process } = openDisk(seed);
    let isTold = false;
    process.create(`${folder}/a`, () => (isTold = true));
    disk.kill();
    await settle();
    expect(isTold).toBe(false);
    expect(() => process.listNow(folder)).toThrow(ProcessDied);
    happened.add(disk.files().has(`${folder}/a`));
  }
  expect(happened.size).toBe(2);
});

test("a saved disk can be restored again and again", () => {
  const { disk, process } = openDisk();
  const name = `${folder}/a`;
  const first = process.createNow(name);
  first.writeNow(pattern(1), 0);
  first.syncNow();
  process.syncFolderNow(folder);
  first.writeNow(pattern(2), 0);
  disk.kill();
  const restore = disk.save();
  for (let time = 0; time < 3; time++) {
    expect([...disk.files()]).toEqual([[name, pattern(2)]]);
    const next = disk.begin();
    const file = next.openNow(name);
    file.writeNow(pattern(3 + time), 0);
    file.syncNow();
    next.renameNow(name, `${folder}/b`);
    disk.plant(`${folder}/b`, Buffer.from("seat"));
    disk.kill();
    restore();
  }
  disk.losePower(Loss.ALL);
  expect([...disk.files()]).toEqual([[name, pattern(1)]]);
});

/** The first byte of each of three sectors. */
function firstBytes(disk: FakeDisk): string {
  const bytes = disk.files().get(`${folder}/a`)!;
  return [0, 1, 2].map((i) => String.fromCharCode(bytes[i * SECTOR_BYTES]!)).join("");
}

test("without dice everything unsynced is lost, and nothing else", () => {
  const disk = new FakeDisk({ folder });
  const process = disk.begin();
  const file = process.createNow(`${folder}/a`);
  const write = (letter: string, i: number) => {
    file.writeNow(Buffer.alloc(SECTOR_BYTES, letter), i * SECTOR_BYTES);
  };
  write("A", 0);
  file.syncNow();
  process.syncFolderNow(folder);
  write("B", 1);
  disk.decide = () => ({ code: "EIO" });
  expect(() => file.syncNow()).toThrow("EIO");
  disk.decide = () => null;
  write("C", 2);
  file.syncNow();
  process.renameNow(`${folder}/a`, `${folder}/b`);
  process.createNow(`${folder}/c`).closeNow();
  disk.losePower();
  expect([...disk.files().keys()]).toEqual([`${folder}/a`]);
  expect(firstBytes(disk)).toBe("A\0C");
});

describe("a disk whose files are real", () => {
  testDisk(() => {
    const real = folderOf();
    return { disk: diskOn(real).begin(), folder: real };
  });

  test("a power cut removes unsynced changes, and keeps files of other programs", () => {
    const real = folderOf();
    fs.mkdirSync(`${real}/old`);
    fs.writeFileSync(`${real}/old/a`, "old");
    const disk = diskOn(real);
    const process = disk.begin();
    process.createNow(`${real}/old/b`).writeNow(Buffer.from("new"), 0);
    process.renameNow(`${real}/old/a`, `${real}/old/c`);
    expect(process.listNow(`${real}/old`)!.toSorted()).toEqual(["b", "c"]);
    expect(fs.readFileSync(`${real}/old/b`, "utf8")).toBe("new");
    disk.losePower();
    expect(fs.readdirSync(`${real}/old`)).toEqual(["a"]);
    expect(fs.readFileSync(`${real}/old/a`, "utf8")).toBe("old");
  });
});
