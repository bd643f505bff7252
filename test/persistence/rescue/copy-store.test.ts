/** Backup and restore: complete copies, even of a store that is in use. */
import fs from "node:fs";
import path from "node:path";
import Database from "better-sqlite3";
import { expect, onTestFinished, test } from "vitest";
import { digest } from "../../../engine/verify.ts";
import { type CopyDisk, type DiskFile, realDisk } from "../../../persistence/disk/disk.ts";
import { DiskFault } from "../../../persistence/disk/faults.ts";
import {
  backupFolder,
  HeldFolder,
  PARTIAL_SUFFIX,
  restoreFolder,
} from "../../../persistence/rescue/copy-store.ts";
import { ArrivingCopy, messagesOf } from "../../../persistence/rescue/join.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { sameFiles, STORE_ID } from "../log/log-fixture.ts";
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
    // The log has every record of its snapshots.
    const [early] = segmentsIn(await storeOf({ snapshots: 2, batches: 0 })).slice(-1);
    // As many batches as the segment has room for: another one would be a file of its own.
    let folder = "";
    let segment: string | undefined;
    for (let batches = 4; batches > 0; batches--) {
      folder = await storeOf({ snapshots: 2, batches });
      [segment] = segmentsIn(folder).slice(-1);
      if (path.basename(segment!) === path.basename(early!)) break;
    }
    const first = Math.ceil(usedBytes(early!) / 512);
    const whole = fs.readFileSync(segment!);
    const used = usedBytes(segment!);
    const end = used + (512 - (used % 512));
    // Frames appear sector by sector, as a writer appends them.
    let shown = first * 512;
    const grow = () => {
      shown = Math.min(end, shown + 512);
      fs.writeFileSync(
        segment!,
        Buffer.concat([whole.subarray(0, shown), Buffer.alloc(whole.length - shown)]),
      );
    };
    expect(first * 512).toBeLessThan(end);
    for (let from = first; from * 512 < end; from++) {
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

// Obstacles to a backup, and to reading a folder in use; each is named.

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

// Copies of a store as messages to another host.

test("a copy that has come is complete and private, and its source is unchanged", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 10 });
  const before = contentOf(folder);
  const to = placeOf();
  const seen: number[] = [];
  const onWork = (what: string, done: number, total: number) => {
    if (what === "receiving bytes") seen.push(done / total);
  };
  const copy = new ArrivingCopy({ disk: realDisk, to, onWork });
  for (const message of messagesOf(realDisk, folder)) copy.take(message);
  expect(copy.isWhole).toBe(true);
  expect(copy.finish()).toMatchObject({
    findings: [],
    leftOut: [],
    sequence: 500,
    snapshots: 2,
    digest: history.digestAt(500),
  });
  expect(seen.at(-1)).toBe(1);
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  expect(fs.readdirSync(folder)).not.toContain("sending");
  for (const file of contentOf(to).keys()) expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  expect(fs.readdirSync(path.dirname(to))).toEqual(["copy"]);
});

test("a copy of a store in use has everything that was acknowledged before", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 4 });
  const process = await start(folder);
  await process.commit(3);
  const { durable } = process;
  const to = placeOf();
  const copy = new ArrivingCopy({ disk: realDisk, to });
  for (const message of messagesOf(realDisk, folder)) {
    copy.take(message);
    await process.commit(1);
  }
  const copied = copy.finish();
  expect(copied.sequence).toBeGreaterThanOrEqual(durable);
  expect(copied.digest).toBe(history.digestAt(copied.sequence));
  await process.close();
  expect(verifyFolder({ disk: realDisk, folder: to }).findings).toEqual([]);
});

test("a damaged snapshot is left out of a copy", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 2 });
  const [newest] = snapshotsIn(folder);
  flip(newest!, 100);
  const copy = new ArrivingCopy({ disk: realDisk, to: placeOf() });
  for (const message of messagesOf(realDisk, folder)) copy.take(message);
  const { leftOut, snapshots } = copy.finish();
  expect(leftOut).toHaveLength(1);
  expect(snapshots).toBe(1);
});

test("a copy that was changed on its way, or names a file elsewhere, is refused", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const sent = [...messagesOf(realDisk, folder)];
  const receive = (messages: readonly (string | Uint8Array)[]) => {
    const copy = new ArrivingCopy({ disk: realDisk, to: placeOf() });
    for (const message of messages) copy.take(message);
    return copy;
  };
  const changed = sent.map((message) =>
    typeof message === "string" ? message : message.map((byte, i) => (i === 7 ? byte ^ 1 : byte)),
  );
  expect(() => receive(changed)).toThrow("expected the files as they were sent, found other bytes");
  const file = (name: string) => JSON.stringify({ kind: "file", name, bytes: 1 });
  for (const name of ["../other", "/etc/other", "wal/../../other", "a/b"]) {
    expect(() => receive([file(name)])).toThrow("expected a file of a data folder");
  }
  expect(() => receive([file("store.json"), file("secret")])).toThrow(
    "expected the rest of a file",
  );
  expect(() => receive([file("store.json"), Buffer.from("ab")])).toThrow("more bytes");
  expect(() => receive(["<html>"])).toThrow("expected a note about the copy, found other text");
  expect(receive(sent.slice(0, -1)).isWhole).toBe(false);
});

test("an attempt that was interrupted leaves nothing, or what the next one removes", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 2 });
  const sent = [...messagesOf(realDisk, folder)];
  const to = placeOf();
  const abandoned = new ArrivingCopy({ disk: realDisk, to });
  for (const message of sent.slice(0, 4)) abandoned.take(message);
  abandoned.abandon();
  expect(fs.readdirSync(path.dirname(to))).toEqual([]);
  const killed = new ArrivingCopy({ disk: realDisk, to });
  for (const message of sent.slice(0, -1)) killed.take(message);
  expect(fs.readdirSync(path.dirname(to))).toEqual(["copy.partial"]);
  const again = new ArrivingCopy({ disk: realDisk, to });
  for (const message of sent) again.take(message);
  expect(again.finish().findings).toEqual([]);
  expect(fs.readdirSync(path.dirname(to))).toEqual(["copy"]);
  expect(() => new ArrivingCopy({ disk: realDisk, to })).toThrow("it is not empty");
});
