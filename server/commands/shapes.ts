/** The messages of the JSON subprotocol, and the credit that both send. */
import { STATE_SELECTION } from "../../engine/shapes/bodies.ts";
import { UUID } from "../../engine/shapes/fields.ts";
import {
  ANYTHING,
  integer,
  list,
  object,
  oneOf,
  optional,
  type Shape,
  text,
} from "../../engine/shapes/shape.ts";
import { CALLS, LIMITS } from "./command.ts";

const NUMBER = integer({
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
  format: "int64",
});
const SELECTION = STATE_SELECTION["properties"] as Readonly<Record<string, Shape>>;

const COMMAND = object({
  n: NUMBER,
  call: oneOf(CALLS),
  eventId: UUID,
  ...Object.fromEntries(
    Object.entries(SELECTION).map(([name, shape]) => [name, optional(shape)] as const),
  ),
  idempotencyKey: optional(text({ minLength: 1, maxLength: 255 })),
});
export const COMMANDS_FRAME = list(COMMAND, { maxItems: LIMITS.commandsInFrame });

export const ANSWERS_FRAME = list(object({ n: NUMBER, status: integer(), body: ANYTHING }));

export const CREDIT = object({
  type: oneOf(["credit"]),
  commands: integer(),
  commandsInFrame: integer(),
  bytesInFrame: integer(),
});
