/** Writes a snapshot in a thread of its own, started for it and ended with it. */
import { Worker } from "node:worker_threads";
import type { PartitionImage } from "../engine/image.ts";
import type { Built, BuildEnd, BuildOptions, ImageAt } from "./snapshot-build.ts";
import type { SnapshotWriter } from "./snapshots.ts";

/** What the thread is given at its start. */
export type ThreadData = Omit<BuildOptions, "disk">;

/** What the thread is told, in order. */
export type ToThread =
  | { readonly kind: "add"; readonly image: ImageAt }
  | { readonly kind: "finish"; readonly end: BuildEnd };

/** What it says in the end. */
export type FromThread =
  | { readonly kind: "built"; readonly built: Built }
  | { readonly kind: "failed"; readonly message: string };

/** Compiled: a thread cannot start from source. */
const PROGRAM = new URL("./snapshot-worker.js", import.meta.url);

export function openThread(data: ThreadData): SnapshotWriter {
  const worker = new Worker(PROGRAM, { workerData: data, name: "frontrow snapshot" });
  const built = new Promise<Built>((resolve, reject) => {
    worker.once("message", (answer: FromThread) => {
      if (answer.kind === "built") resolve(answer.built);
      else reject(new Error(answer.message));
    });
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the thread ended without an answer")));
  });
  // Whoever waits for it is told by `finish`; before, nobody listens yet.
  built.catch(() => {});
  const tell = (message: ToThread, transfer: ArrayBuffer[] = []) =>
    worker.postMessage(message, transfer);
  return {
    add: (image) => tell({ kind: "add", image }, buffersOf(image.image)),
    finish(end) {
      tell({ kind: "finish", end });
      return built;
    },
    async abandon() {
      await worker.terminate();
    },
  };
}

/** Moved to the thread, not copied: nobody here looks at them any more. */
function buffersOf({ seats, changes, areas, holds }: PartitionImage): ArrayBuffer[] {
  const members = [seats, changes, areas, holds].flatMap((part) => Object.values(part));
  return members
    .filter((member): member is ArrayBufferView => ArrayBuffer.isView(member))
    .map(({ buffer }) => buffer as ArrayBuffer);
}
