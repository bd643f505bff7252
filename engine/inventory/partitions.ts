/**
 * The partitions of all events. A partition whose layout changes is migrated when it is next read,
 * or by `settleStep`, because a hundred events cannot be migrated at once without a pause. Until
 * then nothing can change it, so the result is the same at any time.
 */
import { NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import { matchSeats, type Migration, migrateToLayout, type SeatMatches } from "./migrate-layout.ts";
import type { Partition } from "./partition.ts";
import { lastValue } from "./steps.ts";

/** Changes that wait for one partition: each keeps a layout in memory. */
export const LAYOUT_CHANGES_MAX = 16;

/** A change of the layout of many events, which share the comparison of the two layouts. */
export class LayoutChange implements Migration {
  readonly layout: Layout;
  readonly timeMs: number;
  #from: Layout | null = null;
  #matches: SeatMatches | null = null;

  /** The members of `Migration`. */
  constructor({ layout, timeMs }: Migration) {
    this.layout = layout;
    this.timeMs = timeMs;
  }

  /** Cost: O(seats) once for each earlier layout, usually one. */
  *migrate(partition: Partition): Generator<void, Partition> {
    let matches = this.#from === partition.layout ? this.#matches : null;
    if (matches === null) {
      matches = yield* matchSeats(partition.layout, this.layout);
      this.#from = partition.layout;
      this.#matches = matches;
    }
    return yield* migrateToLayout(partition, this, matches);
  }
}

/** By partition number. Whoever reads a partition sees it on its event's present layout. */
export class Partitions extends Map<number, Partition> {
  /** By partition number: the changes of its layout that it has yet to follow, oldest first. */
  readonly #waiting = new Map<number, LayoutChange[]>();
  /** Seats of all partitions, each on its event's present layout. */
  seatCount = 0;
  /** The migration that `settleStep` has begun. */
  #begun: { readonly number: number; readonly steps: Generator<void, Partition> } | null = null;

  /** Puts an existing partition on another layout. Cost: constant, unless too many wait. */
  migrate(number: number, change: LayoutChange): void {
    this.seatCount += change.layout.seatCount - this.#seatsOf(number);
    if ((this.#waiting.get(number)?.length ?? 0) >= LAYOUT_CHANGES_MAX) this.#settle(number);
    const changes = this.#waiting.get(number);
    if (changes === undefined) this.#waiting.set(number, [change]);
    else changes.push(change);
  }

  /** Partitions that wait for their migration. */
  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Does a step of the migration of one of the partitions that wait. @returns Whether any does. */
  settleStep(): boolean {
    const [number] = this.#waiting.keys();
    if (number === undefined) return false;
    this.#begun ??= { number, steps: this.#migrate(number) };
    const step = this.#begun.steps.next();
    if (step.done === true) this.set(this.#begun.number, step.value);
    return this.#waiting.size > 0;
  }

  /** The layout on which `get` gives the partition. */
  layoutOf(number: number): Layout | undefined {
    return this.#waiting.get(number)?.at(-1)?.layout ?? super.get(number)?.layout;
  }

  /** The partition as it is, on its event's present layout or still on an earlier one. */
  peek(number: number): Partition | undefined {
    return super.get(number);
  }

  /** Whether a hold may have expired. Exact, unless the partition waits for its migration. */
  hasDue(number: number, timeMs: number): boolean {
    return (super.get(number)?.holds.due(timeMs) ?? NONE) !== NONE;
  }

  /** Holds of all events; those of removed seats count until their partition is migrated. */
  get holdCount(): number {
    let count = 0;
    for (const partition of super.values()) count += partition.holds.count;
    return count;
  }

  override get(number: number): Partition | undefined {
    if (this.#waiting.size > 0) this.#settle(number);
    return super.get(number);
  }

  override set(number: number, partition: Partition): this {
    this.seatCount += partition.layout.seatCount - this.#seatsOf(number);
    this.#forget(number);
    return super.set(number, partition);
  }

  override delete(number: number): boolean {
    this.seatCount -= this.#seatsOf(number);
    this.#forget(number);
    return super.delete(number);
  }

  override clear(): void {
    this.seatCount = 0;
    this.#waiting.clear();
    this.#begun = null;
    super.clear();
  }

  override values() {
    this.#settleAll();
    return super.values();
  }

  override entries() {
    this.#settleAll();
    return super.entries();
  }

  override [Symbol.iterator]() {
    return this.entries();
  }

  override forEach(visit: Parameters<Map<number, Partition>["forEach"]>[0]): void {
    this.#settleAll();
    super.forEach(visit);
  }

  #seatsOf(number: number): number {
    return this.layoutOf(number)?.seatCount ?? 0;
  }

  #settleAll(): void {
    for (const number of this.#waiting.keys()) this.#settle(number);
  }

  #settle(number: number): void {
    if (!this.#waiting.has(number)) return;
    const isBegun = this.#begun?.number === number;
    this.set(number, lastValue(isBegun ? this.#begun!.steps : this.#migrate(number)));
  }

  /** Follows the changes that wait, also those that come between two steps. */
  *#migrate(number: number): Generator<void, Partition> {
    let partition = super.get(number)!;
    for (const change of this.#waiting.get(number)!) partition = yield* change.migrate(partition);
    return partition;
  }

  #forget(number: number): void {
    this.#waiting.delete(number);
    if (this.#begun?.number === number) this.#begun = null;
  }
}
