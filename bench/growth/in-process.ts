/**
 * The cost of a command in this process, decided, applied and encoded, at growing sizes. It is
 * processor time, so that others who work on the machine do not count.
 */
import { Hall, shuffled } from "../in-process/hall.ts";
import { isTrial } from "../rounds/trial.ts";
import type { Size } from "./series.ts";

/** Seats of the hall where another size is looked at. */
const SEATS = 1_000;
/** The largest layout that the engine takes; more seats are several events. */
const SEATS_PER_EVENT_MAX = 200_000;
/** Commands of a round: enough for the clock, too few to stay in the processor's caches. */
const PAIRS = isTrial ? 50 : 2_000;

/** Nanoseconds of a command against seats on sale. */
export function bySeats(seats: number): Size {
  const events = Math.ceil(seats / SEATS_PER_EVENT_MAX);
  return { ...byEvents(events, Math.ceil(seats / events)), x: seats };
}

/** Nanoseconds of a command against events, each of so many seats. */
export function byEvents(events: number, seats = SEATS): Size {
  const house = open(events, seats);
  const places = shuffled(events * (seats >> 1)).slice(0, PAIRS);
  return { x: events, play: player(house, places.map(placeIn(house)), 2) };
}

/** Nanoseconds of a command against seats in it. */
export function byRequest(seats: number): Size {
  const house = open(1, SEATS);
  const count = Math.floor(SEATS / seats);
  const places = Array.from({ length: count }, (_, i) => ({
    show: house.shows[0]!,
    first: i * seats,
  }));
  return { x: seats, play: player(house, places, seats) };
}

/** Nanoseconds of a command against holds of two seats that others have. */
export function byHolds(holds: number): Size {
  const perShow = (SEATS_PER_EVENT_MAX >> 1) - PAIRS;
  const events = Math.max(1, Math.ceil(holds / perShow));
  const held = Math.ceil(holds / events);
  const house = { ...open(events, (held + PAIRS) * 2), holds: held * events };
  const { hall } = house;
  for (let i = 0; i < house.holds; i++) {
    const { show, first } = placeIn(house)(i);
    hall.submit(hall.booking("lock", show, first));
  }
  const places = shuffled(PAIRS).map((place) => placeIn(house)(house.holds + place));
  return { x: holds, play: player(house, places, 2) };
}

/** A hall and what is on in it. */
interface House {
  readonly hall: Hall;
  readonly shows: readonly string[];
  /** Those that stay. */
  readonly holds: number;
}

interface Place {
  readonly show: string;
  /** Index of the first seat. */
  readonly first: number;
}

function open(events: number, seats: number): House {
  const hall = new Hall(seats);
  return { hall, shows: Array.from({ length: events }, () => hall.openShow()), holds: 0 };
}

/** Pairs are counted event by event: the first of each, the second of each. */
function placeIn({ shows }: House): (pair: number) => Place {
  return (pair) => ({
    show: shows[pair % shows.length]!,
    first: Math.floor(pair / shows.length) * 2,
  });
}

/** @returns What gives the nanoseconds of a lock or an unlock, over all places in turn. */
function player(house: House, places: readonly Place[], seats: number): Size["play"] {
  const { hall } = house;
  const bookings = (kind: "lock" | "unlock") =>
    places.map(({ show, first }) => hall.booking(kind, show, first, seats));
  const locks = bookings("lock");
  const unlocks = bookings("unlock");
  const turns = Math.ceil(PAIRS / places.length / seats);
  return () => {
    const before = process.cpuUsage();
    for (let turn = 0; turn < turns; turn++) {
      for (const lock of locks) hall.submit(lock);
      for (const unlock of unlocks) hall.submit(unlock);
    }
    const { user, system } = process.cpuUsage(before);
    const holds = house.shows.reduce((sum, show) => sum + hall.partitionOf(show).holds.count, 0);
    if (holds !== house.holds) throw new Error(`no result: ${holds} holds, not ${house.holds}`);
    return ((user + system) * 1e3) / (turns * places.length * 2);
  };
}
