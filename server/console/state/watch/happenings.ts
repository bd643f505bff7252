/** What happens: the newest changes in short form, and those that a filter lets through. */
import type { Change } from "../../../client/changes.ts";

/** Seats of a change that are kept, to name them. */
const SEATS_MAX = 12;

/** Places of an area that a change moved. */
export interface MovedPlaces {
  readonly area: number;
  /** 0 when it is not known. */
  readonly places: number;
}

/** A change in a form whose size is bounded. */
export interface Happening {
  readonly sequence: number;
  readonly time: string;
  readonly call: string;
  readonly sessionId: string;
  /** Ids of its first seats, and how many there are. */
  readonly seats: readonly number[];
  readonly seatCount: number;
  readonly areas: readonly MovedPlaces[];
}

export interface HappeningFilter {
  /** Empty for every call. */
  readonly call: string;
  /** A part of the session; empty for every session. */
  readonly session: string;
}

export function happeningOf(change: Change, areas: readonly MovedPlaces[]): Happening {
  const { sequence, time, call, sessionId = "", seats } = change;
  const first = seats.slice(0, SEATS_MAX).map(({ id }) => id);
  return { sequence, time, call, sessionId, seats: first, seatCount: seats.length, areas };
}

export class Happenings {
  readonly #max: number;
  #filter: HappeningFilter = { call: "", session: "" };
  /** The oldest first; twice as many as are kept, so that they are seldom moved. */
  #all: Happening[] = [];
  #passed: Happening[] = [];

  /** @param max - How many are kept, of all and of those that pass the filter. */
  constructor(max = 500) {
    this.#max = max;
  }

  set filter(filter: HappeningFilter) {
    this.#filter = filter;
    this.#passed = this.#all.filter((one) => this.#passes(one));
  }

  add(happening: Happening): void {
    this.#all.push(happening);
    if (this.#passes(happening)) this.#passed.push(happening);
    if (this.#all.length >= 2 * this.#max) this.#all = this.#all.slice(-this.#max);
    if (this.#passed.length >= 2 * this.#max) this.#passed = this.#passed.slice(-this.#max);
  }

  /** Adds what happened before those that it has. The oldest comes first. */
  addPast(past: readonly Happening[]): void {
    this.#all = [...past, ...this.#all].slice(-this.#max);
    this.#passed = this.#all.filter((one) => this.#passes(one));
  }

  /** @returns Those that pass the filter, the newest first. */
  newest(count: number): Happening[] {
    return this.#passed.slice(-Math.min(count, this.#max)).toReversed();
  }

  #passes({ call, sessionId }: Happening): boolean {
    const { call: wanted, session } = this.#filter;
    return (wanted === "" || call === wanted) && sessionId.includes(session);
  }
}
