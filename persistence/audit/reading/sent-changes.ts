/**
 * Changes on their way from the reading thread. A change may be of 200,000 seats: to receive an
 * object for each of them would stop the engine's thread for a tenth of a second.
 */
import { type BookingState, SeatState } from "../../../engine/inventory/states.ts";
import type { ChangePage, EventChange, SeatAfter } from "../../../engine/queries/event-change.ts";

/** Four numbers for each seat: its id, its state, its price id, and the end of its hold. */
const SEAT_NUMBERS = 4;
/** For null: no price has this id, and no hold ends then. */
const NOTHING = 0;

export interface SentChange extends Omit<EventChange, "seats"> {
  readonly seats: Float64Array;
}

export interface SentPage extends Omit<ChangePage, "changes"> {
  readonly changes: readonly SentChange[];
}

export function sentPage({ changes, ...page }: ChangePage): SentPage {
  return { ...page, changes: changes.map((change) => ({ ...change, seats: sent(change.seats) })) };
}

/** Cost: O(seats), about ten milliseconds for 200,000. */
export function receivedPage({ changes, ...page }: SentPage): ChangePage {
  const received = changes.map((change) => ({ ...change, seats: seatsOf(change.seats) }));
  return { ...page, changes: received };
}

function sent(seats: readonly SeatAfter[]): Float64Array {
  const numbers = new Float64Array(SEAT_NUMBERS * seats.length);
  for (const [index, { id, state, priceId, expiresAtMs }] of seats.entries()) {
    const listed = state ?? SeatState.UNPRICED;
    const ofSeat = [id, listed, priceId ?? NOTHING, expiresAtMs ?? NOTHING];
    numbers.set(ofSeat, SEAT_NUMBERS * index);
  }
  return numbers;
}

function seatsOf(numbers: Float64Array): SeatAfter[] {
  const seats: SeatAfter[] = [];
  for (let i = 0; i < numbers.length; i += SEAT_NUMBERS) {
    const state = numbers[i + 1]!;
    seats.push({
      id: numbers[i]!,
      state: state === SeatState.UNPRICED ? null : (state as BookingState),
      priceId: numbers[i + 2]! || null,
      expiresAtMs: numbers[i + 3]! || null,
    });
  }
  return seats;
}
