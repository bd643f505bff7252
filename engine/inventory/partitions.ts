/**
 * The partitions of all events. A partition whose layout changes is migrated when it is next read,
 * or by `settleOne`, because a hundred events cannot be migrated at once without a pause. Until
 * then nothing can change it, so the result is the same at any time.
 */
import { NONE } from "../constants.ts";
import type { Layout } from "../layout/layout.ts";
import { matchSeats, type Migration, migrateToLayout, type SeatMatches } from "./migrate-layout.ts";
import type { Partition } from "./partition.ts";

/** Changes that wait for one partition: each keeps a layout in memory. */
export const LAYOUT_CHANGES_MAX = 16;

/** A change of the layout of many events, which share the comparison of the two layouts. */
export class LayoutChange implements Migration {
  readonly layout: Layout;
  readonly timeMs: number;
  readonly marksRelabelled: boolean;
  #from: Layout | null = null;
  #matches: SeatMatches | null = null;

  /** The members of `Migration`. */
  constructor({ layout, timeMs, marksRelabelled }: Migration) {
    this.layout = layout;
    this.timeMs = timeMs;
    this.marksRelabelled = marksRelabelled;
  }

  /** Cost: O(seats) once for each earlier layout, usually one. */
  migrate(partition: Partition): Partition {
    if (this.#matches === null || this.#from !== partition.layout) {
      this.#from = partition.layout;
      this.#matches = matchSeats(partition.layout, this.layout);
    }
    return migrateToLayout(partition, this, this.#matches);
  }
}

/** By partition number. Whoever reads a partition sees it on its event's present layout. */
export class Partitions extends Map<number, Partition> {
  /** By partition number: the changes of its layout that it has yet to follow, oldest first. */
  readonly #waiting = new Map<number, LayoutChange[]>();
  /** Seats of all partitions, each on its event's present layout. */
  seatCount = 0;

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

  /** Migrates one of the partitions that wait. @returns Whether others still do. */
  settleOne(): boolean {
    const [number] = this.#waiting.keys();
    if (number !== undefined) this.#settle(number);
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
    this.#waiting.delete(number);
    return super.set(number, partition);
  }

  override delete(number: number): boolean {
    this.seatCount -= this.#seatsOf(number);
    this.#waiting.delete(number);
    return super.delete(number);
  }

  override clear(): void {
    this.seatCount = 0;
    this.#waiting.clear();
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
    while (this.settleOne());
  }

  #settle(number: number): void {
    const changes = this.#waiting.get(number);
    if (changes === undefined) return;
    let partition = super.get(number)!;
    for (const change of changes) partition = change.migrate(partition);
    this.set(number, partition);
  }
}
