/** Shapes of single fields that many bodies, parameters and answers share. */
import {
  AREA_CAPACITY_MAX,
  NAME_LENGTH_MAX,
  PASSWORD_LENGTH_MAX,
  PASSWORD_LENGTH_MIN,
} from "../constants.ts";
import { integer, number, oneOf, orNull, type Shape, text } from "./shape.ts";

/** An id that the engine gives out. */
export const LONG: Shape<number> = integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  format: "int64",
});
/** A number of the log; 0 is before its first record. */
export const SEQUENCE: Shape<number> = integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  format: "int64",
});
export const UUID: Shape<string> = text({ format: "uuid" });
/** A UUID inside a command; the front converts it to lower case. */
export const UUID_KEY: Shape<string> = text({ format: "lower-case-uuid" });
export const LOCAL_DATE_TIME: Shape<string> = text({ format: "local-date-time" });
export const LOCAL_DATE: Shape<string> = text({ format: "local-date" });
export const EMAIL: Shape<string> = text({ format: "email" });
export const NAME: Shape<string> = text({
  minLength: 1,
  maxLength: NAME_LENGTH_MAX,
  format: "name",
});
export const LINE: Shape<string> = text({ maxLength: NAME_LENGTH_MAX, format: "line" });
export const PASSWORD: Shape<string> = text({
  minLength: PASSWORD_LENGTH_MIN,
  maxLength: PASSWORD_LENGTH_MAX,
});
/** Places of an area. */
export const CAPACITY: Shape<number> = integer({ minimum: 0, maximum: AREA_CAPACITY_MAX });
export const NUMBER_OR_NULL: Shape<number | null> = orNull(number());
export const EVENT_STATUS = oneOf(["DRAFT", "PUBLISHED", "ARCHIVED"]);
/** What a webhook tells: changes of places, holds that ran out, sold out, status of the event. */
export const WEBHOOK_TYPE = oneOf(["change", "expired", "soldout", "status"]);
export const ORGANIZATION_TYPE = oneOf(["VENUE", "DEFAULT"]);
