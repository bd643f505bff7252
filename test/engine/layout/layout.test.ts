/** The immutable seat index of a layout. */
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { mergeLayout } from "../../../engine/layout/change.ts";
import {
  buildLayout,
  collectSeats,
  EMPTY_DOCUMENT,
  type Layout,
  seatIndexOf,
  seatName,
} from "../../../engine/layout/layout.ts";
import { area, labelOfGuid, layoutOf, section, table } from "../../support/layout.ts";

const DOCUMENT = mergeLayout(
  EMPTY_DOCUMENT,
  layoutOf(
    section("Stalls", { A: "3 2 1 _ 4", B: "1" }),
    area("Pit", 5),
    table("T", "1 2"),
    area("Lawn", null),
  ),
  { nextId: 100, timeMs: 0 },
).document;

function groupId(label: string): number {
  const groups = [...DOCUMENT.sectors, ...DOCUMENT.rows];
  return groups.find(({ guid }) => labelOfGuid(guid) === label)!.id;
}

/** By label of a seat: the neighbours before and after it. */
function besides(layout: Layout): Record<string, (string | null)[]> {
  const labelOf = (seat: number) => {
    const id = layout.seatIds[seat];
    return labelOfGuid(DOCUMENT.seats.find((candidate) => candidate.id === id)!.guid);
  };
  const seats = Array.from({ length: layout.seatCount }, (_, seat) => seat);
  return Object.fromEntries(
    seats.map((seat) => [
      labelOf(seat),
      [layout.previousSeat[seat]!, layout.nextSeat[seat]!].map((n) =>
        n === NONE ? null : labelOf(n),
      ),
    ]),
  );
}

test("seat indexes rise with seat ids, whatever the order of the document", () => {
  const layout = buildLayout({ ...DOCUMENT, seats: DOCUMENT.seats.toReversed() });
  const ids = [...layout.seatIds];
  expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  for (const [index, id] of ids.entries()) expect(layout.seatIndexes.get(id)).toBe(index);
  expect(besides(layout)).toEqual(besides(buildLayout(DOCUMENT)));
});

test("neighbours follow the row; an aisle, a row end and a table separate them", () => {
  expect(besides(buildLayout(DOCUMENT))).toEqual({
    A3: [null, "A2"],
    A2: ["A3", "A1"],
    A1: ["A2", null],
    A4: [null, null],
    B1: [null, null],
    T1: [null, null],
    T2: [null, null],
  });
});

test("sections, tables, rows and areas are found by id", () => {
  const layout = buildLayout(DOCUMENT);
  const typeOf = (label: string) => layout.groups.get(groupId(label))!.type;
  expect(["Stalls", "T", "row A", "Pit", "Lawn"].map(typeOf)).toEqual([
    "SECTION",
    "TABLE",
    "ROW",
    "GA",
    "GA",
  ]);
  expect(layout.areas.map(({ name, capacity }) => [name, capacity])).toEqual([
    ["Pit", 5],
    ["Lawn", null],
  ]);
  expect(layout.groups.size).toBe(7);
});

test("a section or table has the seats of all its rows, and an area has none", () => {
  const layout = buildLayout(DOCUMENT);
  const namesOf = (label: string) => {
    const seats = collectSeats(layout, layout.groups.get(groupId(label))!);
    return Array.from(
      seats,
      (seat) => layout.rows[layout.rowOfSeat[seat]!]!.name + seatName(layout, seat),
    );
  };
  expect(namesOf("Stalls")).toEqual(["A3", "A2", "A1", "A4", "B1"]);
  expect(namesOf("row B")).toEqual(["B1"]);
  expect(namesOf("T")).toEqual(["T1", "T2"]);
  expect(namesOf("Pit")).toEqual([]);
});

test("an empty document gives a layout without seats, rows or areas", () => {
  expect(buildLayout(EMPTY_DOCUMENT)).toMatchObject({ seatCount: 0, rows: [], areas: [] });
});

test("a seat index is found by seat id, whether ids are consecutive or have gaps", () => {
  for (const ids of [
    [5, 6, 7, 8],
    [5, 6, 9, 1_000_000_000_000],
  ]) {
    const row = { id: 1, guid: "r", sectorGuid: "s", rowNumber: "1" };
    const sector = { id: 2, guid: "s", name: "S", ga: false };
    const seats = ids.map((id) => ({ id, guid: `${id}`, rowGuid: "r", name: `${id}` }));
    const layout = buildLayout({ ...EMPTY_DOCUMENT, sectors: [sector], rows: [row], seats });
    expect(ids.map((id) => seatIndexOf(layout, id))).toEqual([0, 1, 2, 3]);
    const others = [0, 1, 4, 10, 999_999_999_999, Number.MAX_SAFE_INTEGER];
    expect(others.map((id) => seatIndexOf(layout, id))).toEqual(others.map(() => NONE));
  }
  expect(seatIndexOf(buildLayout(EMPTY_DOCUMENT), 1)).toBe(NONE);
});

test("a row without seats is part of the layout", () => {
  const [row] = DOCUMENT.rows;
  const seats = DOCUMENT.seats.filter(({ rowGuid }) => rowGuid !== row!.guid);
  const layout = buildLayout({ ...DOCUMENT, seats });
  expect(layout.rows[0]).toMatchObject({ id: row!.id, seats: new Uint32Array(0) });
  expect(layout.seatCount).toBe(seats.length);
});
