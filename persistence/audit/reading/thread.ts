/**
 * The reading thread of the audit trail, as the engine's thread sees it. It starts with the first
 * question, and again with the next one after it has ended by itself.
 */
import {
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type AuditTopic,
  type TrailExtent,
} from "../../../engine/queries/audit-trail.ts";
import type { StorePlace } from "../../disk/data-folder.ts";
import type { StartThread, Thread } from "../../disk/threads.ts";
import type { AuditReport } from "../keeper.ts";
import { receivedPage, type SentPage } from "./sent-changes.ts";

/** The data that the thread starts with. */
export type ReaderData = Pick<StorePlace, "folder" | "storeId">;

export interface AskReader {
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
