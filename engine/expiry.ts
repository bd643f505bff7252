/**
 * Which hold ends when. Holds of one lifetime end in the order in which they began, because time
 * never steps back; so each lifetime has a queue that is sorted by itself, and there are as many
 * queues as there are lifetimes in use: a handful. Removal from the middle is constant.
 */
import { assert } from "./assert.ts";
import { NONE } from "./constants.ts";

interface Queue {
  readonly lifetimeMs: number;
  first: number;
  last: number;
}

export class ExpiryQueues {
  readonly #queues: Queue[] = [];
  /** By hold slot: its queue (undefined when it never ends), its neighbours, its end. */
  readonly #queueOf: (Queue | undefined)[] = [];
  readonly #before: number[] = [];
  readonly #after: number[] = [];
  readonly #expiresAtMs: number[] = [];

  /** Cost: constant. */
  add(slot: number, startedAtMs: number, expiresAtMs: number): void {
    assert(this.#queueOf[slot] === undefined, "a hold ends once");
    assert(expiresAtMs > startedAtMs, "a hold ends after it began");
    const lifetimeMs = expiresAtMs - startedAtMs;
    const queue = this.#queueFor(lifetimeMs);
    this.#queueOf[slot] = queue;
    this.#before[slot] = queue.last;
    this.#after[slot] = NONE;
    this.#expiresAtMs[slot] = expiresAtMs;
    if (queue.last === NONE) queue.first = slot;
    else {
      assert(this.#expiresAtMs[queue.last]! <= expiresAtMs, "a queue is sorted by its end");
      this.#after[queue.last] = slot;
    }
    queue.last = slot;
  }

  /** Does nothing for a hold that never ends. Cost: constant. */
  remove(slot: number): void {
    const queue = this.#queueOf[slot];
    if (queue === undefined) return;
    const before = this.#before[slot]!;
    const after = this.#after[slot]!;
    if (before === NONE) queue.first = after;
    else this.#after[before] = after;
    if (after === NONE) queue.last = before;
    else this.#before[after] = before;
    this.#queueOf[slot] = undefined;
    if (queue.first === NONE) this.#queues.splice(this.#queues.indexOf(queue), 1);
  }

  #queueFor(lifetimeMs: number): Queue {
    for (let i = 0; i < this.#queues.length; i++) {
      const queue = this.#queues[i]!;
      if (queue.lifetimeMs === lifetimeMs) return queue;
    }
    const queue = { lifetimeMs, first: NONE, last: NONE };
    this.#queues.push(queue);
    return queue;
  }

  /**
   * The hold that ended first among those that ended at or before `timeMs`; NONE when none did.
   * Cost: O(lifetimes in use), usually 1.
   */
  due(timeMs: number): number {
    let slot: number = NONE;
    let earliestMs = timeMs;
    for (let i = 0; i < this.#queues.length; i++) {
      const queue = this.#queues[i]!;
      const endMs = this.#expiresAtMs[queue.first]!;
      // Ties go to the lower slot, so that the order does not lean on the order of the queues.
      if (endMs < earliestMs || (endMs === earliestMs && queue.first < slot)) {
        slot = queue.first;
        earliestMs = endMs;
      }
    }
    return slot;
  }
}
