/** Everything that is measured side by side. */
import { FRONTROW } from "../rounds/goals.ts";
import type { Contender } from "./contender.ts";
import { FASTIFY_EMPTY, GET_CONSTANT, POST_NOT_PARSED, POST_PARSED } from "./empties.ts";
import { frontrow } from "./frontrow.ts";

/** @param serve - Further arguments of `frontrow serve`. */
export function contenders(serve: readonly string[]): Contender[] {
  return [GET_CONSTANT, POST_NOT_PARSED, POST_PARSED, frontrow(FRONTROW, serve), FASTIFY_EMPTY];
}
