/**
 * Workers: programs in threads of their own, and the one protocol they are used by. Requests carry
 * an id and are answered with a result or a failure; notices are not answered; events come unasked.
 */
import os from "node:os";
import { type MessagePort, parentPort, Worker } from "node:worker_threads";
import { assert } from "../../engine/assert.ts";
import { messageOf } from "./faults.ts";

/** Memory or a port that moves to another thread instead of being copied. */
export type Transferable = ArrayBuffer | MessagePort;

/** A program, as types: its start data, its requests and notices as functions, its events. */
export interface Program {
  readonly data: unknown;
  readonly requests: Readonly<Record<string, (argument: never) => unknown>>;
  readonly events: Readonly<Record<string, unknown>>;
}

type NameOf<P extends Program> = keyof P["requests"] & string;
type Argument<P extends Program, K extends NameOf<P>> = Parameters<P["requests"][K]>[0];
type ResultOf<P extends Program, K extends NameOf<P>> = ReturnType<P["requests"][K]>;

/** A request, or a notice when its id is 0. */
export type ToWorker<P extends Program> = {
  readonly [K in NameOf<P>]: {
    readonly id: number;
    readonly name: K;
    readonly argument: Argument<P, K>;
  };
}[NameOf<P>];

export type FromWorker<P extends Program> =
  | Answer
  | {
      readonly [K in keyof P["events"] & string]: {
        readonly event: K;
        readonly value: P["events"][K];
      };
    }[keyof P["events"] & string];

type Answer = { readonly id: number } & (
  | { readonly result: unknown }
  | { readonly failure: string }
);

/** The reply to a request; a failure is the program's, or the reason its thread ended. */
export type Reply<Result> =
  | { readonly failure: null; readonly result: Result }
  | { readonly failure: Error };

/** A running thread, as its starter sees it. It does not keep the process alive by itself. */
export interface Thread<Message> {
  /** Sends a message; the memory in `transfer` moves to the thread. */
  post(message: Message, transfer?: readonly Transferable[]): void;
  /** Keeps the process alive for the thread. */
  keepAlive(isNeeded: boolean): void;
  /** Ends the thread at once, whatever it is doing. Settles when it has ended. */
  terminate(): Promise<void>;
}

/** Events of a thread, reported to its starter. */
export interface ThreadEvents<Message> {
  readonly message: (message: Message) => void;
  /** The thread threw an error; `exit` follows. */
  readonly error: (error: Error) => void;
  readonly exit: () => void;
}

/** Starts a thread with one particular program. */
export type StartThread<Data, Message, Answered> = (
  data: Data,
  events: ThreadEvents<Answered>,
) => Thread<Message>;

export type StartWorker<P extends Program> = StartThread<P["data"], ToWorker<P>, FromWorker<P>>;

/** The starter of a thread, as the program of the thread sees it. */
export interface ThreadPort<Message> {
  on(event: "message" | "close", listener: (message: Message) => void): unknown;
  postMessage(message: unknown, transfer?: readonly Transferable[]): void;
  close(): void;
}

interface Running<P extends Program> {
  readonly thread: Thread<ToWorker<P>>;
  /** Requests without an answer, by id. */
  readonly pending: Map<number, (reply: Reply<never>) => void>;
  /** Reason of the end. */
  failure: Error;
  /** Settles when the thread has ended. */
  readonly ended: Promise<void>;
}

export interface WorkerOptions<P extends Program> {
  readonly start: StartWorker<P>;
  readonly data: () => P["data"];
  readonly on: { readonly [K in keyof P["events"]]: (value: P["events"][K]) => void };
  /** The thread threw an error; its requests fail when it has ended. */
  readonly onError?: (error: Error) => void;
  /** The thread has ended, and its requests have failed. */
  readonly onExit?: () => void;
}

/** A worker, as its starter uses it: started by the first request, and again after it has ended. */
export class WorkerClient<P extends Program> {
  readonly #options: WorkerOptions<P>;
  #running: Running<P> | null = null;
  #lastId = 0;

  constructor(options: WorkerOptions<P>) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** Requests without an answer. */
  get pending(): number {
    return this.#running?.pending.size ?? 0;
  }

  /** Settles when the present worker has ended. */
  get ended(): Promise<void> {
    return this.#running?.ended ?? Promise.resolve();
  }

  start(): void {
    this.#running ??= this.#start();
  }

  /** @param answer - Called once. */
  ask<K extends NameOf<P>>(
    name: K,
    argument: Argument<P, K>,
    answer: (reply: Reply<ResultOf<P, K>>) => void,
    transfer: readonly Transferable[] = [],
  ): void {
    const { thread, pending } = (this.#running ??= this.#start());
    const id = (this.#lastId += 1);
    pending.set(id, answer);
    thread.post({ id, name, argument }, transfer);
  }

  /** Sends a notice, without an answer. Does not start a worker. */
  tell<K extends NameOf<P>>(
    name: K,
    argument: Argument<P, K>,
    transfer: readonly Transferable[] = [],
  ): void {
    this.#running?.thread.post({ id: 0, name, argument }, transfer);
  }

  /** Keeps the process alive for the worker. */
  keepAlive(isNeeded: boolean): void {
    this.#running?.thread.keepAlive(isNeeded);
  }

  /** Ends the worker at once; its requests fail. The next request starts another. */
  async terminate(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await running?.thread.terminate();
  }

  #start(): Running<P> {
    const { start, data, onError, onExit } = this.#options;
    let settle = () => {};
    const ended = new Promise<void>((resolve) => (settle = resolve));
    const thread = start(data(), {
      message: (message) => this.#hear(running, message),
      error: (error) => {
        running.failure = error;
        onError?.(error);
      },
      exit: () => {
        if (this.#running === running) this.#running = null;
        const answers = [...running.pending.values()];
        running.pending.clear();
        for (const answer of answers) answer({ failure: running.failure });
        onExit?.();
        settle();
      },
    });
    const failure = new Error("the thread ended without an answer");
    const running: Running<P> = { thread, pending: new Map(), failure, ended };
    return running;
  }

  #hear(running: Running<P>, message: FromWorker<P>): void {
    if ("event" in message) {
      // A terminated worker may have sent some before its end.
      if (this.#running === running) this.#options.on[message.event](message.value);
      return;
    }
    const { pending } = running;
    const answer = pending.get(message.id);
    pending.delete(message.id);
    if ("failure" in message) answer?.({ failure: new Error(message.failure) });
    else answer?.({ failure: null, result: message.result as never });
  }
}

/** A result whose memory moves to the starter instead of being copied. */
export class Transferred<Result> {
  readonly result: Result;
  readonly transfer: readonly Transferable[];

  constructor(result: Result, transfer: readonly Transferable[]) {
    this.result = result;
    this.transfer = transfer;
  }
}

/** Returned by a handler to answer later. */
export const LATER = Symbol("later");

/** Answers one request, once. */
export interface Answering<Result> {
  done(result: Result | Transferred<Result>): void;
  fail(error: unknown): void;
}

/** By name: handles a request or a notice. */
export type Handlers<P extends Program> = {
  readonly [K in NameOf<P>]: (
    argument: Argument<P, K>,
    answering: Answering<ResultOf<P, K>>,
  ) => ResultOf<P, K> | Transferred<ResultOf<P, K>> | typeof LATER;
};

/** Handles requests in the order of their arrival. A failing notice ends the thread. */
export function serve<P extends Program>(
  port: ThreadPort<ToWorker<P>>,
  handlers: Handlers<P>,
): void {
  const answeringOf = (id: number): Answering<unknown> => ({
    done(given) {
      const isMoved = given instanceof Transferred;
      const answer: Answer = { id, result: isMoved ? given.result : given };
      port.postMessage(answer, isMoved ? given.transfer : []);
    },
    fail: (error) => port.postMessage({ id, failure: messageOf(error) } satisfies Answer),
  });
  port.on("message", ({ id, name, argument }) => {
    const answering = answeringOf(id);
    try {
      const given = handlers[name](argument, answering);
      if (id !== 0 && given !== LATER) answering.done(given);
    } catch (error) {
      if (id === 0) throw error;
      answering.fail(error);
    }
  });
}

export type Emitter<P extends Program> = <K extends keyof P["events"]>(
  event: K,
  value: P["events"][K],
) => void;

export function emitterOf<P extends Program>(
  port: Pick<ThreadPort<never>, "postMessage">,
): Emitter<P> {
  return (event, value) => port.postMessage({ event, value });
}

/** Of a thread's JavaScript heap, in MiB. */
interface HeapLimits {
  readonly maxOldGenerationSizeMb: number;
  readonly maxYoungGenerationSizeMb: number;
}

/**
 * The JavaScript heap of a thread, and the part of it for new objects. The lower these limits, the
 * less garbage there is when it is collected: by default, up to three times the memory in use.
 */
const HEAP_LIMITS: HeapLimits = { maxOldGenerationSizeMb: 1_024, maxYoungGenerationSizeMb: 16 };

/** @param program - A compiled file: a thread cannot start from source. */
export function workerThread<Data, Message, Answered>(
  program: URL,
  name: string,
  resourceLimits = HEAP_LIMITS,
): StartThread<Data, Message, Answered> {
  return (workerData, { message, error, exit }) => {
    const worker = new Worker(program, { workerData, name, resourceLimits });
    worker.on("message", message).on("error", error).once("exit", exit);
    // Comes last: a listener of messages keeps the process alive.
    worker.unref();
    return {
      post: (value, transfer = []) => worker.postMessage(value, transfer),
      keepAlive: (isNeeded) => (isNeeded ? worker.ref() : worker.unref()),
      async terminate() {
        await worker.terminate();
      },
    };
  };
}

/** @returns The program at the other end of a channel. It ends, for good, when that end closes. */
export function threadAt<P extends Program>(port: MessagePort): StartWorker<P> {
  let isClosed = false;
  port.once("close", () => (isClosed = true));
  return (_data, { message, exit }) => {
    if (isClosed) queueMicrotask(exit);
    else port.on("message", message).once("close", exit);
    return {
      post: (value, transfer = []) => port.postMessage(value, transfer),
      keepAlive: (isNeeded) => (isNeeded ? port.ref() : port.unref()),
      terminate() {
        port.close();
        return Promise.resolve();
      },
    };
  };
}

/** @returns The port of the thread, at the engine's priority. */
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
