/**
 * The threads of the audit trail, as the engine's thread sees them. One brings the trail up to date
 * before each answer, when the log is idle, and every few seconds while it grows. It also answers
 * what takes one or two rows. The other only reads, and answers everything else.
 */
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type WaitingClient,
} from "../../engine/queries/history.ts";
import type { Scheduler } from "../disk/clock.ts";
import type { Disk } from "../disk/disk.ts";
import type { StartThread, Thread, ThreadPort } from "../disk/worker.ts";
import type { ChainMark } from "../log/log-reader.ts";
import { AuditKeeper, type AuditReport, type KeeperOptions } from "./keeper.ts";
import { ReadingThread, type Received, type StartReader } from "./reader.ts";

const FOLLOW_EVERY_MS = 1_000;
/**
 * How long the trail may lag while the log grows. The engine has priority: following takes as long
 * for a record as booking does, and delays bookings that wait for a processor.
 */
const LAG_STEPS_MAX = 3;
/** On an idle log the thread runs once an hour, to apply the retention. */
const IDLE_STEPS_MAX = 3_600;
/** How long a shutdown waits for the trail. The next start adds the missing records. */
const END_MS_MAX = 5_000;

/** The data that the thread starts with. */
export type AuditThreadData = Pick<KeeperOptions, "folder" | "storeId" | "days">;

/** Messages to the thread, in order. */
export type ToAuditThread =
  | { readonly kind: "follow"; readonly mark: ChainMark }
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly question: AuditQuestion;
      readonly mark: ChainMark | null;
    }
  /** Brings the trail up to the mark, for a question to the reading thread. */
  | { readonly kind: "prepare"; readonly id: number; readonly mark: ChainMark | null }
  | { readonly kind: "end" };

/** As in `AuditKeeper`. */
type TrailState = Pick<AuditKeeper, "sequence" | "isFailing">;

/** Messages from the thread. */
export type FromAuditThread =
  | ({ readonly kind: "followed" } & TrailState)
  | ({
      readonly kind: "answer";
      readonly id: number;
      readonly outcome: AuditOutcome<AuditAnswers[AuditTopic]>;
    } & TrailState)
  | ({
      readonly kind: "prepared";
      readonly id: number;
      /** Why there is no answer; null when the reading thread can give one. */
      readonly gap: AuditGap | null;
      /** As in `AuditKeeper`. */
      readonly opened: number;
    } & TrailState)
  | { readonly kind: "report"; readonly report: AuditReport };

export type StartAuditThread = StartThread<AuditThreadData, ToAuditThread, FromAuditThread>;

export interface AuditThreadOptions extends AuditThreadData {
  readonly startThread: StartAuditThread;
  readonly startReader: StartReader;
  readonly scheduler: Scheduler;
  /** @returns The newest batch on disk. */
  readonly mark: () => ChainMark | null;
  /** Calls back when the disk has every record that is durable now. */
  readonly whenWritten: (done: () => void) => void;
  /** The last record in the trail at the start; 0 for none. */
  readonly projected: number;
  readonly onReport: (report: AuditReport) => void;
}

const UNAVAILABLE = { gap: AuditGap.UNAVAILABLE, extent: null } as const;
const BUSY = { gap: AuditGap.BUSY, extent: null } as const;

/** Answered from one or two rows, so a long read need not delay them. */
const LOOKUPS: ReadonlySet<AuditTopic> = new Set<AuditTopic>(["owner", "reply"]);

export class AuditThread {
  /** Whether the last attempt to read or write the trail failed. */
  isFailing = false;
  readonly #options: AuditThreadOptions;
  readonly #thread: Thread<ToAuditThread>;
  readonly #reading: ReadingThread;
  readonly #waiting = new WaitingQuestions();
  readonly #stopFollowing: () => void;
  readonly #exited: Promise<void>;
  /** The last record that the thread was asked to follow; 0 after a failure. */
  #followed = 0;
  #isFollowing = false;
  /** The last record known to be in the trail. */
  #projected: number;
  /** The mark at the previous step. */
  #seen = 0;
  /** Steps since the trail was last asked to follow in which the log grew. */
  #growingSteps = 0;
  /** Steps since the log last grew. */
  #idleSteps = 0;
  #hasEnded = false;
  #closing: Promise<void> | undefined;

  constructor(options: AuditThreadOptions) {
    const { folder, storeId, days, scheduler, startThread, startReader, onReport } = options;
    this.#options = options;
    this.#projected = options.projected;
    let exited = () => {};
    this.#exited = new Promise((resolve) => (exited = resolve));
    const data: AuditThreadData = { folder, storeId, days };
    this.#thread = startThread(data, {
      message: (message) => this.#hear(message),
      error: ({ message }) => onReport({ kind: "failed", failure: message }),
      exit: () => {
        this.#hasEnded = true;
        this.isFailing = this.#closing === undefined;
        this.#waiting.settleAll(UNAVAILABLE);
        exited();
      },
    });
    const onMessage = (message: Received) => this.#hearReader(message);
    this.#reading = new ReadingThread({ folder, storeId, startReader, onMessage });
    this.#stopFollowing = scheduler.every(FOLLOW_EVERY_MS, () => this.#follow());
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
    if (this.#hasEnded) return Promise.resolve(UNAVAILABLE);
    if (!this.#waiting.admits(asker)) return Promise.resolve(BUSY);
    return new Promise((resolve) => {
      const asked = question as AuditQuestion;
      const id = this.#waiting.add({ asker, question: asked, resolve });
      if (client !== undefined) client.onGone = () => this.#drop(id);
      this.#options.whenWritten(() => this.#post(id));
      this.#thread.keepAlive(true);
    });
  }

  #post(id: number): void {
    const question = this.#waiting.get(id)?.question;
    if (question === undefined) return;
    const mark = this.#mark();
    const isLookup = LOOKUPS.has(question.about);
    this.#thread.post(
      isLookup ? { kind: "ask", id, question, mark } : { kind: "prepare", id, mark },
    );
  }

  /** Questions that wait for an answer. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** Questions that were refused because too many were waiting. */
  get refused(): number {
    return this.#waiting.refused;
  }

  /** Records on disk that are not in the trail yet. */
  get lagRecords(): number {
    return Math.max(0, (this.#options.mark()?.sequence ?? 0) - this.#projected);
  }

  /** Settles when all records on disk are in the trail, or after five seconds. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stopFollowing();
    const mark = this.#mark();
    if (mark !== null) this.#thread.post({ kind: "follow", mark });
    this.#thread.keepAlive(true);
    const cancel = this.#options.scheduler.later(END_MS_MAX, () => {
      this.#reading.terminate();
      void this.#thread.terminate();
    });
    // The thread that writes ends last: only it can remove the files that SQLite keeps beside.
    await this.#reading.close();
    this.#thread.post({ kind: "end" });
    await this.#exited;
    cancel();
  }

  #follow(): void {
    const mark = this.#mark();
    if (mark === null) return;
    const isGrowing = mark.sequence !== this.#seen;
    this.#seen = mark.sequence;
    if (isGrowing) this.#growingSteps += 1;
    if (this.#isFollowing || (isGrowing && this.#growingSteps < LAG_STEPS_MAX)) return;
    this.#idleSteps = mark.sequence === this.#followed ? this.#idleSteps + 1 : 0;
    if (this.#idleSteps % IDLE_STEPS_MAX > 0) return;
    this.#isFollowing = true;
    this.#growingSteps = 0;
    this.#followed = mark.sequence;
    this.#thread.post({ kind: "follow", mark });
  }

  /** Copies the chain, because a message would copy the whole buffer that the chain is part of. */
  #mark(): ChainMark | null {
    const mark = this.#options.mark();
    return mark === null ? null : { ...mark, chain: Uint8Array.from(mark.chain) };
  }

  #hear(message: FromAuditThread): void {
    switch (message.kind) {
      case "followed":
        this.#isFollowing = false;
        this.#update(message);
        return;
      case "answer":
        this.#update(message);
        return this.#settle(message.id, message.outcome);
      case "prepared":
        this.#update(message);
        return this.#prepared(message);
      case "report":
        return this.#options.onReport(message.report);
    }
    return message satisfies never;
  }

  #hearReader(message: Received): void {
    if (message.kind === "report") return this.#options.onReport(message.report);
    this.isFailing = message.isFailing;
    return this.#settle(message.id, message.outcome);
  }

  /** Passes the question to the reading thread. */
  #prepared({ id, gap, opened }: Extract<FromAuditThread, { readonly kind: "prepared" }>): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    if (gap !== null) return this.#settle(id, { gap, extent: null });
    if (this.#closing !== undefined) return this.#settle(id, UNAVAILABLE);
    const { asker, question } = waiting;
    this.#reading.ask({ kind: "ask", id, asker, question, opened });
  }

  /** Nobody waits for the answer. */
  #drop(id: number): void {
    this.#reading.drop(id);
    this.#settle(id, UNAVAILABLE);
  }

  #settle(id: number, outcome: AuditOutcome<unknown>): void {
    this.#waiting.settle(id, outcome);
    if (this.#waiting.size === 0 && this.#closing === undefined) this.#thread.keepAlive(false);
  }

  #update({ sequence, isFailing }: TrailState): void {
    this.isFailing = isFailing;
    // After a failure the next step tries again.
    if (isFailing) {
      this.#followed = 0;
      this.#growingSteps = LAG_STEPS_MAX;
    } else this.#projected = Math.max(this.#projected, sequence);
  }
}

// Questions to the audit trail that wait for an answer, within bounds.

/** Questions of one asker. */
export const ASKER_MAX = 64;
export const WAITING_MAX = 1_024;

type Resolve = (outcome: AuditOutcome<never>) => void;

export interface Waiting {
  /** As by `askerOf`. */
  readonly asker: string;
  readonly question: AuditQuestion;
  readonly resolve: Resolve;
}

export class WaitingQuestions {
  /** Questions that were refused because too many were waiting. */
  refused = 0;
  readonly #waiting = new Map<number, Waiting>();
  readonly #ofAsker = new Map<string, number>();
  #asked = 0;

  get size(): number {
    return this.#waiting.size;
  }

  /** Whether the asker may wait for an answer; otherwise the question counts as refused. */
  admits(asker: string): boolean {
    const own = this.#ofAsker.get(asker) ?? 0;
    const isAdmitted = own < ASKER_MAX && this.size < WAITING_MAX;
    if (!isAdmitted) this.refused += 1;
    return isAdmitted;
  }

  /** @returns The id of the question. */
  add(waiting: Waiting): number {
    const { asker } = waiting;
    const id = this.#asked++;
    this.#waiting.set(id, waiting);
    this.#ofAsker.set(asker, (this.#ofAsker.get(asker) ?? 0) + 1);
    return id;
  }

  get(id: number): Waiting | undefined {
    return this.#waiting.get(id);
  }

  settle(id: number, outcome: AuditOutcome<unknown>): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    const { asker, resolve } = waiting;
    const left = this.#ofAsker.get(asker)! - 1;
    if (left === 0) this.#ofAsker.delete(asker);
    else this.#ofAsker.set(asker, left);
    resolve(outcome as AuditOutcome<never>);
  }

  settleAll(outcome: AuditOutcome<never>): void {
    for (const id of this.#waiting.keys()) this.settle(id, outcome);
  }
}

// The work of the audit thread: handles the messages of `thread.ts`.

/** Handles messages until "end", then closes the port. */
export function serveAudit(
  port: ThreadPort<ToAuditThread>,
  options: AuditThreadData & { readonly disk: Disk },
): void {
  const send = (message: FromAuditThread) => port.postMessage(message);
  const keeper = new AuditKeeper({
    ...options,
    nowMs: () => Date.now(),
    onReport: (report) => send({ kind: "report", report }),
  });
  port.on("message", (message: ToAuditThread) => {
    switch (message.kind) {
      case "follow":
        keeper.follow(markOf(message.mark));
        return send({ kind: "followed", ...stateOf(keeper) });
      case "ask": {
        const { id, question, mark } = message;
        const outcome = keeper.answer(question, mark === null ? null : markOf(mark));
        return send({ kind: "answer", id, outcome, ...stateOf(keeper) });
      }
      case "prepare": {
        const { id, mark } = message;
        const gap = keeper.prepare(mark === null ? null : markOf(mark));
        return send({ kind: "prepared", id, gap, opened: keeper.opened, ...stateOf(keeper) });
      }
      case "end":
        keeper.close();
        return port.close();
    }
    return message satisfies never;
  });
}

function stateOf({ sequence, isFailing }: AuditKeeper): TrailState {
  return { sequence, isFailing };
}

/** A message turns the chain from a Buffer into a Uint8Array. */
function markOf({ sequence, chain }: ChainMark): ChainMark {
  return { sequence, chain: Buffer.from(chain) };
}
