/** The shapes of bodies and answers of v1. */
import { OBJECTS_PER_REQUEST_MAX } from "../../../engine/constants.ts";
import {
  CAPACITY,
  LOCAL_DATE_TIME,
  LONG,
  NAME,
  NUMBER_OR_NULL,
  UUID,
} from "../../../engine/shapes/fields.ts";
import {
  ANYTHING,
  BOOLEAN,
  integer,
  list,
  NULL,
  object,
  optional,
  orNull,
  TEXT,
  type TypeOf,
  whenSet,
} from "../../../engine/shapes/shape.ts";

/** A key that names nothing, such as an empty one, fails by itself. */
const COMPOSITE_KEY = TEXT;

const SELECTION = object({ compositeKey: COMPOSITE_KEY, capacity: optional(CAPACITY) });
export type Selection = TypeOf<typeof SELECTION>;

/** The body of a booking. */
export const BOOKED = list(SELECTION, { minItems: 1, maxItems: OBJECTS_PER_REQUEST_MAX });
export const SELECTIONS = list(SELECTION);

const PRICE_ASSIGNMENT = object({
  compositeKey: COMPOSITE_KEY,
  capacity: optional(CAPACITY),
  /** The id of the price. */
  price: LONG,
  properties: optional(ANYTHING),
});
export type PriceAssignment = TypeOf<typeof PRICE_ASSIGNMENT>;
export const PRICE_ASSIGNMENTS = list(PRICE_ASSIGNMENT);

const EVENT_MEMBERS = {
  start: LOCAL_DATE_TIME,
  endDate: optional(LOCAL_DATE_TIME),
  killAfter: optional(LOCAL_DATE_TIME),
  name: NAME,
  schemaId: LONG,
};
export const NEW_EVENT = object({ id: optional(NULL), ...EVENT_MEMBERS });
export const CHANGED_EVENT = object({
  ...EVENT_MEMBERS,
  id: UUID,
  start: optional(LOCAL_DATE_TIME),
  name: optional(NAME),
  schemaId: optional(LONG),
});
export const EVENT = object({
  ...EVENT_MEMBERS,
  endDate: LOCAL_DATE_TIME,
  killAfter: orNull(LOCAL_DATE_TIME),
  id: UUID,
});

export const SCHEMA = object({
  id: LONG,
  capacity: orNull(integer({ minimum: 0 })),
  name: TEXT,
  venueId: LONG,
  eventId: orNull(UUID),
});

/** A composite key; with `useInternalIds` the Long id as text. */
const KEY = TEXT;
const INDEX = integer({ minimum: 0 });

const METADATA_SEAT = object({
  key: KEY,
  name: TEXT,
  x: NUMBER_OR_NULL,
  y: NUMBER_OR_NULL,
  ix: INDEX,
  iy: INDEX,
});
const METADATA_ROW = object({ key: KEY, name: TEXT, seats: list(METADATA_SEAT) });
export const METADATA = object({
  sectors: list(
    object({
      key: KEY,
      name: TEXT,
      x: NUMBER_OR_NULL,
      y: NUMBER_OR_NULL,
      width: NUMBER_OR_NULL,
      height: NUMBER_OR_NULL,
      angle: NUMBER_OR_NULL,
      guid: UUID,
      id: LONG,
      rows: list(METADATA_ROW),
      shapes: list(object({ id: whenSet(TEXT) })),
      labelOffsetX: NUMBER_OR_NULL,
      labelOffsetY: NUMBER_OR_NULL,
      labelStyle: ANYTHING,
      labelVisible: orNull(BOOLEAN),
    }),
  ),
});
