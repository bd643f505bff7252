/** Changes on their way between the threads. */
import { expect, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import type { ChangePage, SeatAfter } from "../../../engine/queries/history.ts";
import { receivedPage, sentPage } from "../../../persistence/audit/reader.ts";

const FACTS = { timeMs: 1_800_000_000_000, call: "lock", session: "ann", holdType: "vip" };
const REST = { areas: [{ id: 7, active: 1, locked: 2, sold: 3, blocked: 4 }], bookable: true };

function pageOf(...lists: readonly (readonly SeatAfter[])[]): ChangePage {
  const changes = lists.map((seats, i) => {
    return { sequence: i + 1, previous: i, ...FACTS, ...REST, status: null, seats };
  });
  return { changes, hasMore: true };
}

const { ACTIVE, LOCKED, SOLD } = SeatState;
const SEATS: readonly SeatAfter[] = [
  { id: 1, state: null, priceId: null, expiresAtMs: null },
  { id: 2, state: ACTIVE, priceId: 2 ** 40, expiresAtMs: null },
  { id: 2 ** 50, state: LOCKED, priceId: 3, expiresAtMs: 1_800_000_000_001 },
  { id: 2 ** 50 + 1, state: SOLD, priceId: null, expiresAtMs: null },
];

test("changes arrive as they were sent", () => {
  const page = pageOf(SEATS, [], SEATS.slice(1));
  expect(receivedPage(structuredClone(sentPage(page)))).toEqual(page);
});

test("a change of very many seats is sent without an object for each of them", () => {
  const seats = Array.from({ length: 1_000 }, (_, id) => ({ ...SEATS[2]!, id }));
  const [change] = sentPage(pageOf(seats)).changes;
  expect(change!.seats).toBeInstanceOf(Float64Array);
});
