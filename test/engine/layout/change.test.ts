/** The merge of a sent layout into the stored one, and its refusals. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { LayoutBody, SentShape } from "../../../engine/bodies.ts";
import {
  DRAWING_BYTES_MAX,
  LAYOUT_BYTES_MAX,
  SEATS_PER_LAYOUT_MAX,
} from "../../../engine/constants.ts";
import {
  checkDocument,
  isSameValue,
  mapGuids,
  mergeLayout,
  mergeShapes,
  newGuid,
} from "../../../engine/layout/change.ts";
import type { LayoutDocument, Shape } from "../../../engine/layout/document.ts";
import { EMPTY_DOCUMENT } from "../../../engine/layout/layout.ts";
import { Result } from "../../../engine/results.ts";
import { FORMATS } from "../../../engine/schema.ts";
import { START_MS, World } from "../../support/engine.ts";
import { area, guidOf, labelOfGuid, layoutOf, section } from "../../support/layout.ts";

const at = (nextId: number) => ({ nextId, timeMs: START_MS });
const HALL = layoutOf(section("Stalls", { A: "1 2", B: "1" }), area("Pit", 5));
const DRAWING = { shapes: [{ id: "x", fill: "red" }], clientViewBox: { w: 3 } };
const stored = (): LayoutDocument =>
  mergeLayout(EMPTY_DOCUMENT, { ...HALL, ...DRAWING }, at(100)).document;

const NOTHING_SENT = { stored: EMPTY_DOCUMENT, body: {} };

const guidsOf = ({ sectors, rows, seats }: LayoutDocument) => ({
  sectors: sectors.map(({ guid }) => labelOfGuid(guid)),
  rows: rows.map(({ guid }) => labelOfGuid(guid)),
  seats: seats.map(({ guid }) => labelOfGuid(guid)),
});

/** Errors of the stored layout after the merge, as `field CODE`. */
function errorsOf(body: LayoutBody, over = stored()): string[] {
  const merged = mergeLayout(over, body, at(200));
  const errors =
    merged.errors.length > 0
      ? merged.errors
      : checkDocument(merged.document, { stored: over, body });
  return errors.map(({ field, code }) => `${field} ${code}`);
}

test("new objects get ids in the order in which they are sent, and all members are kept", () => {
  const sent = { ...HALL, ...DRAWING };
  const { document, newIds, errors } = mergeLayout(EMPTY_DOCUMENT, sent, at(100));
  expect(errors).toEqual([]);
  const ids = [...document.sectors, ...document.rows, ...document.seats].map(({ id }) => id);
  expect(ids).toEqual([100, 101, 102, 103, 104, 105, 106]);
  expect(newIds).toBe(7);
  expect(document).toMatchObject(DRAWING);
});

test("an object that is sent again, by guid or id, is replaced; the others are kept", () => {
  const before = stored();
  const [one, two] = before.seats;
  const { document, newIds } = mergeLayout(
    before,
    {
      seats: [
        { guid: one!.guid, rowGuid: guidOf("row A"), name: "1a", fill: "blue" },
        { id: two!.id, guid: guidOf("moved"), rowGuid: guidOf("row B"), name: "2" },
      ],
    },
    at(200),
  );
  expect(newIds).toBe(0);
  expect(document.seats).toEqual([
    { id: one!.id, guid: one!.guid, rowGuid: guidOf("row A"), name: "1a", fill: "blue" },
    { id: two!.id, guid: guidOf("moved"), rowGuid: guidOf("row B"), name: "2" },
    before.seats[2],
  ]);
  expect(document.sectors).toEqual(before.sectors);
  expect(document).toMatchObject(DRAWING);
});

test("putting the same layout again changes nothing", () => {
  const before = stored();
  const again = mergeLayout(before, HALL, at(200));
  expect(again).toEqual({ document: before, isChanged: false, newIds: 0, errors: [] });
  const answered: LayoutBody = { ...before, clientViewBox: null };
  expect(mergeLayout(before, answered, at(200)).document).toEqual(before);
});

test("a row is removed together with its last seat", () => {
  const removed = (label: string, row: string) => ({
    guid: guidOf(label),
    rowGuid: guidOf(row),
    name: "1",
    toRemove: true,
  });
  const one = mergeLayout(stored(), { seats: [removed("A1", "row A")] }, at(200)).document;
  expect(guidsOf(one)).toMatchObject({ rows: ["row A", "row B"], seats: ["A2", "B1"] });
  const last = mergeLayout(stored(), { seats: [removed("B1", "row B")] }, at(200)).document;
  expect(guidsOf(last)).toMatchObject({ rows: ["row A"], seats: ["A1", "A2"] });
});

test("a row stays when its last seat is removed and a new one is added in one request", () => {
  const body = {
    seats: [
      { guid: guidOf("B1"), rowGuid: guidOf("row B"), name: "1", toRemove: true },
      { guid: guidOf("B2"), rowGuid: guidOf("row B"), name: "2" },
    ],
  };
  const { document } = mergeLayout(stored(), body, at(200));
  expect(guidsOf(document)).toMatchObject({
    rows: ["row A", "row B"],
    seats: ["A1", "A2", "B2"],
  });
});

test("a row is removed when its last seat moves to another row", () => {
  const { document } = mergeLayout(
    stored(),
    { seats: [{ guid: guidOf("B1"), rowGuid: guidOf("row A"), name: "3" }] },
    at(200),
  );
  expect(guidsOf(document)).toMatchObject({ rows: ["row A"], seats: ["A1", "A2", "B1"] });
});

test("removing a row removes its seats, removing a section its rows and their seats", () => {
  const row = {
    guid: guidOf("row A"),
    sectorGuid: guidOf("Stalls"),
    rowNumber: "A",
    toRemove: true,
  };
  expect(guidsOf(mergeLayout(stored(), { rows: [row] }, at(200)).document)).toMatchObject({
    rows: ["row B"],
    seats: ["B1"],
  });
  const stalls = { guid: guidOf("Stalls"), name: "Stalls", ga: false, toRemove: true };
  const empty = { guid: guidOf("row C"), sectorGuid: guidOf("Stalls"), rowNumber: "C" };
  const withEmptyRow = mergeLayout(stored(), { rows: [empty] }, at(200)).document;
  expect(guidsOf(mergeLayout(withEmptyRow, { sectors: [stalls] }, at(300)).document)).toEqual({
    sectors: ["Pit"],
    rows: [],
    seats: [],
  });
});

test("removing an unknown object without an id changes nothing", () => {
  const body = {
    seats: [{ guid: guidOf("Z9"), rowGuid: guidOf("row A"), name: "9", toRemove: true }],
  };
  expect(errorsOf(body)).toEqual([]);
  expect(mergeLayout(stored(), body, at(200)).document).toEqual(stored());
});

const [ROW_A, ROW_B, STALLS, NEW] = ["row A", "row B", "Stalls", "n"].map(guidOf) as Four;
type Four = [string, string, string, string];
const seat = (guid: string, rowGuid: string, name: string) => ({ guid, rowGuid, name });
const row = (sectorGuid: string, rowNumber = "C", guid = NEW) => ({ guid, sectorGuid, rowNumber });
const sector = (guid: string, name: string) => ({ guid, name, ga: false });
const [storedStalls] = stored().sectors;

test.each<[what: string, body: LayoutBody, errors: string[]]>([
  [
    "an unknown id",
    { seats: [{ ...seat("x", ROW_A, "9"), id: 9_999 }] },
    ["seats[0].id NOT_FOUND"],
  ],
  [
    "an object that is sent twice, by guid and by id",
    {
      seats: [
        seat(guidOf("A1"), ROW_A, "9"),
        { ...seat(guidOf("A1x"), ROW_A, "9"), id: stored().seats[0]!.id },
      ],
    },
    ["seats[1].guid DUPLICATE"],
  ],
  [
    "a guid of another new seat",
    { seats: [seat(NEW, ROW_A, "8"), seat(NEW, ROW_A, "9")] },
    ["seats[1].guid DUPLICATE"],
  ],
  ["a sector's guid", { seats: [seat(guidOf("Pit"), ROW_A, "9")] }, ["seats[0].guid DUPLICATE"]],
  ["a seat's guid", { sectors: [sector(guidOf("A1"), "Circle")] }, ["sectors[0].guid DUPLICATE"]],
  ["an area's guid", { rows: [row(STALLS, "C", guidOf("Pit"))] }, ["rows[0].guid DUPLICATE"]],
  [
    "a seat without its row",
    { seats: [seat(NEW, guidOf("Z"), "9")] },
    ["seats[0].rowGuid NOT_FOUND"],
  ],
  ["a row without its section", { rows: [row(guidOf("Z"))] }, ["rows[0].sectorGuid NOT_FOUND"]],
  ["a row in an area", { rows: [row(guidOf("Pit"))] }, ["rows[0].sectorGuid CONFLICT"]],
  [
    "a section with rows that becomes an area",
    { sectors: [{ ...storedStalls!, ga: true }] },
    ["sectors[0].ga CONFLICT", "sectors[0].ga CONFLICT"],
  ],
  [
    "a section with rows that gets another guid",
    { sectors: [{ id: storedStalls!.id, ...sector(guidOf("Parterre"), "Stalls") }] },
    ["sectors[0].guid CONFLICT"],
  ],
  [
    "a row with seats that gets another guid",
    { rows: [{ id: stored().rows[0]!.id, ...row(STALLS, "A") }] },
    ["rows[0].guid CONFLICT"],
  ],
  [
    "a stored seat that gets the label of a later one that was not sent",
    { seats: [{ id: stored().seats[0]!.id, ...seat(guidOf("A1"), ROW_A, "2") }] },
    ["seats[0].name DUPLICATE"],
  ],
  [
    "two seats of a row with one label",
    { seats: [seat(NEW, ROW_A, "2")] },
    ["seats[0].name DUPLICATE"],
  ],
  ["two rows with seats of one label: none", { seats: [seat(NEW, ROW_B, "2")] }, []],
  ["two rows with one label", { rows: [row(STALLS, "B")] }, ["rows[0].rowNumber DUPLICATE"]],
  ["two sectors with one name", { sectors: [sector(NEW, "Pit")] }, ["sectors[0].name DUPLICATE"]],
  [
    "labels with the separator of composite keys",
    {
      sectors: [sector("s", "Up;;per")],
      rows: [row("s", ";;", "r")],
      seats: [seat("t", "r", "1;;2"), seat("u", "r", "1;2;")],
    },
    ["sectors[0].name PATTERN", "rows[0].rowNumber PATTERN", "seats[0].name PATTERN"],
  ],
])("errors of %s", (_what, body, errors) => {
  expect(errorsOf(body)).toEqual(errors);
});

test("a layout with too many seats is refused; at most a hundred errors are reported", () => {
  const many = (count: number, name: (i: number) => string): LayoutDocument => ({
    ...stored(),
    seats: Array.from({ length: count }, (_, i) => ({
      id: i + 1,
      guid: `s${i}`,
      rowGuid: guidOf("row A"),
      name: name(i),
    })),
  });
  expect(checkDocument(many(SEATS_PER_LAYOUT_MAX + 1, String), NOTHING_SENT)).toMatchObject([
    { field: "seats", code: "SIZE", rejectedValue: SEATS_PER_LAYOUT_MAX + 1 },
  ]);
  expect(checkDocument(many(SEATS_PER_LAYOUT_MAX, String), NOTHING_SENT)).toEqual([]);
  const repeated = many(300, () => "same");
  const sent = { stored: EMPTY_DOCUMENT, body: { seats: repeated.seats } };
  expect(checkDocument(repeated, sent)).toHaveLength(100);
});

const TOO_LONG = [
  ["one byte per character", "x".repeat(LAYOUT_BYTES_MAX)],
  ["two bytes per character", "é".repeat(LAYOUT_BYTES_MAX / 2)],
  ["three bytes per character", "€".repeat(LAYOUT_BYTES_MAX / 3)],
  ["four bytes per character", "🎭".repeat(LAYOUT_BYTES_MAX / 4)],
] as const;

test.each(TOO_LONG)("a layout whose drawings are too long in bytes is refused: %s", (_, text) => {
  const document = { ...EMPTY_DOCUMENT, shapes: [{ id: "x", text }] };
  expect(checkDocument(document, NOTHING_SENT).map(({ code }) => code)).toEqual(["SIZE"]);
  const half = { ...EMPTY_DOCUMENT, shapes: [{ id: "x", text: text.slice(text.length / 2) }] };
  expect(checkDocument(half, NOTHING_SENT)).toEqual([]);
});

test("a layout of exactly the greatest length in bytes is accepted", () => {
  const drawn = (text: string) => ({ ...EMPTY_DOCUMENT, shapes: [{ id: "x", text }] });
  const text = "x".repeat(LAYOUT_BYTES_MAX - JSON.stringify(drawn("")).length);
  expect(checkDocument(drawn(text), NOTHING_SENT)).toEqual([]);
});

// The merge of sent drawing shapes into the stored ones.

const [STAGE, BAR] = [
  { id: "stage", fill: "red" },
  { id: "bar", fill: "blue" },
];

/** Merges, with new ids `n1`, `n2` and so on. */
function merge(before: readonly Shape[], ...sent: readonly SentShape[]) {
  let count = 0;
  const newId = () => `n${++count}`;
  const { shapes, errors } = mergeShapes(before, sent, newId);
  return { shapes, errors: errors.map(({ field, code }) => `${field} ${code}`) };
}

test("a shape that is sent without an id gets one, and is the same when it is sent again", () => {
  const sent = [{ fill: "red" }, { fill: "red" }, { fill: "blue", id: null }];
  const [first, second, third] = ["n1", "n2", "n3"];
  const before = [
    { id: first, fill: "red" },
    { id: second, fill: "red" },
    { id: third, fill: "blue" },
  ];
  expect(merge([], ...sent)).toEqual({ shapes: before, errors: [] });
  const again = mergeShapes(before, sent, () => "another");
  expect(again.shapes).toEqual(before);
});

test("a shape is replaced by its id, toRemove removes it, and the others stay", () => {
  expect(merge([STAGE, BAR]).shapes).toEqual([STAGE, BAR]);
  const moved = { id: "stage", left: 3 };
  expect(merge([STAGE, BAR], { ...moved, toRemove: false }).shapes).toEqual([moved, BAR]);
  expect(merge([STAGE, BAR], { id: "stage", toRemove: true }).shapes).toEqual([BAR]);
  expect(merge([STAGE, BAR], { fill: "blue", toRemove: true }).shapes).toEqual([STAGE]);
  expect(merge([STAGE], { id: "unknown", toRemove: true }).shapes).toEqual([STAGE]);
});

test("two sent shapes with one id are refused", () => {
  expect(merge([], STAGE, BAR, STAGE).errors).toEqual(["shapes[2].id DUPLICATE"]);
});

// Guids of layouts: one letter case, and distinct new ones.

test("new guids are UUIDs in lower case that differ by time and by id", () => {
  const ids = [1, 2, 255, 2 ** 48, Number.MAX_SAFE_INTEGER];
  const guids = [START_MS, START_MS + 1].flatMap((timeMs) => ids.map((id) => newGuid(timeMs, id)));
  expect(new Set(guids).size).toBe(10);
  for (const guid of guids) expect(FORMATS["lower-case-uuid"]!(guid), guid).toBe(true);
});

test("objects whose guids do not change are kept as they are", () => {
  const layout = layoutOf(section("Stalls", { A: "1 2" }));
  const same = mapGuids(layout, (guid) => guid);
  expect(same.seats![0]).toBe(layout.seats![0]);
});

test("a layout in capital letters is the same layout", () => {
  const world = new World([section("Stalls", { A: "1 2" })]);
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  const capital = mapGuids(layoutOf(section("Stalls", { A: "1 2" })), (guid) => guid.toUpperCase());
  world.putLayout(capital);
  expect(world.engine.state.catalog.layouts.get(world.schemaId)!.document).toEqual(document);
});

// Equality of JSON values.

test("two values are the same when their JSON is, whatever the order of members", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      const copy: unknown = JSON.parse(JSON.stringify(a), (_, value: unknown) =>
        typeof value !== "object" || value === null || Array.isArray(value)
          ? value
          : Object.fromEntries(Object.entries(value).toReversed()),
      );
      expect(isSameValue(copy, JSON.parse(JSON.stringify(a)))).toBe(true);
      if (isSameValue(a, b)) expect(b).toEqual(a);
      else expect(JSON.stringify(b)).not.toBe(JSON.stringify(a));
    }),
  );
});

test.each([
  [{ a: 1 }, { a: 1, b: undefined }],
  [{ a: undefined }, { b: 1 }],
  [[1], { 0: 1 }],
  [
    [1, 2],
    [2, 1],
  ],
  [null, {}],
  [1, "1"],
])("%o and %o differ", (a, b) => {
  expect(isSameValue(a, b)).toBe(false);
  expect(isSameValue(b, a)).toBe(false);
});

// Uninterpreted members of a layout have a limit for each object.

const DRAWN = [section("Stalls", { A: "1 2" }), area("Pit", 5)];
const SHAPE_ID = "00000000-0000-4000-8000-00000000000a";
/** `{"note":"…"}`. */
const NOTE_BYTES = 11;

const put = (world: World, body: LayoutBody) =>
  world.submit("putLayout", world.caller, { schemaId: world.schemaId, body, forceDelete: false });
/** A member whose JSON, in an object of its own, has this length. */
const note = (bytes: number) => ({ note: "x".repeat(bytes - NOTE_BYTES) });

const { sectors: drawnSectors, rows: drawnRows, seats: drawnSeats } = layoutOf(...DRAWN);
const LISTS: readonly (readonly [string, (drawing: object) => LayoutBody])[] = [
  [
    "sectors[1]",
    (drawing) => ({ sectors: [drawnSectors![0]!, { ...drawnSectors![1]!, ...drawing }] }),
  ],
  ["rows[0]", (drawing) => ({ rows: [{ ...drawnRows![0]!, ...drawing }] })],
  ["seats[1]", (drawing) => ({ seats: [drawnSeats![0]!, { ...drawnSeats![1]!, ...drawing }] })],
  ["shapes[0]", (drawing) => ({ shapes: [{ id: SHAPE_ID, ...drawing }] })],
  ["clientViewBox", (drawing) => ({ clientViewBox: { ...drawing } })],
];

test.each(LISTS)("drawing members of %s are kept up to 2 KiB, and refused beyond", (field, of) => {
  const world = new World(DRAWN);
  expect(put(world, of(note(DRAWING_BYTES_MAX))).refused).toBe(Result.OK);
  const document = JSON.stringify(world.engine.state.catalog.layouts.get(world.schemaId));
  expect(document).toContain(JSON.stringify(note(DRAWING_BYTES_MAX)).slice(1, -1));
  const { sequence } = world.engine;
  expect(put(world, of(note(DRAWING_BYTES_MAX + 1)))).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field, code: "SIZE", rejectedValue: DRAWING_BYTES_MAX + 1 }],
  });
  expect(world.engine.sequence).toBe(sequence);
});

test("drawing members of all kinds count together, and those that the engine knows do not", () => {
  const world = new World(DRAWN);
  const parts = { ax: 1.5, tags: ["a", { b: "é".repeat(500) }], isMarked: true };
  const full = { ...parts, ...note(DRAWING_BYTES_MAX - 1_070) };
  const drawn = (drawing: object) => ({ seats: [{ ...drawnSeats![0]!, ...drawing }] });
  expect(put(world, drawn(full)).refused).toBe(Result.OK);
  expect(put(world, drawn({ ...full, order: "x".repeat(200) })).refused).not.toBe(Result.OK);
  const long = { name: "9".repeat(255), id: world.labels.idOf("A1") };
  expect(put(world, drawn({ ...full, ...long })).refused).toBe(Result.OK);
});

test("the points of a shape may be longer, and a refusal names at most a hundred objects", () => {
  const world = new World(DRAWN);
  const shape = { id: SHAPE_ID, points: Array.from({ length: 5_000 }, (_, i) => i) };
  expect(put(world, { shapes: [shape] }).refused).toBe(Result.OK);
  const many = Array.from({ length: 150 }, (_, i) => ({
    ...drawnSeats![0]!,
    guid: guidOf(`X${i}`),
    name: `X${i}`,
    ...note(DRAWING_BYTES_MAX + 1),
  }));
  const outcome = put(world, { seats: many });
  expect("errors" in outcome && outcome.errors.length).toBe(100);
});
