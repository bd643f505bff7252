/**
 * Reads the file of the audit trail beside the thread that writes it. Askers take turns of one
 * slice, so a long question delays no other asker, and no slice keeps the writer from reusing its
 * write-ahead log. For use by one thread.
 */
import { type BookingState, SeatState } from "../../engine/inventory/states.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type ChangePage,
  type EventChange,
  type SeatAfter,
  type TrailExtent,
} from "../../engine/queries/history.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { messageOf } from "../disk/faults.ts";
import { openSqlReader, type SqlFile } from "../disk/sqlite.ts";
import type { StartThread, Thread, ThreadPort } from "../disk/worker.ts";
import { AuditAnswering } from "./answers.ts";
import { AUDIT_FILE, extentOf, readTrail } from "./file.ts";
import type { AuditReport } from "./keeper.ts";
import { type Slices, Turns } from "./slices.ts";

export interface ReaderOptions {
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  readonly send: (message: FromReader) => void;
  /** As in `AuditAnswering`. */
  readonly sliceRows?: number | undefined;
}

type Outcome = AuditOutcome<AuditAnswers[AuditTopic]>;

/** The file as it is open now. */
interface OpenFile {
  readonly sql: SqlFile;
  readonly answering: AuditAnswering;
}

/** A question, and its slices once it has begun. */
interface Asked extends AskReader {
  begun: { readonly file: OpenFile; readonly slices: Slices<Outcome> } | null;
}

const SETTINGS = "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096";
const UNAVAILABLE: Outcome = { gap: AuditGap.UNAVAILABLE, extent: null };

export class AuditReader {
  readonly #options: ReaderOptions;
  readonly #turns = new Turns();
  /** Questions without an answer that somebody waits for. */
  readonly #wanted = new Set<number>();
  #file: OpenFile | null = null;
  /** As in the last question. */
  #opened = 0;
  /** The failure that was reported last. */
  #failure: string | null = null;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  ask(question: AskReader): void {
    if (question.opened !== this.#opened) this.close();
    this.#opened = question.opened;
    const asked: Asked = { ...question, begun: null };
    this.#wanted.add(asked.id);
    this.#turns.add(question.asker, () => this.#step(asked));
  }

  /** Ends the work on a question. It is not answered. */
  drop(id: number): void {
    this.#wanted.delete(id);
  }

  /** Runs one slice of one question. @returns Whether questions are left. */
  step(): boolean {
    this.#turns.step();
    return !this.#turns.isEmpty;
  }

  /** Closes the file. Questions that have begun are not answered; the next one opens it again. */
  close(): void {
    const file = this.#file;
    this.#file = null;
    file?.sql.close();
  }

  /** @returns Whether the work on the question has ended. */
  #step(asked: Asked): boolean {
    if (!this.#wanted.has(asked.id)) {
      asked.begun?.slices.return(UNAVAILABLE);
      return true;
    }
    let outcome: Outcome | null;
    try {
      outcome = this.#slice(asked);
      if (outcome === null) return false;
      this.#failure = null;
    } catch (error) {
      this.#fail(error);
      outcome = UNAVAILABLE;
    }
    this.#wanted.delete(asked.id);
    this.#answered(asked, outcome);
    return true;
  }

  #answered({ id, question }: Asked, outcome: Outcome): void {
    const isFailing = this.#failure !== null;
    if (question.about === "changes" && outcome.gap === null) {
      const page = sentPage(outcome.value as AuditAnswers["changes"]);
      this.#options.send({ kind: "changes", id, extent: outcome.extent, page });
    } else this.#options.send({ kind: "answer", id, outcome, isFailing });
  }

  /** @returns The answer; null when the question needs more slices. */
  #slice(asked: Asked): Outcome | null {
    const file = (this.#file ??= this.#open());
    asked.begun ??= { file, slices: this.#answer(file, asked.question) };
    // The trail was replaced meanwhile.
    if (asked.begun.file !== file) return UNAVAILABLE;
    file.sql.execute("BEGIN");
    const { done, value } = asked.begun.slices.next();
    file.sql.execute("COMMIT");
    return done === true ? value : null;
  }

  /** Begins again when the retention has removed rows while they were read. */
  *#answer({ sql, answering }: OpenFile, question: AuditQuestion): Slices<Outcome> {
    const { storeId } = this.#options;
    for (;;) {
      const extent = extentOf(readTrail(sql, storeId));
      const outcome = yield* answering.answer(question, extent);
      if (readTrail(sql, storeId).firstSequence === extent.firstSequence) return outcome;
    }
  }

  #open(): OpenFile {
    const { folder, sliceRows } = this.#options;
    const sql = openSqlReader(`${folder}/${AUDIT_FILE}`);
    sql.execute(SETTINGS);
    return { sql, answering: new AuditAnswering(sql, sliceRows) };
  }

  /** Reports the same failure once, however often it happens. */
  #fail(error: unknown): void {
    this.close();
    const failure = messageOf(error);
    if (failure !== this.#failure) {
      this.#options.send({ kind: "report", report: { kind: "failed", failure } });
    }
    this.#failure = failure;
  }
}

// The reading thread of the audit trail, as the engine's thread sees it. It starts with the first
// question, and again with the next one after it has ended by itself.

/** The data that the thread starts with. */
export type ReaderData = Pick<StorePlace, "folder" | "storeId">;

interface AskReader {
  readonly kind: "ask";
  readonly id: number;
  /** As by `askerOf`. */
  readonly asker: string;
  readonly question: AuditQuestion;
  /** As in `AuditKeeper`. */
  readonly opened: number;
}

/** Messages to the thread, in order. */
export type ToReader =
  | AskReader
  /** Nobody waits for the answer to this question. */
  | { readonly kind: "drop"; readonly id: number }
  | { readonly kind: "end" };

/** Messages from the thread, as they are received. */
export type Received =
  | {
      readonly kind: "answer";
      readonly id: number;
      readonly outcome: AuditOutcome<AuditAnswers[AuditTopic]>;
      /** Whether the trail could not be read. */
      readonly isFailing: boolean;
    }
  | { readonly kind: "report"; readonly report: AuditReport };

/** Messages from the thread. */
export type FromReader =
  | Received
  /** The answer to a question about changes. */
  | {
      readonly kind: "changes";
      readonly id: number;
      readonly extent: TrailExtent;
      readonly page: SentPage;
    };

export type StartReader = StartThread<ReaderData, ToReader, FromReader>;

export interface ReadingThreadOptions extends ReaderData {
  readonly startReader: StartReader;
  readonly onMessage: (message: Received) => void;
}

export class ReadingThread {
  readonly #options: ReadingThreadOptions;
  /** Questions without an answer. */
  readonly #asked = new Set<number>();
  #thread: Thread<ToReader> | null = null;
  #onExit = () => {};

  constructor(options: ReadingThreadOptions) {
    this.#options = options;
  }

  ask(question: AskReader): void {
    this.#asked.add(question.id);
    this.#thread ??= this.#start();
    this.#thread.post(question);
    this.#thread.keepAlive(true);
  }

  /** Ends the work on a question, after its present slice. */
  drop(id: number): void {
    if (!this.#asked.delete(id)) return;
    this.#thread!.post({ kind: "drop", id });
    if (this.#asked.size === 0) this.#thread!.keepAlive(false);
  }

  /** Settles when the thread has ended, after its present slice. */
  async close(): Promise<void> {
    const thread = this.#thread;
    if (thread === null) return;
    const exited = new Promise<void>((resolve) => (this.#onExit = resolve));
    thread.post({ kind: "end" });
    thread.keepAlive(true);
    await exited;
  }

  /** Ends the thread at once. */
  terminate(): void {
    void this.#thread?.terminate();
  }

  #start(): Thread<ToReader> {
    const { folder, storeId, startReader, onMessage } = this.#options;
    return startReader(
      { folder, storeId },
      {
        message: (message) => {
          if (message.kind !== "report") this.#asked.delete(message.id);
          if (this.#asked.size === 0) this.#thread?.keepAlive(false);
          onMessage(message.kind === "changes" ? answerWith(message) : message);
        },
        error: ({ message: failure }) => {
          onMessage({ kind: "report", report: { kind: "failed", failure } });
        },
        exit: () => this.#exit(),
      },
    );
  }

  #exit(): void {
    this.#thread = null;
    const outcome = { gap: AuditGap.UNAVAILABLE, extent: null };
    for (const id of this.#asked) {
      this.#options.onMessage({ kind: "answer", id, outcome, isFailing: true });
    }
    this.#asked.clear();
    this.#onExit();
  }
}

function answerWith({ id, extent, page }: Extract<FromReader, { readonly kind: "changes" }>) {
  const outcome = { gap: null, value: receivedPage(page), extent } as const;
  return { kind: "answer", id, outcome, isFailing: false } as const;
}

// Changes on their way from the reading thread. A change may be of 200,000 seats: to receive an
// object for each of them would stop the engine's thread for a tenth of a second.

/** Four numbers for each seat: its id, its state, its price id, and the end of its hold. */
const SEAT_NUMBERS = 4;
/** For null: no price has this id, and no hold ends then. */
const NOTHING = 0;

export interface SentChange extends Omit<EventChange, "seats"> {
  readonly seats: Float64Array;
}

interface SentPage extends Omit<ChangePage, "changes"> {
  readonly changes: readonly SentChange[];
}

export function sentPage({ changes, ...page }: ChangePage): SentPage {
  return { ...page, changes: changes.map((change) => ({ ...change, seats: sent(change.seats) })) };
}

/** Cost: O(seats), about ten milliseconds for 200,000. */
export function receivedPage({ changes, ...page }: SentPage): ChangePage {
  const received = changes.map((change) => ({ ...change, seats: seatsOf(change.seats) }));
  return { ...page, changes: received };
}

function sent(seats: readonly SeatAfter[]): Float64Array {
  const numbers = new Float64Array(SEAT_NUMBERS * seats.length);
  for (const [index, { id, state, priceId, expiresAtMs }] of seats.entries()) {
    const listed = state ?? SeatState.UNPRICED;
    const ofSeat = [id, listed, priceId ?? NOTHING, expiresAtMs ?? NOTHING];
    numbers.set(ofSeat, SEAT_NUMBERS * index);
  }
  return numbers;
}

function seatsOf(numbers: Float64Array): SeatAfter[] {
  const seats: SeatAfter[] = [];
  for (let i = 0; i < numbers.length; i += SEAT_NUMBERS) {
    const state = numbers[i + 1]!;
    seats.push({
      id: numbers[i]!,
      state: state === SeatState.UNPRICED ? null : (state as BookingState),
      priceId: numbers[i + 2]! || null,
      expiresAtMs: numbers[i + 3]! || null,
    });
  }
  return seats;
}

// The work of the reading thread: handles the messages of `reader.ts`.

export interface ReadingOptions extends ReaderData {
  /** Runs the task after the messages that have arrived. */
  readonly soon: (task: () => void) => void;
}

/** Handles messages until "end", then closes the port. */
export function serveReading(port: ThreadPort<ToReader>, options: ReadingOptions): void {
  const { soon, ...data } = options;
  const reader = new AuditReader({ ...data, send: (message) => port.postMessage(message) });
  let isRunning = false;
  let hasEnded = false;
  const run = () => {
    if (hasEnded) return;
    isRunning = reader.step();
    if (isRunning) soon(run);
  };
  port.on("message", (message: ToReader) => {
    switch (message.kind) {
      case "ask":
        reader.ask(message);
        if (!isRunning) soon(run);
        isRunning = true;
        return undefined;
      case "drop":
        return reader.drop(message.id);
      case "end":
        hasEnded = true;
        reader.close();
        return port.close();
    }
    return message satisfies never;
  });
}
