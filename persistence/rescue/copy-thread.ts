/** Reads a store in another thread, message by message, for a copy on another host. */
import { type Thread, workerThread } from "../disk/threads.ts";

/** A message of `join.ts`, or why there is none; null when all were sent. */
export type FromCopyThread =
  | { readonly kind: "message"; readonly message: string | Uint8Array }
  | { readonly kind: "ended"; readonly failure: string | null };

export interface CopyEvents {
  /** Comes once for each call of `next`. */
  message(message: string | Uint8Array): void;
  /** Nothing follows. @param failure - Null when everything was sent. */
  ended(failure: string | null): void;
}

const start = workerThread<string, null, FromCopyThread>(
  new URL("./copy-worker.js", import.meta.url),
  "frontrow copy",
);

/** @param folder - The data folder. */
export function startCopy(
  folder: string,
  events: CopyEvents,
): { readonly next: () => void; readonly stop: () => void } {
  let hasEnded = false;
  const end = (failure: string | null) => {
    if (hasEnded) return;
    hasEnded = true;
    void thread.terminate();
    events.ended(failure);
  };
  const thread: Thread<null> = start(folder, {
    message: (sent) => {
      if (hasEnded) return;
      if (sent.kind === "message") events.message(sent.message);
      else end(sent.failure);
    },
    error: ({ message }) => end(message),
    exit: () => end("the thread ended"),
  });
  const stop = () => {
    hasEnded = true;
    void thread.terminate();
  };
  return { next: () => thread.post(null), stop };
}
