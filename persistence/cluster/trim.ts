/**
 * Removes from etcd the frames that two hosts have on their own disks, except the newest, and
 * compacts.
 */
import type { FramePlace } from "../log/frame.ts";
import type { Etcd } from "./etcd.ts";
import { type CellKeys, comparePlaces } from "./keys.ts";

/** Frames for hosts that restart, that are slow, or that join from a copy. */
const KEPT_BYTES = 64 * 1024 * 1024;
/** At most so much stays for a host that gets a copy at the moment. */
const KEPT_FOR_COPIES_BYTES = 512 * 1024 * 1024;
/** Without a second host that has them, frames stay; beyond this no record is accepted. */
export const RETAINED_BYTES_MAX = 1024 * 1024 * 1024;
/** Less is not worth a compaction, which costs etcd some 20 ms. */
const STEP_BYTES = 4 * 1024 * 1024;
/** The statuses of the hosts leave old revisions too. */
const STEP_EVERY_MS = 60_000;
const DEADLINE_MS = 5_000;

interface Retained {
  readonly place: FramePlace;
  readonly bytes: number;
}

/** Up to where a host has the log on its disk, and where a copy for another one begins. */
export type Held = FramePlace & { readonly keepFrom?: FramePlace | undefined };

export interface TrimOptions {
  readonly etcd: Etcd;
  readonly keys: CellKeys;
  readonly token: number;
}

export class Trim {
  readonly #options: TrimOptions;
  /** The frames in etcd, the oldest first. */
  #retained: Retained[] = [];
  #retainedBytes = 0;
  #knowsEarlier = false;
  #steppedMs = 0;
  #isBusy = false;

  constructor(options: TrimOptions) {
    this.#options = options;
  }

  /** Bytes of the frames in etcd, as far as they are known. */
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
   * Removes what may be removed. To be called from time to time, after the first frame.
   * @param own - Of this host.
   * @param others - Of all other live hosts.
   */
  step(own: Held, others: readonly Held[], nowMs: number): void {
    if (this.#isBusy) return;
    if (!this.#knowsEarlier) return this.#findEarlier();
    const first = this.#retained[0]!.place;
    const onDisk = lesser(this.#beforeKept(), onTwo(own, others) ?? first);
    const copied = [own, ...others].flatMap(({ keepFrom }) => keepFrom ?? []);
    const hasRoom = this.#retainedBytes < KEPT_FOR_COPIES_BYTES;
    const end = hasRoom ? copied.reduce(lesser, onDisk) : onDisk;
    const bytes = this.#retainedBytes - this.#bytesFrom(end);
    if (bytes < STEP_BYTES && nowMs - this.#steppedMs < STEP_EVERY_MS) return;
    this.#steppedMs = nowMs;
    this.#remove(end);
  }

  /** The frames of earlier leaders. */
  #findEarlier(): void {
    const { etcd, keys } = this.#options;
    const range = keys.logsBefore(this.#retained[0]!.place);
    this.#isBusy = true;
    etcd.range({ ...range, limit: 0, keysOnly: true }, DEADLINE_MS, (reply) => {
      this.#isBusy = false;
      if (reply.kind !== "done") return;
      this.#knowsEarlier = true;
      const places = reply.value.pairs.map(({ key }) => keys.placeOf(key)!);
      const earlier = places.map((place, index) => {
        const next = places[index + 1];
        const isLast = next?.number !== place.number;
        return { place, bytes: isLast ? 0 : next.offset - place.offset };
      });
      for (const { bytes } of earlier) this.#retainedBytes += bytes;
      this.#retained = [...earlier, ...this.#retained];
    });
  }

  /** Where the frames begin that stay in any case. The last frame is always one of them. */
  #beforeKept(): FramePlace {
    let bytes = 0;
    let index = this.#retained.length - 1;
    while (index > 0 && bytes + this.#retained[index]!.bytes < KEPT_BYTES) {
      bytes += this.#retained[index]!.bytes;
      index -= 1;
    }
    return this.#retained[index]!.place;
  }

  #bytesFrom(place: FramePlace): number {
    let bytes = 0;
    for (let index = this.#retained.length - 1; index >= 0; index--) {
      const frame = this.#retained[index]!;
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

/** @returns Up to where this host and another one have the log; null when there is no other. */
function onTwo(own: FramePlace, others: readonly FramePlace[]): FramePlace | null {
  const fastest = others.toSorted(comparePlaces).at(-1);
  return fastest === undefined ? null : lesser(own, fastest);
}

function lesser(one: FramePlace, other: FramePlace): FramePlace {
  return comparePlaces(one, other) < 0 ? one : other;
}
