/**
 * The problems of v1: the same refusals, but a status that a row of v1 does not list becomes 400,
 * and a 403 advises to use the correct key. Clients branch on `errorCode`.
 */
import { Result } from "../../../engine/results.ts";
import type { Route } from "../../routing/route.ts";
import type { Problem } from "../../wire/answers.ts";
import { type Refused, REPLIES } from "../../wire/replies.ts";

const ADVICE = "Use the correct private key of the organization in X-API-Key.";

/** Refusals whose status is not listed by every row of v1. */
const TRANSLATED: ReadonlySet<Refused> = new Set<Refused>([
  Result.ENTITY_NOT_FOUND,
  Result.EVENT_NOT_PUBLISHED,
  Result.EVENT_BOUND_TO_SERIES,
  Result.INVALID_STATUS_TRANSITION,
  Result.ENTITY_IN_USE,
  Result.INVENTORY_IN_USE,
]);

export function legacyProblem(problem: Problem, { problems }: Route): Problem {
  const { status } = REPLIES[problem.refused];
  if (status === 403) return { ...problem, detail: `${problem.detail} ${ADVICE}` };
  const isTranslated = TRANSLATED.has(problem.refused) && !problems.includes(status);
  return isTranslated ? { ...problem, status: 400 } : problem;
}
