/** The shapes of answers in columns, which are compact, and fast to read. */
import { LONG } from "../../engine/shapes/fields.ts";
import {
  BOOLEAN,
  integer,
  list,
  number,
  object,
  oneOf,
  openObject,
  orNull,
  TEXT,
} from "../../engine/shapes/shape.ts";
import { AREA_COUNTS } from "../wire/shapes.ts";

const COUNT = integer({ minimum: 0 });
const INTEGERS = list(integer());
/** The drawing of a layout, in columns. */
export const GEOMETRY = object({
  schemaId: LONG,
  version: COUNT,
  step: number(),
  sections: list(object({ id: LONG, name: TEXT, type: oneOf(["SECTION", "TABLE"]) })),
  areas: list(object({ id: LONG, name: TEXT, capacity: orNull(COUNT) })),
  rows: object({ ids: INTEGERS, names: list(TEXT), sections: INTEGERS }),
  labels: list(TEXT),
  seats: object({
    ids: INTEGERS,
    rows: INTEGERS,
    labels: INTEGERS,
    x: INTEGERS,
    y: INTEGERS,
    accessible: INTEGERS,
  }),
  shapes: list(openObject({ groupOfSeatsId: orNull(LONG) })),
});

/** Changes in columns. */
export const EVENT_HISTORY = object({
  sequence: COUNT,
  more: BOOLEAN,
  prices: list(LONG),
  calls: list(TEXT),
  changes: object({
    sequences: INTEGERS,
    times: INTEGERS,
    calls: INTEGERS,
    seatCounts: INTEGERS,
    areaCounts: INTEGERS,
  }),
  seats: object({ ids: INTEGERS, states: TEXT, priceIndexes: INTEGERS }),
  areas: list(AREA_COUNTS),
});
