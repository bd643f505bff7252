/** The work of the snapshot thread: handles the messages that `thread.ts` sends. */
import { messageOf } from "../disk/faults.ts";
import type { ThreadPort } from "../disk/threads.ts";
import { loadedPut } from "../log/layout-packing.ts";
import { type BuildEnd, type Built, SnapshotBuild } from "./build.ts";
import { type PruneOptions, prune } from "./prune.ts";
import type { FromThread, SnapshotThreadData, ToThread } from "./thread.ts";

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
  /** When the work since the last rest began; as `performance.now`. */
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
