/** Detection of the change that takes the last open seat or place. */
import { expect, test } from "vitest";
import type { EventChange } from "../../../engine/queries/history.ts";
import { OpenPlaces } from "../../../server/webhooks/courier.ts";

const AREA = 90;

/** An event with a settable count of open places. Notes the records of its counts. */
class Watched {
  readonly counted: number[] = [];
  seats = 0;
  places = 0;
  readonly #open = new OpenPlaces((_, sequence) => {
    this.counted.push(sequence);
    return { seats: this.seats, areas: new Map([[AREA, this.places]]) };
  });
  #last = 10;

  /** @param seats - How many change. @param places - Open in the area afterwards. */
  isLast(call: string, seats: number, places?: number): boolean {
    const previous = this.#last;
    this.#last += 1;
    const ids = Array.from({ length: seats }, (_, i) => ({ id: i }));
    const area = { id: AREA, active: places, locked: 0, sold: 1, blocked: 0 };
    const areas = places === undefined ? [] : [area];
    const change = { sequence: this.#last, previous, call, seats: ids, areas };
    return this.#open.isLast(1, change as unknown as EventChange);
  }
}

test("the places are counted once, and then follow the changes", () => {
  const event = new Watched();
  event.seats = 3;
  expect(event.isLast("sale", 1)).toBe(false);
  expect(event.isLast("lock", 2)).toBe(false);
  expect(event.isLast("sale", 2)).toBe(false);
  expect(event.isLast("block", 1)).toBe(true);
  expect(event.counted).toEqual([11]);
});

test("after a seat was returned, the next sale is the last one again", () => {
  const event = new Watched();
  expect(event.isLast("directsale", 1)).toBe(true);
  expect(event.isLast("revertsale", 1)).toBe(false);
  expect(event.isLast("lock", 1)).toBe(false);
  expect(event.isLast("expire", 1)).toBe(false);
  expect(event.isLast("directsale", 1)).toBe(true);
  expect(event.counted).toEqual([11]);
});

test("places of areas count like seats", () => {
  const event = new Watched();
  event.seats = 1;
  event.places = 5;
  expect(event.isLast("sale", 0, 5)).toBe(false);
  expect(event.isLast("sale", 1)).toBe(false);
  expect(event.isLast("sale", 0, 2)).toBe(false);
  expect(event.isLast("sale", 0, 0)).toBe(true);
});

test("after a change of prices or layout, the places are counted again at the next sale", () => {
  const event = new Watched();
  event.seats = 2;
  expect(event.isLast("sale", 1)).toBe(false);
  expect(event.isLast("prices", 50)).toBe(false);
  expect(event.isLast("lock", 1)).toBe(false);
  event.seats = 0;
  expect(event.isLast("sale", 1)).toBe(true);
  expect(event.counted).toEqual([11, 14]);
});

test("an event that had no open place is not sold out by a change of its status", () => {
  const event = new Watched();
  expect(event.isLast("event", 0)).toBe(false);
  expect(event.isLast("unblock", 1)).toBe(false);
  expect(event.counted).toEqual([]);
});
