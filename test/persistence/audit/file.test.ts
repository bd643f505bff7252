/** The file of the audit trail: checked before use. */
import Database from "better-sqlite3";
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import {
  AUDIT_FILE,
  auditedSequence,
  openAuditFile,
  readTrail,
  writeTrail,
} from "../../../persistence/audit/file.ts";
import { OpenTrail } from "../../../persistence/audit/keeper.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { AUDIT_STORE, markAt, temporaryPath } from "./audit-fixture.ts";
import { feed } from "./audit-fixture.ts";

function trailOf(): { file: string; sequence: number } {
  const workload = new Workload(2);
  for (let step = 0; step < 100; step++) workload.step();
  const { kept } = workload.bench.journal;
  const file = temporaryPath(AUDIT_FILE);
  const book = new OpenTrail(file, AUDIT_STORE);
  feed(book, kept);
  book.close();
  return { file, sequence: kept.length };
}

const ELSEWHERE = "99999999-2222-4333-8444-555555555555";

const DAMAGES: readonly (readonly [string, string, string])[] = [
  ["no row", "DELETE FROM trail", "expected the row of a trail, found none"],
  ["another format", "UPDATE trail SET format = 9", "found 9"],
  ["another store", `UPDATE trail SET storeId = '${ELSEWHERE}'`, `found ${ELSEWHERE}`],
  ["half a record", "UPDATE trail SET sequence = 1.5", "expected whole numbers"],
  ["a negative first record", "UPDATE trail SET firstSequence = -1", "expected whole numbers"],
];

test.each(DAMAGES)("a trail file with %s is refused, and has no record", (_, sql, message) => {
  const { file, sequence } = trailOf();
  const folder = path.dirname(file);
  expect(auditedSequence(realDisk, folder, AUDIT_STORE)).toBe(sequence);
  const database = new Database(file);
  database.exec(sql);
  database.close();
  expect(() => openAuditFile(file, AUDIT_STORE)).toThrow(message);
  expect(auditedSequence(realDisk, folder, AUDIT_STORE)).toBe(0);
});

test("what is committed to the trail is synced", () => {
  const sql = openAuditFile(temporaryPath(AUDIT_FILE), AUDIT_STORE);
  const full = 2;
  expect(sql.row("PRAGMA synchronous")).toEqual({ synchronous: full });
  sql.close();
});

test("without a file there is no trail; a file that is not a database has no record", () => {
  const file = temporaryPath(AUDIT_FILE);
  const folder = path.dirname(file);
  expect(auditedSequence(realDisk, folder, AUDIT_STORE)).toBeNull();
  expect(auditedSequence(realDisk, path.join(folder, "none"), AUDIT_STORE)).toBeNull();
  fs.writeFileSync(file, "not a database, but long enough to look");
  expect(auditedSequence(realDisk, folder, AUDIT_STORE)).toBe(0);
});

test("the row of a trail is read back, with a mark and without", () => {
  const sql = openAuditFile(temporaryPath(AUDIT_FILE), AUDIT_STORE);
  const first = { storeId: AUDIT_STORE, firstSequence: 4, firstTimeMs: 7 };
  for (const mark of [markAt(12), null]) {
    writeTrail(sql, { ...first, sequence: 9, mark });
    const { mark: read, ...rest } = readTrail(sql, AUDIT_STORE);
    expect(rest).toEqual({ ...first, sequence: 9 });
    expect(read && { ...read, chain: Uint8Array.from(read.chain) }).toEqual(mark);
  }
  sql.close();
});
