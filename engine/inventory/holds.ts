/**
 * The holds of one partition: their sessions, seats and expiry. A hold occupies a slot; the last
 * freed slot is reused first. A hold ends with its last seat or place.
 */
import { assert } from "../assert.ts";
import { NONE } from "../constants.ts";

export interface Hold {
  /** The number of the hold, as by `nextFence`. */
  readonly fence: number;
  /** Empty when the lock named no session. */
  readonly session: string;
  readonly holdType: string;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Milliseconds since 1970; 0 for never. */
  readonly expiresAtMs: number;
  /** Indexes of its first seats; `Partition.holdOf` tells the remaining ones. */
  readonly seats: Uint32Array;
}

/** A copy of the slots. The holds are shared with the original, because a `Hold` never changes. */
export interface HoldSlots {
  /** Index: slot; undefined where it is free. */
  readonly holds: readonly (Hold | undefined)[];
  readonly sizes: readonly number[];
  readonly fenceBound: number;
  /** The free slots; the last one is used next. */
  readonly free: readonly number[];
}

/** Slots as they were before a draft. */
interface HoldsUndo {
  readonly origin: Holds;
  /** Number of slots. */
  readonly length: number;
  /** Changed ones. */
  readonly slots: Map<number, { readonly hold: Hold | undefined; readonly size: number }>;
  /** Free slots: their number, and those taken, the last of the list first. */
  readonly free: { readonly length: number; readonly popped: number[] };
}

/** Ended holds in the order of opening, beside as many as there are holds. */
const ENDED_MAX = 1_000;

export class Holds {
  /** Index: slot; undefined where it is free. */
  #holds: (Hold | undefined)[] = [];
  /** Index: slot. Value: seats and places still held. */
  #sizes: number[] = [];
  /** More than every fence so far: of the event's locks, sales and blocks. */
  #fenceBound = 0;
  #free: number[] = [];
  #newest: number = NONE;
  /** Null for a draft, where nothing expires. */
  #expiry: ExpiryQueues | null = new ExpiryQueues();
  /** Sum of `#sizes` of the holds. */
  #held = 0;
  /** Fences of the holds in order of opening, and their slots; ended ones may remain. */
  #openedFences: number[] = [];
  #openedSlots: number[] = [];
  /** Null until a session is first asked for, because few events need it. */
  #sessions: SessionLists | null = null;
  /** Null for the inventory itself. */
  #undo: HoldsUndo | null = null;

  /** As `Partition.draft`: it shares the slots until `discard`. */
  draft(): Holds {
    assert(this.#undo === null, "a draft is made of the inventory itself");
    const draft = new Holds();
    draft.#holds = this.#holds;
    draft.#sizes = this.#sizes;
    draft.#free = this.#free;
    draft.#fenceBound = this.#fenceBound;
    draft.#held = this.#held;
    draft.#expiry = null;
    const free = { length: this.#free.length, popped: [] };
    draft.#undo = { origin: this, length: this.#holds.length, slots: new Map(), free };
    return draft;
  }

  /** Of a draft: puts the slots back. Cost: O(changed slots). */
  discard(): void {
    assert(this.#undo !== null, "only a draft is discarded");
    const { length, slots, free } = this.#undo;
    for (const [slot, { hold, size }] of slots) {
      this.#holds[slot] = hold;
      this.#sizes[slot] = size;
    }
    this.#holds.length = length;
    this.#sizes.length = length;
    this.#free.length = free.length - free.popped.length;
    while (free.popped.length > 0) this.#free.push(free.popped.pop()!);
  }

  /** To be called before a slot changes. */
  #keep(slot: number): void {
    const slots = this.#undo?.slots;
    if (slots === undefined || slots.has(slot)) return;
    slots.set(slot, { hold: this.#holds[slot], size: this.#sizes[slot]! });
  }

  #popFree(): void {
    const slot = this.#free.pop()!;
    const free = this.#undo?.free;
    // Below this length the list is still that of the inventory.
    if (free !== undefined && this.#free.length < free.length - free.popped.length) {
      free.popped.push(slot);
    }
  }

  /** The slot of the next hold. */
  get nextSlot(): number {
    return this.#free.at(-1) ?? this.#holds.length;
  }

  /** The slot of the hold that was opened last; NONE before the first since the start. */
  get newest(): number {
    return this.#newest;
  }

  get count(): number {
    return this.#holds.length - this.#free.length;
  }

  get fenceBound(): number {
    return this.#fenceBound;
  }

  /**
   * The fence of a lock, sale or block: the sequence number of its record. An event that came from
   * a cell with more records continues its own numbers, until the log has caught up.
   */
  nextFence(sequence: number): number {
    return Math.max(sequence, this.#fenceBound);
  }

  /** No later fence is below `bound`. */
  passFences(bound: number): void {
    this.#fenceBound = Math.max(this.#fenceBound, bound);
  }

  /** Seats and places of all holds together. */
  get held(): number {
    return this.#held;
  }

  /**
   * Seats and places held by the session, counted up to `most`.
   * Cost: O(counted holds); O(slots) for the first question about a session, to make the index.
   * From then on a lock and the end of its hold take half a microsecond more.
   */
  heldBy(session: string, most: number): number {
    let held = 0;
    for (const slot of this.#ofSession(session)) {
      held += this.#sizes[slot]!;
      if (held >= most) return most;
    }
    return held;
  }

  /** Slots of the session's holds. Cost: O(these holds); for the first question as `heldBy`. */
  slotsOf(session: string): number[] {
    return [...this.#ofSession(session)];
  }

  #ofSession(session: string): Iterable<number> {
    if (this.#undo !== null) return this.#draftedOf(session, this.#undo);
    if (this.#sessions === null) {
      this.#sessions = new SessionLists();
      for (const slot of this.taken()) this.#sessions.add(slot, this.get(slot).session);
    }
    return this.#sessions.of(session);
  }

  /** Open holds of the inventory and of the draft. */
  *#draftedOf(session: string, { origin, length, slots }: HoldsUndo): Generator<number, void> {
    if (origin.#sessions === null) {
      const lists = new SessionLists();
      for (let slot = 0; slot < length; slot++) {
        const hold = slots.has(slot) ? slots.get(slot)!.hold : this.#holds[slot];
        if (hold !== undefined) lists.add(slot, hold.session);
      }
      origin.#sessions = lists;
    }
    const opened = this.slots();
    for (const slot of origin.#sessions.of(session)) {
      if (this.#holds[slot]?.session === session && !opened.includes(slot)) yield slot;
    }
    for (const slot of opened) if (this.get(slot).session === session) yield slot;
  }

  /** False for a free slot. */
  has(slot: number): boolean {
    return this.#holds[slot] !== undefined;
  }

  /** True when the slot has the hold with the number. */
  is(slot: number, fence: number): boolean {
    return this.#holds[slot]?.fence === fence;
  }

  /** The slot of the hold with the number; NONE for none. Cost: O(log n). */
  slotOf(fence: number): number {
    const fences = this.#openedFences;
    let [low, high] = [0, fences.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (fences[middle]! < fence) low = middle + 1;
      else high = middle;
    }
    const slot = this.#openedSlots[low] ?? NONE;
    if (this.is(slot, fence)) return slot;
    return this.#undo?.origin.slotOf(fence) ?? NONE;
  }

  /** A cart whose hold has ended may open it again. */
  #addOpened(slot: number, fence: number): void {
    if (this.#openedFences.at(-1) === fence) {
      const before = this.#openedSlots.pop()!;
      assert(before === slot || !this.is(before, fence), "a hold has one slot");
      this.#openedFences.pop();
    }
    this.#openedFences.push(fence);
    this.#openedSlots.push(slot);
  }

  /** Amortized over the holds that ended. */
  #forgetEnded(): void {
    const slots = this.slots();
    this.#openedSlots = slots;
    this.#openedFences = slots.map((slot) => this.get(slot).fence);
  }

  /** Remaining seats and places of the hold. */
  size(slot: number): number {
    return this.#sizes[slot]!;
  }

  get(slot: number): Hold {
    const hold = this.#holds[slot];
    assert(hold !== undefined, "a named hold exists");
    return hold;
  }

  /** @param size - Seats and places together. */
  open(slot: number, hold: Hold, size: number): void {
    assert(slot === this.nextSlot, "a new hold takes the next slot");
    assert(this.#holds[slot] === undefined, "a new hold takes a free slot");
    assert(size > 0, "a new hold has a seat or a place");
    // Another lock, sale or block of the same cart has the same fence.
    assert(hold.fence + 1 >= this.#fenceBound, "fences only grow");
    this.#keep(slot);
    if (this.#free.length > 0) this.#popFree();
    this.#holds[slot] = hold;
    this.#sizes[slot] = size;
    this.#newest = slot;
    this.#fenceBound = hold.fence + 1;
    this.#held += size;
    this.#addOpened(slot, hold.fence);
    this.#sessions?.add(slot, hold.session);
    if (hold.expiresAtMs !== 0) this.#expiry?.add(slot, hold.startedAtMs, hold.expiresAtMs);
  }

  /**
   * Adds seats and places to the hold of an earlier lock of the same cart.
   *
   * @param hold - As `open` would take it.
   * @param size - Seats and places together.
   * Cost: O(seats of the hold).
   */
  join(slot: number, hold: Hold, size: number): void {
    const present = this.get(slot);
    const { fence, session, holdType, startedAtMs, expiresAtMs } = hold;
    assert(present.fence === fence, "only locks of one cart are one hold");
    assert(present.session === session, "a hold is of one session");
    assert(present.holdType === holdType, "a hold is of one type");
    assert(present.startedAtMs === startedAtMs, "the locks of a cart are of one moment");
    assert(present.expiresAtMs === expiresAtMs, "a hold has one end");
    assert(size > 0, "what joins a hold is a seat or a place");
    // A seat may have left the hold and come back.
    const seats = Uint32Array.from(new Set([...present.seats, ...hold.seats]));
    this.#keep(slot);
    this.#holds[slot] = { ...present, seats };
    this.#sizes[slot]! += size;
    this.#held += size;
  }

  /** Gives the hold a later end. Cost: O(log holds that were extended). */
  extend(slot: number, expiresAtMs: number): void {
    const hold = this.get(slot);
    assert(hold.expiresAtMs !== 0, "a hold without an end is not extended");
    assert(expiresAtMs > hold.expiresAtMs, "an extension ends a hold later");
    this.#keep(slot);
    this.#holds[slot] = { ...hold, expiresAtMs };
    this.#expiry?.postpone(slot, expiresAtMs);
  }

  /** Takes seats or places out of the hold. @returns True at its end. */
  release(slot: number, size: number): boolean {
    const left = this.#sizes[slot]! - size;
    const hold = this.#holds[slot];
    assert(hold !== undefined, "only an existing hold is released");
    assert(size > 0, "a release takes a seat or a place");
    assert(left >= 0, "a hold gives up no more than it has");
    this.#keep(slot);
    this.#sizes[slot] = left;
    this.#held -= size;
    if (left > 0) return false;
    this.#expiry?.remove(slot);
    this.#sessions?.remove(slot, hold.session);
    this.#holds[slot] = undefined;
    this.#free.push(slot);
    if (this.#openedSlots.length > 2 * this.count + ENDED_MAX) this.#forgetEnded();
    return true;
  }

  /** The slot of the first hold expired at or before `timeMs`; NONE for none. */
  due(timeMs: number): number {
    return this.#expiry?.due(timeMs) ?? NONE;
  }

  /** Slots of the holds, rising. Cost: O(slots). */
  taken(): Uint32Array {
    const slots = new Uint32Array(this.count);
    let count = 0;
    for (let slot = 0; slot < this.#holds.length; slot++) {
      if (this.#holds[slot] !== undefined) slots[count++] = slot;
    }
    assert(count === slots.length, "a slot is free or has a hold");
    return slots;
  }

  /** Slots of the holds, the oldest first. Cost: O(n). */
  slots(): number[] {
    const fences = this.#openedFences;
    const isLive = (slot: number, i: number) => this.#holds[slot]?.fence === fences[i];
    return this.#openedSlots.filter(isLive);
  }

  /** Cost: O(slots), pointers only. */
  copy(): HoldSlots {
    return {
      holds: this.#holds.slice(),
      sizes: this.#sizes.slice(),
      fenceBound: this.#fenceBound,
      free: this.#free.slice(),
    };
  }

  /** Restores copied slots into an empty table. */
  restore({ holds, sizes, fenceBound, free }: HoldSlots): void {
    assert(this.#holds.length === 0, "slots are restored into an empty table");
    assert(holds.length === sizes.length, "every slot has its size");
    for (const slot of free) assert(holds[slot] === undefined, "a free slot has no hold");
    this.#holds = holds.slice();
    this.#sizes = sizes.slice();
    this.#free = free.slice();
    this.#fenceBound = fenceBound;
    const fenceOf = (slot: number) => this.#holds[slot]!.fence;
    // The oldest first, so the expiry queues are sorted.
    for (const slot of [...this.taken()].sort((a, b) => fenceOf(a) - fenceOf(b))) {
      const { fence, startedAtMs, expiresAtMs } = this.get(slot);
      assert(this.#sizes[slot]! > 0, "a hold has a seat or a place");
      assert(fence < fenceBound, "a hold began before the copy");
      this.#held += this.#sizes[slot]!;
      this.#addOpened(slot, fence);
      if (expiresAtMs !== 0) this.#expiry?.add(slot, startedAtMs, expiresAtMs);
    }
  }
}

/** By session a list of its hold slots, linked through arrays: sets cost ten times as much. */
class SessionLists {
  /** By session: the slot that was added last. */
  readonly #first = new Map<string, number>();
  /** Index: hold slot. Value: the neighbouring slots of its session; NONE at the ends. */
  readonly #next: number[] = [];
  readonly #previous: number[] = [];

  *of(session: string): Generator<number, void> {
    let slot = this.#first.get(session) ?? NONE;
    for (; slot !== NONE; slot = this.#next[slot]!) yield slot;
  }

  /** Cost: constant, as for `remove`. */
  add(slot: number, session: string): void {
    while (this.#next.length <= slot) {
      this.#next.push(NONE);
      this.#previous.push(NONE);
    }
    const next = this.#first.get(session) ?? NONE;
    this.#next[slot] = next;
    this.#previous[slot] = NONE;
    if (next !== NONE) this.#previous[next] = slot;
    this.#first.set(session, slot);
  }

  remove(slot: number, session: string): void {
    const [next, previous] = [this.#next[slot]!, this.#previous[slot]!];
    assert(
      (previous === NONE) === (this.#first.get(session) === slot),
      "a list has its first hold",
    );
    if (next !== NONE) this.#previous[next] = previous;
    if (previous !== NONE) this.#next[previous] = next;
    else if (next === NONE) this.#first.delete(session);
    else this.#first.set(session, next);
  }
}

// Expiry of holds. Holds with the same lifetime end in the order of their starts, because time
// never steps back, so each lifetime has a queue, always sorted. There are only as many queues as
// lifetimes were ever in use at once: a handful. Removing any hold has constant cost. Extended holds
// have lifetimes of their own, so they are in a heap, as are holds beyond the last queue.

/** More lifetimes than an organization usually has. */
const QUEUES_MAX = 16;

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
  readonly #heap = new SlotHeap((slot, other) => {
    const [end, otherEnd] = [this.#expiresAtMs[slot]!, this.#expiresAtMs[other]!];
    return end < otherEnd || (end === otherEnd && slot < other);
  });
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
    while (this.#expiresAtMs.length < slot) {
      this.#expiresAtMs.push(0);
      this.#links.push(NONE, NONE, NONE);
    }
    if (number === QUEUES_MAX) {
      for (let link = 0; link < LINKS; link++) this.#links[slot * LINKS + link] = NONE;
      this.#addToHeap(slot, expiresAtMs);
      return;
    }
    const queue = this.#queues[number]!;
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

  #addToHeap(slot: number, expiresAtMs: number): void {
    this.#expiresAtMs[slot] = expiresAtMs;
    this.#heap.add(slot);
    if (expiresAtMs < this.#earliestMs) this.#earliestMs = expiresAtMs;
  }

  /** Moves a hold to a later end. Cost: O(log n) in the heap. */
  postpone(slot: number, expiresAtMs: number): void {
    this.remove(slot);
    this.#addToHeap(slot, expiresAtMs);
  }

  /** Does nothing for a hold without an end. Cost: constant; O(log n) in the heap. */
  remove(slot: number): void {
    if (!this.#isQueued(slot)) {
      this.#heap.remove(slot);
      return;
    }
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

  /** @returns The number of the lifetime's queue; QUEUES_MAX for the heap. */
  #queueFor(lifetimeMs: number): number {
    let empty = this.#queues.length;
    for (let i = 0; i < this.#queues.length; i++) {
      const queue = this.#queues[i]!;
      if (queue.lifetimeMs === lifetimeMs) return i;
      if (queue.first === NONE) empty = i;
    }
    if (empty === QUEUES_MAX) return QUEUES_MAX;
    this.#queues[empty] = { lifetimeMs, first: NONE, last: NONE };
    return empty;
  }

  /**
   * The slot of the first hold expired at or before `timeMs`; NONE for none.
   * Cost: O(queues), usually 1; constant before the earliest expiry.
   */
  due(timeMs: number): number {
    if (timeMs < this.#earliestMs) return NONE;
    let slot = this.#heap.first;
    let earliestMs = slot === NONE ? Infinity : this.#expiresAtMs[slot]!;
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

/** Hold slots as a binary heap, each once. */
export class SlotHeap {
  readonly #isBefore: (slot: number, other: number) => boolean;
  readonly #slots: number[] = [];
  /** By hold slot: its index in `#slots`. */
  readonly #indexes = new Map<number, number>();

  constructor(isBefore: (slot: number, other: number) => boolean) {
    this.#isBefore = isBefore;
  }

  /** NONE for an empty heap. */
  get first(): number {
    return this.#slots[0] ?? NONE;
  }

  /** Cost: O(log n). */
  add(slot: number): void {
    assert(!this.#indexes.has(slot), "a hold is in the heap once");
    this.#slots.push(slot);
    this.#up(this.#slots.length - 1);
  }

  /** Does nothing for a hold that is not in the heap. Cost: O(log n). */
  remove(slot: number): void {
    if (this.#indexes.size === 0) return;
    const index = this.#indexes.get(slot);
    if (index === undefined) return;
    this.#indexes.delete(slot);
    const last = this.#slots.pop()!;
    if (last === slot) return;
    this.#slots[index] = last;
    this.#up(index);
    this.#down(this.#indexes.get(last)!);
  }

  #up(from: number): void {
    const slots = this.#slots;
    const slot = slots[from]!;
    let index = from;
    for (let parent; index > 0; index = parent) {
      parent = (index - 1) >> 1;
      if (!this.#isBefore(slot, slots[parent]!)) break;
      this.#put(index, slots[parent]!);
    }
    this.#put(index, slot);
  }

  #down(from: number): void {
    const slots = this.#slots;
    const slot = slots[from]!;
    let index = from;
    for (let child = 2 * index + 1; child < slots.length; child = 2 * index + 1) {
      if (child + 1 < slots.length && this.#isBefore(slots[child + 1]!, slots[child]!)) child += 1;
      if (!this.#isBefore(slots[child]!, slot)) break;
      this.#put(index, slots[child]!);
      index = child;
    }
    this.#put(index, slot);
  }

  #put(index: number, slot: number): void {
    this.#slots[index] = slot;
    this.#indexes.set(slot, index);
  }
}
