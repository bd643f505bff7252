/** Writes snapshots as it is told to: see `snapshot-thread.ts` for what that is. */
import type { MessagePort } from "node:worker_threads";
import { realDisk } from "../disk/disk.ts";
import { messageOf } from "../disk/faults.ts";
import { type Built, type BuildEnd, SnapshotBuild } from "./build.ts";
import type { FromThread, ThreadData, ToThread } from "./thread.ts";

/** For each millisecond of work so many of rest: the engine and its log want the machine more. */
const REST_SHARE = 9;
/** The copies of a large store are to be over some day, though. */
const REST_MS_MAX = 1_000;

export function serveSnapshots(port: MessagePort, data: ThreadData): void {
  const desk = new Desk(data);
  port.on("message", (message: ToThread) => {
    const answer = desk.answerTo(message);
    if (answer !== null) port.postMessage(answer);
  });
}

class Desk {
  readonly #data: ThreadData;
  /** The snapshot in the making; null before, and behind a failure that was told. */
  #build: SnapshotBuild | null = null;
  /** When the work began that no rest followed yet; milliseconds of `performance.now`. */
  #workedFrom = 0;

  constructor(data: ThreadData) {
    this.#data = data;
  }

  /** @returns null when there is nothing to say. */
  answerTo(message: ToThread): FromThread | null {
    this.#workedFrom = performance.now();
    try {
      return this.#do(message);
    } catch (error) {
      this.#build?.abandon();
      this.#build = null;
      return { kind: "failed", message: messageOf(error) };
    }
  }

  #rest(): void {
    const restMs = REST_SHARE * (performance.now() - this.#workedFrom);
    Atomics.wait(this.#data.bell, 0, 0, Math.min(restMs, REST_MS_MAX));
    this.#workedFrom = performance.now();
  }

  #do(message: ToThread): FromThread | null {
    if (message.kind === "begin") {
      const { base } = message;
      const rest = () => this.#rest();
      const { folder, storeId } = this.#data;
      this.#build = new SnapshotBuild({ disk: realDisk, folder, storeId, base, rest });
      return null;
    }
    // What comes behind a failure belongs to a snapshot that there will not be.
    if (this.#build === null) return null;
    switch (message.kind) {
      case "put":
        this.#build.put(message.nextId, message.puts);
        return null;
      case "add":
        this.#build.add(message.image);
        return { kind: "written" };
      case "finish": {
        const built = finish(this.#build, message.end);
        this.#build = null;
        return { kind: "built", built };
      }
    }
    return message satisfies never;
  }
}

function finish(complete: SnapshotBuild, end: BuildEnd): Built {
  // Copied by the message: a chain is a plain array of bytes here.
  const { sequence, chain } = end.mark;
  return complete.finish({ ...end, mark: { sequence, chain: Buffer.from(chain) } });
}
