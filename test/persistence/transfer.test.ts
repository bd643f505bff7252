/** Whole reads and writes over a disk that does less than asked. */
import { expect, test } from "vitest";
import type { DiskFault } from "../../persistence/faults.ts";
import {
  makeFoldersNow,
  readAllNow,
  writeAll,
  writeAllNow,
  writeFileNow,
} from "../../persistence/transfer.ts";
import type { MemoryDisk, Outcome } from "../support/memory-disk.ts";
import { emptyDisk } from "./log-fixture.ts";

const BYTES = Buffer.from("two seats in row seven");

/** Gives the writes these outcomes, one after the other; later ones happen. */
function diskWith(...outcomes: (Outcome | null)[]): MemoryDisk {
  const disk = emptyDisk();
  disk.decide = ({ operation }) => (operation === "write" ? (outcomes.shift() ?? null) : null);
  return disk;
}

function writeOn(disk: MemoryDisk): Promise<DiskFault | null> {
  return new Promise((resolve) => writeAll(disk.createNow("/data/a"), BYTES, 0, resolve));
}

test("a short write is finished by one more", async () => {
  const disk = diskWith({ writtenBytes: 5 });
  expect(await writeOn(disk)).toBeNull();
  expect(disk.files().get("/data/a")).toEqual(BYTES);
  const again = diskWith({ writtenBytes: 5 });
  writeAllNow(again.createNow("/data/a"), BYTES, 0);
  expect(again.files().get("/data/a")).toEqual(BYTES);
});

test("the second write names the reason of the first", async () => {
  const outcomes = [{ writtenBytes: 5 }, { code: "ENOSPC" }];
  expect(await writeOn(diskWith(...outcomes))).toMatchObject({ code: "ENOSPC" });
  const file = diskWith(...outcomes).createNow("/data/a");
  expect(() => writeAllNow(file, BYTES, 0)).toThrow("ENOSPC; free some space");
});

test("a write that is short twice is a fault", async () => {
  const outcomes = [{ writtenBytes: 5 }, { writtenBytes: 5 }];
  expect(await writeOn(diskWith(...outcomes))).toMatchObject({ code: "SHORT" });
  const file = diskWith(...outcomes).createNow("/data/a");
  expect(() => writeAllNow(file, BYTES, 0)).toThrow("cannot write all of /data/a");
});

test("a write that fails is a fault at once", async () => {
  expect(await writeOn(diskWith({ code: "EIO" }, { code: "ENOSPC" }))).toMatchObject({
    code: "EIO",
    operation: "write",
    path: "/data/a",
  });
});

test("a file that ends before it should is a fault", () => {
  const disk = emptyDisk().plant("/data/a", BYTES);
  const target = Buffer.alloc(BYTES.length + 1);
  expect(() => readAllNow(disk.openNow("/data/a"), target)).toThrow(
    "cannot read all of /data/a: TRUNCATED",
  );
});

test("a file is written wholly or not at all, whenever the power goes", () => {
  for (let failing = 1; ; failing++) {
    const disk = emptyDisk().plant("/data/a", Buffer.from("before"));
    disk.decide = ({ index }) => (index === failing ? { dies: true } : null);
    let finished = true;
    try {
      writeFileNow(disk, "/data", "a", BYTES);
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

test("folders are made from the first one that is missing", () => {
  const disk = emptyDisk();
  makeFoldersNow(disk, "/data/a/b");
  makeFoldersNow(disk, "/data/a/b");
  expect(disk.listNow("/data/a")).toEqual(["b"]);
});
