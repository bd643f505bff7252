/** Writes snapshots in a thread of its own, one after the other. */
import { Worker } from "node:worker_threads";
import type { CatalogPut } from "../../engine/catalog.ts";
import type { PartitionImage } from "../../engine/inventory/image.ts";
import type { Built, BuildEnd, BuildOptions, ImageAt } from "./build.ts";
import type { SnapshotWriter } from "./options.ts";

/** What the thread is given at its start. */
export interface ThreadData extends Omit<BuildOptions, "disk" | "base" | "rest"> {
  /** One number in memory that both share: the thread rests as long as it is 0. */
  readonly bell: Int32Array;
}

/** What the thread is told, in order, for each snapshot. */
export type ToThread =
  | { readonly kind: "begin"; readonly base: string | null }
  | { readonly kind: "put"; readonly nextId: number; readonly puts: readonly CatalogPut[] }
  | { readonly kind: "add"; readonly image: ImageAt }
  | { readonly kind: "finish"; readonly end: BuildEnd };

/** What it says: of each image that it wrote, and in the end. */
export type FromThread =
  | { readonly kind: "written" }
  | { readonly kind: "built"; readonly built: Built }
  | { readonly kind: "failed"; readonly message: string };

/** Compiled: a thread cannot start from source. */
const PROGRAM = new URL("./worker.js", import.meta.url);

/**
 * The thread is there before the first snapshot begins, since starting one takes milliseconds for
 * which the engine would stand still. It keeps no process alive.
 */
export class SnapshotThread {
  readonly #data: ThreadData;
  readonly #bell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  readonly #program: URL;
  #worker: Worker | null;

  /** @param program - Compiled; that of this package when it is not given. */
  constructor(data: Omit<ThreadData, "bell">, program = PROGRAM) {
    this.#data = { ...data, bell: this.#bell };
    this.#program = program;
    this.#worker = this.#start();
  }

  /** Begins one; the one before has to be over. */
  begin(base: string | null, onWritten: () => void): SnapshotWriter {
    const worker = (this.#worker ??= this.#start());
    let queued = 0;
    const built = new Promise<Built>((resolve, reject) => {
      const end = (settle: () => void) => {
        worker.off("message", answered).off("error", broken).off("exit", gone);
        settle();
      };
      const answered = (answer: FromThread) => {
        if (answer.kind === "built") return end(() => resolve(answer.built));
        if (answer.kind === "failed") return end(() => reject(new Error(answer.message)));
        queued -= 1;
        onWritten();
      };
      const broken = (error: Error) => end(() => reject(error));
      const gone = () => end(() => reject(new Error("the thread ended without an answer")));
      worker.on("message", answered).on("error", broken).on("exit", gone);
    });
    const tell = (message: ToThread, transfer: ArrayBuffer[] = []) =>
      worker.postMessage(message, transfer);
    tell({ kind: "begin", base });
    return {
      built,
      get queued() {
        return queued;
      },
      put: (nextId, puts) => tell({ kind: "put", nextId, puts }),
      add(image) {
        queued += 1;
        tell({ kind: "add", image }, buffersOf(image.image));
      },
      finish: (end) => tell({ kind: "finish", end }),
      abandon: () => this.close(),
    };
  }

  /** From now on it works without a rest: somebody waits for the end. */
  hurry(): void {
    Atomics.store(this.#bell, 0, 1);
    Atomics.notify(this.#bell, 0);
  }

  /** A snapshot in the making is given up. */
  async close(): Promise<void> {
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#program, {
      workerData: this.#data,
      name: "frontrow snapshots",
    });
    worker.unref();
    const forget = () => {
      if (this.#worker === worker) this.#worker = null;
    };
    // Whoever waits for a snapshot listens too; the next one gets a new thread.
    worker.once("error", forget).once("exit", forget);
    return worker;
  }
}

/** Moved to the thread, not copied: nobody here looks at them any more. */
function buffersOf({ seats, changes, areas, holds }: PartitionImage): ArrayBuffer[] {
  const members = [seats, changes, areas, holds].flatMap((part) => Object.values(part));
  return members
    .filter((member): member is ArrayBufferView => ArrayBuffer.isView(member))
    .map(({ buffer }) => buffer as ArrayBuffer);
}
