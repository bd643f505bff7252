/** Complete reads and writes on a disk doing less than requested. */
import { expect, test } from "vitest";
import type { DiskFile } from "../../../persistence/disk/disk.ts";
import { DiskFault } from "../../../persistence/disk/faults.ts";
import {
  makeFoldersNow,
  readAllNow,
  writeAll,
  writeAllThrough,
  writeAllNow,
  writeAllThroughNow,
  writeFileNow,
} from "../../../persistence/disk/transfer.ts";
import type { FakeDisk } from "../../support/disk/fake-disk.ts";
import { type Outcome, ProcessDied } from "../../support/disk/process-disk.ts";
import { emptyDisk } from "../log/log-fixture.ts";

const BYTES = Buffer.from("two seats in row seven");

/** Gives these outcomes to the first writes; later ones succeed. */
function diskWith(...outcomes: (Outcome | null)[]): FakeDisk {
  const disk = emptyDisk();
  disk.decide = ({ operation }) => (operation === "write" ? (outcomes.shift() ?? null) : null);
  return disk;
}

function writeOn(disk: FakeDisk): Promise<DiskFault | null> {
  return new Promise((resolve) => writeAll(disk.process!.createNow("/data/a"), BYTES, 0, resolve));
}

test("a short write is completed by one more", async () => {
  const disk = diskWith({ writtenBytes: 5 });
  expect(await writeOn(disk)).toBeNull();
  expect(disk.files().get("/data/a")).toEqual(BYTES);
  const again = diskWith({ writtenBytes: 5 });
  writeAllNow(again.process!.createNow("/data/a"), BYTES, 0);
  expect(again.files().get("/data/a")).toEqual(BYTES);
});

test("the second write shows why the first one was short", async () => {
  const outcomes = [{ writtenBytes: 5 }, { code: "ENOSPC" }];
  expect(await writeOn(diskWith(...outcomes))).toMatchObject({ code: "ENOSPC" });
  const file = diskWith(...outcomes).process!.createNow("/data/a");
  expect(() => writeAllNow(file, BYTES, 0)).toThrow("ENOSPC; free some space");
});

test("a write that is short twice is a fault", async () => {
  const outcomes = [{ writtenBytes: 5 }, { writtenBytes: 5 }];
  expect(await writeOn(diskWith(...outcomes))).toMatchObject({ code: "SHORT" });
  const file = diskWith(...outcomes).process!.createNow("/data/a");
  expect(() => writeAllNow(file, BYTES, 0)).toThrow("cannot write all of /data/a");
});

test("a write that fails is a fault at once", async () => {
  expect(await writeOn(diskWith({ code: "EIO" }, { code: "ENOSPC" }))).toMatchObject({
    code: "EIO",
    operation: "write",
    path: "/data/a",
  });
});

/** A file writing through, with the outcome of each write. */
function throughFile(...outcomes: (DiskFault | number)[]): { file: DiskFile; calls: string[] } {
  const calls: string[] = [];
  const made = emptyDisk().process!.createNow("/data/a");
  const writeThrough: DiskFile["writeThrough"] = (source, position, done) => {
    calls.push(`${position}: ${Buffer.from(source).toString()}`);
    const outcome = outcomes.shift() ?? source.length;
    if (typeof outcome === "number") done(null, outcome);
    else done(outcome, 0);
  };
  return { file: Object.assign(made, { writeThrough }), calls };
}

function throughOn(file: DiskFile): Promise<DiskFault | null> {
  return new Promise((resolve) => writeAllThrough(file, BYTES, 512, resolve));
}

test("a disk that writes through is asked once, and nothing else", async () => {
  const { file, calls } = throughFile();
  expect(await throughOn(file)).toBeNull();
  expect(calls).toEqual([`512: ${BYTES.toString()}`]);
});

test("a short write-through is completed by one more; two short ones are a fault", async () => {
  const { file, calls } = throughFile(4);
  expect(await throughOn(file)).toBeNull();
  expect(calls).toEqual([`512: ${BYTES.toString()}`, `516: ${BYTES.subarray(4).toString()}`]);
  expect(await throughOn(throughFile(4, 4).file)).toMatchObject({ code: "SHORT" });
});

test("a write-through that fails is a fault at once", async () => {
  const { file, calls } = throughFile(new DiskFault("write", "/data/a", "EIO"));
  expect(await throughOn(file)).toMatchObject({ code: "EIO" });
  expect(calls.length).toBe(1);
});

test("a write-through that blocks → a short one is completed by one more; two are a fault", () => {
  const disk = diskWith({ writtenBytes: 5 });
  writeAllThroughNow(disk.process!.createNow("/data/a"), BYTES, 0);
  expect(disk.files().get("/data/a")).toEqual(BYTES);
  const file = diskWith({ writtenBytes: 5 }, { writtenBytes: 5 }).process!.createNow("/data/a");
  expect(() => writeAllThroughNow(file, BYTES, 0)).toThrow("cannot write all of /data/a");
});

test("a disk that cannot write through writes, then syncs", async () => {
  const disk = emptyDisk();
  const steps: string[] = [];
  const file = disk.process!.createNow("/data/a");
  disk.decide = ({ operation }) => {
    steps.push(operation);
    return null;
  };
  expect(await throughOn(file)).toBeNull();
  expect(steps).toEqual(["write", "sync"]);
  disk.decide = ({ operation }) => (operation === "sync" ? { code: "EIO" } : null);
  expect(await throughOn(file)).toMatchObject({ code: "EIO", operation: "sync" });
  disk.decide = ({ operation }) => (operation === "write" ? { code: "ENOSPC" } : null);
  expect(await throughOn(file)).toMatchObject({ code: "ENOSPC", operation: "write" });
});

test("a file that is shorter than expected is a fault", () => {
  const disk = emptyDisk().plant("/data/a", BYTES);
  const target = Buffer.alloc(BYTES.length + 1);
  expect(() => readAllNow(disk.process!.openNow("/data/a"), target)).toThrow(
    "cannot read all of /data/a: TRUNCATED",
  );
});

test("a power cut at any change leaves a file whole or unwritten", () => {
  for (let failing = 1; ; failing++) {
    const disk = emptyDisk().plant("/data/a", Buffer.from("before"));
    disk.endAtChange(failing);
    let finished = true;
    try {
      writeFileNow(disk.process!, "/data", "a", BYTES);
    } catch {
      finished = false;
    }
    disk.losePower();
    const after = disk.files().get("/data/a")!.toString();
    if (finished) {
      expect(after).toBe(BYTES.toString());
      break;
    }
    expect(after).toBe("before");
  }
});

test("the sync of a new folder fails → the next call makes the folder durable", () => {
  const disk = emptyDisk();
  disk.decide = ({ operation }) => (operation === "sync" ? { code: "EIO" } : null);
  expect(() => makeFoldersNow(disk.process!, "/data/a")).toThrow(DiskFault);
  disk.decide = () => null;
  makeFoldersNow(disk.process!, "/data/a");
  writeFileNow(disk.process!, "/data/a", "b", BYTES);
  disk.losePower();
  expect([...disk.files().keys()]).toEqual(["/data/a/b"]);
});

test("the process ends at any change of new folders → the next one makes them durable", () => {
  for (let failing = 1; ; failing++) {
    const disk = emptyDisk();
    disk.endAtChange(failing);
    try {
      makeFoldersNow(disk.process!, "/data/a/b");
    } catch (error) {
      expect(error).toBeInstanceOf(ProcessDied);
    }
    const isWhole = !disk.isDead;
    disk.decide = () => null;
    makeFoldersNow(disk.begin(), "/data/a/b");
    writeFileNow(disk.process!, "/data/a/b", "c", BYTES);
    disk.losePower();
    expect([...disk.files().keys()], `ended at change ${failing}`).toEqual(["/data/a/b/c"]);
    if (isWhole) return;
  }
});

test("the parent of another user's folder may not be read → the folder is used", () => {
  const disk = emptyDisk();
  disk.process!.makeFolderNow("/data/a");
  disk.decide = ({ operation }) => (operation === "sync" ? { code: "EACCES" } : null);
  makeFoldersNow(disk.process!, "/data/a");
  expect(() => makeFoldersNow(disk.process!, "/data/b")).toThrow("EACCES");
});

test("missing folders are created from the first one on", () => {
  const disk = emptyDisk();
  makeFoldersNow(disk.process!, "/data/a/b");
  makeFoldersNow(disk.process!, "/data/a/b");
  expect(disk.process!.listNow("/data/a")).toEqual(["b"]);
  writeFileNow(disk.process!, "/data/a/b", "c", BYTES);
  disk.losePower();
  expect([...disk.files().keys()]).toEqual(["/data/a/b/c"]);
});
