/** Pages of changes as JSON, however many seats a change has. */
import { expect, test } from "vitest";
import { SeatState } from "../../../engine/inventory/states.ts";
import type { EventChange } from "../../../engine/queries/history.ts";
import { changeView } from "../../../server/live/change-view.ts";
import { changesPage } from "../../../server/live/changes.ts";

const AREA = { id: 7, active: 1, locked: 2, sold: 3, blocked: 4 };

function changeOf(sequence: number, seatCount: number, facts: Partial<EventChange> = {}) {
  const seats = Array.from({ length: seatCount }, (_, id) => ({
    id,
    state: id % 3 === 0 ? null : SeatState.LOCKED,
    priceId: id % 5 === 0 ? null : id,
    expiresAtMs: id % 2 === 0 ? null : 1_800_000_000_000 + id,
  }));
  const names = { call: "lock", session: 'a "session" "seats":[', holdType: "vip" };
  const rest = { areas: [AREA], status: null, bookable: null };
  return { sequence, previous: sequence - 1, timeMs: sequence, ...names, ...rest, ...facts, seats };
}

const pageOf = (...changes: readonly EventChange[]) => ({ changes, hasMore: true });

test.each([
  ["without changes", []],
  ["with few seats", [changeOf(4, 3)]],
  ["with as many seats as a piece has", [changeOf(4, 1_000, { areas: [] })]],
  ["with a seat more", [changeOf(4, 1_001)]],
  ["with many changes, some without seats", [1, 0, 2_500, 0].map((n, i) => changeOf(i + 1, n))],
  ["with a status", [changeOf(1, 2_000, { status: "PUBLISHED", bookable: true })]],
] as const)("a page %s has each change as it is shown", async (_, changes) => {
  const { status, type, body } = await changesPage(pageOf(...changes), 3, 1);
  expect([status, type]).toEqual([200, "application/json; charset=utf-8"]);
  const shown = changes.map((change) => changeView(change, false));
  const sequence = changes.at(-1)?.sequence ?? 3;
  const expected = { sequence, more: true, changes: shown };
  expect(JSON.parse(Buffer.from(body).toString())).toEqual(JSON.parse(JSON.stringify(expected)));
});

test("a change of very many seats leaves turns of the event loop to others", async () => {
  const page = pageOf(changeOf(1, 100_000));
  let turns = 0;
  let isOver = false;
  const turn = () => {
    turns += 1;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await changesPage(page, 0, 1);
  isOver = true;
  expect(turns).toBeGreaterThan(5);
});
