/**
 * A hash of the meaning of the state, not of its form in memory: two engines that applied the same
 * log have the same digest. It consists of two 32-bit lanes. It detects differences, not forgery.
 */
import { assert } from "../assert.ts";
import { TABLES } from "../catalog.ts";
import { NONE } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { BOOKING_STATES } from "../inventory/states.ts";
import type { State } from "../state.ts";

class Hash {
  #a = 0x811c9dc5 | 0;
  #b = 0x9e3779b9 | 0;

  number(value: number): void {
    assert(Number.isSafeInteger(value), "the state consists of whole numbers");
    this.#mix(value | 0);
    this.#mix(Math.floor(value / 0x1_0000_0000) | 0);
  }

  text(value: string): void {
    this.number(value.length);
    for (let i = 0; i < value.length; i++) this.#mix(value.charCodeAt(i));
  }

  #mix(value: number): void {
    this.#a = Math.imul(this.#a ^ value, 0x01000193);
    this.#a ^= this.#a >>> 15;
    this.#b = Math.imul(this.#b ^ value, 0x85ebca6b) ^ Math.imul(this.#a, 0xc2b2ae35);
    this.#b ^= this.#b >>> 13;
  }

  /** @returns Sixteen hexadecimal digits. */
  end(): string {
    const hex = (lane: number) => (lane >>> 0).toString(16).padStart(8, "0");
    return hex(this.#a) + hex(this.#b);
  }
}

/** Cost: O(everything): for tests and for `frontrow verify`. */
export function digest(state: State): string {
  const hash = new Hash();
  hash.number(state.catalog.nextId);
  for (const name of TABLES) {
    const table: ReadonlyMap<number | string, unknown> = state.catalog[name];
    hash.number(table.size);
    const rows = [...table.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
    for (const [, row] of rows) hash.text(canonical(row));
  }
  for (const number of [...state.partitions.keys()].sort((a, b) => a - b)) {
    hash.number(number);
    hash.text(digestPartition(state.partitions.get(number)!));
  }
  return hash.end();
}

/** Cost: O(seats). */
export function digestPartition(partition: Partition): string {
  const hash = new Hash();
  const { layout, state, price, hold, changedAtMs, areas } = partition;
  for (let seat = 0; seat < layout.seatCount; seat++) {
    hash.number(layout.seatIds[seat]!);
    hash.number(state[seat]! * 0x1_0000 + price[seat]!);
    hash.number(changedAtMs[seat]!);
    if (hold[seat] !== NONE) digestHold(hash, partition, hold[seat]!);
  }
  for (let area = 0; area < areas.count; area++) {
    hash.number(layout.areas[area]!.id);
    hash.number(areas.price[area]!);
    hash.number(areas.changedAtMs[area]!);
    for (const counted of BOOKING_STATES) hash.number(areas.places(area, counted));
    for (const [slot, places] of areas.holdsIn(area)) {
      hash.number(places);
      digestHold(hash, partition, slot);
    }
  }
  return hash.end();
}

function digestHold(hash: Hash, partition: Partition, slot: number): void {
  const { fence, session, holdType, startedAtMs, expiresAtMs } = partition.holds.get(slot);
  hash.number(fence);
  hash.text(session);
  hash.text(holdType);
  hash.number(startedAtMs);
  hash.number(expiresAtMs);
}

/** JSON with the members of every object in order of their names. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) => {
    if (member === null || typeof member !== "object" || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}
