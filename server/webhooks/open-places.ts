/**
 * Whether a change took the last seat or place of an event that was ACTIVE or LOCKED. Moves say how
 * many more or fewer there are; after other changes they are counted again, from the trail.
 */
import type { EventChange } from "../../engine/queries/event-change.ts";

/** Events whose places are known. */
const EVENTS_MAX = 1_000;

/** By call: how many open seats each seat adds. Calls that it lacks do more than move seats. */
const ADDED: Readonly<Record<string, number>> = {
  lock: 0,
  unlock: 0,
  expire: 0,
  sale: -1,
  directsale: -1,
  block: -1,
  revertsale: 1,
  unblock: 1,
};

/** Seats and places that are ACTIVE or LOCKED. */
export interface OpenCount {
  readonly seats: number;
  /** By id of the area. */
  readonly areas: ReadonlyMap<number, number>;
}

/** @returns Those of an event after a record. */
export type CountOpen = (partition: number, sequence: number) => OpenCount;

interface Known {
  sequence: number;
  seats: number;
  /** In all areas together. */
  places: number;
  readonly areas: Map<number, number>;
}

export class OpenPlaces {
  readonly #count: CountOpen;
  /** By partition number. */
  readonly #known = new Map<number, Known>();

  constructor(count: CountOpen) {
    this.#count = count;
  }

  /** To be asked about the changes of an event in order. */
  isLast(partition: number, change: EventChange): boolean {
    const added = ADDED[change.call];
    let known = this.#known.get(partition);
    if (known !== undefined && added !== undefined && known.sequence === change.previous) {
      move(known, change, added);
    } else {
      this.#known.delete(partition);
      // Only a change that takes places can take the last one.
      if (added !== -1) return false;
      if (this.#known.size >= EVENTS_MAX) this.#known.clear();
      known = this.#counted(partition, change.sequence);
      this.#known.set(partition, known);
    }
    return added === -1 && known.seats + known.places === 0;
  }

  #counted(partition: number, sequence: number): Known {
    const { seats, areas } = this.#count(partition, sequence);
    const places = [...areas.values()].reduce((sum, open) => sum + open, 0);
    return { sequence, seats, places, areas: new Map(areas) };
  }
}

function move(known: Known, { sequence, seats, areas }: EventChange, added: number): void {
  known.sequence = sequence;
  known.seats += added * seats.length;
  for (const { id, active, locked } of areas) {
    const open = active + locked;
    known.places += open - (known.areas.get(id) ?? 0);
    known.areas.set(id, open);
  }
}
