/** The record that ends a hold whose time is over. */
import { assert } from "../../assert.ts";
import { NONE } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { Move } from "../../inventory/states.ts";
import { ActorKind, type MoveRecord, RecordType } from "../../records.ts";

const SYSTEM = { kind: ActorKind.SYSTEM, id: 0 } as const;

/**
 * @param slot - The slot of a hold that exists.
 * Cost: O(seats of the hold + areas of the event), usually 2 + 4.
 */
export function expireHold(number: number, partition: Partition, slot: number): MoveRecord {
  const { session, holdType, expiresAtMs } = partition.holds.get(slot);
  assert(expiresAtMs > 0, "a hold without an end does not expire");
  const areas: number[] = [];
  for (let area = 0; area < partition.areas.count; area++) {
    const places = partition.areas.held(area, slot);
    if (places > 0) areas.push(area, slot, places);
  }
  const seats = partition.seatsOf(slot);
  assert(seats.length + areas.length > 0, "a hold has a seat or a place");
  return {
    type: RecordType.MOVE,
    actor: SYSTEM,
    partition: number,
    move: Move.EXPIRE,
    hold: NONE,
    expiresAtMs: 0,
    session,
    holdType,
    seats,
    areas: Uint32Array.from(areas),
  };
}
