/**
 * `npm run bench:audit`: how fast the audit trail of one event takes records, and how long its
 * queries take afterwards. Everything runs in one process, without the log and without HTTP.
 */
import { stat } from "node:fs/promises";
import path from "node:path";
import type { AuditQuestion } from "../engine/queries/audit-trail.ts";
import type { LogRecord } from "../engine/records.ts";
import { AuditBook } from "../persistence/audit/trail.ts";
import { medianOf } from "./harness/measure.ts";
import { folder, number, parseOptions } from "./harness/options.ts";
import { print, table, withCommas } from "./harness/table.ts";
import { inTemporaryFolder } from "./harness/temporary-folder.ts";
import { EngineVenue } from "./in-process/engine-venue.ts";

const options = parseOptions(
  "bench:audit",
  "Measures the audit trail of one event: taking records, and answering queries.",
  {
    seats: number(50_000, "seats of the event"),
    transitions: number(500_000, "transitions by locks and unlocks of two seats"),
    folder,
  },
);
const { seats: seatCount, transitions } = options;
/** A lock and an unlock of two seats. */
const TRANSITIONS_PER_TURN = 4;
const TURNS_PER_STEP = 5_000;
const ROUNDS = 5;

interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

await inTemporaryFolder(options.folder, async (data) => {
  const file = path.join(data, "audit.sqlite");
  const trail = new AuditBook(file, "00000000-0000-4000-8000-000000000000");
  const eventId = measureTaking(trail);
  const bytes = (await stat(file)).size / trail.written;
  print(`\n${trail.written} transitions, ${bytes.toFixed(0)} bytes each\n\n`);
  measureQueries(trail, eventId);
  trail.close();
});

/** @returns The event. */
function measureTaking(trail: AuditBook): string {
  let records: { timeMs: number; record: LogRecord }[] = [];
  const venue = EngineVenue.inMemory(seatCount, (timeMs, record) => {
    records.push({ timeMs, record });
  });
  const takeAll = () => {
    const first = trail.trail.sequence + 1;
    const mark = { sequence: trail.trail.sequence + records.length, chain: new Uint8Array(16) };
    for (const [i, { timeMs, record }] of records.entries()) {
      trail.take(first + i, timeMs, record, mark);
    }
    trail.keep(mark);
    records = [];
  };
  const eventId = venue.openEvent();
  const onSale = measure(takeAll);
  const bookings = { wallMs: 0, cpuMs: 0 };
  const turns = Math.ceil(transitions / TRANSITIONS_PER_TURN);
  for (let done = 0; done < turns; done++) {
    const first = (2 * done) % (seatCount - 1);
    venue.submit(venue.booking("lock", eventId, first));
    venue.submit(venue.booking("unlock", eventId, first));
    if ((done + 1) % TURNS_PER_STEP !== 0 && done + 1 < turns) continue;
    const { wallMs, cpuMs } = measure(takeAll);
    bookings.wallMs += wallMs;
    bookings.cpuMs += cpuMs;
  }
  const rates = (name: string, count: number, { wallMs, cpuMs }: Cost) => [
    name,
    ...[wallMs, cpuMs].map((ms) => withCommas((count / ms) * 1_000)),
  ];
  const rows = [
    rates(`${seatCount} seats put on sale`, seatCount, onSale),
    rates("locks and unlocks", TRANSITIONS_PER_TURN * turns, bookings),
  ];
  print(table(["transitions taken", "per second", "per second of CPU"], rows));
  return eventId;
}

function measureQueries(trail: AuditBook, eventId: string): void {
  const last = trail.trail.sequence;
  const seats = { sort: [], offset: 0, limit: 100 };
  const map = (sequence: number, offset: number): AuditQuestion => {
    return { about: "seats", eventId, moment: { sequence }, query: { ...seats, offset } };
  };
  const page = { newestFirst: false, offset: 0, limit: 100 };
  const transitionsBy = (query: object): AuditQuestion => {
    return { about: "transitions", eventId, query: { ...page, ...query } };
  };
  const questions: readonly (readonly [string, (round: number) => AuditQuestion])[] = [
    ["map halfway back, first page", (round) => map(Math.floor(last / 2) + round, 0)],
    ["the same map, another page", () => map(Math.floor(last / 2) + 1, 500)],
    ["map at the end, first page", (round) => map(last - round, 0)],
    ["newest transitions", () => transitionsBy({ newestFirst: true })],
    ["transitions in a range of records", () => transitionsBy({ fromSequence: last - 1_000 })],
    ["transitions of a session", () => transitionsBy({ session: "bench-0" })],
  ];
  const rows = questions.map(([name, question]) => {
    const costs = Array.from({ length: ROUNDS }, (_, round) =>
      measure(() => {
        const { gap } = trail.answer(question(round));
        if (gap !== null) throw new Error(`no answer: ${gap}`);
      }),
    );
    const median = (of: (cost: Cost) => number) => medianOf(costs.map(of)).toFixed(1);
    return [name, median(({ wallMs }) => wallMs), median(({ cpuMs }) => cpuMs)];
  });
  print(table(["query", "ms", "ms of CPU"], rows));
}

function measure(act: () => void): Cost {
  const [startMs, cpu] = [performance.now(), process.cpuUsage()];
  act();
  const { user, system } = process.cpuUsage(cpu);
  return { wallMs: performance.now() - startMs, cpuMs: (user + system) / 1_000 };
}
