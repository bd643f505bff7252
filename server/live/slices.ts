/**
 * The share of the thread that streams have. In each turn of the event loop the feeds have one
 * slice together, so that requests wait for a slice at most; the next one begins with the feed that
 * has waited longest. While there is much other work, the feeds rest between the slices: bookings
 * have most of the thread then, and without them streams do.
 *
 * Long work (`server/routing/slices.ts`) learns of other work in the same way. Its slices are
 * longer, and it rests longer after each.
 */
import { OtherWork } from "../routing/slices.ts";

/** A slice ends after this much time, in milliseconds. */
const SLICE_MS = 0.25;
/** Other work that takes more than this share of the time has the thread after each slice ... */
const OTHER_SHARE_MAX = 0.25;
/** ... for so long, times what its share is above that ... */
const REST_MS = 20;
/** ... and at most for this long. */
const REST_MS_MAX = 8;

/** Work that is done in slices. */
export interface Sliced {
  /** Works until a moment, as by `performance.now`. @returns Whether more is left. */
  workUntil(endMs: number): boolean;
}

export class Slices {
  readonly #other: OtherWork;
  /** The one whose turn is next comes first. */
  readonly #queue = new Set<Sliced>();
  #isScheduled = false;
  /** When the last slice ended. */
  #endMs = 0;

  constructor(other = new OtherWork()) {
    this.#other = other;
  }

  /** The work is done when it is its turn, in as many slices as it needs. */
  add(work: Sliced): void {
    this.#queue.add(work);
    this.#schedule();
  }

  remove(work: Sliced): void {
    this.#queue.delete(work);
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queue.size === 0) return;
    this.#isScheduled = true;
    const restMs = Math.min(REST_MS_MAX, REST_MS * (this.#other.share - OTHER_SHARE_MAX));
    const leftMs = restMs > 0 ? this.#endMs + restMs - performance.now() : 0;
    if (leftMs > 0) setTimeout(this.#step, leftMs);
    else setImmediate(this.#step);
  }

  readonly #step = (): void => {
    this.#isScheduled = false;
    const startMs = this.#other.begin();
    let endMs = startMs;
    // What is added again meanwhile comes again.
    for (const work of this.#queue) {
      this.#queue.delete(work);
      if (work.workUntil(startMs + SLICE_MS)) this.#queue.add(work);
      endMs = performance.now();
      if (endMs >= startMs + SLICE_MS) break;
    }
    this.#other.end(endMs);
    this.#endMs = endMs;
    this.#schedule();
  };
}
