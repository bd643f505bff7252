/**
 * Orphan seat prevention: a request may not leave a single ACTIVE seat without an ACTIVE neighbour.
 * A row end and an aisle count as not available; seats at tables have no neighbours.
 */
import { assert } from "./assert.ts";
import type { OrphanMode } from "./catalog.ts";
import { NONE } from "./constants.ts";
import type { Partition } from "./inventory/partition.ts";
import { SeatState } from "./inventory/states.ts";
import type { FieldError } from "./results.ts";

/**
 * Finds every ACTIVE seat beside a requested one for which no ACTIVE neighbour would remain. It was
 * no orphan before: the requested seat was its neighbour. A sale is judged as if its seats were
 * ACTIVE.
 *
 * @param seats - Seat indexes of the request, all in the layout.
 * @returns One error for each requested seat beside each would-be orphan.
 * Cost: O(seats) in the request, usually 2.
 */
export function findOrphans(
  partition: Partition,
  seats: Uint32Array,
  mode: Exclude<OrphanMode, "off">,
): FieldError[] {
  const { previousSeat, nextSeat, seatIds } = partition.layout;
  const requested = new Set(seats);
  const errors: FieldError[] = [];
  for (let i = 0; i < seats.length; i++) {
    const seat = seats[i]!;
    assert(seat !== NONE, "orphans are looked for beside known seats");
    for (const neighbour of [previousSeat[seat]!, nextSeat[seat]!]) {
      if (!isLeftAlone(partition, requested, { seat, neighbour, mode })) continue;
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

/** The seats of a request. */
type Requested = Pick<ReadonlySet<number>, "has">;

function isLeftAlone(
  partition: Partition,
  requested: Requested,
  {
    seat,
    neighbour,
    mode,
  }: {
    readonly seat: number;
    readonly neighbour: number;
    readonly mode: Exclude<OrphanMode, "off">;
  },
): boolean {
  if (!staysActive(partition, requested, neighbour)) return false;
  const other = otherNeighbour(partition, neighbour, seat);
  if (staysActive(partition, requested, other)) return false;
  return mode === "strict" || !isLastOfStretch(partition, requested, neighbour);
}

/** True when a request of the seat alone leaves no neighbour alone. Cost: O(stretch) if lenient. */
export function leavesNobodyAlone(partition: Partition, seat: number, mode: OrphanMode): boolean {
  if (mode === "off") return true;
  const { previousSeat, nextSeat } = partition.layout;
  const requested = { has: (other: number) => other === seat };
  return ![previousSeat[seat]!, nextSeat[seat]!].some((neighbour) =>
    isLeftAlone(partition, requested, { seat, neighbour, mode }),
  );
}

/** ACTIVE now and after the request. */
function staysActive(partition: Partition, requested: Requested, seat: number): boolean {
  return seat !== NONE && partition.state[seat] === SeatState.ACTIVE && !requested.has(seat);
}

/**
 * True when the request takes all other seats of the stretch: ACTIVE neighbours in a line, before
 * it. Then any choice of as many seats there leaves one. Cost: O(stretch).
 */
function isLastOfStretch(
  { layout, state }: Partition,
  requested: Requested,
  seat: number,
): boolean {
  for (const links of [layout.previousSeat, layout.nextSeat]) {
    for (let next = links[seat]!; next !== NONE; next = links[next]!) {
      const isTaken = requested.has(next);
      if (!isTaken && state[next] === SeatState.ACTIVE) return false;
      if (!isTaken) break;
    }
  }
  return true;
}

function otherNeighbour({ layout }: Partition, seat: number, neighbour: number): number {
  const previous = layout.previousSeat[seat]!;
  const next = layout.nextSeat[seat]!;
  assert(previous === neighbour || next === neighbour, "two seats are each other's neighbours");
  return previous === neighbour ? next : previous;
}
