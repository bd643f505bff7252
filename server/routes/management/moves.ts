/** The operator's rows for moves of organizations between cells. See `server/cells/README.md`. */
import { CELL_MAX } from "../../../engine/cells/ranges.ts";
import { LONG } from "../../../engine/shapes/fields.ts";
import {
  BOOLEAN,
  integer,
  object,
  oneOf,
  optional,
  TEXT,
  text,
} from "../../../engine/shapes/shape.ts";
import { Access, type Route, route } from "../../routing/route.ts";
import { MOVE_STEPS } from "../../routing/services.ts";
import { answer } from "../../wire/answers.ts";
import { MOVE, SEALED_PART } from "../../wire/shapes.ts";

const BASE = { tag: "Platform", access: Access.PLATFORM, durable: true };
const PATH = "/api/admin/organizations/{id}/move";
const PART = { id: LONG, part: integer({ minimum: 0, format: "int64" }) };
/** A sealed layout of the largest size takes a quarter of it. */
const PART_BYTES_MAX = 64 * 1_024 * 1_024;

const STEP = object({
  step: oneOf(MOVE_STEPS),
  toCell: optional(integer({ minimum: 0, maximum: CELL_MAX, format: "int64" })),
  address: optional(text({ minLength: 1, maxLength: 2_048 })),
  receipt: optional(TEXT),
});

export const MOVE_ROUTES: readonly Route[] = [
  route(BASE, `GET ${PATH}`, {
    params: { id: LONG },
    answers: { 200: MOVE },
    problems: [400, 403],
    handle: ({ services, params }) => answer(200, services.moves.view(params.id)),
  }),
  route(BASE, `POST ${PATH}`, {
    params: { id: LONG },
    body: STEP,
    answers: { 200: MOVE },
    problems: [400, 403, 404, 409],
    handle: ({ services, params, body }) => services.moves.step(params.id, body),
  }),
  route(BASE, `GET ${PATH}/parts/{part}`, {
    params: PART,
    answers: { 200: SEALED_PART },
    problems: [400, 403, 404, 409],
    handle: ({ services, params }) => services.moves.part(params.id, params.part),
  }),
  route(BASE, `PUT ${PATH}/parts/{part}`, {
    params: PART,
    body: object({ content: TEXT, tenantId: optional(LONG), isTrial: optional(BOOLEAN) }),
    bodyBytesMax: PART_BYTES_MAX,
    answers: { 200: MOVE },
    problems: [400, 403, 409],
    handle: ({ services, params, body }) => services.moves.take(params.id, params.part, body),
  }),
];
