/**
 * The archive under crashes: a process ends at any statement of SQLite, or within a commit, whose
 * writes then come to the disk in part. Afterwards every answer is as without an archive.
 * `FRONTROW_ARCHIVE_CRASHES` sets their number, `FRONTROW_ARCHIVE_SEED` the first seed; 50,000 take
 * about half an hour.
 */
import fs from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import type { AuditQuestion } from "../../../engine/queries/history.ts";
import { RecordType } from "../../../engine/records.ts";
import { drain } from "../../../engine/inventory/steps.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import {
  openSqlWriter,
  problemIn,
  readSqlFile,
  type SqlFile,
} from "../../../persistence/disk/sqlite.ts";
import { AUDIT_FILE, checkRows } from "../../../persistence/history/archive.ts";
import {
  HistoryKeeper,
  makeAuditFile,
  type OpenHistory,
} from "../../../persistence/history/keeper.ts";
import type { ChainMark } from "../../../persistence/log/log-reader.ts";
import { Random } from "../../../server/onsale/random.ts";
import { ProcessDied } from "../../support/disk/process-disk.ts";
import { type KeptRecord } from "../../support/engine.ts";
import { Book } from "../../support/audit.ts";
import { History } from "../../support/store.ts";
import { STORE_ID } from "../log/log-fixture.ts";
import { folderOf, removeFolder, StoreProcess } from "../store/store-fixture.ts";
import { eventIdsIn } from "./history-fixture.ts";

const CRASHES = Number(process.env["FRONTROW_ARCHIVE_CRASHES"] ?? 60);
const SEED = Number(process.env["FRONTROW_ARCHIVE_SEED"] ?? 1);
const RECORDS = 500;
/** Archives of one log: most of a seed's time goes into its log. */
const PASSES = 4;
/** Past maps are built for one event of so many. */
const MAPS_ONCE = 4;
/** Most commits are soon after the start of a process. */
const STATEMENTS = [10, 40, 160, 640];
const STEPS_MAX = 200;
/** The log grows, and time passes, once in so many steps. */
const BATCH_ONCE = 20;
const RETENTION_ONCE = 200;
const SECTOR_BYTES = 512;
const WAL_HEAD_BYTES = 32;
const DAY_MS = 86_400_000;
const QUERY = { sort: [], offset: 0, limit: 10_000 } as const;

test(
  `${CRASHES} crashes of a process that archives → its answers are those without an archive`,
  async () => {
    const counts = { crashes: 0, withinCommits: 0, archived: 0, expired: 0 };
    for (let seed = SEED; counts.crashes < CRASHES; seed++) {
      const run = await CrashRun.start(seed);
      for (let pass = 0; pass < PASSES; pass++) {
        run.begin();
        for (; !run.isOver && counts.crashes < CRASHES; counts.crashes++) run.crash();
      }
      counts.withinCommits += run.withinCommits;
      counts.archived += run.archived;
      counts.expired += run.expired;
      run.end();
    }
    expect(counts.withinCommits).toBeGreaterThan(CRASHES / 20);
    expect(counts.archived).toBeGreaterThan(CRASHES / 2);
    expect(counts.expired).toBeGreaterThan(CRASHES / 50);
    if (CRASHES > 1_000) console.log(counts);
  },
  60_000 + 100 * CRASHES,
);

type Files = ReadonlyMap<string, Buffer>;

/** The files that SQLite keeps data in. */
function filesIn(folder: string): Files {
  const names = [AUDIT_FILE, `${AUDIT_FILE}-wal`].map((name) => path.join(folder, name));
  const found = names.filter((name) => fs.existsSync(name));
  return new Map(found.map((name) => [name, fs.readFileSync(name)]));
}

/** One log, and the processes that archive it, one after the other. */
class CrashRun {
  withinCommits = 0;
  archived = 0;
  expired = 0;
  readonly #folder: string;
  readonly #records: readonly KeptRecord[];
  readonly #random: Random;
  /** The ends of the batches of the log. */
  readonly #marks: readonly ChainMark[];
  #whole = new Book();
  #markIndex = 0;
  #nowMs = 0;
  /** Statements until the end of the process, before one or within the next commit. */
  #left = Infinity;
  #isWithinCommit = false;
  /** The files that the process has left. */
  #remains: Files | null = null;
  /** The last record of the last commit that returned. */
  #committed = 0;

  private constructor(
    seed: number,
    folder: string,
    records: readonly KeptRecord[],
    marks: readonly ChainMark[],
  ) {
    this.#random = new Random(seed);
    this.#folder = folder;
    this.#records = records;
    this.#marks = marks;
  }

  static async start(seed: number): Promise<CrashRun> {
    const folder = folderOf();
    const history = new History(seed, RECORDS);
    const store = await StoreProcess.start({ folder, history });
    const marks: ChainMark[] = [];
    for (let batch = 0; batch < RECORDS / 5; batch++) {
      await store.commit(1, 5);
      const { sequence, chain } = store.journal.mark!;
      marks.push({ sequence, chain: Buffer.from(chain) });
    }
    await store.close();
    return new CrashRun(seed, folder, history.records, marks);
  }

  /** Begins with an empty archive. */
  begin(): void {
    this.#whole.discard();
    this.#whole = new Book();
    this.#remains = new Map();
    this.#restart();
    makeAuditFile(realDisk, this.#folder);
    this.#markIndex = 0;
    this.#nowMs = 0;
    this.#committed = 0;
  }

  end(): void {
    this.#whole.discard();
    removeFolder(this.#folder);
  }

  /** True at the end of the log. */
  get isOver(): boolean {
    return this.#markIndex === this.#marks.length - 1;
  }

  get #mark(): ChainMark {
    return this.#marks[this.#markIndex]!;
  }

  /** A process starts, works, and ends at a random statement; then everything is compared. */
  crash(): void {
    const random = this.#random;
    this.#left = 1 + random.below(STATEMENTS[random.below(STATEMENTS.length)]!);
    this.#isWithinCommit = random.below(3) === 0;
    const { keeper, reports } = this.#keep();
    for (let step = 0; step < STEPS_MAX && this.#remains === null; step++) this.#step(keeper);
    // One that has worked for long is killed between two statements.
    this.#remains ??= filesIn(this.#folder);
    keeper.close();
    expect(reports.filter(({ kind }) => kind !== "failed" && kind !== "expired")).toEqual([]);
    this.#restart();
    this.#compare();
  }

  #keep() {
    const reports: { readonly kind: string }[] = [];
    const keeper = new HistoryKeeper({
      disk: realDisk,
      folder: this.#folder,
      storeId: STORE_ID,
      days: 1,
      nowMs: () => this.#nowMs,
      onReport: (report) => void reports.push(report),
      openSql: (name) => this.#mortal(openSqlWriter(name)),
      tailBytesMax: 1_500,
      imageMovesMin: 40,
      sliceMoves: 3,
    });
    return { keeper, reports };
  }

  #step(keeper: HistoryKeeper): void {
    const random = this.#random;
    const before = this.#committed;
    if (random.below(BATCH_ONCE) === 0 && !this.isOver) this.#markIndex += 1;
    const isRead = keeper.followSlice(this.#mark);
    if (isRead === true && random.below(2) === 0) keeper.archiveSlice();
    if (random.below(RETENTION_ONCE) === 0) {
      this.#nowMs = this.#records[this.#mark.sequence - 1]!.timeMs + DAY_MS - 1;
    }
    const archived = keeper.history?.archive.sequence;
    if (archived === undefined) return;
    this.#committed = archived;
    if (archived > before) this.archived += 1;
  }

  /** Ends the process at a statement: before it, or within a commit. */
  #mortal(sql: SqlFile): SqlFile {
    sql.execute(`PRAGMA wal_autocheckpoint = ${1 + this.#random.below(60)}`);
    const step = <Value>(act: () => Value, isCommit = false): Value => {
      if (this.#remains !== null) throw new ProcessDied();
      this.#left -= 1;
      if (this.#left > 0 || (this.#isWithinCommit && !isCommit)) return act();
      const before = filesIn(this.#folder);
      this.#remains = before;
      if (this.#isWithinCommit) {
        act();
        this.withinCommits += 1;
        this.#remains = this.#cut(before, filesIn(this.#folder));
      }
      throw new ProcessDied();
    };
    return {
      statementCount: 0,
      get isInTransaction() {
        return sql.isInTransaction;
      },
      execute: (text) => step(() => sql.execute(text), text === "COMMIT"),
      run: (...statement) => step(() => sql.run(...statement)),
      rows: (...statement) => step(() => [...sql.rows(...statement)]),
      list: (...statement) => step(() => sql.list(...statement)),
      row: (...statement) => step(() => sql.row(...statement)),
      close: () => sql.close(),
    };
  }

  /** Any sector of a file that was not synced may be the old one. */
  #cut(before: Files, after: Files): Files {
    const [file, wal] = [AUDIT_FILE, `${AUDIT_FILE}-wal`].map((one) =>
      path.join(this.#folder, one),
    );
    // The file itself changes only after the write-ahead log was synced.
    const isCheckpoint = !before.get(file!)!.equals(after.get(file!)!);
    const mixed = isCheckpoint ? file! : wal!;
    const old = Buffer.from(before.get(mixed) ?? []);
    // SQLite syncs the head of a log that begins again before it overwrites a frame.
    if (!isCheckpoint) after.get(mixed)!.copy(old, 0, 0, WAL_HEAD_BYTES);
    const bytes = this.#mix(old, after.get(mixed)!);
    return new Map([...(isCheckpoint ? after : before), [mixed, bytes]]);
  }

  #mix(before: Buffer, after: Buffer): Buffer {
    const random = this.#random;
    const mixed = Buffer.from(after);
    const changed = [];
    for (let at = 0; at < after.length; at += SECTOR_BYTES) {
      const [early, late] = [before, after].map((one) => one.subarray(at, at + SECTOR_BYTES));
      if (!early!.equals(late!)) changed.push(at);
    }
    const isPrefix = random.below(2) === 0;
    const until = random.below(changed.length + 1);
    for (const [index, at] of changed.entries()) {
      const isOld = isPrefix ? index >= until : random.below(2) === 0;
      if (!isOld) continue;
      mixed.fill(0, at, at + SECTOR_BYTES);
      before.copy(mixed, at, at, at + SECTOR_BYTES);
    }
    return mixed;
  }

  /** Puts the files back as the ended process left them. */
  #restart(): void {
    for (const name of fs.readdirSync(this.#folder)) {
      if (name.startsWith(AUDIT_FILE)) fs.rmSync(path.join(this.#folder, name));
    }
    for (const [name, bytes] of this.#remains!) fs.writeFileSync(name, bytes);
    this.#remains = null;
    this.#left = Infinity;
  }

  /** All answers, with those of a history that never archives. */
  #compare(): void {
    const { keeper, reports } = this.#keep();
    let isRead: boolean | null = null;
    while (isRead === null) isRead = keeper.followSlice(this.#mark);
    expect(isRead).toBe(true);
    const { sequence } = this.#mark;
    this.#whole.feed(this.#records.slice(0, sequence));
    const history = keeper.history!;
    const { sequence: archived, row } = history.archive;
    const { firstSequence } = row;
    expect(archived).toBeGreaterThanOrEqual(this.#committed);
    if (firstSequence > 1) this.expired += 1;
    const range = sequence - firstSequence + 2;
    const moment = { sequence: firstSequence - 1 + this.#random.below(range) };
    for (const question of questionsAbout(this.#records.slice(0, sequence), moment)) {
      const isMap = "moment" in question;
      if (isMap && this.#random.below(MAPS_ONCE) > 0) continue;
      const found = valueOf(history, question, firstSequence);
      const wanted = valueOf(this.#whole, question, firstSequence);
      // Twenty times as fast as to expect it.
      if (!isDeepStrictEqual(found, wanted)) expect(found).toEqual(wanted);
    }
    keeper.close();
    expect(reports.filter(({ kind }) => kind !== "expired")).toEqual([]);
    readSqlFile(path.join(this.#folder, AUDIT_FILE), (sql) => {
      expect(problemIn(sql, "integrity_check")).toBeNull();
      checkRows(sql);
    });
  }
}

function questionsAbout(
  records: readonly KeptRecord[],
  moment: { readonly sequence: number },
): AuditQuestion[] {
  const puts = records.flatMap(({ record }) => {
    return record.type === RecordType.CATALOG ? record.puts : [];
  });
  const replies = puts.flatMap(({ table, row }) => (table === "replies" ? [row.id] : []));
  return [
    ...eventIdsIn(records).flatMap((eventId): AuditQuestion[] => [
      { about: "owner", eventId },
      { about: "transitions", eventId, query: { ...QUERY, fromSequence: moment.sequence + 1 } },
      { about: "changes", eventId, since: moment.sequence, limit: 1_000 },
      { about: "seats", eventId, moment, query: QUERY },
      { about: "areas", eventId, moment },
    ]),
    ...replies.map((id): AuditQuestion => ({ about: "reply", id })),
  ];
}

/** The answer; "gone" for an event deleted before its retained past. */
function valueOf(book: OpenHistory, question: AuditQuestion, firstSequence: number): unknown {
  if ("eventId" in question) {
    const event = book.histories.eventOf(question.eventId);
    if ((event?.removed ?? (event === undefined ? 0 : Infinity)) < firstSequence) return "gone";
  }
  const { extent: _, ...answer } = drain(book.answers.answer(question));
  return answer;
}
