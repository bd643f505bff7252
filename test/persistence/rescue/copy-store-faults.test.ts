/** Obstacles to a backup, and to reading a folder in use; each is named. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type CopyDisk, realDisk } from "../../../persistence/disk/disk.ts";
import { DiskFault } from "../../../persistence/disk/faults.ts";
import {
  backupFolder,
  HeldFolder,
  PARTIAL_SUFFIX,
  restoreFolder,
} from "../../../persistence/rescue/copy-store.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { folderOf } from "../store/store-fixture.ts";
import { flip, segmentsIn, snapshotsIn, storeOf } from "./folder-fixture.ts";

const placeOf = () => path.join(folderOf(), "copy");

test("an unfinished backup with other files is not replaced", async () => {
  const from = await storeOf({ snapshots: 1, batches: 1 });
  const to = placeOf();
  const partial = `${to}${PARTIAL_SUFFIX}`;
  fs.mkdirSync(partial);
  fs.writeFileSync(path.join(partial, "thesis.txt"), "years of work");
  const act = () => backupFolder({ disk: realDisk, from, to });
  expect(act).toThrow("it has other files: thesis.txt");
  expect(fs.readdirSync(partial)).toEqual(["thesis.txt"]);
});

test("an unfinished backup is replaced, whatever it contains", async () => {
  const from = await storeOf({ snapshots: 1, batches: 1 });
  const to = placeOf();
  const partial = `${to}${PARTIAL_SUFFIX}`;
  fs.mkdirSync(path.join(partial, "snapshots"), { recursive: true });
  fs.writeFileSync(path.join(partial, "store.json"), "{}");
  fs.writeFileSync(path.join(partial, "snapshots", "0000000000000001.sqlite"), "half");
  expect(backupFolder({ disk: realDisk, from, to })).toMatchObject({ findings: [], snapshots: 1 });
  expect(fs.existsSync(partial)).toBe(false);
});

test("a file that shrinks while it is copied fails the backup", async () => {
  const from = await storeOf({ snapshots: 1, batches: 1 });
  const [snapshot] = snapshotsIn(from);
  const disk: CopyDisk = {
    ...realDisk,
    openNow(name) {
      const file = realDisk.openNow(name);
      if (name === snapshot) file.readNow = () => 0;
      return file;
    },
  };
  const to = placeOf();
  const fault = new DiskFault("read all of", snapshot!, "TRUNCATED");
  expect(() => backupFolder({ disk, from, to })).toThrow(fault.message);
  expect(fs.existsSync(to)).toBe(false);
});

test("a damaged backup is refused with its first finding and the number of others", async () => {
  const from = placeOf();
  backupFolder({ disk: realDisk, from: await storeOf({ snapshots: 0, batches: 60 }), to: from });
  const to = placeOf();
  const restore = () => restoreFolder({ disk: realDisk, from, to });
  const segments = segmentsIn(from);
  flip(segments[2]!, 5_000);
  expect(restore).toThrow(new RegExp(`${path.basename(segments[2]!)} at byte .*later segments; `));
  flip(segments[1]!, 5_000);
  expect(restore).toThrow(new RegExp(`${path.basename(segments[1]!)} at byte .*, and 1 more; `));
  expect(fs.existsSync(to)).toBe(false);
});

test("a store that never had a log can be copied", () => {
  const from = folderOf();
  const identity = { version: 1, storeId: STORE_ID, createdAt: "2026-01-01", hasLog: false };
  fs.writeFileSync(path.join(from, "store.json"), JSON.stringify(identity));
  const to = placeOf();
  const copied = backupFolder({ disk: realDisk, from, to });
  expect(copied).toMatchObject({ findings: [], segments: 0, snapshots: 0, sequence: 0 });
  expect(verifyFolder({ disk: realDisk, folder: to })).toMatchObject({
    findings: [],
    digest: null,
  });
});

test("a file that is missing each time it is opened is reported after 20 attempts", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 1 });
  const [segment] = segmentsIn(folder);
  for (const [code, tries] of [
    ["ENOENT", 20],
    ["EIO", 1],
  ] as const) {
    let opened = 0;
    const disk: CopyDisk = {
      ...realDisk,
      openNow(name) {
        if (name !== segment) return realDisk.openNow(name);
        opened += 1;
        throw new DiskFault("open", name, code);
      },
    };
    expect(() => HeldFolder.hold(disk, folder)).toThrow(`cannot open ${segment}: ${code}`);
    expect(opened).toBe(tries);
  }
});

test("a file that is created after a folder was opened is invisible to its readers", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 1 });
  const held = HeldFolder.hold(realDisk, folder);
  fs.writeFileSync(path.join(folder, "late.txt"), "late");
  expect(held.listNow(folder)?.toSorted()).toEqual(["secret", "store.json"]);
  expect(held.listNow(`${folder}/none`)).toBeNull();
  expect(() => held.openNow(`${folder}/late.txt`)).toThrow("ENOENT");
  held.release();
  const nothing = HeldFolder.hold(realDisk, `${folder}/none`);
  expect(nothing.listNow(`${folder}/none`)).toEqual([]);
  nothing.release();
});
