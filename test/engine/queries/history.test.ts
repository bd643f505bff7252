/** Common helpers for changes of an event. */
import { expect, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import { byId, type EventChange, listedState, placesOf } from "../../../engine/queries/history.ts";

const CHANGE: EventChange = {
  sequence: 2,
  previous: 1,
  timeMs: 0,
  call: "event",
  session: "",
  holdType: "",
  seats: [],
  areas: [],
  status: "PUBLISHED",
  bookable: null,
};
const SEAT = { id: 7, state: SeatState.SOLD, priceId: 3, expiresAtMs: null };
const AREA = { id: 5, active: 1, locked: 0, sold: 0, blocked: 0 };

test("a change counts as many places as it has, and at least one", () => {
  expect(placesOf(CHANGE)).toBe(1);
  expect(placesOf({ ...CHANGE, seats: [SEAT], areas: [AREA] })).toBe(2);
});

test("a seat without a price, or outside the layout, has no state to show", () => {
  const states = [null, SeatState.UNPRICED, SeatState.WITHDRAWN, SeatState.ACTIVE, SeatState.SOLD];
  expect(states.map(listedState)).toEqual([null, null, null, SeatState.ACTIVE, SeatState.SOLD]);
});

test("seats and areas are sorted by id", () => {
  expect([SEAT, AREA].sort(byId)).toEqual([AREA, SEAT]);
});
