/** The duties of each `Disk`; run for the real one and for the one in memory. */
import { expect, test } from "vitest";
import type { Disk, DiskFile } from "../../../persistence/disk/disk.ts";
import { DiskFault } from "../../../persistence/disk/faults.ts";

/** @param open - A disk and an empty folder on it. */
export function testDisk(open: () => { disk: Disk; folder: string }): void {
  test("the list of a missing folder is null, and of an empty one empty", () => {
    const { disk, folder } = open();
    expect(disk.listNow(`${folder}/none`)).toBeNull();
    expect(disk.listNow(folder)).toEqual([]);
  });

  test("a new folder is listed in its parent", () => {
    const { disk, folder } = open();
    disk.makeFolderNow(`${folder}/inner`);
    disk.syncFolderNow(folder);
    expect(disk.listNow(folder)).toEqual(["inner"]);
    expect(disk.listNow(`${folder}/inner`)).toEqual([]);
    expect(faultOf(() => disk.makeFolderNow(`${folder}/inner`)).code).toBe("EEXIST");
    expect(faultOf(() => disk.makeFolderNow(`${folder}/none/inner`)).code).toBe("ENOENT");
  });

  test("a read returns the written bytes, and zeros where nothing was written", () => {
    const { disk, folder } = open();
    const file = disk.createNow(`${folder}/a`);
    expect(file.writeNow(Buffer.from("seat"), 3)).toBe(4);
    file.syncNow();
    file.closeNow();
    expect(contentOf(disk, `${folder}/a`)).toEqual(Buffer.from("\0\0\0seat"));
  });

  test("a read beyond the end returns the bytes before it, then none", () => {
    const { disk, folder } = open();
    const file = disk.createNow(`${folder}/a`);
    file.writeNow(Buffer.from("seat"), 0);
    const target = Buffer.alloc(10, "x");
    expect(file.readNow(target, 2)).toBe(2);
    expect(target.toString()).toBe("atxxxxxxxx");
    expect(file.readNow(target, 4)).toBe(0);
    expect(file.readNow(target, 9)).toBe(0);
    file.closeNow();
  });

  test("a file that is created again is empty", () => {
    const { disk, folder } = open();
    for (const text of ["longer", "new"]) {
      const file = disk.createNow(`${folder}/a`);
      file.writeNow(Buffer.from(text), 0);
      file.closeNow();
    }
    expect(contentOf(disk, `${folder}/a`).toString()).toBe("new");
  });

  test("a rename replaces the file of the new name and keeps open files open", () => {
    const { disk, folder } = open();
    disk.createNow(`${folder}/b`).closeNow();
    const file = disk.createNow(`${folder}/a`);
    disk.renameNow(`${folder}/a`, `${folder}/b`);
    file.writeNow(Buffer.from("seat"), 0);
    file.closeNow();
    expect(disk.listNow(folder)).toEqual(["b"]);
    expect(contentOf(disk, `${folder}/b`).toString()).toBe("seat");
  });

  test("a file that is removed is gone", () => {
    const { disk, folder } = open();
    disk.createNow(`${folder}/a`).closeNow();
    disk.removeNow(`${folder}/a`);
    expect(disk.listNow(folder)).toEqual([]);
  });

  test("a fault names the operation, the path and the code", () => {
    const { disk, folder } = open();
    const path = `${folder}/none`;
    const acts = {
      open: () => disk.openNow(path),
      rename: () => disk.renameNow(path, `${folder}/b`),
      remove: () => disk.removeNow(path),
    };
    for (const [operation, act] of Object.entries(acts)) {
      expect(faultOf(act)).toMatchObject({ operation, path, code: "ENOENT" });
    }
  });

  test("the operations with callbacks do the same, after the call", async () => {
    const { disk, folder } = open();
    const file = await new Promise<DiskFile>((resolve) => {
      disk.create(`${folder}/a`, (fault, made) => {
        expect(fault).toBeNull();
        resolve(made!);
      });
    });
    const writtenBytes = await new Promise((resolve) => {
      file.write(Buffer.from("seat"), 0, (fault, bytes) => resolve(fault ?? bytes));
    });
    expect(writtenBytes).toBe(4);
    expect(await faultFrom((done) => file.syncData(done))).toBeNull();
    expect(await faultFrom((done) => file.syncAll(done))).toBeNull();
    expect(await faultFrom((done) => disk.rename(`${folder}/a`, `${folder}/b`, done))).toBeNull();
    expect(await faultFrom((done) => disk.syncFolder(folder, done))).toBeNull();
    expect(await faultFrom((done) => file.close(done))).toBeNull();
    expect(contentOf(disk, `${folder}/b`).toString()).toBe("seat");
    expect(await faultFrom((done) => disk.remove(`${folder}/b`, done))).toBeNull();
    expect(disk.listNow(folder)).toEqual([]);
  });

  test("the operations with callbacks pass on their fault", async () => {
    const { disk, folder } = open();
    const path = `${folder}/none`;
    expect(await faultFrom((done) => disk.remove(path, done))).toMatchObject({ code: "ENOENT" });
    expect(await faultFrom((done) => disk.rename(path, folder, done))).toMatchObject({ path });
  });
}

function faultOf(act: () => unknown): DiskFault {
  try {
    act();
  } catch (error) {
    if (error instanceof DiskFault) return error;
    throw error;
  }
  throw new Error("no fault");
}

function faultFrom(act: (done: (fault: DiskFault | null) => void) => void): Promise<unknown> {
  return new Promise((resolve) => act(resolve));
}

function contentOf(disk: Disk, path: string): Buffer {
  const file = disk.openNow(path);
  const bytes = Buffer.alloc(file.sizeNow());
  expect(file.readNow(bytes, 0)).toBe(bytes.length);
  file.closeNow();
  return bytes;
}
