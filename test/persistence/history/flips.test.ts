/**
 * Random bit flips in an archive, also in the overflow pages of long rows: an answer is right, or it is refused, or the archive is set aside,
 * or `verify` reports it. `FRONTROW_FLIPS` sets their number; 2,000 take seven minutes.
 */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { drain } from "../../../engine/inventory/steps.ts";
import type { AuditQuestion } from "../../../engine/queries/history.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { readSqlFile } from "../../../persistence/disk/sqlite.ts";
import { AUDIT_FILE } from "../../../persistence/history/archive.ts";
import {
  type AuditReport,
  HistoryKeeper,
  makeAuditFile,
} from "../../../persistence/history/keeper.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { Random } from "../../../server/onsale/random.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { ROOMY, type KeptRecord } from "../../support/engine.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { folderOf, StoreProcess } from "../store/store-fixture.ts";
import { eventIdsIn } from "./history-fixture.ts";

const FLIPS = Number(process.env["FRONTROW_FLIPS"] ?? 100);
const REFUSED = "refused";

test(
  `${FLIPS} random bit flips in an archive → none is silent`,
  async () => {
    const records = recordsWithLongReplies();
    const folder = folderOf();
    const store = await StoreProcess.start({ folder, history: { records }, segmentBytes: 2 ** 20 });
    makeAuditFile(realDisk, folder);
    await store.commit(1, records.length);
    const mark = store.journal.mark!;
    await store.close();
    const file = path.join(folder, AUDIT_FILE);
    const reports: AuditReport[] = [];
    const keep = () => {
      const onReport = (report: AuditReport) => void reports.push(report);
      const options = { disk: realDisk, folder, storeId: STORE_ID, days: null, onReport };
      const keeper = new HistoryKeeper({ ...options, nowMs: () => 0, imageMovesMin: 40 });
      onTestFinished(() => keeper.close());
      return keeper;
    };
    const query = { sort: [], offset: 0, limit: 10_000 };
    const moment = { sequence: mark.sequence - 20 };
    const replies = REPLY_IDS.map((id): AuditQuestion => ({ about: "reply", id }));
    const ofEvents = eventIdsIn(records).flatMap((eventId): AuditQuestion[] => [
      { about: "transitions", eventId, query },
      { about: "changes", eventId, since: 0, limit: 1_000 },
      { about: "seats", eventId, moment, query },
    ]);
    const questions = [...ofEvents, ...replies];
    const answersOf = (keeper: HistoryKeeper): readonly unknown[] =>
      questions.map((question) => {
        try {
          return structuredClone(drain(keeper.history!.answers.answer(question)));
        } catch {
          // The thread reports any error, and refuses the question.
          return REFUSED;
        }
      });
    const first = keep();
    first.archive(mark);
    const wanted = answersOf(first);
    first.close();
    expect(wanted).not.toContain(REFUSED);
    const sound = fs.readFileSync(file);
    expect(overflowIn(file)).toBeGreaterThan(sound.length / 4);
    const random = new Random(7);
    const outcomes = { right: 0, refused: 0, setAside: 0, verified: 0 };
    for (let i = 0; i < FLIPS; i++) {
      const bytes = Buffer.from(sound);
      const at = random.below(bytes.length);
      const bit = random.below(8);
      bytes[at]! ^= 1 << bit;
      for (const name of fs.readdirSync(folder)) {
        if (name.startsWith(AUDIT_FILE)) fs.rmSync(path.join(folder, name));
      }
      fs.writeFileSync(file, bytes);
      reports.length = 0;
      const keeper = keep();
      const isRead = keeper.follow(mark);
      const answers = isRead && reports.length === 0 ? answersOf(keeper) : null;
      keeper.close();
      if (answers === null) {
        outcomes.setAside += 1;
        continue;
      }
      const isWrong = (answer: unknown, index: number) =>
        answer !== REFUSED && !isSame(answer, wanted[index]);
      if (answers.some(isWrong)) {
        fs.writeFileSync(file, bytes);
        const { findings } = verifyFolder({ disk: realDisk, folder });
        expect(findings, `bit ${bit} of byte ${at} of ${bytes.length}`).not.toEqual([]);
        outcomes.verified += 1;
      } else if (answers.includes(REFUSED)) outcomes.refused += 1;
      else outcomes.right += 1;
    }
    expect(outcomes.refused).toBeGreaterThan(0);
    expect(outcomes.right).toBeGreaterThan(0);
    if (FLIPS > 1_000) console.log(outcomes);
  },
  30_000 + 500 * FLIPS,
);

/** A page of the file has no room for such a body. */
const REPLY_IDS = Array.from({ length: 6 }, (_, i) => `7:long-${i}`);
const REPLY_UNITS = 24_000;
const RECORDS = 600;

function recordsWithLongReplies(): readonly KeptRecord[] {
  const workload = new Workload(7);
  const { bench } = workload;
  while (bench.journal.kept.length < RECORDS) workload.step();
  const tenant = bench.createTenant();
  const random = new Random(8);
  for (const id of REPLY_IDS) {
    const digits = Array.from({ length: REPLY_UNITS }, () => random.below(36).toString(36));
    const reply = { id, fingerprint: "f", status: 200, body: digits.join("") };
    bench.must("rememberReply", tenant, { reply, budget: ROOMY });
  }
  return bench.journal.kept;
}

/** Bytes of rows that are longer than a page. */
function overflowIn(file: string): number {
  return readSqlFile(file, (sql) => {
    const long = "SELECT sum(length(body)) AS bytes FROM replies WHERE length(body) > 8192";
    return Number(sql.row(long)!["bytes"]);
  });
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
