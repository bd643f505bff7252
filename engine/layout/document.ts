/**
 * The layout of a schema in its wire form, as a layout tool sends and receives it. Known members
 * are typed. Drawing members, not interpreted by the engine, are stored and returned unchanged.
 */
import { utf8Bytes } from "../schema.ts";

export interface Sector {
  readonly id: number;
  readonly guid: string;
  readonly name: string;
  readonly ga: boolean;
  readonly type?: "SECTION" | "TABLE" | undefined;
  readonly gaCapacity?: number | null | undefined;
  readonly [drawing: string]: unknown;
}

export interface Row {
  readonly id: number;
  readonly guid: string;
  readonly sectorGuid: string;
  /** The label, such as "A". `name` is the noun, such as "Row". */
  readonly rowNumber: string;
  readonly name?: string | undefined;
  readonly seatName?: string | undefined;
  readonly [drawing: string]: unknown;
}

export interface Seat {
  readonly id: number;
  readonly guid: string;
  readonly rowGuid: string;
  /** The label, such as "12". */
  readonly name: string;
  /** Coordinates relative to the sector. */
  readonly x?: number | null | undefined;
  readonly y?: number | null | undefined;
  /** Smaller is better; see `Seating`. */
  readonly rank?: number | null | undefined;
  readonly [drawing: string]: unknown;
}

export interface Shape {
  readonly id?: string | undefined;
  readonly groupOfSeatsGuid?: string | null | undefined;
  readonly [drawing: string]: unknown;
}

export interface LayoutDocument {
  readonly sectors: readonly Sector[];
  readonly rows: readonly Row[];
  readonly seats: readonly Seat[];
  readonly shapes: readonly Shape[];
  readonly clientViewBox: unknown;
  /** The point to which the audience looks; left out when none was given. */
  readonly focalPoint?: { readonly x: number; readonly y: number } | undefined;
}

/** Ids of the sectors, rows and seats. */
export function objectIds({ sectors, rows, seats }: LayoutDocument): number[] {
  return [...sectors, ...rows, ...seats].map(({ id }) => id);
}

// A layout as JSON, in pieces: as one text, the largest layouts would take a hundred megabytes on
// top of their bytes.

const OBJECTS_PER_PIECE = 1_000;
const BYTES_PER_PIECE = 1_024 * 1_024;

/** The pieces of `JSON.stringify(document)`. Cost: O(bytes of the layout). */
export function* jsonPieces(document: LayoutDocument): Generator<string, void> {
  let before = "{";
  for (const [name, value] of Object.entries(document) as [string, unknown][]) {
    if (value === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ",";
    if (Array.isArray(value)) yield* listPieces(value);
    else yield JSON.stringify(value);
  }
  yield before === "{" ? "{}" : "}";
}

function* listPieces(list: readonly unknown[]): Generator<string, void> {
  let before = "[";
  for (let i = 0; i < list.length; i += OBJECTS_PER_PIECE) {
    const piece = JSON.stringify(list.slice(i, i + OBJECTS_PER_PIECE));
    yield before + piece.slice(1, -1);
    before = ",";
  }
  yield before === "[" ? "[]" : "]";
}

/** Bytes of the layout as JSON in UTF-8. Cost: O(bytes of the layout). */
export function documentBytes(document: LayoutDocument): number {
  let bytes = 0;
  for (const piece of jsonPieces(document)) bytes += utf8Bytes(piece);
  return bytes;
}

export interface PieceOptions {
  /** The length of a piece, about. */
  readonly bytes?: number;
  /** The kept part of each item of a list; by default all of it. */
  readonly itemOf?: (item: unknown) => unknown;
}

/**
 * Parses an object whose members are long lists.
 *
 * @param json - In UTF-8. @param textOf - The text of some of its bytes.
 * @returns As `JSON.parse`. Cost: O(bytes).
 * @throws SyntaxError when `JSON.parse` would throw, or the text is not such an object.
 */
export function parseInPieces(
  json: Uint8Array,
  textOf: (from: number, to: number) => string,
  { bytes = BYTES_PER_PIECE, itemOf = (item) => item }: PieceOptions = {},
): Record<string, unknown> {
  const lists: unknown[][] = [];
  let rest = "";
  let restFrom = 0;
  for (const { from, cuts } of listsIn(json, bytes)) {
    // Instead of its content, the list has its number.
    rest += `${textOf(restFrom, from)}${lists.length}`;
    restFrom = cuts.at(-1)!;
    const list: unknown[] = [];
    for (const piece of piecesOf(cuts, from, textOf)) {
      for (const item of piece) list.push(itemOf(item));
    }
    lists.push(list);
  }
  const parsed = JSON.parse(rest + textOf(restFrom, json.length)) as unknown;
  if (parsed === null || typeof parsed !== "object" || Array.isArray(parsed)) {
    throw new SyntaxError("not an object");
  }
  const members = Object.entries(parsed).map(([name, value]: [string, unknown]) => {
    return [name, Array.isArray(value) ? lists[Number(value[0])] : value] as const;
  });
  return Object.fromEntries(members);
}

function* piecesOf(
  cuts: readonly number[],
  from: number,
  textOf: (from: number, to: number) => string,
): Generator<unknown[], void> {
  let start = from;
  for (const cut of cuts) {
    const piece = JSON.parse(`[${textOf(start, cut)}]`) as unknown[];
    if (piece.length === 0 && cuts.length > 1) throw new SyntaxError("nothing between two commas");
    yield piece;
    start = cut + 1;
  }
}

/** A list member: the start of its content, and the end of each piece. */
interface ListPlace {
  readonly from: number;
  readonly cuts: readonly number[];
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const LIST_DEPTH = 2;

function* listsIn(json: Uint8Array, pieceBytes: number): Generator<ListPlace, void> {
  let [depth, from, pieceFrom] = [0, -1, 0];
  let isText = false;
  let cuts: number[] = [];
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]!;
    if (isText) {
      if (byte === BACKSLASH) i += 1;
      else if (byte === QUOTE) isText = false;
    } else if (byte === QUOTE) {
      isText = true;
    } else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
      depth += 1;
      if (depth === LIST_DEPTH) [from, cuts] = [byte === OPEN_LIST ? i + 1 : -1, []];
      if (depth === LIST_DEPTH) pieceFrom = i;
    } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
      if (depth === LIST_DEPTH && byte === CLOSE_LIST && from >= 0) {
        yield { from, cuts: [...cuts, i] };
        from = -1;
      }
      depth -= 1;
    } else if (byte === COMMA && depth === LIST_DEPTH && i - pieceFrom >= pieceBytes) {
      cuts.push(i);
      pieceFrom = i;
    }
  }
}
