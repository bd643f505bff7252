/** Backup and restore: complete copies, even of a store that is in use. */
import Database from "better-sqlite3";
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { digest } from "../../../engine/verify.ts";
import { type CopyDisk, type DiskFile, realDisk } from "../../../persistence/disk/disk.ts";
import { DiskFault } from "../../../persistence/disk/faults.ts";
import { backupFolder, restoreFolder } from "../../../persistence/rescue/copy-store.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { sameFiles } from "../log/log-fixture.ts";
import { contentOf, folderOf, removeFolder } from "../store/store-fixture.ts";
import {
  flip,
  history,
  segmentsIn,
  snapshotsIn,
  start,
  storeOf,
  twinOf,
  usedBytes,
} from "./folder-fixture.ts";

/** A path where nothing exists yet. */
const placeOf = () => path.join(folderOf(), "copy");

function backup(from: string, to: string, disk: CopyDisk = realDisk) {
  return backupFolder({ disk, from, to });
}

test("a backup is complete and private, and a store restored from it continues", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 10 });
  const before = contentOf(folder);
  const to = placeOf();
  const copied = backup(folder, to);
  expect(copied).toMatchObject({ findings: [], leftOut: [], sequence: 500, snapshots: 2 });
  expect(copied.digest).toBe(history.digestAt(500));
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  for (const name of ["", "wal", "snapshots"]) {
    expect(fs.statSync(path.join(to, name)).mode & 0o777, name).toBe(0o700);
  }
  for (const file of contentOf(to).keys()) expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.readFileSync(path.join(to, "secret"), "utf8")).toBe(`${"5e".repeat(32)}\n`);
  expect(fs.readdirSync(path.dirname(to))).toEqual(["copy"]);

  const restored = placeOf();
  restoreFolder({ disk: realDisk, from: to, to: restored });
  for (let round = 0; round < 2; round++) {
    const process = await start(restored);
    expect(digest(process.state)).toBe(history.digestAt(process.report.sequence));
    expect(process.report).toMatchObject({ sequence: 500 + 15 * round, tornBytes: 0 });
    await process.commit(3);
    await process.close();
  }
  expect(verifyFolder({ disk: realDisk, folder: restored }).findings).toEqual([]);
  // The backup itself has not changed.
  expect(backup(to, placeOf()).digest).toBe(copied.digest);
});

/** A disk on which the store makes progress before each step of the copy. */
function goingOn(steps: () => void): CopyDisk {
  return {
    ...realDisk,
    openNow: (name) => {
      steps();
      const file = realDisk.openNow(name);
      const readNow = file.readNow.bind(file);
      file.readNow = (target, position) => {
        steps();
        return readNow(target, position);
      };
      return file;
    },
  };
}

test("files that are removed while they are opened make the backup start again", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  const [oldest] = segmentsIn(folder);
  const aside = path.join(folderOf(), "aside");
  let opened = 0;
  const disk: CopyDisk = {
    ...realDisk,
    openNow(name) {
      opened += name === oldest ? 1 : 0;
      // As if a snapshot removed it between listing and opening, twice.
      if (name === oldest && opened <= 2) throw new DiskFault("open", name, "ENOENT");
      return realDisk.openNow(name);
    },
  };
  expect(backup(folder, aside, disk)).toMatchObject({ findings: [], sequence: 460 });
  expect(opened).toBeGreaterThan(2);
});

test(
  "a backup of a store that goes on writing ends after a whole batch",
  { timeout: 60_000 },
  async () => {
    const folder = await storeOf({ snapshots: 2, batches: 4 });
    const [segment] = segmentsIn(folder).slice(-1);
    const whole = fs.readFileSync(segment!);
    const used = usedBytes(segment!);
    const end = used + (512 - (used % 512));
    // Frames appear sector by sector, as a writer appends them.
    let shown = 8 * 512;
    const grow = () => {
      shown = Math.min(end, shown + 512);
      fs.writeFileSync(
        segment!,
        Buffer.concat([whole.subarray(0, shown), Buffer.alloc(whole.length - shown)]),
      );
    };
    for (let from = 8; from * 512 < end; from++) {
      shown = from * 512;
      grow();
      const to = placeOf();
      let steps = 0;
      const copied = backup(
        folder,
        to,
        goingOn(() => (++steps % 7 === 0 ? grow() : undefined)),
      );
      expect(copied.findings).toEqual([]);
      expect(copied.digest).toBe(history.digestAt(copied.sequence));
      expect(copied.notes).toEqual([]);
    }
  },
);

test("frames that are written while the segment is read are copied without a gap", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 8 });
  const [segment] = segmentsIn(folder).slice(-1);
  const whole = fs.readFileSync(segment!);
  const early = Buffer.from(whole).fill(0, 11 * 512);
  const sequences = new Set<number>();
  for (let last = 1, steps = last; steps >= last; last++) {
    fs.writeFileSync(segment!, early);
    steps = 0;
    const grow = () => (++steps === last ? fs.writeFileSync(segment!, whole) : undefined);
    const copied = backup(folder, placeOf(), goingOn(grow));
    expect(copied).toMatchObject({ findings: [], notes: [] });
    expect(copied.digest).toBe(history.digestAt(copied.sequence));
    sequences.add(copied.sequence);
  }
  // Some backups end between the first and the last batch that was written.
  expect(sequences.size).toBeGreaterThan(2);
});

test("a target that is not empty, or is inside the source, is refused", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const taken = folderOf();
  fs.writeFileSync(path.join(taken, "thesis.txt"), "years of work");
  for (const act of [backupFolder, restoreFolder]) {
    expect(() => act({ disk: realDisk, from: folder, to: taken })).toThrow(/it is not empty/);
    const inside = path.join(folder, "backup");
    expect(() => act({ disk: realDisk, from: folder, to: inside })).toThrow(/beside/);
    expect(() => act({ disk: realDisk, from: folder, to: folder })).toThrow(/beside/);
    const above = path.dirname(folder);
    expect(() => act({ disk: realDisk, from: folder, to: above })).toThrow(/beside/);
    expect(() => act({ disk: realDisk, from: taken, to: placeOf() })).toThrow(/store\.json/);
    const nowhere = path.join(taken, "nowhere");
    expect(() => act({ disk: realDisk, from: nowhere, to: placeOf() })).toThrow(/does not exist/);
  }
  expect(fs.readdirSync(taken)).toEqual(["thesis.txt"]);
  const empty = folderOf();
  backup(folder, empty);
  expect(verifyFolder({ disk: realDisk, folder: empty })).toMatchObject({ findings: [] });
});

test("a backup may be beside its store, under a name that begins with the store's", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const to = `${folder}-backup`;
  onTestFinished(() => removeFolder(to));
  expect(backup(folder, to)).toMatchObject({ findings: [], sequence: 160 });
});

test("a backup that the disk has changed does not get its name", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 40 });
  const disk: CopyDisk = {
    ...realDisk,
    createNow(name) {
      const file = realDisk.createNow(name);
      const writeNow = file.writeNow.bind(file);
      const isLog = name.endsWith(".log");
      file.writeNow = (bytes, position) =>
        writeNow(isLog ? bytes.map((byte) => byte ^ 1) : bytes, position);
      return file;
    },
  };
  const to = placeOf();
  expect(() => backup(folder, to, disk)).toThrow(/it is damaged/);
  expect(fs.readdirSync(path.dirname(to))).toEqual([]);
});

test("a damaged log is not backed up, and nothing is left at the target", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 40 });
  flip(segmentsIn(folder)[1]!, 5_000);
  const to = placeOf();
  expect(() => backup(folder, to)).toThrow(/the log is damaged/);
  // Nothing that was copied is left, such as the secret.
  expect(fs.readdirSync(path.dirname(to))).toEqual([]);
});

test("a damaged snapshot is left out of a backup and named, if the rest is complete", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  const [, newest] = snapshotsIn(folder);
  fs.truncateSync(newest!, 9_000);
  const to = placeOf();
  const copied = backup(folder, to);
  expect(copied).toMatchObject({ findings: [], snapshots: 1, sequence: 460 });
  expect(copied.leftOut.map((one) => path.basename(one.path))).toEqual([path.basename(newest!)]);
});

test("a damaged snapshot or trail of a backup is left out of what is restored", async () => {
  const from = placeOf();
  backup(await storeOf({ snapshots: 3, batches: 2 }), from);
  const [damaged] = snapshotsIn(from);
  fs.truncateSync(damaged!, 9_000);
  fs.writeFileSync(path.join(from, "audit.sqlite"), "no trail");
  const to = placeOf();
  const { leftOut } = restoreFolder({ disk: realDisk, from, to });
  expect(leftOut.map((one) => path.basename(one.path))).toEqual([
    path.basename(damaged!),
    "audit.sqlite",
  ]);
  expect(verifyFolder({ disk: realDisk, folder: to }).findings).toEqual([]);
});

test(
  "a backup that fails at any step leaves no folder, and the next one succeeds",
  { timeout: 60_000 },
  async () => {
    const folder = await storeOf({ snapshots: 3, batches: 2 });
    for (let last = 1; ; last++) {
      const to = placeOf();
      let steps = 0;
      const step =
        <A extends unknown[], R>(act: (...given: A) => R) =>
        (...given: A): R => {
          steps += 1;
          if (steps === last) throw new DiskFault("write", String(given[0]), "ENOSPC");
          return act(...given);
        };
      const disk: CopyDisk = {
        ...realDisk,
        makeFolderNow: step((name: string) => realDisk.makeFolderNow(name)),
        createNow: step((name: string) => realDisk.createNow(name)),
        renameNow: step((from: string, name: string) => realDisk.renameNow(from, name)),
        syncFolderNow: step((name: string) => realDisk.syncFolderNow(name)),
      };
      let failed: unknown = null;
      try {
        backup(folder, to, disk);
      } catch (error) {
        failed = error;
      }
      if (failed === null) {
        expect(last).toBeGreaterThan(12);
        return;
      }
      expect(failed).toMatchObject({ code: "ENOSPC" });
      expect(fs.existsSync(`${to}.partial`)).toBe(false);
      // The last step syncs the parent folder, when the copy is complete.
      if (fs.existsSync(to)) continue;
      expect(backup(folder, to)).toMatchObject({ findings: [], sequence: 460 });
      expect(fs.readdirSync(path.dirname(to))).toEqual(["copy"]);
    }
  },
);

test("a backup contains the audit trail, and checks it", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const name = path.join(folder, "audit.sqlite");
  const trail = new Database(name);
  trail.pragma("journal_mode = WAL");
  trail.exec("CREATE TABLE trail (sequence); INSERT INTO trail VALUES (160)");
  const to = placeOf();
  expect(backup(folder, to)).toMatchObject({ findings: [] });
  trail.close();
  const copy = path.join(to, "audit.sqlite");
  expect(fs.statSync(copy).mode & 0o777).toBe(0o600);
  const copied = new Database(copy, { readonly: true });
  expect(copied.prepare("SELECT * FROM trail").all()).toEqual([{ sequence: 160 }]);
  copied.close();
  fs.writeFileSync(copy, "no database");
  const { findings } = verifyFolder({ disk: realDisk, folder: to });
  expect(findings.map((one) => one.path)).toEqual([copy]);
  fs.writeFileSync(name, "no database");
  const place = placeOf();
  const without = backup(folder, place);
  expect(fs.existsSync(path.join(place, "audit.sqlite"))).toBe(false);
  expect(without.leftOut.map((one) => path.basename(one.path))).toEqual(["audit.sqlite"]);
});

test("the log of a backup reaches as far as its trail, even while both grow", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const early = twinOf(folder);
  const process = await start(folder);
  await process.commit(30);
  const trail = new Database(path.join(early, "audit.sqlite"));
  onTestFinished(() => void trail.close());
  trail.exec("CREATE TABLE trail (sequence); INSERT INTO trail VALUES (160)");
  const disk: CopyDisk = {
    ...realDisk,
    createNow(name) {
      if (name.endsWith("audit.sqlite")) {
        // The newest segment grows, and others follow.
        fs.cpSync(path.join(folder, "wal"), path.join(early, "wal"), { recursive: true });
        trail.exec(`UPDATE trail SET sequence = ${process.sequence}`);
      }
      return realDisk.createNow(name);
    },
  };
  expect(backup(early, placeOf(), disk)).toMatchObject({
    findings: [],
    leftOut: [],
    sequence: process.sequence,
  });
});

test("a backup is synced before it gets its name, and leaves no file open", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  new Database(path.join(folder, "audit.sqlite")).exec("CREATE TABLE trail (sequence)").close();
  const to = placeOf();
  /** Files and folders with changes that a power cut would undo. */
  const unsynced = new Set<string>();
  const open = new Set<DiskFile>();
  let renamed = 0;
  const watched = (file: DiskFile) => {
    open.add(file);
    const closeNow = file.closeNow.bind(file);
    file.closeNow = () => {
      closeNow();
      open.delete(file);
    };
    const syncNow = file.syncNow.bind(file);
    file.syncNow = () => {
      syncNow();
      unsynced.delete(file.path);
    };
    return file;
  };
  const disk: CopyDisk = {
    ...realDisk,
    openNow: (name) => watched(realDisk.openNow(name)),
    createNow(name) {
      unsynced.add(name).add(path.dirname(name));
      return watched(realDisk.createNow(name));
    },
    makeFolderNow(name) {
      realDisk.makeFolderNow(name);
      unsynced.add(path.dirname(name));
    },
    syncFolderNow(name) {
      realDisk.syncFolderNow(name);
      unsynced.delete(name);
    },
    renameNow(from, name) {
      expect([...unsynced]).toEqual([]);
      realDisk.renameNow(from, name);
      unsynced.add(path.dirname(name));
      renamed += 1;
    },
  };
  backup(folder, to, disk);
  expect([renamed, ...unsynced]).toEqual([1]);
  expect([...open].map((file) => file.path)).toEqual([]);
});
