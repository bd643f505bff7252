/** `verifyFolder` finds all damage, and changes nothing. */
import Database from "better-sqlite3";
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { FolderRefused } from "../../../persistence/disk/faults.ts";
import { openSqlReader } from "../../../persistence/disk/sqlite.ts";
import { type Finding, textOf } from "../../../persistence/rescue/survey.ts";
import { type Verified, verifyFolder } from "../../../persistence/rescue/verify.ts";
import { digestOfSnapshot, readMeta } from "../../../persistence/snapshot/file.ts";
import { Random } from "../../sim/workload/random.ts";
import { sameFiles, STORE_ID } from "../log/log-fixture.ts";
import { contentOf, folderOf } from "../store/store-fixture.ts";
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

function verify(folder: string): Verified {
  const before = contentOf(folder);
  const verified = verifyFolder({ disk: realDisk, folder });
  expect(sameFiles(contentOf(folder), before)).toBe(true);
  return verified;
}

const placesOf = (findings: readonly Finding[]) => findings.map((one) => path.basename(one.path));

test("a sound store has no findings, and its digest is that of its records", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 10 });
  const verified = verify(folder);
  expect(verified).toMatchObject({ findings: [], notes: [], storeId: STORE_ID, snapshots: 2 });
  expect(verified.sequence).toBe(500);
  expect(verified.firstSequence).toBeGreaterThan(1);
  expect(verified.digest).toBe(history.digestAt(500));
  expect(verified.segments).toBe(segmentsIn(folder).length);
});

test("a store that was never written to, and one without snapshots, are sound", async () => {
  const fresh = await storeOf({ snapshots: 0, batches: 0 });
  expect(verify(fresh)).toMatchObject({ findings: [], sequence: 0, firstSequence: 0 });
  const plain = await storeOf({ snapshots: 0, batches: 40 });
  expect(verify(plain)).toMatchObject({ findings: [], sequence: 200, firstSequence: 1 });
});

test("a torn last batch is a note, not a finding", async () => {
  const folder = await storeOf({ snapshots: 1, batches: 10 });
  const newest = segmentsIn(folder).at(-1)!;
  const used = usedBytes(newest);
  fs.writeFileSync(
    newest,
    Buffer.concat([
      fs.readFileSync(newest).subarray(0, used + 512 - (used % 512)),
      Buffer.from("half a frame"),
    ]),
  );
  expect(verify(folder)).toMatchObject({
    findings: [],
    notes: [expect.stringContaining("did not come to this disk whole")],
  });
});

test("a missing secret file is a note, not a finding", async () => {
  const folder = await storeOf({ snapshots: 0, batches: 1 });
  fs.rmSync(path.join(folder, "secret"));
  expect(verify(folder).notes).toEqual([expect.stringContaining("FRONTROW_SECRET")]);
});

test("every damaged file is found at once, not only the first", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 60 });
  const segments = segmentsIn(folder);
  expect(segments.length).toBeGreaterThan(4);
  const damaged = [segments[1]!, segments[3]!];
  for (const segment of damaged) flip(segment, 5_000);
  const [older, newest] = snapshotsIn(folder);
  fs.truncateSync(older!, 9_000);
  flip(newest!, 100);
  const { findings, digest: reached } = verify(folder);
  const all = [...damaged, older!, newest!];
  expect(new Set(findings.map((one) => one.path))).toEqual(
    new Set([...all, path.join(folder, "snapshots")]),
  );
  expect(findings.find((one) => one.path === damaged[1])!.offset).toBeGreaterThanOrEqual(4_096);
  expect(reached).toBeNull();
});

const LOG_DAMAGE: readonly (readonly [string, (segments: readonly string[]) => void, RegExp])[] = [
  ["a header", ([, second]) => flip(second!, 20), /at byte 0: expected an intact header/],
  ["a segment that is missing", ([, second]) => fs.rmSync(second!), /expected segment \d+, found/],
  [
    "two segments that changed places",
    ([, second, third]) => {
      const bytes = fs.readFileSync(second!);
      fs.copyFileSync(third!, second!);
      fs.writeFileSync(third!, bytes);
    },
    /expected segment \d+, found/,
  ],
  ["a short segment", ([, second]) => fs.truncateSync(second!, 6_000), /later segments/],
  ["an empty segment", ([, second]) => fs.truncateSync(second!, 0), /expected a header of/],
  [
    "a file with nearly the name of a segment",
    ([first]) => fs.writeFileSync(path.join(path.dirname(first!), "7.log"), "x"),
    /7\.log at byte 0: expected the name of a segment/,
  ],
];

test.each(LOG_DAMAGE)("damage of the log is found: %s", async (_, damage, text) => {
  const folder = await storeOf({ snapshots: 2, batches: 60 });
  damage(segmentsIn(folder));
  const { findings } = verify(folder);
  expect(findings.map(textOf).join("\n")).toMatch(text);
});

test("a missing log, and a log without the snapshot that it continues, are found", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 5 });
  const twin = twinOf(folder);
  fs.rmSync(path.join(folder, "wal"), { recursive: true });
  expect(verify(folder).findings.map(textOf).join("\n")).toMatch(/segments of the log, found none/);
  fs.rmSync(path.join(twin, "snapshots"), { recursive: true });
  expect(verify(twin).findings.map(textOf).join("\n")).toMatch(/an intact snapshot .* found none/);
});

test("an intact snapshot with another state than the log is found", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 5 });
  const [, newest] = snapshotsIn(folder);
  const database = new Database(newest);
  database.exec("UPDATE venues SET row = json_set(row, '$.name', 'Elsewhere')");
  const digestNow = (() => {
    database.exec("UPDATE snapshot SET digest = ''");
    const sql = openSqlReader(newest!);
    try {
      expect(() => readMeta(sql, STORE_ID)).toThrow("digest");
      const [row] = [...sql.rows("SELECT * FROM snapshot")];
      return digestOfSnapshot(sql, row as never);
    } finally {
      sql.close();
    }
  })();
  database.prepare("UPDATE snapshot SET digest = ?").run(digestNow);
  database.close();
  const { findings } = verify(folder);
  expect(placesOf(findings)).toEqual([path.basename(newest!)]);
  expect(textOf(findings[0]!)).toMatch(/expected state [0-9a-f]{16} with the log after it, found/);
});

test("a snapshot of another store is found", async () => {
  const folder = await storeOf({ snapshots: 3, batches: 5 });
  const [older] = snapshotsIn(folder);
  const database = new Database(older);
  database.exec("UPDATE snapshot SET storeId = '00000000-0000-4000-8000-000000000000'");
  database.close();
  expect(placesOf(verify(folder).findings)).toEqual([path.basename(older!)]);
});

test("verify refuses a folder without a valid store.json", () => {
  expect(() => verify(folderOf())).toThrow("store.json");
  const folder = folderOf();
  fs.writeFileSync(path.join(folder, "store.json"), "{}");
  expect(() => verify(folder)).toThrow(FolderRefused);
});

test(
  "a changed bit anywhere is found, or recovery still gives the same state",
  { timeout: 60_000 },
  async () => {
    const folder = await storeOf({ snapshots: 3, batches: 12 });
    const random = new Random(11);
    const files = [...segmentsIn(folder), ...snapshotsIn(folder)];
    let found = 0;
    for (let round = 0; round < 60; round++) {
      const twin = twinOf(folder);
      const file = files[random.below(files.length)]!;
      const used = file.endsWith(".log") ? usedBytes(file) : fs.statSync(file).size;
      flip(file.replace(folder, twin), random.below(used), random.below(8));
      const verified = verify(twin);
      if (verified.findings.length > 0) {
        found += 1;
        expect(verified.findings.map((one) => one.path)).toContain(file.replace(folder, twin));
        continue;
      }
      expect(verified.digest).toBe(history.digestAt(verified.sequence));
      const process = await start(twin);
      expect(digest(process.state)).toBe(verified.digest);
    }
    expect(found).toBeGreaterThan(30);
  },
);

/** A trail as a stopped or a killed server leaves it. */
function addTrail(folder: string, isKilled: boolean): void {
  const name = path.join(folder, "audit.sqlite");
  const trail = new Database(name);
  trail.pragma("journal_mode = WAL");
  trail.exec("CREATE TABLE trail (sequence); INSERT INTO trail VALUES (160)");
  const copies = [`${name}-wal`, `${name}-shm`].map((one) => [one, fs.readFileSync(one)] as const);
  const whole = fs.readFileSync(name);
  trail.close();
  if (!isKilled) return;
  fs.writeFileSync(name, whole);
  for (const [one, bytes] of copies) fs.writeFileSync(one, bytes);
}

test.each([false, true])(
  "verify creates no file beside the trail; killed: %s",
  async (isKilled) => {
    const folder = await storeOf({ snapshots: 1, batches: 2 });
    addTrail(folder, isKilled);
    const before = contentOf(folder);
    expect(verifyFolder({ disk: realDisk, folder }).findings).toEqual([]);
    const after = contentOf(folder);
    expect([...after.keys()]).toEqual([...before.keys()]);
    // An index of the readers in shared memory; it has no data.
    for (const files of [before, after]) files.delete(path.join(folder, "audit.sqlite-shm"));
    expect(sameFiles(after, before)).toBe(true);
    const trail = new Database(path.join(folder, "audit.sqlite"), { readonly: true });
    expect(trail.prepare("SELECT * FROM trail").all()).toEqual([{ sequence: 160 }]);
    trail.close();
  },
);
