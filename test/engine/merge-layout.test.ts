/** A sent layout laid over the stored one, and what must hold in the whole. */
import { expect, test } from "vitest";
import type { LayoutBody } from "../../engine/commands.ts";
import { checkDocument } from "../../engine/decide/check-document.ts";
import { mergeLayout } from "../../engine/decide/merge-layout.ts";
import type { LayoutDocument } from "../../engine/layout-document.ts";
import { EMPTY_DOCUMENT } from "../../engine/layout.ts";
import { LAYOUT_BYTES_MAX, SEATS_PER_LAYOUT_MAX } from "../../engine/constants.ts";
import { area, layoutOf, section } from "../support/layout.ts";

const HALL = layoutOf(section("Stalls", { A: "1 2", B: "1" }), area("Pit", 5));
const DRAWING = { shapes: [{ id: "x", fill: "red" }], clientViewBox: { w: 3 } };
const stored = (): LayoutDocument =>
  mergeLayout(EMPTY_DOCUMENT, { ...HALL, ...DRAWING }, 100).document;

const guidsOf = ({ sectors, rows, seats }: LayoutDocument) => ({
  sectors: sectors.map(({ guid }) => guid),
  rows: rows.map(({ guid }) => guid),
  seats: seats.map(({ guid }) => guid),
});

/** Faults of a body over the stored layout, as `field CODE`. */
function faultsOf(body: LayoutBody, over = stored()): string[] {
  const merged = mergeLayout(over, body, 200);
  const faults = merged.faults.length > 0 ? merged.faults : checkDocument(merged.document, body);
  return faults.map(({ field, code }) => `${field} ${code}`);
}

test("new objects get ids in order, and everything sent is kept", () => {
  const sent = { ...HALL, ...DRAWING };
  const { document, nextId, faults } = mergeLayout(EMPTY_DOCUMENT, sent, 100);
  expect(faults).toEqual([]);
  const ids = [...document.sectors, ...document.rows, ...document.seats].map(({ id }) => id);
  expect(ids).toEqual([100, 101, 102, 103, 104, 105, 106]);
  expect(nextId).toBe(107);
  expect(document).toMatchObject(DRAWING);
});

test("what is sent again by guid or by id is replaced, what is not sent stays", () => {
  const before = stored();
  const [one, two] = before.seats;
  const { document, nextId } = mergeLayout(
    before,
    {
      seats: [
        { guid: one!.guid, rowGuid: "row A", name: "1a", fill: "blue" },
        { id: two!.id, guid: "moved", rowGuid: "row B", name: "2" },
      ],
    },
    200,
  );
  expect(nextId).toBe(200);
  expect(document.seats).toEqual([
    { id: one!.id, guid: one!.guid, rowGuid: "row A", name: "1a", fill: "blue" },
    { id: two!.id, guid: "moved", rowGuid: "row B", name: "2" },
    before.seats[2],
  ]);
  expect(document.sectors).toEqual(before.sectors);
  expect(document).toMatchObject(DRAWING);
});

test("putting the same layout again changes nothing", () => {
  const before = stored();
  const again = mergeLayout(before, HALL, 200);
  expect(again).toEqual({ document: before, nextId: 200, faults: [] });
  const answered: LayoutBody = { ...before, clientViewBox: null };
  expect(mergeLayout(before, answered, 200).document).toEqual(before);
});

test("a removed seat goes, and so does its row when that was the last one", () => {
  const gone = (guid: string, rowGuid: string) => ({ guid, rowGuid, name: "1", toRemove: true });
  const one = mergeLayout(stored(), { seats: [gone("A1", "row A")] }, 200).document;
  expect(guidsOf(one)).toMatchObject({ rows: ["row A", "row B"], seats: ["A2", "B1"] });
  const last = mergeLayout(stored(), { seats: [gone("B1", "row B")] }, 200).document;
  expect(guidsOf(last)).toMatchObject({ rows: ["row A"], seats: ["A1", "A2"] });
});

test("a row that gets a new seat as it loses its last one stays", () => {
  const body = {
    seats: [
      { guid: "B1", rowGuid: "row B", name: "1", toRemove: true },
      { guid: "B2", rowGuid: "row B", name: "2" },
    ],
  };
  const { document } = mergeLayout(stored(), body, 200);
  expect(guidsOf(document)).toMatchObject({
    rows: ["row A", "row B"],
    seats: ["A1", "A2", "B2"],
  });
});

test("a row whose last seat moved to another row goes as well", () => {
  const { document } = mergeLayout(
    stored(),
    { seats: [{ guid: "B1", rowGuid: "row A", name: "3" }] },
    200,
  );
  expect(guidsOf(document)).toMatchObject({ rows: ["row A"], seats: ["A1", "A2", "B1"] });
});

test("a removed row takes its seats, a removed section its rows and theirs", () => {
  const row = { guid: "row A", sectorGuid: "Stalls", rowNumber: "A", toRemove: true };
  expect(guidsOf(mergeLayout(stored(), { rows: [row] }, 200).document)).toMatchObject({
    rows: ["row B"],
    seats: ["B1"],
  });
  const stalls = { guid: "Stalls", name: "Stalls", ga: false, toRemove: true };
  const empty = { guid: "row C", sectorGuid: "Stalls", rowNumber: "C" };
  const withEmptyRow = mergeLayout(stored(), { rows: [empty] }, 200).document;
  expect(guidsOf(mergeLayout(withEmptyRow, { sectors: [stalls] }, 300).document)).toEqual({
    sectors: ["Pit"],
    rows: [],
    seats: [],
  });
});

test("removing what is not there is no fault when it has no id", () => {
  const body = { seats: [{ guid: "Z9", rowGuid: "row A", name: "9", toRemove: true }] };
  expect(faultsOf(body)).toEqual([]);
  expect(mergeLayout(stored(), body, 200).document).toEqual(stored());
});

test("an id that the layout does not have is refused, and so is an object sent twice", () => {
  const seat = { rowGuid: "row A", name: "9" };
  expect(faultsOf({ seats: [{ ...seat, guid: "x", id: 9_999 }] })).toEqual([
    "seats[0].id NOT_FOUND",
  ]);
  const { id } = stored().seats[0]!;
  const twice = [
    { ...seat, guid: "A1" },
    { ...seat, guid: "A1x", id },
  ];
  expect(faultsOf({ seats: twice })).toEqual(["seats[1].guid DUPLICATE"]);
});

test("guids are unique over sectors, rows and seats together", () => {
  const rowGuid = "row A";
  expect(
    faultsOf({
      seats: [
        { guid: "n", rowGuid, name: "8" },
        { guid: "n", rowGuid, name: "9" },
      ],
    }),
  ).toEqual(["seats[1].guid DUPLICATE"]);
  expect(faultsOf({ seats: [{ guid: "Pit", rowGuid, name: "9" }] })).toEqual([
    "seats[0].guid DUPLICATE",
  ]);
  expect(faultsOf({ rows: [{ guid: "Pit", sectorGuid: "Stalls", rowNumber: "C" }] })).toEqual([
    "rows[0].guid DUPLICATE",
  ]);
});

test("a row or seat that points at nothing is refused, and so are rows in an area", () => {
  expect(faultsOf({ seats: [{ guid: "n", rowGuid: "row Z", name: "9" }] })).toEqual([
    "seats[0].rowGuid NOT_FOUND",
  ]);
  const row = { guid: "n", rowNumber: "C" };
  expect(faultsOf({ rows: [{ ...row, sectorGuid: "Nowhere" }] })).toEqual([
    "rows[0].sectorGuid NOT_FOUND",
  ]);
  expect(faultsOf({ rows: [{ ...row, sectorGuid: "Pit" }] })).toEqual([
    "rows[0].sectorGuid CONFLICT",
  ]);
  const areaNow = { ...stored().sectors[0]!, ga: true };
  expect(faultsOf({ sectors: [areaNow] })).toEqual([
    "sectors[0].ga CONFLICT",
    "sectors[0].ga CONFLICT",
  ]);
  const renamed = { id: stored().sectors[0]!.id, guid: "Parterre", name: "Stalls", ga: false };
  expect(faultsOf({ sectors: [renamed] })).toEqual([
    "rows.sectorGuid NOT_FOUND",
    "rows.sectorGuid NOT_FOUND",
  ]);
});

test("labels are unique where a composite key needs them to be", () => {
  expect(faultsOf({ seats: [{ guid: "n", rowGuid: "row A", name: "2" }] })).toEqual([
    "seats[0].name DUPLICATE",
  ]);
  expect(faultsOf({ seats: [{ guid: "n", rowGuid: "row B", name: "2" }] })).toEqual([]);
  expect(faultsOf({ rows: [{ guid: "n", sectorGuid: "Stalls", rowNumber: "B" }] })).toEqual([
    "rows[0].rowNumber DUPLICATE",
  ]);
  expect(faultsOf({ sectors: [{ guid: "n", name: "Pit", ga: false }] })).toEqual([
    "sectors[0].name DUPLICATE",
  ]);
});

test("a label may not contain the separator of composite keys", () => {
  const body = {
    sectors: [{ guid: "s", name: "Up;;per", ga: false }],
    rows: [{ guid: "r", sectorGuid: "s", rowNumber: ";;" }],
    seats: [
      { guid: "t", rowGuid: "r", name: "1;;2" },
      { guid: "u", rowGuid: "r", name: "1;2;" },
    ],
  };
  expect(faultsOf(body)).toEqual([
    "sectors[0].name PATTERN",
    "rows[0].rowNumber PATTERN",
    "seats[0].name PATTERN",
  ]);
});

test("a layout has at most so many seats, and tells at most a hundred faults", () => {
  const many = (count: number, name: (i: number) => string): LayoutDocument => ({
    ...stored(),
    seats: Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      guid: `s${i}`,
      rowGuid: "row A",
      name: name(i),
    })),
  });
  expect(checkDocument(many(SEATS_PER_LAYOUT_MAX + 1, String), {})).toMatchObject([
    { field: "seats", code: "SIZE", rejectedValue: SEATS_PER_LAYOUT_MAX + 1 },
  ]);
  expect(checkDocument(many(SEATS_PER_LAYOUT_MAX, String), {})).toEqual([]);
  expect(
    checkDocument(
      many(300, () => "same"),
      {},
    ),
  ).toHaveLength(100);
});

const TOO_WIDE = [
  ["plain", "x".repeat(LAYOUT_BYTES_MAX)],
  ["of two bytes a character", "é".repeat(LAYOUT_BYTES_MAX / 2)],
  ["of three bytes a character", "€".repeat(LAYOUT_BYTES_MAX / 3)],
  ["of four bytes a character", "🎭".repeat(LAYOUT_BYTES_MAX / 4)],
] as const;

test.each(TOO_WIDE)("a layout has at most so many bytes, drawings included: %s", (_, text) => {
  const document = { ...EMPTY_DOCUMENT, shapes: [{ text }] };
  expect(checkDocument(document, {}).map(({ code }) => code)).toEqual(["SIZE"]);
  const half = { ...EMPTY_DOCUMENT, shapes: [{ text: text.slice(text.length / 2) }] };
  expect(checkDocument(half, {})).toEqual([]);
});
