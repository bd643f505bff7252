/**
 * The thread of the history. The engine's thread asks it; it reads the log when somebody asks, and
 * when the server has time. Questions are answered in slices, and askers take turns.
 */
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { FairQueue, TenantQuota } from "../../engine/bounds.ts";
import type { BookingState } from "../../engine/inventory/states.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type ChangePage,
  type EventChange,
  type SeatAfter,
  type WaitingClient,
} from "../../engine/queries/history.ts";
import type { Scheduler } from "../disk/clock.ts";
import type { Disk } from "../disk/disk.ts";
import {
  type Answering,
  emitterOf,
  LATER,
  type Reply,
  serve,
  threadAt,
  type StartWorker,
  type ThreadPort,
  type ToWorker,
  WorkerClient,
} from "../disk/worker.ts";
import type { ChainMark } from "../log/log-reader.ts";
import { isDamage } from "./archive.ts";
import type { Slices } from "./events.ts";
import { type AuditReport, HistoryKeeper, type KeeperOptions, type OpenHistory } from "./keeper.ts";

const FOLLOW_EVERY_MS = 1_000;
/**
 * The thread archives the log when it has not grown for a step. In a rush it reads after so many
 * records, because a question would have to read them all first.
 */
const BEHIND_RECORDS_MAX = 1_000_000;
/** On an idle log the thread runs once an hour, to apply the retention. */
const IDLE_STEPS_MAX = 3_600;
/** Waiting questions of one asker, and of all. */
export const ASKER_MAX = 64;
export const WAITING_MAX = 1_024;
/** Wait of a shutdown for the thread. The next start reads the records not archived by then. */
const END_MS_MAX = 5_000;

type Outcome = AuditOutcome<AuditAnswers[AuditTopic]>;

interface Asked {
  readonly id: number;
  readonly asker: string;
  readonly question: AuditQuestion;
  /** Null while the log has no record, and for other threads. */
  readonly mark: ChainMark | null;
}

interface HistoryState {
  /** As `HistoryKeeper.read`. */
  readonly read: number | null;
  readonly isFailing: boolean;
}

/** An outcome on its way: of changes, the seats as numbers. */
type Answer = HistoryState &
  (
    | { readonly outcome: Outcome; readonly page: null }
    | { readonly outcome: Outcome & { readonly gap: null }; readonly page: SentPage }
  );

/** The program `history-worker.ts`. */
export interface HistoryProgram {
  readonly data: Pick<KeeperOptions, "folder" | "storeId" | "days">;
  readonly requests: {
    /** Reads the log up to the mark, and archives what was read if it must. */
    readonly follow: (asked: {
      readonly mark: ChainMark;
      readonly mustArchive: boolean;
    }) => HistoryState;
    readonly ask: (asked: Asked) => Answer;
    /** Takes questions of another thread: see `PeerProgram`. */
    readonly connect: (peer: MessagePort) => void;
    /** Ends the work on a question, whose answer says UNAVAILABLE. */
    readonly drop: (id: number) => void;
    /** Archives all records up to the mark, and ends. */
    readonly end: (mark: ChainMark | null) => void;
  };
  readonly events: { readonly report: AuditReport };
}

/** The same program, as another thread than the engine's uses it. */
interface PeerProgram {
  readonly data: null;
  readonly requests: {
    /** Answers from everything that the engine's thread has asked for so far. */
    readonly ask: (question: AuditQuestion) => Answer;
  };
  readonly events: Readonly<Record<string, never>>;
}

/** As `HistoryThread.ask`, for one asker. */
export type AskHistory = <K extends AuditTopic>(
  question: AuditQuestion<K>,
) => Promise<AuditOutcome<AuditAnswers[K]>>;

export interface HistoryThreadOptions {
  readonly folder: string;
  readonly storeId: string;
  readonly days: number | null;
  readonly start: StartWorker<HistoryProgram>;
  readonly scheduler: Scheduler;
  /** @returns The newest batch on disk. */
  readonly mark: () => ChainMark | null;
  /** Calls back when the disk has every record that is durable now. */
  readonly whenWritten: (done: () => void) => void;
  /** The last record in the archive at the start; 0 for none. */
  readonly archived: number;
  readonly onReport: (report: AuditReport) => void;
}

const UNAVAILABLE = { gap: AuditGap.UNAVAILABLE, extent: null } as const;
const BUSY = { gap: AuditGap.BUSY, extent: null } as const;

export class HistoryThread {
  /** True after a failed attempt to read or write the history, until everything is archived again. */
  isFailing = false;
  readonly #options: HistoryThreadOptions;
  readonly #worker: WorkerClient<HistoryProgram>;
  readonly #waiting = new TenantQuota<string>(ASKER_MAX, WAITING_MAX);
  readonly #stopFollowing: () => void;
  #lastId = 0;
  #isFollowing = false;
  /** The last record read by the thread, and the last one archived by `#follow`. */
  #read: number;
  #archived: number;
  /** The mark at the previous step, and steps since the log last grew. */
  #seen = 0;
  #idleSteps = 0;
  #hasEnded = false;
  #closing: Promise<void> | undefined;

  constructor(options: HistoryThreadOptions) {
    const { folder, storeId, days, start, scheduler, archived, onReport } = options;
    this.#options = options;
    this.#read = archived;
    this.#archived = archived;
    this.#worker = new WorkerClient<HistoryProgram>({
      start,
      data: () => ({ folder, storeId, days }),
      on: { report: onReport },
      onError: ({ message }) => onReport({ kind: "failed", failure: message }),
      onExit: () => {
        this.#hasEnded = true;
        this.isFailing = this.#closing === undefined;
      },
    });
    this.#worker.start();
    this.#stopFollowing = scheduler.every(FOLLOW_EVERY_MS, () => this.#step());
  }

  /**
   * Answers from all records that are durable at the time of the call. Never rejects.
   * @param asker - As by `askerOf`: askers take turns, and each has a limit of its own.
   * @param client - Its question is dropped when it has gone.
   */
  ask<K extends AuditTopic>(
    question: AuditQuestion<K>,
    asker: string,
    client?: WaitingClient,
  ): Promise<AuditOutcome<AuditAnswers[K]>> {
    if (this.#hasEnded || this.#closing !== undefined) return Promise.resolve(UNAVAILABLE);
    if (!this.#waiting.take(asker)) return Promise.resolve(BUSY);
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      let isWaiting = true;
      const settle = (outcome: Outcome) => {
        if (!isWaiting) return;
        isWaiting = false;
        this.#waiting.giveBack(asker);
        if (this.#waiting.used === 0 && this.#closing === undefined) this.#worker.keepAlive(false);
        resolve(outcome as AuditOutcome<never>);
      };
      if (client !== undefined) {
        client.onGone = () => {
          this.#worker.tell("drop", id);
          settle(UNAVAILABLE);
        };
      }
      this.#worker.keepAlive(true);
      this.#options.whenWritten(() => {
        if (!isWaiting) return;
        if (this.#hasEnded) return settle(UNAVAILABLE);
        const asked = { id, asker, question: question as AuditQuestion, mark: this.#mark() };
        this.#worker.ask("ask", asked, (reply) => {
          const answer = this.#note(reply);
          settle(answer === null ? UNAVAILABLE : outcomeOf(answer));
        });
      });
    });
  }

  /** @returns A port for `asking`, which moves to another thread. */
  connect(): MessagePort {
    const { port1, port2 } = new MessageChannel();
    if (this.#worker.isRunning) this.#worker.tell("connect", port1, [port1]);
    else port1.close();
    return port2;
  }

  /** Questions without an answer. */
  get waiting(): number {
    return this.#waiting.used;
  }

  /** Refused questions: too many were waiting. */
  get refused(): number {
    return this.#waiting.refused;
  }

  /** Records on disk that the thread has not read yet. The next question reads them first. */
  get lagRecords(): number {
    return Math.max(0, (this.#options.mark()?.sequence ?? 0) - this.#read);
  }

  /** Settles when the thread has ended, or after five seconds. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopFollowing();
    if (!this.#worker.isRunning) return;
    this.#worker.keepAlive(true);
    const { ended } = this.#worker;
    const cancel = this.#options.scheduler.later(END_MS_MAX, () => void this.#worker.terminate());
    this.#worker.tell("end", this.#mark());
    await ended;
    cancel();
  }

  #step(): void {
    const sequence = this.#options.mark()?.sequence ?? 0;
    if (sequence === 0 || this.#hasEnded || this.#isFollowing) return;
    const isGrowing = sequence !== this.#seen;
    this.#seen = sequence;
    this.#idleSteps = isGrowing ? 0 : this.#idleSteps + 1;
    const behind = sequence - this.#read;
    // Only archiving proves that a failure is over: reading also works without room on the disk.
    const mustArchive = !isGrowing || this.isFailing;
    const isNew = isGrowing ? behind >= BEHIND_RECORDS_MAX : sequence > this.#archived;
    const isHourly = this.#idleSteps % IDLE_STEPS_MAX === IDLE_STEPS_MAX - 1;
    if (isNew || this.isFailing || isHourly) this.#follow(mustArchive);
  }

  #follow(mustArchive: boolean): void {
    const mark = this.#mark()!;
    this.#isFollowing = true;
    this.#worker.ask("follow", { mark, mustArchive }, (reply) => {
      this.#isFollowing = false;
      const isDone = this.#note(reply)?.isFailing === false;
      if (mustArchive && isDone) this.#archived = mark.sequence;
    });
  }

  /** Copies the chain, because a message would copy the whole buffer that the chain is part of. */
  #mark(): ChainMark | null {
    const mark = this.#options.mark();
    return mark === null ? null : { ...mark, chain: Uint8Array.from(mark.chain) };
  }

  /** @returns The result; null when there is none, because the thread has failed. */
  #note<State extends HistoryState>(reply: Reply<State>): State | null {
    if (reply.failure !== null) return null;
    const { read, isFailing } = reply.result;
    this.isFailing = isFailing;
    this.#read = read ?? this.#read;
    return reply.result;
  }
}

/**
 * Asks the thread of the history from any thread but the engine's.
 * @param port - As by `HistoryThread.connect`.
 */
export function asking(port: MessagePort): AskHistory {
  const worker = new WorkerClient<PeerProgram>({
    start: threadAt(port),
    data: () => null,
    on: {},
  });
  return (question) => {
    return new Promise((resolve) => {
      worker.ask("ask", question as AuditQuestion, (reply) => {
        const outcome = reply.failure === null ? outcomeOf(reply.result) : UNAVAILABLE;
        resolve(outcome as AuditOutcome<never>);
      });
    });
  };
}

function outcomeOf({ outcome, page }: Answer): Outcome {
  return page === null ? outcome : { ...outcome, value: receivedPage(page) };
}

// Changes on their way from the thread. A change may be of 200,000 seats: to receive an object for
// each of them would stop the engine's thread for a tenth of a second.

/** Four numbers for each seat: its id, its state, its price id, and the end of its hold. */
const SEAT_NUMBERS = 4;
/** For null: no price has this id, and no hold ends then. */
const NOTHING = 0;

interface SentChange extends Omit<EventChange, "seats"> {
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

// The work of the thread.

interface Begun {
  readonly history: OpenHistory;
  /** `OpenHistory.changesOf` the event then. */
  readonly changes: number;
  readonly steps: Slices<Outcome>;
}

/** Keys of turns: for reading and archiving the log, and for other threads. No asker has them. */
const OF_LOG = "";
const OF_PEERS = "peers";

/** A question and its slices, once they have begun. */
interface Work extends Asked {
  readonly answering: Answering<Answer>;
  slices: Begun | null;
}

export interface ServeOptions extends KeeperOptions {
  /** Runs the task after the messages that have arrived. */
  readonly soon: (task: () => void) => void;
}

/** Serves until "end", then closes the port. */
export function serveHistory(
  port: ThreadPort<ToWorker<HistoryProgram>>,
  options: HistoryProgram["data"] & {
    readonly disk: Disk;
    readonly soon: (task: () => void) => void;
    readonly nowMs: () => number;
    readonly sliceMoves?: number;
  },
): void {
  const emit = emitterOf<HistoryProgram>(port);
  const keeper = new HistoryKeeper({ ...options, onReport: (report) => emit("report", report) });
  const questions = new Questions(keeper, options.soon);
  const peers = new Set<MessagePort>();
  let lastOfPeers = 0;
  serve<HistoryProgram>(port, {
    follow({ mark, mustArchive }, answering) {
      const own = markOf(mark);
      questions.push(OF_LOG, () => {
        const isRead = keeper.followSlice(own);
        if (isRead === null || (isRead && mustArchive && keeper.archiveSlice() === null))
          return true;
        answering.done(stateOf(keeper));
        return false;
      });
      return LATER;
    },
    ask(asked, answering) {
      questions.add(asked, answering);
      return LATER;
    },
    connect(peer) {
      peers.add(peer);
      peer.once("close", () => peers.delete(peer));
      serve<PeerProgram>(peer, {
        ask(question, answering) {
          questions.add(
            { id: (lastOfPeers -= 1), asker: OF_PEERS, question, mark: null },
            answering,
          );
          return LATER;
        },
      });
    },
    drop: (id) => questions.drop(id),
    end(mark) {
      questions.end();
      if (mark !== null) keeper.archive(markOf(mark));
      keeper.close();
      for (const one of [port, ...peers]) one.close();
    },
  });
}

class Questions {
  readonly #keeper: HistoryKeeper;
  readonly #soon: ServeOptions["soon"];
  /** By asker: each runs a slice, and returns true for another one. */
  readonly #turns = new FairQueue<string, () => boolean>();
  /** Questions whose client has not gone. */
  readonly #wanted = new Set<number>();
  #isRunning = false;
  #isArchiving = false;
  #hasEnded = false;

  constructor(keeper: HistoryKeeper, soon: ServeOptions["soon"]) {
    this.#keeper = keeper;
    this.#soon = soon;
  }

  add(asked: Asked, answering: Answering<Answer>): void {
    this.#wanted.add(asked.id);
    const work: Work = { ...asked, answering, slices: null };
    this.push(asked.asker, () => this.#step(work));
  }

  /** Takes turns among the questions. @param step - Runs a slice; returns true when more is left. */
  push(key: string, step: () => boolean): void {
    this.#turns.push(key, step);
    if (this.#isRunning) return;
    this.#isRunning = true;
    this.#soon(() => this.#run());
  }

  drop(id: number): void {
    this.#wanted.delete(id);
  }

  end(): void {
    this.#hasEnded = true;
  }

  #run(): void {
    if (this.#hasEnded) return;
    this.#turns.turn((step) => step());
    if (this.#keeper.isDue && !this.#isArchiving) {
      this.#isArchiving = true;
      this.#turns.push(OF_LOG, () => (this.#isArchiving = this.#keeper.archiveSlice() === null));
    }
    this.#isRunning = !this.#turns.isEmpty;
    if (this.#isRunning) this.#soon(() => this.#run());
  }

  /** Runs a slice. @returns True when the question needs more. */
  #step(work: Work): boolean {
    if (!this.#wanted.has(work.id)) {
      work.slices?.steps.return(UNAVAILABLE);
      this.#answer(work, UNAVAILABLE);
      return false;
    }
    let outcome: Outcome | null;
    try {
      outcome = this.#slice(work);
    } catch (error) {
      outcome = this.#failed(work, error);
    }
    if (outcome === null) return true;
    this.#wanted.delete(work.id);
    this.#answer(work, outcome);
    return false;
  }

  /** @returns The answer; null when the question needs more slices. */
  #slice(work: Work): Outcome | null {
    const keeper = this.#keeper;
    const { slices, question } = work;
    const eventId = "eventId" in question ? question.eventId : "";
    const isBegun = slices !== null && slices.history === keeper.history;
    if (!isBegun || slices.changes !== slices.history.changesOf(eventId)) {
      const isOfPeer = work.asker === OF_PEERS;
      const mark = isOfPeer ? keeper.mark : work.mark;
      if (mark === null) return isOfPeer ? UNAVAILABLE : { gap: AuditGap.NO_EVENT, extent: null };
      const isRead = keeper.followSlice(markOf(mark));
      if (isRead !== true) return isRead === null ? null : UNAVAILABLE;
      const history = keeper.history!;
      const changes = history.changesOf(eventId);
      // Its places among the maps that are built are free again.
      slices?.steps.return(UNAVAILABLE);
      work.slices = { history, changes, steps: history.answers.answer(question) };
    }
    const { done, value } = work.slices!.steps.next();
    return done === true ? value : null;
  }

  /** Damage concerns this question alone: others, and archiving, go on with the open history. */
  #failed({ slices }: Work, error: unknown): Outcome {
    if (slices !== null && isDamage(error)) {
      this.#keeper.damaged(error);
      return { gap: AuditGap.DAMAGED, extent: slices.history.answers.extent };
    }
    this.#keeper.fail(error);
    return UNAVAILABLE;
  }

  #answer({ question, answering }: Work, outcome: Outcome): void {
    const state = stateOf(this.#keeper);
    if (question.about === "changes" && outcome.gap === null) {
      const page = sentPage(outcome.value as AuditAnswers["changes"]);
      answering.done({ ...state, outcome: { ...outcome, value: 0 }, page });
    } else answering.done({ ...state, outcome, page: null });
  }
}

function stateOf({ read, isFailing }: HistoryKeeper): HistoryState {
  return { read, isFailing };
}

/** A message turns the chain from a Buffer into a Uint8Array. */
function markOf({ sequence, chain }: ChainMark): ChainMark {
  return { sequence, chain: Buffer.from(chain) };
}
