/**
 * Removes from etcd the frames that two hosts have on their own disks, and compacts. Frames that a
 * live host still needs stay for as long as there are not too many of them.
 */
import type { FramePlace } from "../log/frame.ts";
import type { Etcd } from "./etcd.ts";
import { type CellKeys, comparePlaces } from "./keys.ts";

/** Frames for slower hosts, such as one that restarts, and for a host that joins. */
const KEPT_BYTES = 64 * 1024 * 1024;
/** Without a second host that has them, frames stay; beyond this no record is accepted. */
const RETAINED_BYTES_MAX = 1024 * 1024 * 1024;
/** Less is not worth a compaction, which costs etcd some 20 ms. */
const STEP_BYTES = 4 * 1024 * 1024;
/** The statuses of hosts leave old revisions too. */
const STEP_EVERY_MS = 60_000;
const DEADLINE_MS = 5_000;

interface Retained {
  readonly place: FramePlace;
  readonly bytes: number;
}

export interface TrimOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly token: number;
}

export class Trim {
  readonly #options: TrimOptions;
  /** The frames of this leader in etcd, the oldest first. Older ones go with the first step. */
  #retained: Retained[] = [];
  #retainedBytes = 0;
  #steppedMs = 0;
  #isBusy = false;

  constructor(options: TrimOptions) {
    this.#options = options;
  }

  /** Bytes of frames in etcd that this leader has put. */
  get retainedBytes(): number {
    return this.#retainedBytes;
  }

  /** Whether etcd has room for more frames. */
  get hasRoom(): boolean {
    return this.#retainedBytes < RETAINED_BYTES_MAX;
  }

  /** A frame was put. */
  add(place: FramePlace, bytes: number): void {
    this.#retained.push({ place, bytes });
    this.#retainedBytes += bytes;
  }

  /**
   * @param own - Up to where this host has the log on its disk.
   * @param others - The same of all other live hosts.
   */
  step(own: FramePlace, others: readonly FramePlace[], nowMs: number): void {
    if (this.#isBusy || others.length === 0 || this.#retained.length === 0) return;
    const inOrder = [own, ...others].sort(comparePlaces);
    const slowest = inOrder[0]!;
    const fastest = [...others].sort(comparePlaces).at(-1)!;
    const onTwo = comparePlaces(own, fastest) < 0 ? own : fastest;
    const isTooMuch = this.#bytesFrom(slowest) > KEPT_BYTES;
    const end = this.#keepSome(isTooMuch ? onTwo : slowest);
    const bytes = this.#retainedBytes - this.#bytesFrom(end);
    if (bytes < STEP_BYTES && nowMs - this.#steppedMs < STEP_EVERY_MS) return;
    this.#steppedMs = nowMs;
    this.#remove(end);
  }

  /** The last frames stay: they prove to a host that starts that its log is not too old. */
  #keepSome(end: FramePlace): FramePlace {
    const last = this.#retained.at(-1)!.place;
    return comparePlaces(end, last) < 0 ? end : last;
  }

  #bytesFrom(place: FramePlace): number {
    let bytes = 0;
    for (let at = this.#retained.length - 1; at >= 0; at--) {
      const frame = this.#retained[at]!;
      if (comparePlaces(frame.place, place) < 0) break;
      bytes += frame.bytes;
    }
    return bytes;
  }

  #remove(end: FramePlace): void {
    const { etcd, keys, token } = this.#options;
    const change = {
      compares: [{ key: keys.leader, createRevision: token }],
      puts: [],
      deletes: [keys.logsBefore(end), keys.partsBefore(end)],
      otherwiseGet: [],
    };
    this.#isBusy = true;
    etcd.transact(change, DEADLINE_MS, (reply) => {
      // After any other outcome a later step deletes the same keys again.
      if (reply.kind !== "done" || !reply.value.isDone) {
        this.#isBusy = false;
        return;
      }
      const first = this.#retained.findIndex(({ place }) => comparePlaces(place, end) >= 0);
      for (const { bytes } of this.#retained.splice(0, first)) this.#retainedBytes -= bytes;
      etcd.compact(reply.value.revision, DEADLINE_MS, () => {
        this.#isBusy = false;
      });
    });
  }
}
