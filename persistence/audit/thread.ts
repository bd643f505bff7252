/**
 * The audit thread, as the engine's thread sees it. The thread brings the trail up to date before
 * each answer, when the log is idle, and when the trail lags too far.
 */
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
} from "../../engine/queries/audit-trail.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import type { StartThread, Thread } from "../disk/threads.ts";
import type { ChainMark } from "../log/scan.ts";
import type { AuditKeeper, AuditReport, KeeperOptions } from "./keeper.ts";

const FOLLOW_EVERY_MS = 1_000;
/** How far the trail may lag while the log grows, because the engine has priority. */
const LAG_RECORDS_MAX = 250_000;
/** On an idle log the thread runs once an hour, to apply the retention. */
const IDLE_STEPS_MAX = 3_600;
/** How long a shutdown waits for the trail. The next start adds the missing records. */
const END_MS_MAX = 5_000;
/** Questions that may wait for an answer. */
const WAITING_MAX = 64;

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
  | { readonly kind: "end" };

/** As in `AuditKeeper`. */
export type TrailState = Pick<AuditKeeper, "sequence" | "isFailing">;

/** Messages from the thread. */
export type FromAuditThread =
  | ({ readonly kind: "followed" } & TrailState)
  | ({
      readonly kind: "answer";
      readonly id: number;
      readonly outcome: AuditOutcome<AuditAnswers[AuditTopic]>;
    } & TrailState)
  | { readonly kind: "report"; readonly report: AuditReport };

export type StartAuditThread = StartThread<AuditThreadData, ToAuditThread, FromAuditThread>;

export interface AuditThreadOptions extends AuditThreadData {
  readonly startThread: StartAuditThread;
  readonly scheduler: Scheduler;
  /** @returns The newest batch on disk. */
  readonly mark: () => ChainMark | null;
  /** The last record in the trail at the start; 0 for none. */
  readonly projected: number;
  readonly onReport: (report: AuditReport) => void;
}

const UNAVAILABLE = { gap: AuditGap.UNAVAILABLE, extent: null } as const;
const BUSY = { gap: AuditGap.BUSY, extent: null } as const;

type Resolve = (outcome: AuditOutcome<never>) => void;

export class AuditThread {
  /** Whether the last attempt to read or write the trail failed. */
  isFailing = false;
  readonly #options: AuditThreadOptions;
  readonly #thread: Thread<ToAuditThread>;
  readonly #waiting = new Map<number, Resolve>();
  readonly #stopFollowing: () => void;
  readonly #exited: Promise<void>;
  #asked = 0;
  /** The last record that the thread was asked to follow; 0 after a failure. */
  #followed = 0;
  #isFollowing = false;
  /** The last record known to be in the trail. */
  #projected: number;
  /** The mark at the previous step. */
  #seen = 0;
  /** Steps since the log last grew. */
  #idleSteps = 0;
  #hasEnded = false;
  #closing: Promise<void> | undefined;

  constructor(options: AuditThreadOptions) {
    const { folder, storeId, days, scheduler, startThread, onReport } = options;
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
        for (const answer of this.#waiting.values()) answer(UNAVAILABLE);
        this.#waiting.clear();
        exited();
      },
    });
    this.#stopFollowing = scheduler.every(FOLLOW_EVERY_MS, () => this.#follow());
  }

  /** Answers from all records that are on disk at the time of the call. Never rejects. */
  ask<K extends AuditTopic>(question: AuditQuestion<K>): Promise<AuditOutcome<AuditAnswers[K]>> {
    if (this.#hasEnded) return Promise.resolve(UNAVAILABLE);
    if (this.#waiting.size >= WAITING_MAX) return Promise.resolve(BUSY);
    const id = this.#asked++;
    const mark = this.#mark();
    this.#thread.post({ kind: "ask", id, question: question as AuditQuestion, mark });
    this.#thread.keepAlive(true);
    return new Promise((resolve) => this.#waiting.set(id, resolve));
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
    this.#thread.post({ kind: "end" });
    this.#thread.keepAlive(true);
    const terminate = () => void this.#thread.terminate();
    const cancel = this.#options.scheduler.later(END_MS_MAX, terminate);
    await this.#exited;
    cancel();
  }

  #follow(): void {
    const mark = this.#mark();
    if (mark === null || this.#isFollowing) return;
    const isGrowing = mark.sequence !== this.#seen;
    this.#seen = mark.sequence;
    if (isGrowing && mark.sequence - this.#followed < LAG_RECORDS_MAX) return;
    this.#idleSteps = mark.sequence === this.#followed ? this.#idleSteps + 1 : 0;
    if (this.#idleSteps % IDLE_STEPS_MAX > 0) return;
    this.#isFollowing = true;
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
        this.#waiting.get(message.id)?.(message.outcome as AuditOutcome<never>);
        this.#waiting.delete(message.id);
        if (this.#waiting.size === 0) this.#thread.keepAlive(false);
        return;
      case "report":
        return this.#options.onReport(message.report);
    }
    return message satisfies never;
  }

  #update({ sequence, isFailing }: TrailState): void {
    this.isFailing = isFailing;
    // After a failure the next step tries again.
    if (isFailing) this.#followed = 0;
    else this.#projected = Math.max(this.#projected, sequence);
  }
}
