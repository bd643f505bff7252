/** Reads a store in another thread, message by message, for a copy on another host. */
import { type StartWorker, WorkerClient, workerThread } from "../disk/worker.ts";

/** The program `copy-worker.ts`. */
export interface CopyProgram {
  /** The data folder. */
  readonly data: string;
  readonly requests: {
    /** @returns A message of `copy-store.ts`; null when all were sent. */
    readonly next: (argument: null) => string | Uint8Array | null;
  };
  readonly events: Readonly<Record<string, never>>;
}

export interface CopyEvents {
  /** Comes once for each call of `next`. */
  message(message: string | Uint8Array): void;
  /** Nothing follows. @param failure - Null when everything was sent. */
  ended(failure: string | null): void;
}

const startReal: StartWorker<CopyProgram> = workerThread(
  new URL("./copy-worker.js", import.meta.url),
  "frontrow copy",
);

/** @param folder - The data folder. */
export function startCopy(
  folder: string,
  events: CopyEvents,
  start = startReal,
): { readonly next: () => void; readonly stop: () => void } {
  const worker = new WorkerClient<CopyProgram>({ start, data: () => folder, on: {} });
  let hasEnded = false;
  const stop = () => {
    hasEnded = true;
    void worker.terminate();
  };
  const end = (failure: string | null) => {
    stop();
    events.ended(failure);
  };
  const next = () => {
    if (hasEnded) return;
    worker.ask("next", null, (reply) => {
      if (hasEnded) return;
      if (reply.failure !== null) end(reply.failure.message);
      else if (reply.result === null) end(null);
      else events.message(reply.result);
    });
  };
  return { next, stop };
}
