/**
 * Orphan seat prevention: a request may not leave a single ACTIVE seat without an ACTIVE neighbour.
 * A row end and an aisle count as not available; seats at tables have no neighbours.
 */
import { assert } from "../../assert.ts";
import { NONE } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { SeatState } from "../../inventory/states.ts";
import type { FieldError } from "../../results.ts";

/**
 * Finds every ACTIVE seat beside a requested one that would be left alone. It was no orphan before:
 * the requested seat was its ACTIVE neighbour. A sale is judged as if its seats were ACTIVE.
 *
 * @param seats - Seat indexes of the request, all in the layout.
 * @returns One error for each requested seat beside each would-be orphan.
 * Cost: O(seats²) in the request, usually 2.
 */
export function findOrphans(partition: Partition, seats: Uint32Array): FieldError[] {
  const { previousSeat, nextSeat, seatIds } = partition.layout;
  const errors: FieldError[] = [];
  for (let i = 0; i < seats.length; i++) {
    const seat = seats[i]!;
    assert(seat !== NONE, "orphans are looked for beside known seats");
    for (const neighbour of [previousSeat[seat]!, nextSeat[seat]!]) {
      if (!staysActive(partition, seats, neighbour)) continue;
      const other = otherNeighbour(partition, neighbour, seat);
      if (staysActive(partition, seats, other)) continue;
      errors.push({
        field: `seats[${i}].id`,
        code: "ORPHAN_SEAT",
        message: `would leave seat ${seatIds[neighbour]!} alone`,
        rejectedValue: seatIds[seat]!,
      });
    }
  }
  return errors;
}

/** Whether the seat is ACTIVE now and after the request. */
function staysActive(partition: Partition, seats: Uint32Array, seat: number): boolean {
  return seat !== NONE && partition.state[seat] === SeatState.ACTIVE && !seats.includes(seat);
}

function otherNeighbour({ layout }: Partition, seat: number, neighbour: number): number {
  const previous = layout.previousSeat[seat]!;
  const next = layout.nextSeat[seat]!;
  assert(previous === neighbour || next === neighbour, "two seats are each other's neighbours");
  return previous === neighbour ? next : previous;
}
