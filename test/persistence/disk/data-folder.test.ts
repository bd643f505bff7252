/** Accepted and refused folders; a refusal changes nothing. */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import {
  type DataFolder,
  keepClusterCell,
  openDataFolder,
} from "../../../persistence/disk/data-folder.ts";
import { type Disk, realDisk } from "../../../persistence/disk/disk.ts";
import { DiskFault, FolderRefused } from "../../../persistence/disk/faults.ts";
import { sqlitePackage } from "../../../persistence/disk/sqlite.ts";
import { OtherFormat } from "../../../persistence/disk/formats.ts";
import { describeUnless, missingRoot } from "../../support/programs.ts";
import { folderOf } from "../store/store-fixture.ts";

const clock = { nowMs: () => 1_790_000_000_000 };
const GIVEN = "0123456789abcdef".repeat(4);

function open(folder: string, secret?: string, disk: Disk = realDisk): DataFolder {
  return openDataFolder({ disk, folder, clock, secret, randomBytes });
}

/** Expects a refusal without a change of any file. */
function refusalOf(folder: string, secret?: string, disk?: Disk): FolderRefused {
  const before = contentOf(folder);
  try {
    open(folder, secret, disk).close();
  } catch (error) {
    expect(error).toBeInstanceOf(FolderRefused);
    expect(contentOf(folder)).toEqual(before);
    return error as FolderRefused;
  }
  throw new Error("not refused");
}

/** Every file except the lock, an empty one. */
function contentOf(folder: string): Record<string, string> {
  const content: Record<string, string> = {};
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    if (name === "lock.sqlite" || statSync(path).isDirectory()) continue;
    content[name] = readFileSync(path, "latin1");
  }
  return content;
}

test("a missing folder is created with its parents", () => {
  const folder = join(folderOf(), "a", "b");
  const data = open(folder);
  expect(data.isFresh).toBe(true);
  expect(data.storeId).toMatch(/^[0-9a-f-]{36}$/);
  expect(data.secret).toMatch(/^[0-9a-f]{64}$/);
  data.close();
  expect(readdirSync(folder).toSorted()).toEqual(["lock.sqlite", "secret", "store.json"]);
  expect(JSON.parse(readFileSync(join(folder, "store.json"), "utf8"))).toEqual({
    version: 2,
    storeId: data.storeId,
    createdAt: "2026-09-21T14:13:20.000Z",
    hasLog: false,
  });
});

test("markHasLog is stored, and changes nothing else of the store", () => {
  const folder = folderOf();
  const first = open(folder);
  first.markHasLog();
  first.close();
  const second = open(folder);
  second.close();
  const { storeId, secret } = first;
  expect(second).toMatchObject({ storeId, secret, isFresh: false, hasLog: true });
});

test("a folder of a cell is refused for another cell or a single host", () => {
  const folder = folderOf();
  open(folder).close();
  keepClusterCell(realDisk, folder, "box");
  keepClusterCell(realDisk, folder, "box");
  const before = contentOf(folder);
  const openFor = (clusterCell?: string) =>
    openDataFolder({ disk: realDisk, folder, clock, randomBytes, clusterCell }).close();
  const file = join(folder, "cluster-cell");
  const reason = (asked: string) =>
    `cannot use the data folder ${folder}: it belongs to the cell box of a cluster, and was ` +
    `started ${asked}: it would book the same seats again; use --cluster etcd://host:port/box. ` +
    `To take it out of its cell, for example after a backup was restored, remove ${file}`;
  for (const [cell, asked] of [
    ["boxx", "for the cell boxx"],
    [undefined, "without --cluster"],
  ] as const) {
    const refused = expect.objectContaining({ message: reason(asked), exitCode: 78 }) as Error;
    expect(() => openFor(cell)).toThrow(refused);
    expect(contentOf(folder)).toEqual(before);
  }
  openFor("box");
  rmSync(file);
  openFor();
  openFor("boxx");
});

test("only the user can read the files of a store", () => {
  const folder = folderOf();
  open(folder).close();
  for (const name of ["secret", "store.json", "lock.sqlite"]) {
    expect(statSync(join(folder, name)).mode & 0o777, name).toBe(0o600);
  }
});

test("a given secret is used and not stored", () => {
  const folder = folderOf();
  const data = open(folder, GIVEN.toUpperCase());
  data.close();
  expect(data.secret).toBe(GIVEN);
  expect(readdirSync(folder)).not.toContain("secret");
  const refusal = refusalOf(folder);
  expect(refusal.message).toContain("its file secret is missing");
  expect(refusal.exitCode).toBe(78);
  open(folder, GIVEN).close();
});

test("a secret that is not 64 hexadecimal digits is refused", () => {
  expect(refusalOf(folderOf(), "short").message).toContain("the given secret");
  const folder = folderOf();
  open(folder).close();
  writeFileSync(join(folder, "secret"), "changed\n");
  expect(refusalOf(folder).message).toContain("its file secret is not 64 hexadecimal digits");
});

test("a folder with other files and no store is refused", () => {
  const folder = folderOf();
  writeFileSync(join(folder, "holiday.txt"), "sea");
  const refusal = refusalOf(folder);
  expect(refusal.message).toContain("it has other files and no store.json");
  expect(refusal.exitCode).toBe(78);
  expect(readdirSync(folder)).toEqual(["holiday.txt"]);
});

test("files of an interrupted first start, and lost+found, are no obstacle", () => {
  const folder = folderOf();
  mkdirSync(join(folder, "lost+found"));
  for (const name of ["lock.sqlite", "secret", "secret.tmp", "store.json.tmp"]) {
    writeFileSync(join(folder, name), "");
  }
  const data = open(folder);
  data.close();
  expect(data.isFresh).toBe(true);
  expect(open(folder, GIVEN).isFresh).toBe(false);
});

test("a store of another version is refused with both versions, and not as damaged", () => {
  for (const [version, remedy] of [
    [3, "start the Frontrow that wrote it"],
    [0, "start a Frontrow of a version in between"],
  ] as const) {
    const folder = folderOf();
    writeFileSync(join(folder, "store.json"), JSON.stringify({ version, storeId: "x" }));
    const before = contentOf(folder);
    const reason = `version ${version}, and this Frontrow reads versions 1 to 2: ${remedy}`;
    expect(() => open(folder)).toThrow(OtherFormat);
    expect(() => open(folder)).toThrow(reason);
    expect(() => open(folder)).toThrow("it is not damaged, and nothing was changed");
    expect(contentOf(folder)).toEqual(before);
  }
});

test("a store without a version or a store id is refused", () => {
  for (const [text, reason] of [
    ...["nothing", "[1]", "null", "7", '"store"', "{", ""].map((content) => {
      return [content, "its store.json has no version: put the file back from a copy"] as const;
    }),
    ['{"version":1,"storeId":"x"}', "has no store id"],
  ] as const) {
    const folder = folderOf();
    writeFileSync(join(folder, "store.json"), text);
    const refusal = refusalOf(folder);
    expect(refusal.message).toContain(reason);
    expect(refusal.exitCode).toBe(78);
  }
});

test("a path that cannot be a folder is refused", () => {
  const folder = folderOf();
  writeFileSync(join(folder, "file"), "");
  for (const path of [join(folder, "file"), join(folder, "file", "inner")]) {
    expect(() => open(path)).toThrow(/cannot use the data folder .*ENOTDIR; name a folder/);
  }
  expect(readdirSync(folder)).toEqual(["file"]);
});

test("a folder that cannot be written is refused, and the message says what to do", () => {
  const folder = folderOf();
  const createNow = (path: string): never => {
    throw new DiskFault("create", path, "EACCES");
  };
  const refusal = refusalOf(folder, undefined, { ...realDisk, createNow });
  expect(refusal.exitCode).toBe(73);
  expect(refusal.message).toContain("EACCES; give this user the right to read and write there");
});

test("a folder whose lock file is another file is refused", () => {
  const folder = folderOf();
  open(folder).close();
  writeFileSync(join(folder, "lock.sqlite"), "something else".repeat(100));
  expect(refusalOf(folder).message).toContain("lock.sqlite cannot be locked");
});

test("a second process is refused until the first has closed the folder", () => {
  const folder = folderOf();
  const first = open(folder);
  const refusal = refusalOf(folder);
  expect(refusal.exitCode).toBe(75);
  expect(refusal.message).toContain("another process uses it: close it there or stop that process");
  first.close();
  open(folder).close();
});

test("a killed process frees the folder", async () => {
  const folder = folderOf();
  open(folder).close();
  const sqlite = createRequire(import.meta.url).resolve(sqlitePackage(process.versions.node));
  const holder = spawn(process.execPath, [
    "-e",
    `const Database = require(${JSON.stringify(sqlite)});
     const database = new Database(${JSON.stringify(join(folder, "lock.sqlite"))});
     database.exec("BEGIN EXCLUSIVE");
     console.log("locked");
     setInterval(() => database.open, 1_000);`,
  ]);
  await once(holder.stdout, "data");
  expect(refusalOf(folder).exitCode).toBe(75);
  holder.kill("SIGKILL");
  await once(holder, "exit");
  open(folder).close();
});

test("a start that fails at any disk operation can be repeated", () => {
  for (let failing = 1; ; failing++) {
    const folder = folderOf();
    let steps = 0;
    const disk = new Proxy(realDisk, {
      get(target, name: keyof Disk) {
        const act = target[name] as (...given: unknown[]) => unknown;
        return (...given: unknown[]) => {
          steps += 1;
          if (steps === failing) throw new DiskFault(name, folder, "EIO");
          return act(...given);
        };
      },
    });
    try {
      open(folder, undefined, disk).close();
      expect(failing).toBeGreaterThan(8);
      return;
    } catch (error) {
      expect(error).toBeInstanceOf(FolderRefused);
    }
    const data = open(folder);
    data.close();
    expect(open(folder).storeId).toBe(data.storeId);
    rmSync(folder, { recursive: true });
  }
});

test("what others can read of an existing folder becomes private, and is named once", () => {
  const folder = folderOf();
  open(folder).close();
  mkdirSync(join(folder, "wal"));
  mkdirSync(join(folder, "lost+found"));
  const modes: Readonly<Record<string, number>> = {
    "": 0o755,
    secret: 0o644,
    wal: 0o750,
    "lost+found": 0o755,
    "store.json": 0o640,
  };
  for (const [name, mode] of Object.entries(modes)) chmodSync(join(folder, name), mode);
  const data = open(folder);
  const paths = ["", "/secret", "/store.json", "/wal"].map((name) => folder + name);
  expect(data.rights.madePrivate.toSorted()).toEqual(paths);
  data.close();
  const modeOf = (name: string) => statSync(join(folder, name)).mode & 0o777;
  expect(Object.keys(modes).map(modeOf)).toEqual([0o700, 0o600, 0o700, 0o755, 0o600]);
  const again = open(folder);
  expect(again.rights).toEqual({ madePrivate: [], shared: [] });
  again.close();
});

test("a disk that fails while rights are taken away refuses the folder", () => {
  const folder = folderOf();
  open(folder).close();
  const makePrivateNow = () => {
    throw new DiskFault("make private", folder, "EIO");
  };
  const refusal = refusalOf(folder, undefined, { ...realDisk, makePrivateNow });
  expect(refusal.message).toMatch(/make private.*EIO/);
  open(folder).close();
});

test.each(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"])(
  "rights that cannot be changed, with %s → the folder is used, and every path is named",
  (code) => {
    const folder = folderOf();
    open(folder).close();
    const makePrivateNow = (path: string) => {
      throw new DiskFault("make private", path, code);
    };
    const data = open(folder, undefined, { ...realDisk, makePrivateNow });
    data.close();
    const names = ["", "/lock.sqlite", "/secret", "/store.json"];
    expect(data.rights.shared.toSorted()).toEqual(names.map((name) => folder + name));
  },
);

// Every owner, group and mode of the folder. The kernel decides, so a process without root opens it.

const USER = 65_001;
const GROUP = 65_002;
const OTHER = 65_003;

interface Owned {
  readonly uid: number;
  readonly gid: number;
  /** Of the folder, octal. */
  readonly mode: number;
  /** Files of a store that is there already. */
  readonly files?: { readonly uid: number; readonly mode: number };
}

type Outcome = "private" | "made private" | "shared" | "refused";
const MODES = [
  0o700, 0o750, 0o755, 0o770, 0o2770, 0o775, 0o2775, 0o777, 0o1777, 0o500, 0o555, 0o070, 0o000,
];

/** By owner of the folder: its modes from {@link MODES}, by outcome. */
const OWNERS: readonly {
  readonly title: string;
  readonly uid: number;
  readonly gid: number;
  readonly modes: Readonly<Partial<Record<Outcome, readonly number[]>>>;
}[] = [
  {
    title: "the user",
    uid: USER,
    gid: GROUP,
    modes: {
      private: [0o700],
      "made private": [0o750, 0o755, 0o770, 0o2770, 0o775, 0o2775, 0o777, 0o1777],
    },
  },
  {
    title: "root, with a group of the user (fsGroup)",
    uid: 0,
    gid: GROUP,
    modes: { shared: [0o770, 0o2770, 0o775, 0o2775, 0o777, 0o1777, 0o070] },
  },
  { title: "root", uid: 0, gid: 0, modes: { shared: [0o777, 0o1777] } },
  { title: "another user", uid: OTHER, gid: OTHER, modes: { shared: [0o777, 0o1777] } },
];

interface Tried {
  readonly refusal?: string;
  readonly exitCode?: number;
  readonly rights?: { readonly madePrivate: readonly string[]; readonly shared: readonly string[] };
}

/** Opens the folders as `USER`, with a umask that hides nothing. */
function openAsUser(folders: readonly string[]): Tried[] {
  const program = `
    const { openDataFolder } = await import(process.argv[1] + "/data-folder.js");
    const { realDisk } = await import(process.argv[1] + "/disk.js");
    const { randomBytes } = await import("node:crypto");
    process.umask(0);
    process.setgroups([]);
    process.setgid(${GROUP});
    process.setuid(${USER});
    const clock = { nowMs: () => 1_790_000_000_000 };
    const tried = JSON.parse(process.argv[2]).map((folder) => {
      try {
        const data = openDataFolder({ disk: realDisk, folder, clock, randomBytes });
        data.writeSecret("first-credentials", "words");
        data.close();
        return { rights: data.rights };
      } catch ({ message, exitCode }) {
        return { refusal: message, exitCode };
      }
    });
    console.log(JSON.stringify(tried));`;
  const args = ["--input-type=module", "--eval", program, resolve("dist/persistence/disk")];
  const child = spawnSync(process.execPath, [...args, JSON.stringify(folders)], {
    encoding: "utf8",
  });
  expect(child.stderr).toBe("");
  return JSON.parse(child.stdout) as Tried[];
}

function makeOwned(folder: string, { uid, gid, mode, files }: Owned): string {
  mkdirSync(folder);
  if (files !== undefined) {
    open(folder).close();
    for (const name of readdirSync(folder)) {
      chownSync(join(folder, name), files.uid, gid);
      chmodSync(join(folder, name), files.mode);
    }
  }
  chownSync(folder, uid, gid);
  chmodSync(folder, mode);
  return folder;
}

const modeOf = (path: string) => statSync(path).mode & 0o7777;

describeUnless(missingRoot(), "a folder of any owner", () => {
  test.each(OWNERS)("$title, with every mode", ({ uid, gid, modes }) => {
    const place = folderOf();
    chmodSync(place, 0o755);
    const folders = MODES.map((mode) =>
      makeOwned(join(place, mode.toString(8)), { uid, gid, mode }),
    );
    const tried = openAsUser(folders);
    for (const [i, mode] of MODES.entries()) {
      const { rights, refusal = "", exitCode } = tried[i]!;
      const folder = folders[i]!;
      const [outcome = "refused"] =
        Object.entries(modes).find(([, all]) => all.includes(mode)) ?? [];
      const shown = { mode: mode.toString(8), rights };
      if (outcome === "refused") {
        expect(refusal).toMatch(/EACCES; give this user the right to read and write there$/);
        expect({ ...shown, exitCode }).toEqual({ ...shown, rights: undefined, exitCode: 73 });
        expect([modeOf(folder), readdirSync(folder)]).toEqual([mode, []]);
        continue;
      }
      const madePrivate = outcome === "made private" ? [folder] : [];
      const shared = outcome === "shared" ? [folder] : [];
      expect(shown).toEqual({ ...shown, rights: { madePrivate, shared } });
      expect(modeOf(folder)).toBe(outcome === "shared" ? mode : modeOf(folder) & 0o7700);
      const names = readdirSync(folder).toSorted();
      expect(names).toEqual(["first-credentials", "lock.sqlite", "secret", "store.json"]);
      for (const name of names) expect([name, modeOf(join(folder, name))]).toEqual([name, 0o600]);
    }
  });

  test.each([
    { title: "private ones of the user", uid: USER, mode: 0o600, left: 0o600 },
    { title: "those of the user, opened by the kubelet", uid: USER, mode: 0o660, left: 0o600 },
    {
      title: "those of an earlier user, opened by the kubelet",
      uid: OTHER,
      mode: 0o660,
      left: 0o660,
    },
  ])("a store on a volume with fsGroup, files: $title", ({ uid, mode, left }) => {
    const place = folderOf();
    chmodSync(place, 0o755);
    const owned = { uid: 0, gid: GROUP, mode: 0o2775, files: { uid, mode } };
    const folder = makeOwned(join(place, "data"), owned);
    const [{ rights, refusal } = {}] = openAsUser([folder]);
    expect(refusal).toBeUndefined();
    const files = ["lock.sqlite", "secret", "store.json"].map((name) => join(folder, name));
    expect(rights!.madePrivate.toSorted()).toEqual(mode === 0o660 && uid === USER ? files : []);
    expect(rights!.shared.toSorted()).toEqual(uid === OTHER ? [folder, ...files] : [folder]);
    for (const file of files) expect([file, modeOf(file)]).toEqual([file, left]);
  });

  test("a store on such a volume whose files are private to another user is refused", () => {
    const place = folderOf();
    chmodSync(place, 0o755);
    const files = { uid: OTHER, mode: 0o600 };
    const folder = makeOwned(join(place, "data"), { uid: 0, gid: GROUP, mode: 0o2775, files });
    const [{ refusal, exitCode } = {}] = openAsUser([folder]);
    expect([refusal, exitCode]).toEqual([expect.stringContaining("give this user the right"), 73]);
  });
});
