/** The snapshot thread, as the engine's thread sees it. It writes one snapshot at a time. */
import type { CatalogPut } from "../../engine/catalog.ts";
import type { PartitionImage } from "../../engine/inventory/image.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import { messageOf } from "../disk/faults.ts";
import type { StartThread, Thread, ThreadPort } from "../disk/worker.ts";
import { loadedPut, storedPut } from "../log/layout-packing.ts";
import {
  type BuildEnd,
  type Built,
  type ImageAt,
  prune,
  type PruneOptions,
  SnapshotBuild,
  type SnapshotWriter,
} from "./build.ts";

/** The data that the thread starts with. */
export interface SnapshotThreadData extends Omit<StorePlace, "disk"> {
  /** One number in shared memory: the thread rests between steps while it is 0. */
  readonly bell: Int32Array;
}

/** Messages to the thread, in this order for each snapshot. */
export type ToThread =
  | { readonly kind: "begin"; readonly base: string | null }
  | { readonly kind: "put"; readonly nextId: number; readonly puts: readonly CatalogPut[] }
  | { readonly kind: "add"; readonly image: ImageAt }
  | { readonly kind: "finish"; readonly end: BuildEnd };

/** Messages from the thread: one for each written image, and one at the end. */
export type FromThread =
  | { readonly kind: "written" }
  | { readonly kind: "built"; readonly built: Built }
  | { readonly kind: "failed"; readonly message: string };

export type StartSnapshotThread = StartThread<SnapshotThreadData, ToThread, FromThread>;

/** The callbacks of the snapshot in progress. */
interface Waiting {
  readonly resolve: (built: Built) => void;
  readonly reject: (failure: Error) => void;
  readonly onWritten: () => void;
}

interface Running {
  readonly thread: Thread<ToThread>;
  waiting: Waiting | null;
}

/**
 * The thread is started before the first snapshot, because a start blocks the engine for some
 * milliseconds. A thread that has ended is started again when it is needed.
 */
export class SnapshotThread {
  readonly #data: SnapshotThreadData;
  readonly #startThread: StartSnapshotThread;
  #running: Running | null;

  constructor(data: Omit<SnapshotThreadData, "bell">, startThread: StartSnapshotThread) {
    const bell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    this.#data = { ...data, bell };
    this.#startThread = startThread;
    this.#running = this.#start();
  }

  /** Begins a snapshot; the previous one must have ended. */
  begin(base: string | null, onWritten: () => void): SnapshotWriter {
    const running = (this.#running ??= this.#start());
    const { thread } = running;
    let queued = 0;
    const built = new Promise<Built>((resolve, reject) => {
      const written = () => {
        queued -= 1;
        onWritten();
      };
      running.waiting = { resolve, reject, onWritten: written };
    });
    thread.post({ kind: "begin", base });
    return {
      built,
      get queued() {
        return queued;
      },
      put: (nextId, puts) => thread.post({ kind: "put", nextId, puts: puts.map(storedPut) }),
      add(image) {
        queued += 1;
        thread.post({ kind: "add", image }, buffersOf(image.image));
      },
      finish: (end) => thread.post({ kind: "finish", end }),
      abandon: () => this.close(),
    };
  }

  /** From now on the thread does not rest, because a shutdown waits for it. */
  hurry(): void {
    Atomics.store(this.#data.bell, 0, 1);
    Atomics.notify(this.#data.bell, 0);
  }

  /** The snapshot in progress is abandoned. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = null;
    await running?.thread.terminate();
  }

  #start(): Running {
    const ended = (failure: Error) => {
      if (this.#running === running) this.#running = null;
      running.waiting?.reject(failure);
      running.waiting = null;
    };
    const thread = this.#startThread(this.#data, {
      message: (answer) => hear(running, answer),
      error: ended,
      exit: () => ended(new Error("the thread ended without an answer")),
    });
    const running: Running = { thread, waiting: null };
    return running;
  }
}

function hear(running: Running, answer: FromThread): void {
  const { waiting } = running;
  if (answer.kind === "written") return waiting?.onWritten();
  running.waiting = null;
  if (answer.kind === "built") waiting?.resolve(answer.built);
  else waiting?.reject(new Error(answer.message));
}

/** The buffers are moved to the thread instead of copied: this thread no longer uses them. */
function buffersOf({ seats, changes, areas, holds, door }: PartitionImage): ArrayBuffer[] {
  const members = [seats, changes, areas, holds, door ?? {}].flatMap((part) => Object.values(part));
  return members
    .filter((member): member is ArrayBufferView => ArrayBuffer.isView(member))
    .map(({ buffer }) => buffer as ArrayBuffer);
}

// The work of the snapshot thread: handles the messages that `thread.ts` sends.

/** Milliseconds of rest per millisecond of work: the engine and its log have priority. */
const REST_SHARE = 9;
/** Bounds the time for the snapshot of a large store. */
const REST_MS_MAX = 1_000;

export type ServiceOptions = SnapshotThreadData & Omit<PruneOptions, "newest" | "base">;

export function serveSnapshots(port: ThreadPort<ToThread>, options: ServiceOptions): void {
  const service = new Service(options);
  port.on("message", (message: ToThread) => {
    const answer = service.answerTo(message);
    if (answer !== null) port.postMessage(answer);
  });
  port.on("close", () => service.abandon());
}

class Service {
  readonly #options: ServiceOptions;
  /** The snapshot in progress; null before it begins and after it has failed. */
  #build: SnapshotBuild | null = null;
  /** Begin of the work since the last rest; as `performance.now`. */
  #workedFromMs = 0;

  constructor(options: ServiceOptions) {
    this.#options = options;
  }

  /** @returns null for a message without an answer. */
  answerTo(message: ToThread): FromThread | null {
    this.#workedFromMs = performance.now();
    try {
      return this.#do(message);
    } catch (error) {
      this.abandon();
      return { kind: "failed", message: messageOf(error) };
    }
  }

  abandon(): void {
    const build = this.#build;
    this.#build = null;
    build?.abandon();
  }

  #rest(): void {
    const restMs = REST_SHARE * (performance.now() - this.#workedFromMs);
    Atomics.wait(this.#options.bell, 0, 0, Math.min(restMs, REST_MS_MAX));
    this.#workedFromMs = performance.now();
  }

  #do(message: ToThread): FromThread | null {
    if (message.kind === "begin") {
      const { disk, folder, storeId } = this.#options;
      const rest = () => this.#rest();
      this.#build = new SnapshotBuild({ disk, folder, storeId, base: message.base, rest });
      return null;
    }
    // The messages after a failure belong to the failed snapshot.
    if (this.#build === null) return null;
    switch (message.kind) {
      case "put":
        this.#build.put(message.nextId, message.puts.map(loadedPut));
        return null;
      case "add":
        this.#build.add(message.image);
        return { kind: "written" };
      case "finish":
        return { kind: "built", built: this.#finish(this.#build, message.end) };
    }
    return message satisfies never;
  }

  #finish(build: SnapshotBuild, end: BuildEnd): Built {
    // A message turns the chain from a Buffer into a Uint8Array.
    const { sequence, chain } = end.mark;
    const made = build.finish({ ...end, mark: { sequence, chain: Buffer.from(chain) } });
    this.#build = null;
    return { ...made, ...prune({ ...this.#options, newest: made.name, base: build.base }) };
  }
}
