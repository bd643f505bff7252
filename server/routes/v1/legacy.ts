/** What the rows of v1 share. v1 is a translation onto the commands of the engine. */
import { integer } from "../../../engine/shapes/shape.ts";
import { Access, type QueryOf } from "../../routing/route.ts";

const LIMIT_DEFAULT = 50;
const LIMIT_MAX = 1_000;

export const LEGACY = {
  tag: "Legacy v1",
  access: Access.LEGACY,
  durable: true,
  isLegacy: true,
};

export const LIST_QUERY = {
  limit: {
    shape: integer({ minimum: 1, maximum: LIMIT_MAX }),
    description: `At most this many, 1 to ${LIMIT_MAX}.`,
    default: LIMIT_DEFAULT,
  },
  offset: {
    shape: integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    description: "Leave out this many.",
    default: 0,
  },
};

export type ListQuery = QueryOf<typeof LIST_QUERY>;

/** The part of a list that the query asks for. */
export function partOf<Row>(rows: readonly Row[], { offset, limit }: ListQuery): readonly Row[] {
  return rows.slice(offset, offset + limit);
}
