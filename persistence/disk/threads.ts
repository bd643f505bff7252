/** The interface of a thread, from outside and from inside, and real worker threads. */
import os from "node:os";
import { type MessagePort, parentPort, Worker } from "node:worker_threads";
import { assert } from "../../engine/assert.ts";

/** A running thread, as its starter sees it. It does not keep the process alive by itself. */
export interface Thread<Message> {
  /** Sends a message; the memory in `transfer` moves to the thread. */
  post(message: Message, transfer?: readonly ArrayBuffer[]): void;
  /** Whether the process stays alive for the thread. */
  keepAlive(isNeeded: boolean): void;
  /** Ends the thread at once, whatever it is doing. Settles when it has ended. */
  terminate(): Promise<void>;
}

/** Events of a thread, reported to its starter. */
export interface ThreadEvents<Answer> {
  readonly message: (answer: Answer) => void;
  /** The thread threw an error; `exit` follows. */
  readonly error: (error: Error) => void;
  readonly exit: () => void;
}

/** Starts a thread that runs one particular program. */
export type StartThread<Data, Message, Answer> = (
  data: Data,
  events: ThreadEvents<Answer>,
) => Thread<Message>;

/** The starter of a thread, as the program of the thread sees it. */
export interface ThreadPort<Message> {
  on(event: "message" | "close", listener: (message: Message) => void): unknown;
  postMessage(answer: unknown): void;
  close(): void;
}

/**
 * The JavaScript heap of a thread, and the part of it for new objects. The lower these limits, the
 * less garbage there is when it is collected: by default, up to three times what is in use.
 */
export const HEAP_LIMITS = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 16 };

/** @param program - A compiled file: a thread cannot start from source. */
export function workerThread<Data, Message, Answer>(
  program: URL,
  name: string,
): StartThread<Data, Message, Answer> {
  return (workerData, { message, error, exit }) => {
    const worker = new Worker(program, { workerData, name, resourceLimits: HEAP_LIMITS });
    worker.unref();
    worker.on("message", message).on("error", error).once("exit", exit);
    return {
      post: (value, transfer = []) => worker.postMessage(value, transfer),
      keepAlive: (isNeeded) => (isNeeded ? worker.ref() : worker.unref()),
      async terminate() {
        await worker.terminate();
      },
    };
  };
}

/** @returns The port of the thread, whose priority is that of the engine. */
export function portOfPromptThread(): MessagePort {
  assert(parentPort !== null, "the program of a thread runs in one");
  return parentPort;
}

/** Lowers the priority of this thread below the engine's. @returns The port of the thread. */
export function portOfThisThread(): MessagePort {
  const port = portOfPromptThread();
  // On Linux each thread has a priority of its own. It is not the lowest one, because the process
  // waits for its threads when it ends, and on a busy machine those would hardly ever run.
  const { PRIORITY_BELOW_NORMAL } = os.constants.priority;
  if (process.platform === "linux") os.setPriority(0, PRIORITY_BELOW_NORMAL);
  return port;
}
