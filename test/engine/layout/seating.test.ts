/** Scores of seats: a rank, the distance to the focal point, or the place in the row. */
import { expect, test } from "vitest";
import type { LayoutBody } from "../../../engine/bodies.ts";
import { mergeLayout } from "../../../engine/layout/change.ts";
import { buildLayout, EMPTY_DOCUMENT, seatName } from "../../../engine/layout/layout.ts";
import { columnsOf, layoutOfColumns } from "../../../engine/layout/packed.ts";
import { layoutOf, section } from "../../support/layout.ts";

const PARTS = layoutOf(section("Stalls", { A: "1 2 3", B: "4 5" }));
type SeatChange = (name: string) => object;

function bodyOf(change: SeatChange, more: LayoutBody = {}): LayoutBody {
  const seats = PARTS.seats!.map((seat) => ({ ...seat, ...change(seat.name) }));
  return { ...PARTS, seats, ...more };
}

/** By label, in order. */
function scoresOf(body: LayoutBody): readonly number[] {
  const { document } = mergeLayout(EMPTY_DOCUMENT, body, { nextId: 100, timeMs: 0 });
  const layout = layoutOfColumns(structuredClone(columnsOf(buildLayout(document))));
  const seats = Array.from(layout.scores.keys());
  seats.sort((a, b) => (seatName(layout, a) < seatName(layout, b) ? -1 : 1));
  return seats.map((seat) => layout.scores[seat]!);
}

const none: SeatChange = () => ({});
const spread: SeatChange = (name) => ({ x: Number(name) * 3, y: 4 });
const stage = { purpose: "OBJECT" as const, left: -10, top: 0, width: 20, height: 8 };

test.each<[string, LayoutBody, readonly number[]]>([
  [
    "a rank beats every position; seats without one come last",
    bodyOf((name) => (name === "2" ? { rank: 7 } : {}), { focalPoint: { x: 0, y: 0 } }),
    [1_000_000_000, 7, 1_000_000_000, 1_000_000_000, 1_000_000_000],
  ],
  ["rank 0 is a rank", bodyOf((name) => ({ rank: Number(name) - 1 })), [0, 1, 2, 3, 4]],
  [
    "the distance to the given focal point, halves up",
    bodyOf((name) => ({ ax: Number(name) - 0.5, ay: 0 }), {
      focalPoint: { x: 0, y: 0 },
      shapes: [stage],
    }),
    [1, 2, 3, 4, 5],
  ],
  [
    "the distance to the centre of the first object with a place",
    bodyOf(spread, {
      shapes: [{ purpose: "OBJECT" }, { purpose: "OUTLINE", left: 9, top: 9 }, stage],
    }),
    [3, 6, 9, 12, 15],
  ],
  ["the distance to the middle of the front of all seats", bodyOf(spread), [6, 3, 0, 3, 6]],
  [
    "the position is that within the sector, whose place counts, unless it is absolute",
    bodyOf((name) => (name === "1" ? { ax: 3, ay: 4 } : {}), {
      sectors: [{ ...PARTS.sectors![0]!, x: 100 }],
      focalPoint: { x: 0, y: 0 },
    }),
    [5, 101, 102, 100, 101],
  ],
  [
    "without a position the rank of the row and the distance from its middle",
    bodyOf(() => ({ x: null })),
    [1_000_000_002, 1_000_000_000, 1_000_000_002, 1_000_010_001, 1_000_010_001],
  ],
  [
    "a distance beyond 32 bits counts as the largest",
    bodyOf(() => ({ ax: 1e300, ay: -1e300 }), { focalPoint: { x: 0, y: 0 } }),
    [4_294_967_295, 4_294_967_295, 4_294_967_295, 4_294_967_295, 4_294_967_295],
  ],
])("%s", (_, body, expected) => {
  expect(scoresOf(body)).toEqual(expected);
});

test("a changed focal point is a change of the layout, and one that is not sent stays", () => {
  const next = { nextId: 100, timeMs: 0 };
  const put = (stored = EMPTY_DOCUMENT, body: LayoutBody = {}) => mergeLayout(stored, body, next);
  const first = put(EMPTY_DOCUMENT, bodyOf(none, { focalPoint: { x: 1, y: 2 } })).document;
  expect(first.focalPoint).toEqual({ x: 1, y: 2 });
  expect(put(first)).toMatchObject({ isChanged: false, document: { focalPoint: { x: 1, y: 2 } } });
  expect(put(first, { focalPoint: null })).toMatchObject({ isChanged: false });
  const moved = put(first, { focalPoint: { x: 1, y: 3 } });
  expect(moved).toMatchObject({ isChanged: true, document: { focalPoint: { x: 1, y: 3 } } });
  expect(Object.keys(put(EMPTY_DOCUMENT, bodyOf(none)).document)).not.toContain("focalPoint");
});
