/**
 * The cost of deciding, applying and encoding a command in this process, at growing sizes. It is
 * processor time, so other processes on the machine do not count.
 */
import { SEATS_PER_LAYOUT_MAX } from "../../engine/constants.ts";
import { isTrial } from "../harness/command.ts";
import { EngineVenue, shuffled } from "../in-process/engine-venue.ts";

/** What is on sale, and how it is booked. Each chart varies one of these. */
export interface Size {
  readonly events?: number;
  /** Seats of each event. */
  readonly seats: number;
  /** Seats of each command. */
  readonly request?: number;
  /** Holds of other sessions that last as long as the measurement. */
  readonly holds?: number;
}

/** Commands of a round: enough for the clock, too many for the processor's caches. */
const LOCKS_MAX = isTrial ? 50 : 2_000;

/** @param seats - On sale; a layout has a maximum, so many seats need several events. */
export function sizeBySeats(seats: number): Size {
  const events = Math.ceil(seats / SEATS_PER_LAYOUT_MAX);
  return { events, seats: Math.ceil(seats / events) };
}

/** @param holds - Of two seats each. */
export function sizeByHolds(holds: number): Size {
  const heldMax = (SEATS_PER_LAYOUT_MAX >> 1) - LOCKS_MAX;
  const events = Math.max(1, Math.ceil(holds / heldMax));
  const held = Math.ceil(holds / events);
  return { events, seats: (held + LOCKS_MAX) * 2, holds: held * events };
}

/** @returns A function that measures the nanoseconds of a lock or an unlock. */
export function commandCost({ events = 1, seats, request = 2, holds = 0 }: Size): () => number {
  const venue = EngineVenue.inMemory(seats);
  const eventIds = Array.from({ length: events }, () => venue.openEvent());
  // Numbers the groups of seats: the first of each event, then the second of each event.
  const booking = (kind: "lock" | "unlock", group: number) => {
    const first = Math.floor(group / events) * request;
    return venue.booking(kind, eventIds[group % events]!, first, request);
  };
  for (let group = 0; group < holds; group++) venue.submit(booking("lock", group));
  const freeCount = events * Math.floor(seats / request) - holds;
  const groups = shuffled(freeCount).slice(0, LOCKS_MAX);
  const locks = groups.map((group) => booking("lock", holds + group));
  const unlocks = groups.map((group) => booking("unlock", holds + group));
  const turns = Math.ceil(LOCKS_MAX / groups.length / request);
  return () => {
    const before = process.cpuUsage();
    for (let turn = 0; turn < turns; turn++) {
      for (const lock of locks) venue.submit(lock);
      for (const unlock of unlocks) venue.submit(unlock);
    }
    const { user, system } = process.cpuUsage(before);
    const left = venue.holdCount(eventIds);
    if (left !== holds) throw new Error(`${left} holds are left, not ${holds}`);
    return ((user + system) * 1e3) / (turns * groups.length * 2);
  };
}
