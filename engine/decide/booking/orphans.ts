/**
 * Orphan seat prevention: a request may not leave a single ACTIVE seat without an ACTIVE neighbour.
 * A row end and an aisle count as not available; tables have no neighbours at all.
 */
import { NONE } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { SeatState } from "../../inventory/states.ts";
import type { FieldError } from "../../results.ts";

/**
 * Every ACTIVE seat beside a requested one that would be left alone. It was no orphan before, since
 * the requested seat was its ACTIVE neighbour (a sale is judged as if its seats still were).
 *
 * @param seats - Seat indexes of the request.
 * @returns One fault for each requested seat beside each would-be orphan.
 * Cost: O(seats²) in the request, usually 2.
 */
export function findOrphans(partition: Partition, seats: Uint32Array): FieldError[] {
  const { previousSeat, nextSeat, seatIds } = partition.layout;
  const faults: FieldError[] = [];
  for (let i = 0; i < seats.length; i++) {
    const seat = seats[i]!;
    for (const neighbour of [previousSeat[seat]!, nextSeat[seat]!]) {
      if (!stays(partition, seats, neighbour)) continue;
      const other = otherNeighbour(partition, neighbour, seat);
      if (stays(partition, seats, other)) continue;
      faults.push({
        field: `seats[${i}].id`,
        code: "ORPHAN_SEAT",
        message: `would leave seat ${seatIds[neighbour]!} alone`,
        rejectedValue: seatIds[seat]!,
      });
    }
  }
  return faults;
}

/** Whether the seat is ACTIVE now and after the request. */
function stays(partition: Partition, seats: Uint32Array, seat: number): boolean {
  return seat !== NONE && partition.state[seat] === SeatState.ACTIVE && !seats.includes(seat);
}

function otherNeighbour({ layout }: Partition, seat: number, neighbour: number): number {
  const previous = layout.previousSeat[seat]!;
  return previous === neighbour ? layout.nextSeat[seat]! : previous;
}
