/** The reader of the audit trail: whose turn it is, and what it sees while the trail is written. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { AuditGap, type AuditQuestion } from "../../../engine/queries/history.ts";
import { AUDIT_FILE, openAuditFile } from "../../../persistence/audit/file.ts";
import {
  AuditReader,
  type FromReader,
  serveReading,
  type ToReader,
} from "../../../persistence/audit/reader.ts";
import { OpenTrail } from "../../../persistence/audit/keeper.ts";
import { Workload } from "../../sim/workload/workload.ts";
import { LocalThread } from "../../support/store.ts";
import { folderOf } from "../store/store-fixture.ts";
import { AUDIT_STORE, feed, openBook, transitionsOf } from "./audit-fixture.ts";

const workload = new Workload(3);
for (let step = 0; step < 1_500; step++) workload.step();
const { kept } = workload.bench.journal;
const [eventId] = workload.bench.engine.state.catalog.events.keys() as Iterable<string> as [string];
const half = kept.slice(0, kept.length >> 1);
const last = half.at(-1)!.sequence;

/** Every transition of the event, in many slices. */
const ALL = page(100_000);

function page(limit: number, fromSequence = 0): AuditQuestion {
  const query = { fromSequence, sort: [], offset: 0, limit };
  return { about: "transitions", eventId, query };
}

function seatsAt(sequence: number, event = eventId): AuditQuestion {
  const query = { sort: [], offset: 0, limit: 10 };
  return { about: "seats", eventId: event, moment: { sequence }, query };
}

/** A reader of a trail of half of the records, in slices of a few transitions. */
class Reading {
  readonly folder = folderOf();
  readonly file = path.join(this.folder, AUDIT_FILE);
  readonly book: OpenTrail = openBook(this.file);
  readonly said: FromReader[] = [];
  readonly reader: AuditReader;
  /** As in `AskReader`. */
  opened = 1;
  #asked = 0;

  constructor() {
    feed(this.book, half);
    const send = (message: FromReader) => void this.said.push(message);
    const { folder } = this;
    this.reader = new AuditReader({ folder, storeId: AUDIT_STORE, send, sliceRows: 10 });
    onTestFinished(() => {
      this.reader.close();
      this.book.close();
    });
  }

  /** @returns The id of the question. */
  ask(asker: string, question: AuditQuestion): number {
    const id = this.#asked++;
    this.reader.ask({ kind: "ask", id, asker, question, opened: this.opened });
    return id;
  }

  steps(count: number): void {
    for (let i = 0; i < count; i++) this.reader.step();
  }

  /** Runs until no question is left. @returns Their ids, in the order of the answers. */
  finish(): readonly number[] {
    while (this.reader.step());
    return this.answered();
  }

  answered(): readonly number[] {
    return this.said.flatMap((message) => (message.kind === "answer" ? [message.id] : []));
  }

  answerTo(id: number) {
    const answer = this.said.find((message) => message.kind === "answer" && message.id === id);
    return answer?.kind === "answer" ? answer.outcome : undefined;
  }
}

test("four long reads of one organization do not delay a short read of another", () => {
  const reading = new Reading();
  const long = [ALL, seatsAt(last - 1), ALL, seatsAt(last - 2)].map((question) =>
    reading.ask("1", question),
  );
  reading.steps(3);
  const short = reading.ask("2", page(1, last));
  reading.steps(4);
  expect(reading.answered()).toEqual([short]);
  expect(reading.finish()).toEqual([short, ...long]);
});

test("the trail is written while a question is read, which sees only what it had", () => {
  const reading = new Reading();
  const before = transitionsOf(reading.book, eventId);
  const first = reading.ask("1", ALL);
  reading.steps(2);
  feed(reading.book, kept);
  const second = reading.ask("2", ALL);
  reading.finish();
  const after = transitionsOf(reading.book, eventId);
  expect(after.length).toBeGreaterThan(before.length);
  expect(reading.answerTo(first)).toEqual({
    gap: null,
    value: { transitions: before, total: before.length },
    extent: { firstSequence: 1, firstTimeMs: 0, lastSequence: last },
  });
  expect(reading.answerTo(second)).toMatchObject({
    value: { transitions: after, total: after.length },
    extent: { lastSequence: kept.at(-1)!.sequence },
  });
});

test("a question begins again when the retention removes rows while they are read", () => {
  const reading = new Reading();
  const asked = reading.ask("1", ALL);
  reading.steps(5);
  reading.book.removeBefore(half[half.length >> 1]!.timeMs);
  reading.finish();
  const left = transitionsOf(reading.book, eventId);
  const { firstSequence } = reading.book.row;
  expect(firstSequence).toBeGreaterThan(1);
  expect(reading.answerTo(asked)).toMatchObject({
    value: { transitions: left, total: left.length },
    extent: { firstSequence },
  });
});

test("when the file is replaced, what has begun is refused, and the rest reads the new one", () => {
  const reading = new Reading();
  const begun = reading.ask("1", ALL);
  const waiting = reading.ask("1", page(1));
  reading.steps(2);
  fs.renameSync(reading.file, `${reading.file}-old`);
  const empty = openBook(reading.file);
  onTestFinished(() => empty.close());
  reading.opened = 2;
  const next = reading.ask("2", page(1));
  reading.finish();
  expect(reading.answerTo(begun)).toMatchObject({ gap: AuditGap.UNAVAILABLE });
  for (const id of [waiting, next]) {
    const extent = { firstSequence: 1, firstTimeMs: 0, lastSequence: 0 };
    expect(reading.answerTo(id)).toEqual({ gap: AuditGap.NO_EVENT, extent });
  }
});

test("a file that cannot be read is reported once, and read again when that is possible", () => {
  const reading = new Reading();
  fs.renameSync(reading.file, `${reading.file}-away`);
  for (let i = 0; i < 2; i++) reading.ask("1", page(1));
  reading.finish();
  fs.renameSync(`${reading.file}-away`, reading.file);
  reading.ask("1", page(1));
  reading.finish();
  expect(reading.said).toMatchObject([
    { kind: "report", report: { kind: "failed", failure: "unable to open database file" } },
    { kind: "answer", id: 0, outcome: { gap: AuditGap.UNAVAILABLE }, isFailing: true },
    { kind: "answer", id: 1, outcome: { gap: AuditGap.UNAVAILABLE }, isFailing: true },
    { kind: "answer", id: 2, outcome: { gap: null }, isFailing: false },
  ]);
});

/** Adds an event with this many seats, whose only record is number 1. */
function addEvent(file: string, partition: number, seatCount: number): string {
  const id = `event ${partition}`;
  const guid = (name: string) => `00000000-0000-4000-8000-0000${name}`;
  const seats = Array.from({ length: seatCount }, (_, i) => {
    return { id: i + 10, guid: guid(`${i}`), rowGuid: "row", name: `${i}` };
  });
  const sectors = [{ id: 1, guid: "sector", name: "Hall", ga: false, type: "SECTION" }];
  const rows = [{ id: 2, guid: "row", sectorGuid: "sector", rowNumber: "1" }];
  const layout = JSON.stringify({ sectors, rows, seats });
  const sql = openAuditFile(file, AUDIT_STORE);
  sql.run("INSERT INTO layouts VALUES (?, 1, 1, ?)", 1_000 + partition, layout);
  const event = "INSERT INTO events VALUES (?, 1, 1, ?, 1, 1, ?, 'Opening', 'PUBLISHED')";
  sql.run(event, partition, id, 1_000 + partition);
  sql.close();
  return id;
}

test("large maps are built one at a time, and small ones beside them", () => {
  const reading = new Reading();
  const [first, second, small] = [30_000, 30_000, 50].map((seatCount, i) =>
    addEvent(reading.file, 5_000 + i, seatCount),
  ) as [string, string, string];
  const one = reading.ask("1", seatsAt(1, first));
  const two = reading.ask("2", seatsAt(1, second));
  const three = reading.ask("3", seatsAt(1, small));
  while (reading.answered().length < 2) reading.steps(1);
  expect(reading.answered()).toEqual([three, one]);
  // The layout, and seven slices of seats.
  reading.steps(7);
  expect(reading.answered()).toEqual([three, one]);
  expect(reading.finish()).toEqual([three, one, two]);
});

test("a question is dropped when nobody waits for it, and makes room for the next", () => {
  const reading = new Reading();
  const [first, second] = [30_000, 30_000].map((seatCount, i) =>
    addEvent(reading.file, 6_000 + i, seatCount),
  ) as [string, string];
  const long = reading.ask("1", ALL);
  const map = reading.ask("2", seatsAt(1, first));
  reading.steps(4);
  reading.reader.drop(long);
  reading.reader.drop(map);
  const [next, other] = [reading.ask("1", page(1, last)), reading.ask("2", seatsAt(1, second))];
  // One step for each that was dropped.
  reading.steps(2);
  expect(reading.finish()).toEqual([next, other]);
  expect(reading.answerTo(other)).toMatchObject({ gap: null, value: { total: 30_000 } });
  reading.reader.drop(next);
  expect(reading.reader.step()).toBe(false);
});

test("the service answers between its messages, and ends on request", () => {
  const { folder } = new Reading();
  const said: FromReader[] = [];
  const tasks: (() => void)[] = [];
  let hasEnded = false;
  const soon = (task: () => void) => void tasks.push(task);
  const service = new LocalThread<ToReader, FromReader>({
    serve: (port) => serveReading(port, { folder, storeId: AUDIT_STORE, soon }),
    events: {
      message: (message) => said.push(message),
      error: () => {},
      exit: () => (hasEnded = true),
    },
    later: (task) => task(),
  });
  const run = () => tasks.splice(0).forEach((task) => task());
  service.post({ kind: "ask", id: 1, asker: "1", question: seatsAt(last), opened: 1 });
  service.post({ kind: "ask", id: 2, asker: "2", question: page(1, last), opened: 1 });
  while (said.length < 2) {
    expect(tasks.length).toBe(1);
    run();
  }
  expect(said).toMatchObject([{ id: 1 }, { id: 2 }]);
  service.post({ kind: "ask", id: 3, asker: "1", question: seatsAt(last), opened: 1 });
  service.post({ kind: "end" });
  run();
  expect([hasEnded, said.length]).toEqual([true, 2]);
});
