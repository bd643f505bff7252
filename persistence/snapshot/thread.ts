/** The snapshot thread, as the engine's thread sees it. It writes one snapshot at a time. */
import type { CatalogPut } from "../../engine/catalog.ts";
import type { PartitionImage } from "../../engine/inventory/image.ts";
import type { StorePlace } from "../disk/data-folder.ts";
import type { StartThread, Thread } from "../disk/threads.ts";
import { storedPut } from "../log/layout-packing.ts";
import type { BuildEnd, Built, ImageAt } from "./build.ts";
import type { SnapshotWriter } from "./options.ts";

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
function buffersOf({ seats, changes, areas, holds }: PartitionImage): ArrayBuffer[] {
  const members = [seats, changes, areas, holds].flatMap((part) => Object.values(part));
  return members
    .filter((member): member is ArrayBufferView => ArrayBuffer.isView(member))
    .map(({ buffer }) => buffer as ArrayBuffer);
}
