/** What the rows of v1 share. v1 is a translation onto the commands of the engine, nothing more. */
import { UUID_SHAPE } from "../../../engine/shapes.ts";
import { Access, type Context, type QueryParameter } from "../../routing/route.ts";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 1_000;

export const LEGACY = {
  tag: "Legacy v1",
  access: Access.ORGANIZATION,
  durable: true,
  isLegacy: true,
} as const;

export const EVENT_ID = { shape: UUID_SHAPE, description: "The event.", required: true };

export const LIST_QUERY: Readonly<Record<string, QueryParameter>> = {
  limit: {
    shape: { type: "integer", minimum: 1, maximum: LIMIT_MAX },
    description: `At most this many, 1 to ${LIMIT_MAX}.`,
    default: LIMIT_DEFAULT,
  },
  offset: {
    shape: { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
    description: "Leave out this many.",
    default: 0,
  },
};

/** The part of a list that `LIST_QUERY` asks for. */
export function partOf<Row>(rows: readonly Row[], query: Context["query"]): readonly Row[] {
  const offset = Number(query["offset"]);
  return rows.slice(offset, offset + Number(query["limit"]));
}
