/**
 * `npm run bench:audit`: the audit trail of one event: how fast it takes records, and what a page
 * of it and of a past map cost then. In one process, without the log and without HTTP.
 */
import { mkdtemp, rm, stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { Admission, type Journal } from "../engine/ports.ts";
import type { AuditQuestion } from "../engine/queries/audit-trail.ts";
import type { LogRecord } from "../engine/records.ts";
import { AuditBook } from "../persistence/audit/trail.ts";
import { Hall } from "./in-process/hall.ts";

const [seatCount = 50_000, transitionCount = 500_000] = process.argv.slice(2).map(Number);
/** A lock and an unlock of two seats. */
const TRANSITIONS_A_TURN = 4;
const TURNS_A_STEP = 5_000;
const ROUNDS = 5;

interface Taken {
  readonly timeMs: number;
  readonly record: LogRecord;
}

/** Keeps what was appended since it was last asked, and calls it durable at once. */
class KeptRecords implements Journal {
  #kept: Taken[] = [];
  durable: (sequence: number) => void = () => undefined;

  admission(): Admission {
    return Admission.OPEN;
  }

  append(_sequence: number, timeMs: number, record: LogRecord): Admission {
    this.#kept.push({ timeMs, record });
    return Admission.OPEN;
  }

  taken(): readonly Taken[] {
    const kept = this.#kept;
    this.#kept = [];
    return kept;
  }
}

const folder = await mkdtemp(path.join(os.tmpdir(), "frontrow-bench-"));
try {
  const file = path.join(folder, "audit.sqlite");
  const book = new AuditBook(file, "00000000-0000-4000-8000-000000000000");
  const journal = new KeptRecords();
  const hall = new Hall(seatCount, journal);
  const show = hall.openShow();
  const setUp = journal.taken();
  const prices = measure(() => take(book, setUp));
  say(`${seatCount} seats put on sale`, seatCount, prices);
  let bookings = { wallMs: 0, cpuMs: 0 };
  const turns = Math.ceil(transitionCount / TRANSITIONS_A_TURN);
  for (let done = 0; done < turns; done += TURNS_A_STEP) {
    for (let i = 0; i < Math.min(TURNS_A_STEP, turns - done); i++) {
      const first = (2 * (done + i)) % (seatCount - 1);
      hall.submit(hall.booking("lock", show, first));
      hall.submit(hall.booking("unlock", show, first));
    }
    const records = journal.taken();
    const step = measure(() => take(book, records));
    bookings = { wallMs: bookings.wallMs + step.wallMs, cpuMs: bookings.cpuMs + step.cpuMs };
  }
  say("locks and unlocks", TRANSITIONS_A_TURN * turns, bookings);
  const bytes = (await stat(file)).size / book.written;
  process.stdout.write(`${book.written} transitions, ${bytes.toFixed(0)} bytes each\n`);
  ask(book, show);
  book.close();
} finally {
  await rm(folder, { recursive: true });
}

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

function measure(act: () => void): Cost {
  const [startMs, cpu] = [performance.now(), process.cpuUsage()];
  act();
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs: performance.now() - startMs, cpuMs: (user + system) / 1_000 };
}

function take(book: AuditBook, records: readonly Taken[]): void {
  const first = book.trail.sequence + 1;
  const mark = { sequence: book.trail.sequence + records.length, chain: new Uint8Array(16) };
  for (const [i, { timeMs, record }] of records.entries()) {
    book.take(first + i, timeMs, record, mark);
  }
  book.keep(mark);
}

function say(what: string, rows: number, { wallMs, cpuMs }: Cost): void {
  const rate = (ms: number) => Math.round((rows / ms) * 1_000).toLocaleString("en");
  const rates = `${rate(wallMs)} transitions a second, ${rate(cpuMs)} a second of CPU`;
  process.stdout.write(`${what}: ${rates}\n`);
}

function ask(book: AuditBook, eventId: string): void {
  const last = book.trail.sequence;
  const page = { newestFirst: false, offset: 0, limit: 100 };
  const seats = { sort: [], offset: 0, limit: 100 };
  const map = (sequence: number, offset: number): AuditQuestion => {
    return { about: "seats", eventId, moment: { sequence }, query: { ...seats, offset } };
  };
  const trail = (query: object): AuditQuestion => {
    return { about: "transitions", eventId, query: { ...page, ...query } };
  };
  const questions: readonly (readonly [string, (round: number) => AuditQuestion])[] = [
    ["the map half way back, first page", (round) => map(Math.floor(last / 2) + round, 0)],
    ["the same map, another page", () => map(Math.floor(last / 2) + 1, 500)],
    ["the map at the end, first page", (round) => map(last - round, 0)],
    ["newest transitions", () => trail({ newestFirst: true })],
    ["transitions of a range of records", () => trail({ fromSequence: last - 1_000 })],
    ["transitions of a session", () => trail({ session: "bench-0" })],
  ];
  for (const [what, question] of questions) {
    const costs = Array.from({ length: ROUNDS }, (_, round) =>
      measure(() => answer(book, question(round))),
    ).sort((a, b) => a.wallMs - b.wallMs);
    const { wallMs, cpuMs } = costs[ROUNDS >> 1]!;
    process.stdout.write(`${what}: ${wallMs.toFixed(1)} ms, CPU ${cpuMs.toFixed(1)} ms\n`);
  }
}

function answer(book: AuditBook, question: AuditQuestion): void {
  const { gap } = book.answer(question);
  if (gap !== null) throw new Error(`no answer: ${gap}`);
}
