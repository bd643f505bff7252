/** The real disk: the suite of every disk, and what only a real one can show. */
import { constants, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { testDisk } from "./disk.suite.ts";

/** The kernel's flags of each descriptor of this process for the file. */
function openFlags(path: string): number[] {
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    const link = statSync(`/proc/self/fd/${fd}`, { throwIfNoEntry: false });
    if (link?.ino !== statSync(path).ino) return [];
    const info = readFileSync(`/proc/self/fdinfo/${fd}`, "latin1");
    return [Number.parseInt(/flags:\s*(\d+)/.exec(info)![1]!, 8)];
  });
}

const root = mkdtempSync(join(tmpdir(), "frontrow-disk-"));
afterAll(() => rmSync(root, { recursive: true }));

testDisk(() => ({ disk: realDisk, folder: mkdtempSync(join(root, "case-")) }));

const isLinux = process.platform === "linux";
test.runIf(isLinux)(
  "written-through bytes are in the file after a rename and a close",
  async () => {
    const [path, renamed] = [`${root}/through`, `${root}/renamed`];
    const file = realDisk.createNow(path);
    file.writeNow(Buffer.alloc(8, "."), 0);
    realDisk.renameNow(path, renamed);
    file.path = renamed;
    const write = (text: string, at: number) =>
      new Promise((resolve) => {
        file.writeThrough!(Buffer.from(text), at, (fault, bytes) => resolve(fault ?? bytes));
      });
    expect([await write("se", 1), await write("at", 3)]).toEqual([2, 2]);
    const flags = openFlags(renamed);
    expect(flags.filter((flag) => (flag & constants.O_DSYNC) !== 0).length).toBe(1);
    expect(await new Promise((resolve) => file.close(resolve))).toBeNull();
    expect(openFlags(renamed)).toEqual([]);
    expect(readFileSync(renamed, "latin1")).toBe(".seat...");
  },
);

test.runIf(isLinux)("a write-through that blocks → only once the file is open for it", async () => {
  const path = `${root}/through-now`;
  const file = realDisk.createNow(path);
  expect(file.writeThroughNow).toBeUndefined();
  await new Promise((resolve) => file.writeThrough!(Buffer.from("seat"), 0, resolve));
  expect(file.writeThroughNow!(Buffer.from("row"), 4)).toBe(3);
  expect(readFileSync(path, "latin1")).toBe("seatrow");
  file.closeNow();
  expect(() => file.writeThroughNow!(Buffer.from("row"), 7)).toThrow("EBADF");
});

test.runIf(isLinux)("a write-through whose file is gone is a fault with its reason", async () => {
  const file = realDisk.createNow(`${root}/gone`);
  realDisk.removeNow(`${root}/gone`);
  const fault = await new Promise((resolve) => file.writeThrough!(Buffer.alloc(1), 0, resolve));
  expect(fault).toMatchObject({ operation: "open", code: "ENOENT" });
  file.closeNow();
});

test.runIf(isLinux)("closeNow closes the descriptor for write-through, too", async () => {
  const path = `${root}/at-once`;
  const file = realDisk.createNow(path);
  await new Promise((resolve) => file.writeThrough!(Buffer.from("seat"), 0, resolve));
  expect(openFlags(path).length).toBe(2);
  file.closeNow();
  expect(openFlags(path)).toEqual([]);
});

test("a failed write reports its fault and zero bytes", async () => {
  const path = `${root}/read-only`;
  realDisk.createNow(path).closeNow();
  const file = realDisk.openNow(path);
  const written = await new Promise((resolve) => {
    file.write(Buffer.from("seat"), 0, (fault, bytes) => resolve({ fault, bytes }));
  });
  expect(written).toMatchObject({ fault: { operation: "write", path, code: "EBADF" }, bytes: 0 });
  file.closeNow();
});

test("a create or a sync in a missing folder is a fault", async () => {
  const path = `${root}/none/a`;
  const made = await new Promise((resolve) => {
    realDisk.create(path, (fault, file) => resolve({ fault, file }));
  });
  expect(made).toMatchObject({
    fault: { operation: "create", path, code: "ENOENT" },
    file: null,
  });
  const synced = await new Promise((resolve) => realDisk.syncFolder(`${root}/none`, resolve));
  expect(synced).toMatchObject({ operation: "open", code: "ENOENT" });
});

test.runIf(isLinux)("a folder that cannot be synced is a fault", async () => {
  const fault = await new Promise((resolve) => realDisk.syncFolder("/proc", resolve));
  expect(fault).toMatchObject({ operation: "sync", path: "/proc", code: "EINVAL" });
});

test("files and folders are private to their user", () => {
  realDisk.makeFolderNow(`${root}/private`);
  realDisk.createNow(`${root}/private/a`).closeNow();
  expect(statSync(`${root}/private`).mode & 0o777).toBe(0o700);
  expect(statSync(`${root}/private/a`).mode & 0o777).toBe(0o600);
});
