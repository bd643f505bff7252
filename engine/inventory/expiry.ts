/**
 * Expiry of holds. Holds with the same lifetime end in the order in which they began, because time
 * never steps back, so each lifetime has a queue that is always sorted. There are only as many
 * queues as lifetimes were ever in use at once: a handful. Removing any hold has constant cost.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";

interface Queue {
  readonly lifetimeMs: number;
  /** The hold slots at both ends; NONE when the queue is empty. */
  first: number;
  last: number;
}

/** The links of a slot in `#links`: the number of its queue and its neighbours there. */
const [QUEUE, BEFORE, AFTER, LINKS] = [0, 1, 2, 3];

export class ExpiryQueues {
  /** An empty queue is reused, also for another lifetime. */
  readonly #queues: Queue[] = [];
  /** Three adjacent links per hold slot, so reading them costs one cache miss. */
  readonly #links: number[] = [];
  /** Index: hold slot. Value: milliseconds since 1970. */
  readonly #expiresAtMs: number[] = [];
  /** A lower bound: no hold ends before it. */
  #earliestMs = Infinity;

  /** Cost: O(queues), usually 1. */
  add(slot: number, startedAtMs: number, expiresAtMs: number): void {
    assert(!this.#isQueued(slot), "a hold is queued once");
    assert(expiresAtMs > startedAtMs, "a hold ends after it began");
    const number = this.#queueFor(expiresAtMs - startedAtMs);
    const queue = this.#queues[number]!;
    while (this.#expiresAtMs.length < slot) {
      this.#expiresAtMs.push(0);
      this.#links.push(NONE, NONE, NONE);
    }
    this.#links[slot * LINKS + QUEUE] = number;
    this.#links[slot * LINKS + BEFORE] = queue.last;
    this.#links[slot * LINKS + AFTER] = NONE;
    this.#expiresAtMs[slot] = expiresAtMs;
    if (queue.last === NONE) queue.first = slot;
    else {
      assert(this.#expiresAtMs[queue.last]! <= expiresAtMs, "a queue is sorted by expiry");
      this.#links[queue.last * LINKS + AFTER] = slot;
    }
    queue.last = slot;
    if (expiresAtMs < this.#earliestMs) this.#earliestMs = expiresAtMs;
  }

  /** Does nothing for a hold that never ends. Cost: constant. */
  remove(slot: number): void {
    if (!this.#isQueued(slot)) return;
    const links = this.#links;
    const queue = this.#queues[links[slot * LINKS + QUEUE]!]!;
    const before = links[slot * LINKS + BEFORE]!;
    const after = links[slot * LINKS + AFTER]!;
    assert((before === NONE) === (queue.first === slot), "only the first hold has none before it");
    assert((after === NONE) === (queue.last === slot), "only the last hold has none after it");
    if (before === NONE) queue.first = after;
    else links[before * LINKS + AFTER] = after;
    if (after === NONE) queue.last = before;
    else links[after * LINKS + BEFORE] = before;
    links[slot * LINKS + QUEUE] = NONE;
  }

  #isQueued(slot: number): boolean {
    return slot * LINKS < this.#links.length && this.#links[slot * LINKS + QUEUE] !== NONE;
  }

  /** @returns The number of the queue of that lifetime. */
  #queueFor(lifetimeMs: number): number {
    let empty = this.#queues.length;
    for (let i = 0; i < this.#queues.length; i++) {
      const queue = this.#queues[i]!;
      if (queue.lifetimeMs === lifetimeMs) return i;
      if (queue.first === NONE) empty = i;
    }
    this.#queues[empty] = { lifetimeMs, first: NONE, last: NONE };
    return empty;
  }

  /**
   * The slot of the hold that expired first, at or before `timeMs`; NONE when none has expired.
   * Cost: O(queues), usually 1; constant before the earliest expiry.
   */
  due(timeMs: number): number {
    if (timeMs < this.#earliestMs) return NONE;
    let slot: number = NONE;
    let earliestMs = Infinity;
    for (let i = 0; i < this.#queues.length; i++) {
      const { first } = this.#queues[i]!;
      if (first === NONE) continue;
      const endMs = this.#expiresAtMs[first]!;
      // A tie goes to the lower slot, so the result does not depend on the order of the queues.
      if (endMs < earliestMs || (endMs === earliestMs && first < slot)) {
        slot = first;
        earliestMs = endMs;
      }
    }
    assert(earliestMs >= this.#earliestMs, "no hold ends before the lower bound");
    this.#earliestMs = earliestMs;
    return earliestMs <= timeMs ? slot : NONE;
  }
}
