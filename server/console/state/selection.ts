/** Seats that are selected, and numbers of places in areas. */
import { computed, signal } from "@preact/signals";
import type { Geometry } from "../map/geometry.ts";
import type { Hit, Modifiers } from "../map/hits.ts";
import { type LiveSeats, SeatState } from "../map/live-seats.ts";

export class Selection {
  readonly seats = signal<ReadonlySet<number>>(new Set());
  /** By area. */
  readonly places = signal<ReadonlyMap<number, number>>(new Map());
  readonly size = computed(() => this.seats.value.size + this.places.value.size);
  readonly #geometry: Geometry;
  readonly #live: LiveSeats;

  constructor(geometry: Geometry, live: LiveSeats) {
    this.#geometry = geometry;
    this.#live = live;
  }

  /** With Ctrl or Shift, what was selected stays so. */
  pick(hit: Hit | null, { shift, ctrl }: Modifiers): void {
    const isMore = shift || ctrl;
    if (hit === null) {
      if (!isMore) this.clear();
    } else if (hit.kind === "seat") {
      if (isMore) this.toggle(hit.seat);
      else this.replace([hit.seat]);
    } else if (hit.kind === "section") {
      this.take(this.seatsOfSection(hit.section), isMore);
    } else this.setPlaces(hit.area, this.places.value.get(hit.area) ?? 1);
  }

  box(seats: readonly number[], { ctrl }: Modifiers): void {
    this.take(seats, ctrl);
  }

  /** @param isMore - Whether what is selected stays so. */
  take(seats: readonly number[], isMore: boolean): void {
    this.replace(isMore ? [...this.seats.value, ...seats] : seats, isMore);
  }

  toggle(seat: number): void {
    const seats = new Set(this.seats.value);
    if (!seats.delete(seat)) seats.add(seat);
    this.seats.value = seats;
  }

  remove(seats: Iterable<number>): void {
    const left = new Set(this.seats.value);
    for (const seat of seats) left.delete(seat);
    this.seats.value = left;
  }

  /** @param count - 0 removes the area. */
  setPlaces(area: number, count: number): void {
    const places = new Map(this.places.value);
    if (count > 0) places.set(area, count);
    else places.delete(area);
    this.places.value = places;
  }

  /** Extends the selection to whole rows. */
  addRows(): void {
    const { rows, rowOfSeat } = this.#geometry;
    const touched = new Set([...this.seats.value].map((seat) => rowOfSeat[seat]!));
    this.replace(
      [...touched].flatMap((row) => [...rows[row]!.seats]),
      true,
    );
  }

  /** Extends the selection to whole sections. */
  addSections(): void {
    const { rows, rowOfSeat } = this.#geometry;
    const touched = new Set([...this.seats.value].map((seat) => rows[rowOfSeat[seat]!]!.section));
    this.replace(
      [...touched].flatMap((section) => this.seatsOfSection(section)),
      true,
    );
  }

  seatsOfSection(section: number): number[] {
    const { rows, sections } = this.#geometry;
    return sections[section]!.rows.flatMap((row) => [...rows[row]!.seats]);
  }

  clear(): void {
    this.replace([]);
  }

  /** Leaves out seats that the event does not list. */
  replace(seats: readonly number[], keepsPlaces = false): void {
    const { states } = this.#live;
    this.seats.value = new Set(seats.filter((seat) => states[seat] !== SeatState.HIDDEN));
    if (!keepsPlaces) this.places.value = new Map();
  }

  /** How many seats are in each state. Index: a `SeatState`. */
  counts(): number[] {
    const counts = [0, 0, 0, 0, 0, 0];
    for (const seat of this.seats.value) counts[this.#live.states[seat]!]! += 1;
    return counts;
  }
}
