/** The immutable seat index of a layout. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { NONE } from "../../../engine/constants.ts";
import { mergeLayout } from "../../../engine/layout/change.ts";
import type { Seat } from "../../../engine/layout/document.ts";
import { findKey, joinKey } from "../../../engine/layout/labels.ts";
import {
  buildLayout,
  collectSeats,
  EMPTY_DOCUMENT,
  type Layout,
  nameKey,
  orderRow,
  seatIndexOf,
  seatName,
} from "../../../engine/layout/layout.ts";
import { World } from "../../support/engine.ts";
import { area, guidOf, labelOfGuid, layoutOf, section, table } from "../../support/layout.ts";

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

// Neighbours in a row.

type Position = readonly [x: number, y: number];

/** Seats labelled 1, 2, … in the given order. */
function seatsAt(positions: readonly (Position | null)[]): Seat[] {
  return positions.map((position, i) => {
    const seat = { id: i + 1, guid: `s${i}`, rowGuid: "r", name: String(i + 1) };
    return position === null ? seat : { ...seat, x: position[0], y: position[1] };
  });
}

/** Pairs of labels next to each other, whichever end of the row comes first. */
function pairs(seats: readonly Seat[]): string[] {
  const { order, aisleAfter } = orderRow(seats);
  const found: string[] = [];
  for (let i = 0; i + 1 < order.length; i++) {
    if (aisleAfter[i] === true) continue;
    const pair = [order[i]!, order[i + 1]!].map((position) => seats[position]!.name);
    found.push(pair.sort((a, b) => Number(a) - Number(b)).join("-"));
  }
  return found.sort();
}

test("neighbours follow from the coordinates, whatever the order of the seats", () => {
  const row = seatsAt([3, 1, 2, 0].map((x) => [x, 0] as const));
  expect(pairs(row)).toEqual(["1-3", "2-3", "2-4"]);
});

test("vertical and diagonal rows work like horizontal ones", () => {
  const upright = seatsAt([0, 1, 2, 3].map((i) => [5, i] as const));
  const slanted = seatsAt([0, 1, 2, 3].map((i) => [i, -i] as const));
  for (const row of [upright, slanted]) expect(pairs(row)).toEqual(["1-2", "2-3", "3-4"]);
});

test("a curved row is ordered along its curve", () => {
  const curved = seatsAt(
    Array.from({ length: 9 }, (_, i): Position => {
      const angle = (i - 4) / 8;
      return [20 * Math.sin(angle), 20 * Math.cos(angle)];
    }),
  );
  expect(pairs(curved)).toEqual(["1-2", "2-3", "3-4", "4-5", "5-6", "6-7", "7-8", "8-9"]);
});

test("a gap wider than one and a half times the median spacing is an aisle", () => {
  const gapOf = (gap: number) => [0, 1, 2, 2 + gap, 3 + gap].map((x): Position => [x, 0]);
  expect(pairs(seatsAt(gapOf(1.5)))).toEqual(["1-2", "2-3", "3-4", "4-5"]);
  expect(pairs(seatsAt(gapOf(1.501)))).toEqual(["1-2", "2-3", "4-5"]);
});

test("the median of an even number of gaps is the mean of the two in the middle", () => {
  // Gaps 1, 1, 2, 2: the median is 1.5, an aisle is wider than 2.25.
  expect(pairs(seatsAt([0, 1, 2, 4, 6].map((x) => [x, 0] as const)))).toHaveLength(4);
  // Gaps 1, 1, 1.2, 2: the median is 1.1, an aisle is wider than 1.65.
  expect(pairs(seatsAt([0, 1, 2, 3.2, 5.2].map((x) => [x, 0] as const)))).toHaveLength(3);
});

test.each([
  ["10 9 A2 1 A10", "1 9 10 A2 A10"],
  ["f é C b A", "A b C é f"],
  ["e E É é", "e E é É"],
])("without coordinates, %s sit in the order of a sorted list: %s", (labels, ordered) => {
  const names = labels.split(" ");
  const row = seatsAt(names.map(() => null)).map((seat, i) => ({ ...seat, name: names[i]! }));
  const { order, aisleAfter } = orderRow(row);
  expect(order.map((position) => row[position]!.name).join(" ")).toBe(ordered);
  expect(aisleAfter).not.toContain(true);
});

test("one seat without coordinates makes the whole row follow its labels", () => {
  const row = seatsAt([[9, 0], null, [0, 0]]);
  expect(pairs(row)).toEqual(["1-2", "2-3"]);
  const nulls = row.map((seat) => ({ ...seat, x: seat.x ?? null, y: seat.y ?? null }));
  expect(pairs(nulls)).toEqual(["1-2", "2-3"]);
});

test("rows of no, one and two seats have no, no and one pair of neighbours", () => {
  expect(orderRow([])).toEqual({ order: [], aisleAfter: [] });
  expect(pairs(seatsAt([[0, 0]]))).toEqual([]);
  expect(pairs(seatsAt([0, 90].map((x) => [x, 0] as const)))).toEqual(["1-2"]);
});

test("rotating, moving and scaling a row keeps its neighbours", () => {
  const gap = fc.constantFrom(1, 1, 1, 1.2, 3.7);
  const angle = fc.double({ min: 0, max: 7, noNaN: true });
  fc.assert(
    fc.property(
      fc.array(gap, { minLength: 1, maxLength: 12 }),
      angle,
      fc.nat(50),
      (gaps, a, by) => {
        const xs = [0];
        for (const width of gaps) xs.push(xs.at(-1)! + width);
        const level = seatsAt(xs.map((x) => [x, 0] as const));
        const scale = by + 1;
        const turned = seatsAt(
          xs.map((x) => [x * scale * Math.cos(a) + by, x * scale * Math.sin(a) - by] as const),
        );
        expect(pairs(turned)).toEqual(pairs(level));
      },
    ),
    { numRuns: 500, seed: 1 },
  );
});

test("seats at the same point are ordered by label, and those with one label by id", () => {
  const names = ["9", "3", "10", "3"];
  const positions = [5, 0, 5, 0].map((x) => [x, 0] as const);
  const row = seatsAt(positions).map((seat, i) => ({ ...seat, name: names[i]! }));
  // Seats 2 and 4 are "3" twice at the one end, seats 1 and 3 are "9" and "10" at the other.
  expect(orderRow(row).order).toEqual([1, 3, 0, 2]);
  expect(orderRow(row.toReversed()).order).toEqual([2, 0, 3, 1]);
});

// The natural order of names and labels.

/** Names in order, in groups of equal names. */
const ORDER: readonly (readonly string[])[] = [
  [""],
  ["-1"],
  ["0", "00"],
  ["1"],
  ["2", "02", "002"],
  ["10"],
  ["10a"],
  ["99999999999999999999"],
  ["100000000000000000000"],
  ["A"],
  ["A 2"],
  ["A 10"],
  ["A2"],
  ["A2B1"],
  ["A10"],
  ["aB"],
  ["Ab"],
  ["b"],
  ["B"],
  ["cote"],
  ["Cote"],
  ["cot\u00e9", "cote\u0301"],
  ["c\u00f4te"],
  ["c\u00f4t\u00e9"],
  ["coter"],
  ["\u00d8l"],
  ["om"],
  ["\u0430"],
  ["\u0431"],
];

test("digits count as numbers, then letters, then accents, then case", () => {
  const keys = ORDER.map((names) => {
    const [key, ...others] = new Set(names.map(nameKey));
    expect([names, others]).toEqual([names, []]);
    return key!;
  });
  expect(ORDER.filter((_, i) => i > 0 && keys[i - 1]! >= keys[i]!)).toEqual([]);
});

// Composite keys: the v1 names of a layout's objects.

test("three labels find a seat, a name finds an area, any other key finds nothing", () => {
  const world = new World([section("Stalls", { A: "1 2" }), table("T", "1"), area("Pit", 5)]);
  const { layout } = world.partition;
  const idOf = (label: string) => world.labels.idOf(label);
  const cases: [string, string, string][] = [
    ["Stalls;;A;;2", "seats", "A2"],
    ["T;;T;;1", "seats", "T1"],
    ["Pit", "groupOfSeats", "Pit"],
  ];
  for (const [key, member, label] of cases) {
    expect(findKey(layout, key), key).toEqual({ member, id: idOf(label) });
  }
  for (const key of ["", "Stalls", "Stalls;;A", "stalls;;A;;2", "Stalls;;A;;3", "Pit;;", "A;;2"]) {
    expect(findKey(layout, key), key).toBeUndefined();
  }
  expect(joinKey("Stalls", "A", "2")).toBe("Stalls;;A;;2");
});

test("labels that begin or end in one separator character are found", () => {
  const world = new World([
    section("VIP;", { ";A": "1;" }),
    section("VIP", { "B;": "1 ;2", C: ";1" }),
    area(";Pit;", 5),
  ]);
  const { layout } = world.partition;
  const keys = ["VIP;;;;A;;1;", "VIP;;B;;;1", "VIP;;B;;;;2", "VIP;;C;;;1"];
  const found = keys.map((key) => layout.seatIndexes.get(findKey(layout, key)?.id ?? 0)!);
  expect(found.map((seat) => seatName(layout, seat))).toEqual(["1;", "1", ";2", ";1"]);
  expect(new Set(found).size).toBe(keys.length);
  expect(findKey(layout, ";Pit;")?.member).toBe("groupOfSeats");
});

test("a key that two seats have names neither", () => {
  const sectors = ["S", "S;"].map((name, i) => ({ id: i + 1, guid: name, name, ga: false }));
  const rows = [
    { id: 10, guid: "1", sectorGuid: "S", rowNumber: ";A" },
    { id: 11, guid: "2", sectorGuid: "S;", rowNumber: "A" },
    { id: 12, guid: "3", sectorGuid: "S", rowNumber: "B;" },
    { id: 13, guid: "4", sectorGuid: "S", rowNumber: "B" },
  ];
  const names = ["1", "1", "2", ";2"];
  const seats = rows.map(({ guid }, i) => ({ id: 20 + i, guid, rowGuid: guid, name: names[i]! }));
  const layout = buildLayout({ ...EMPTY_DOCUMENT, sectors, rows, seats });
  for (const key of ["S;;;A;;1", "S;;B;;;2"]) expect(findKey(layout, key), key).toBeUndefined();
  const other = buildLayout({ ...EMPTY_DOCUMENT, sectors, rows, seats: seats.slice(1, 3) });
  expect(findKey(other, "S;;;A;;1")?.id).toBe(21);
  expect(findKey(other, "S;;B;;;2")?.id).toBe(22);
});

test("after a change of the layout, keys find its new seats and no removed ones", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  expect(findKey(world.partition.layout, "Stalls;;A;;2")).toBeDefined();
  world.putLayout({
    seats: [
      { guid: guidOf("A2"), rowGuid: guidOf("row A"), name: "2", toRemove: true },
      { guid: guidOf("A3"), rowGuid: guidOf("row A"), name: "3" },
    ],
  });
  expect(findKey(world.partition.layout, "Stalls;;A;;2")).toBeUndefined();
  expect(findKey(world.partition.layout, "Stalls;;A;;3")?.id).toBe(world.labels.idOf("A3"));
});

test("a key of a million separators, or of very long labels → names nothing, at once", () => {
  const { partition } = new World([section("Stalls", { A: "1 2 3" })]);
  const keys = [
    ";".repeat(1_000_000),
    `${"Stalls;;".repeat(500)}A;;2`,
    `Stalls;;A;;2${" ".repeat(9_000)}`,
  ];
  for (const key of keys) expect(findKey(partition.layout, key)).toBeUndefined();
});
