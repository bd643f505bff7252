/**
 * The cost of deciding, applying and encoding a command in this process, at growing sizes. It is
 * processor time, so other processes on the machine do not count.
 */
import { SEATS_PER_LAYOUT_MAX } from "../../engine/constants.ts";
import { isTrial } from "../harness/command.ts";
import { EngineVenue, shuffled } from "../in-process/engine-venue.ts";

/** A size that is ready to be measured. */
export interface Size {
  readonly x: number;
  readonly measure: () => number;
}

/** Seats of an event where another size is varied. */
const SEATS = 1_000;
/** Pairs of a round: enough for the clock, too many for the processor's caches. */
const PAIRS = isTrial ? 50 : 2_000;

/** Nanoseconds of a command by the number of seats on sale. */
export function bySeats(seats: number): Size {
  const events = Math.ceil(seats / SEATS_PER_LAYOUT_MAX);
  return { ...byEvents(events, Math.ceil(seats / events)), x: seats };
}

/** Nanoseconds of a command by the number of events. @param seats - Of each event. */
export function byEvents(events: number, seats = SEATS): Size {
  const sale = open(events, seats);
  const places = shuffled(events * (seats >> 1)).slice(0, PAIRS);
  return { x: events, measure: commandCost(sale, places.map(placeIn(sale)), 2) };
}

/** Nanoseconds of a command by the number of seats in it. */
export function byRequest(seats: number): Size {
  const sale = open(1, SEATS);
  const eventId = sale.eventIds[0]!;
  const count = Math.floor(SEATS / seats);
  const places = Array.from({ length: count }, (_, i) => ({ eventId, first: i * seats }));
  return { x: seats, measure: commandCost(sale, places, seats) };
}

/** Nanoseconds of a command by the number of active holds of other sessions. */
export function byHolds(holds: number): Size {
  const holdsPerEvent = (SEATS_PER_LAYOUT_MAX >> 1) - PAIRS;
  const events = Math.max(1, Math.ceil(holds / holdsPerEvent));
  const held = Math.ceil(holds / events);
  const sale = { ...open(events, (held + PAIRS) * 2), holds: held * events };
  const placeOf = placeIn(sale);
  for (let i = 0; i < sale.holds; i++) {
    const { eventId, first } = placeOf(i);
    sale.venue.submit(sale.venue.booking("lock", eventId, first));
  }
  const places = shuffled(PAIRS).map((place) => placeOf(sale.holds + place));
  return { x: holds, measure: commandCost(sale, places, 2) };
}

interface Sale {
  readonly venue: EngineVenue;
  readonly eventIds: readonly string[];
  /** Holds that last as long as the measurement. */
  readonly holds: number;
}

interface Place {
  readonly eventId: string;
  /** Index of the first seat. */
  readonly first: number;
}

function open(events: number, seats: number): Sale {
  const venue = EngineVenue.inMemory(seats);
  return { venue, eventIds: Array.from({ length: events }, () => venue.openEvent()), holds: 0 };
}

/** Numbers the pairs: the first pair of each event, then the second pair of each event. */
function placeIn({ eventIds }: Sale): (pair: number) => Place {
  return (pair) => ({
    eventId: eventIds[pair % eventIds.length]!,
    first: Math.floor(pair / eventIds.length) * 2,
  });
}

/** @returns A function that measures the nanoseconds of a lock or an unlock at these places. */
function commandCost(sale: Sale, places: readonly Place[], seats: number): () => number {
  const { venue, eventIds, holds } = sale;
  const bookings = (kind: "lock" | "unlock") =>
    places.map(({ eventId, first }) => venue.booking(kind, eventId, first, seats));
  const locks = bookings("lock");
  const unlocks = bookings("unlock");
  const turns = Math.ceil(PAIRS / places.length / seats);
  return () => {
    const before = process.cpuUsage();
    for (let turn = 0; turn < turns; turn++) {
      for (const lock of locks) venue.submit(lock);
      for (const unlock of unlocks) venue.submit(unlock);
    }
    const { user, system } = process.cpuUsage(before);
    const left = venue.holdCount(eventIds);
    if (left !== holds) throw new Error(`${left} holds are left, not ${holds}`);
    return ((user + system) * 1e3) / (turns * places.length * 2);
  };
}
