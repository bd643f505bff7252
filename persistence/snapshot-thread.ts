/** Writes snapshots in a thread of its own, one after the other. */
import { Worker } from "node:worker_threads";
import type { PartitionImage } from "../engine/image.ts";
import type { Built, BuildEnd, BuildOptions, ImageAt } from "./snapshot-build.ts";
import type { SnapshotWriter } from "./snapshots.ts";

/** What the thread is given at its start. */
export type ThreadData = Omit<BuildOptions, "disk" | "base">;

/** What the thread is told, in order, for each snapshot. */
export type ToThread =
  | { readonly kind: "begin"; readonly base: string | null }
  | { readonly kind: "add"; readonly image: ImageAt }
  | { readonly kind: "finish"; readonly end: BuildEnd };

/** What it says in the end of each. */
export type FromThread =
  | { readonly kind: "built"; readonly built: Built }
  | { readonly kind: "failed"; readonly message: string };

/** Compiled: a thread cannot start from source. */
const PROGRAM = new URL("./snapshot-worker.js", import.meta.url);

/**
 * The thread is there before the first snapshot begins, since starting one takes milliseconds for
 * which the engine would stand still. It keeps no process alive.
 */
export class SnapshotThread {
  readonly #data: ThreadData;
  #worker: Worker | null;

  constructor(data: ThreadData) {
    this.#data = data;
    this.#worker = this.#start();
  }

  /** Begins one; the one before has to be finished. */
  begin(base: string | null): SnapshotWriter {
    const worker = (this.#worker ??= this.#start());
    const built = new Promise<Built>((resolve, reject) => {
      const end = (settle: () => void) => {
        worker.off("message", answered).off("error", broken).off("exit", gone);
        settle();
      };
      const answered = (answer: FromThread) =>
        end(() => {
          if (answer.kind === "built") resolve(answer.built);
          else reject(new Error(answer.message));
        });
      const broken = (error: Error) => end(() => reject(error));
      const gone = () => end(() => reject(new Error("the thread ended without an answer")));
      worker.on("message", answered).on("error", broken).on("exit", gone);
    });
    // Whoever waits for it is told by `finish`; before, nobody listens yet.
    built.catch(() => {});
    const tell = (message: ToThread, transfer: ArrayBuffer[] = []) =>
      worker.postMessage(message, transfer);
    tell({ kind: "begin", base });
    return {
      add: (image) => tell({ kind: "add", image }, buffersOf(image.image)),
      finish(end) {
        tell({ kind: "finish", end });
        return built;
      },
      abandon: () => this.close(),
    };
  }

  /** A snapshot in the making is given up. */
  async close(): Promise<void> {
    await this.#worker?.terminate();
  }

  #start(): Worker {
    const worker = new Worker(PROGRAM, { workerData: this.#data, name: "frontrow snapshots" });
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
