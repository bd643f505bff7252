/** A layout as JSON, in pieces. */
import { expect, test } from "vitest";
import {
  documentBytes,
  jsonPieces,
  type LayoutDocument,
  parseInPieces,
} from "../../../engine/layout/document.ts";
import { buildLayout, EMPTY_DOCUMENT, type Layout } from "../../../engine/layout/layout.ts";
import {
  columnsOf,
  layoutOfColumns,
  PackedLayout,
  plainDocument,
} from "../../../engine/layout/packed.ts";
import { Random } from "../../sim/workload/random.ts";
import { World } from "../../support/engine.ts";
import { area, section, table } from "../../support/layout.ts";

const seat = (id: number) => ({ id, guid: `guid-${id}`, rowGuid: "r", name: `Ж${id} \u{1f3ad}\n` });
const withSeats = (count: number): LayoutDocument => ({
  ...EMPTY_DOCUMENT,
  sectors: [{ id: 1, guid: "s", name: "Parkett", ga: false, type: undefined }],
  seats: Array.from({ length: count }, (_, i) => seat(i)),
});

test.each([
  ["without objects", EMPTY_DOCUMENT],
  ["without members", {} as LayoutDocument],
  ["with a drawing member", { ...EMPTY_DOCUMENT, note: "n", left: undefined, clientViewBox: [1] }],
  ["of one piece", withSeats(1_000)],
  ["of several pieces", withSeats(2_001)],
])("the pieces of a layout %s are its JSON", (_, document) => {
  const pieces = [...jsonPieces(document)];
  expect(pieces.join("")).toBe(JSON.stringify(document));
  expect(documentBytes(document)).toBe(Buffer.byteLength(JSON.stringify(document)));
});

test("no piece has more than a thousand objects", () => {
  const lengths = [...jsonPieces(withSeats(5_000))].map((piece) => piece.split("rowGuid").length);
  expect(Math.max(...lengths)).toBe(1_001);
});

/** Pieces of a few bytes. */
function parse(text: string): unknown {
  const json = Buffer.from(text);
  return parseInPieces(json, (from, to) => json.toString("utf8", from, to), { bytes: 5 });
}

const OBJECTS = [
  "{}",
  '{"a":[]}',
  ' { "a" : [ 1 , 2,\t[3, 4] ,{"b":[5,6]}, "]", "7,8" ] , "c" : { "d" : [ 1, 2 ] } } ',
  '{"a":[1,2],"b":3,"a":[4,5,6,7]}',
  '{"a":3,"b":[1,2],"a":[4,5,6,7]}',
  '{"a":[4,5,6,7],"a":null}',
  '{"2":["\\"]","\\\\"],"1":[[],[[]],{}],"__proto__":["ü","🎭,"]}',
  JSON.stringify(withSeats(20)),
];

test.each(OBJECTS)("an object that is parsed in pieces is as JSON.parse gives it: %s", (text) => {
  expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
});

test.each(["", "3", "null", "[[1],[2]]", '{"a":[1,]}', '{"a":[,1]}', '{"a":[1234567,,8]}', "{"])(
  "a text that is not such an object is refused: %s",
  (text) => {
    expect(() => parse(text)).toThrow(SyntaxError);
  },
);

test("whatever is changed in a text, it is refused, or parsed as by JSON.parse", () => {
  const random = new Random(5);
  const characters = '[]{},:"\\ 1a'.split("");
  let parsed = 0;
  for (let round = 0; round < 20_000; round++) {
    const changed = random.pick(OBJECTS).split("");
    for (let change = random.below(4); change >= 0; change--) {
      changed.splice(random.below(changed.length), random.below(2), random.pick(characters));
    }
    const text = Buffer.from(changed.join("")).toString();
    let value: unknown;
    try {
      value = parse(text);
    } catch {
      continue;
    }
    parsed += 1;
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
  }
  expect(parsed).toBeGreaterThan(500);
});

// Packed layouts.

const DOCUMENT: LayoutDocument = {
  sectors: [{ id: 1, guid: "s", name: "Stalls", ga: false }],
  rows: [{ id: 2, guid: "r", sectorGuid: "s", rowNumber: "A" }],
  seats: [{ id: 3, guid: "1", rowGuid: "r", name: "1" }],
  shapes: [{ id: "x" }],
  clientViewBox: { width: 1 },
};

test("a packed layout has the members and the JSON of its document", () => {
  const packed = new PackedLayout(new Uint8Array(), () => DOCUMENT);
  const { sectors, rows, seats, shapes, clientViewBox } = packed;
  expect({ sectors, rows, seats, shapes, clientViewBox }).toEqual(DOCUMENT);
  expect(JSON.stringify({ id: 1, document: packed })).toBe(
    JSON.stringify({ id: 1, document: DOCUMENT }),
  );
  expect(plainDocument(packed)).toBe(DOCUMENT);
  expect(plainDocument(DOCUMENT)).toBe(DOCUMENT);
});

test("nothing is unpacked before a member is read", () => {
  let unpacked = 0;
  const packed = new PackedLayout(new Uint8Array(), () => {
    unpacked += 1;
    return DOCUMENT;
  });
  expect(unpacked).toBe(0);
  expect(packed.rows).toBe(DOCUMENT.rows);
  expect(unpacked).toBe(1);
});

// A seat index as columns.

const PARTS = [
  section("Stalls", { A: "1 2 3", B: "1", C: "2 10" }),
  table("Round", "1 2"),
  area("Pit", 100),
  area("Lawn", 5),
];

/** Everything but the search for ids, in the order of the maps. */
function insides({ seatIndexes, areaIndexes, groups, ...layout }: Layout) {
  const found = Array.from(layout.seatIds, (id) => seatIndexes.get(id));
  return { ...layout, found, areaIndexes: [...areaIndexes], groups: [...groups] };
}

test("a layout is the same after it was taken apart and copied to another thread", () => {
  const { layout } = new World(PARTS).partition;
  const copy = layoutOfColumns(structuredClone(columnsOf(layout)));
  expect(insides(copy)).toEqual(insides(layout));
  expect(copy.seatIndexes.get(424_242)).toBeUndefined();
});

test("an empty layout has empty columns", () => {
  const empty = buildLayout(EMPTY_DOCUMENT);
  expect(insides(layoutOfColumns(columnsOf(empty)))).toEqual(insides(empty));
});
