/**
 * The audit trail in a thread of its own, as long as the store is open: brought up to date at every
 * question, and without one when nothing else happens, or when it lacks much.
 */
import { Worker } from "node:worker_threads";
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
} from "../../engine/queries/audit-trail.ts";
import type { ChainMark } from "../log/scan.ts";
import type { AuditReport, KeeperOptions } from "./keeper.ts";

const FOLLOW_EVERY_MS = 1_000;
/** Records that the trail may lack while the log grows: the engine needs the processor more. */
const LAG_RECORDS_MAX = 250_000;
/** Even when nothing happens, what is too old goes: once in an hour. */
const IDLE_STEPS_MAX = 3_600;
/** How long an end in order waits for the trail; what it lacks then, the next start adds. */
const END_MS_MAX = 5_000;
/** Questions that may wait. */
const WAITING_MAX = 64;

/** What the thread is given at its start. */
export type AuditThreadData = Pick<KeeperOptions, "folder" | "storeId" | "days">;

/** What the thread is told, in order. */
export type ToAuditThread =
  | { readonly kind: "follow"; readonly mark: ChainMark }
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly question: AuditQuestion;
      readonly mark: ChainMark | null;
    }
  | { readonly kind: "end" };

/** How the trail stands. */
export interface TrailState {
  /** The last record that it has; 0 when it is not open. */
  readonly sequence: number;
  /** It could not be read or written at the last try. */
  readonly isFailing: boolean;
}

/** What it says. */
export type FromAuditThread =
  | ({ readonly kind: "followed" } & TrailState)
  | ({
      readonly kind: "answer";
      readonly id: number;
      readonly outcome: AuditOutcome<AuditAnswers[AuditTopic]>;
    } & TrailState)
  | { readonly kind: "report"; readonly report: AuditReport };

export interface AuditThreadOptions extends AuditThreadData {
  /** The newest batch that is on disk. */
  readonly mark: () => ChainMark | null;
  /** The last record that the trail has now; 0 for none. */
  readonly projected: number;
  readonly onReport: (report: AuditReport) => void;
}

/** Compiled: a thread cannot start from source. */
const PROGRAM = new URL("./worker.js", import.meta.url);
const UNAVAILABLE = { gap: AuditGap.UNAVAILABLE, extent: null } as const;
const BUSY = { gap: AuditGap.BUSY, extent: null } as const;

type Resolve = (outcome: AuditOutcome<never>) => void;

/** An open audit trail. */
export class AuditThread {
  /** The trail could not be read or written at the last try. */
  isFailing = false;
  readonly #options: AuditThreadOptions;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Resolve>();
  readonly #timer: NodeJS.Timeout;
  readonly #exited: Promise<void>;
  #asked = 0;
  /** The mark that the thread was told last. */
  #followed = 0;
  #isFollowing = false;
  /** The last record that the trail is known to have. */
  #projected: number;
  /** The mark at the last step. */
  #seen = 0;
  /** Steps since the log grew. */
  #idleSteps = 0;
  #hasEnded = false;
  #closing: Promise<void> | undefined;

  /** @param program - Compiled; that of this package when it is not given. */
  constructor(options: AuditThreadOptions, program = PROGRAM) {
    const { folder, storeId, days } = options;
    this.#options = options;
    this.#projected = options.projected;
    const workerData: AuditThreadData = { folder, storeId, days };
    this.#worker = new Worker(program, { workerData, name: "frontrow audit" });
    this.#worker.on("message", (message: FromAuditThread) => this.#hear(message));
    this.#worker.on("error", (error) => {
      options.onReport({ kind: "failed", failure: error.message });
    });
    this.#exited = new Promise((resolve) => {
      this.#worker.once("exit", () => {
        this.#hasEnded = true;
        this.isFailing = this.#closing === undefined;
        for (const answer of this.#waiting.values()) answer(UNAVAILABLE);
        this.#waiting.clear();
        resolve();
      });
    });
    this.#timer = setInterval(() => this.#follow(), FOLLOW_EVERY_MS);
    this.#timer.unref();
    this.#worker.unref();
  }

  /** Answers from everything that is on disk when it is called. Never rejects. */
  ask<K extends AuditTopic>(question: AuditQuestion<K>): Promise<AuditOutcome<AuditAnswers[K]>> {
    if (this.#hasEnded) return Promise.resolve(UNAVAILABLE);
    if (this.#waiting.size >= WAITING_MAX) return Promise.resolve(BUSY);
    const id = this.#asked++;
    const mark = this.#mark();
    this.#tell({ kind: "ask", id, question: question as AuditQuestion, mark });
    this.#worker.ref();
    return new Promise((resolve) => this.#waiting.set(id, resolve));
  }

  /** Records on disk that the trail lacks yet; it catches up when asked, or in a quiet moment. */
  get lagRecords(): number {
    return Math.max(0, (this.#options.mark()?.sequence ?? 0) - this.#projected);
  }

  /** Settles when the trail has all that is on disk, as far as that can be done in a while. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    clearInterval(this.#timer);
    const mark = this.#mark();
    if (mark !== null) this.#tell({ kind: "follow", mark });
    this.#tell({ kind: "end" });
    this.#worker.ref();
    const timer = setTimeout(() => void this.#worker.terminate(), END_MS_MAX);
    await this.#exited;
    clearTimeout(timer);
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
    this.#tell({ kind: "follow", mark });
  }

  /** With a chain of its own: a message copies all of the memory that a chain lies in. */
  #mark(): ChainMark | null {
    const mark = this.#options.mark();
    return mark === null ? null : { ...mark, chain: Uint8Array.from(mark.chain) };
  }

  #tell(message: ToAuditThread): void {
    this.#worker.postMessage(message, []);
  }

  #hear(message: FromAuditThread): void {
    switch (message.kind) {
      case "followed":
        this.#isFollowing = false;
        this.#standsAt(message);
        return;
      case "answer":
        this.#standsAt(message);
        this.#waiting.get(message.id)?.(message.outcome as AuditOutcome<never>);
        this.#waiting.delete(message.id);
        if (this.#waiting.size === 0) this.#worker.unref();
        return;
      case "report":
        return this.#options.onReport(message.report);
    }
    return message satisfies never;
  }

  #standsAt({ sequence, isFailing }: TrailState): void {
    this.isFailing = isFailing;
    // Tried again at the next step.
    if (isFailing) this.#followed = 0;
    else this.#projected = Math.max(this.#projected, sequence);
  }
}
