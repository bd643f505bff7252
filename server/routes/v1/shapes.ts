/** What v1 takes and gives, as JSON Schema. */
import { AREA_CAPACITY_MAX, OBJECTS_PER_REQUEST_MAX } from "../../../engine/constants.ts";
import {
  list,
  LOCAL_DATE_TIME,
  LONG,
  NAME,
  object,
  orNull,
  type Shape,
  UUID_SHAPE,
} from "../../../engine/shapes.ts";
import { whole } from "../../wire/shapes.ts";

const TEXT: Shape = { type: "string" };
const NUMBER_OR_NULL: Shape = { type: ["number", "null"] };
const COMPOSITE_KEY: Shape = { type: "string", minLength: 1, maxLength: 1_024 };
const CAPACITY: Shape = { type: ["integer", "null"], minimum: 0, maximum: AREA_CAPACITY_MAX };

const SELECTION = object({ compositeKey: COMPOSITE_KEY, capacity: CAPACITY }, ["compositeKey"]);

/** What a booking names. */
export const BOOKED: Shape = list(SELECTION, { minItems: 1, maxItems: OBJECTS_PER_REQUEST_MAX });
export const SELECTIONS: Shape = list(SELECTION);

export const PRICE_ASSIGNMENTS: Shape = list(
  object({ compositeKey: COMPOSITE_KEY, capacity: CAPACITY, price: LONG, properties: {} }, [
    "compositeKey",
    "price",
  ]),
);

const EVENT_MEMBERS = {
  start: LOCAL_DATE_TIME,
  endDate: orNull(LOCAL_DATE_TIME),
  killAfter: orNull(LOCAL_DATE_TIME),
  name: NAME,
  schemaId: LONG,
};
export const NEW_EVENT: Shape = object({ id: { type: "null" }, ...EVENT_MEMBERS }, [
  "start",
  "name",
  "schemaId",
]);
export const CHANGED_EVENT: Shape = object({ id: UUID_SHAPE, ...EVENT_MEMBERS }, [
  "id",
  "start",
  "name",
  "schemaId",
]);
export const EVENT: Shape = whole({
  ...EVENT_MEMBERS,
  id: UUID_SHAPE,
  endDate: LOCAL_DATE_TIME,
});

const PRICE_MEMBERS = {
  name: NAME,
  eventId: UUID_SHAPE,
  externalId: { type: ["string", "null"], maxLength: 255, format: "line" },
};
export const NEW_PRICE: Shape = object({ id: { type: "null" }, ...PRICE_MEMBERS }, [
  "name",
  "eventId",
]);
export const CHANGED_PRICE: Shape = object({ id: LONG, ...PRICE_MEMBERS }, [
  "id",
  "name",
  "eventId",
]);

export const SCHEMA: Shape = whole({
  id: LONG,
  capacity: { type: ["integer", "null"], minimum: 0 },
  name: TEXT,
  venueId: LONG,
  eventId: orNull(UUID_SHAPE),
});

/** A composite key, or a Long id where internal ids were asked for. */
const KEY: Shape = { type: ["string", "integer"] };
const INDEX: Shape = { type: "integer", minimum: 0 };

const METADATA_SEAT = whole({
  key: KEY,
  name: TEXT,
  x: NUMBER_OR_NULL,
  y: NUMBER_OR_NULL,
  ix: INDEX,
  iy: INDEX,
});
const METADATA_ROW = whole({ key: KEY, name: TEXT, seats: list(METADATA_SEAT) });
export const METADATA: Shape = whole({
  sectors: list(
    whole({
      key: KEY,
      name: TEXT,
      x: NUMBER_OR_NULL,
      y: NUMBER_OR_NULL,
      width: NUMBER_OR_NULL,
      height: NUMBER_OR_NULL,
      angle: NUMBER_OR_NULL,
      guid: TEXT,
      id: LONG,
      rows: list(METADATA_ROW),
      shapes: list(object({ id: TEXT })),
      labelOffsetX: NUMBER_OR_NULL,
      labelOffsetY: NUMBER_OR_NULL,
      labelStyle: {},
      labelVisible: { type: ["boolean", "null"] },
    }),
  ),
});
