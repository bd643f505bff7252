/**
 * `npm run bench:audit`: how fast the audit trail takes records in memory and follows a log, how
 * large it gets, and how long its queries take. Everything runs on one thread, without HTTP.
 */
import { stat } from "node:fs/promises";
import path from "node:path";
import type { AuditQuestion } from "../engine/queries/audit-trail.ts";
import type { LogRecord } from "../engine/records.ts";
import { OpenTrail } from "../persistence/audit/trail.ts";
import { folder, inTemporaryFolder, number, parseOptions } from "./harness/command.ts";
import { spreadOf } from "./harness/measure.ts";
import { report, verdict } from "./harness/results.ts";
import { measureSteps, newSteps } from "./harness/steps.ts";
import { print, table, withCommas } from "./harness/table.ts";
import { EngineVenue } from "./in-process/engine-venue.ts";
import { type Followed, measureFollowing } from "./trail/following.ts";
import { measureHistories } from "./trail/seat-history.ts";

const options = parseOptions(
  "bench:audit",
  "Measures the audit trail: following a log, taking records, and answering queries.",
  {
    seats: number(50_000, "seats of an event"),
    transitions: number(500_000, "transitions by locks and unlocks of two seats"),
    records: number(1_000_000, "records of the log that is followed"),
    rounds: number(5, "how often it is followed"),
    history: number(50_000_000, "transitions among which the history of a seat is found"),
    folder,
  },
);
const { seats: seatCount, transitions, records: recordCount, rounds } = options;
/** A lock and an unlock of two seats. */
const TRANSITIONS_PER_TURN = 4;
const TURNS_PER_STEP = 5_000;
const QUERY_RUNS = 5;
/** Events of the log that is followed. */
const EVENTS = 4;
const RECORDS_PER_SECOND_MIN = 200_000;
const BYTES_MAX = 50;
const HISTORY_MS_MAX = 5;

await inTemporaryFolder(options.folder, async (data) => {
  const file = path.join(data, "audit.sqlite");
  const trail = new OpenTrail(file, "00000000-0000-4000-8000-000000000000");
  await measureQueries(trail, measureTaking(trail));
  trail.close();
  const bytes = (await stat(file)).size / trail.written;
  print(`\n${trail.written} transitions, ${bytes.toFixed(0)} bytes each\n`);
});
const log = { events: EVENTS, seats: seatCount, records: recordCount };
const followed = await inTemporaryFolder(options.folder, (data) =>
  measureFollowing(data, log, rounds),
);
const histories = await inTemporaryFolder(options.folder, async (data) =>
  measureHistories(path.join(data, "audit.sqlite"), options.history),
);
const perSecond = (of: (one: Followed) => number) => spreadOf(followed.map(of));
const verdicts = [
  verdict(
    "records followed per second",
    { atLeast: RECORDS_PER_SECOND_MIN },
    perSecond(({ records, seconds }) => records / seconds),
  ),
  verdict(
    "records followed per second of processor time",
    { atLeast: RECORDS_PER_SECOND_MIN },
    perSecond(({ records, cpuSeconds }) => records / cpuSeconds),
  ),
  verdict(
    "transitions followed per second",
    { atLeast: RECORDS_PER_SECOND_MIN },
    perSecond((one) => one.transitions / one.seconds),
  ),
  verdict(
    "bytes of the trail per transition",
    { atMost: BYTES_MAX },
    perSecond((one) => one.bytes / one.transitions),
  ),
  verdict(
    `ms for the history of a seat among ${withCommas(histories.transitions)} transitions`,
    { atMost: HISTORY_MS_MAX },
    histories.seatMs,
  ),
  verdict(
    `ms for the history of a session among ${withCommas(histories.transitions)} transitions`,
    { atMost: HISTORY_MS_MAX },
    histories.sessionMs,
  ),
];
await report("audit", options.folder, { verdicts, followed, histories });

interface Recorded {
  readonly timeMs: number;
  readonly record: LogRecord;
}

/** @returns The event. */
function measureTaking(trail: OpenTrail): string {
  const records: Recorded[] = [];
  const venue = EngineVenue.inMemory(seatCount, (timeMs, record) => {
    records.push({ timeMs, record });
  });
  const eventId = venue.openEvent();
  const onSale = { transitions: 0, wallMs: 0, cpuMs: 0 };
  takeAll(trail, records, onSale);
  const bookings = { transitions: 0, wallMs: 0, cpuMs: 0 };
  for (let turn = 0; turn < transitions / TRANSITIONS_PER_TURN; turn++) {
    const first = (2 * turn) % (seatCount - 1);
    venue.submit(venue.booking("lock", eventId, first));
    venue.submit(venue.booking("unlock", eventId, first));
    if (turn % TURNS_PER_STEP === 0) takeAll(trail, records, bookings);
  }
  takeAll(trail, records, bookings);
  const named = { [`${seatCount} seats put on sale`]: onSale, "locks and unlocks": bookings };
  const rows = Object.entries(named).map(([name, { transitions: count, wallMs, cpuMs }]) => {
    return [name, ...[wallMs, cpuMs].map((ms) => withCommas((count / ms) * 1_000))];
  });
  print(table(["transitions taken", "per second", "per second of CPU"], rows));
  return eventId;
}

/** Passes the records to the trail, empties the list, and adds the cost. */
function takeAll(
  trail: OpenTrail,
  records: Recorded[],
  cost: { transitions: number; wallMs: number; cpuMs: number },
): void {
  const { written } = trail;
  const { sequence } = trail.row;
  const mark = { sequence: sequence + records.length, chain: new Uint8Array(16) };
  const [startMs, startCpu] = [performance.now(), process.cpuUsage()];
  for (const [i, { timeMs, record }] of records.entries()) {
    trail.add(sequence + 1 + i, timeMs, record, mark);
  }
  trail.commit(mark);
  cost.wallMs += performance.now() - startMs;
  const { user, system } = process.cpuUsage(startCpu);
  cost.cpuMs += (user + system) / 1_000;
  cost.transitions += trail.written - written;
  records.length = 0;
}

async function measureQueries(trail: OpenTrail, eventId: string): Promise<void> {
  const last = trail.row.sequence;
  const seats = { sort: [], offset: 0, limit: 100 };
  const map = (sequence: number, offset: number): AuditQuestion => {
    return { about: "seats", eventId, moment: { sequence }, query: { ...seats, offset } };
  };
  const page = { sort: [], offset: 0, limit: 100 };
  const transitionsBy = (query: object): AuditQuestion => {
    return { about: "transitions", eventId, query: { ...page, ...query } };
  };
  const halfway = Math.floor(last / 2);
  // Each run asks for another moment, so that no map comes from a cache.
  let run = 0;
  const questions: Readonly<Record<string, () => AuditQuestion>> = {
    "map halfway back, first page": () => map(halfway + ++run, 0),
    "the same map, another page": () => map(halfway + run, 500),
    "map at the end, first page": () => map(last - ++run, 0),
    "newest transitions": () =>
      transitionsBy({ sort: [{ property: "sequence", descending: true }] }),
    "transitions in a range of records": () => transitionsBy({ fromSequence: last - 1_000 }),
    "transitions of a session": () => transitionsBy({ session: "bench-0" }),
  };
  const queries = newSteps(QUERY_RUNS);
  for (const [name, question] of Object.entries(questions)) {
    queries.add(name, () => {
      const { gap } = trail.answer(question());
      if (gap !== null) throw new Error(`no answer: ${gap}`);
    });
  }
  await measureSteps("query", queries, { unit: "ms" });
}
