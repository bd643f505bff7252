/** The problems that an operation can answer, and the components that describe each error code. */
import { ERROR_ENTRIES } from "../docs/error-entries.ts";
import { Access, type Route, takesIdempotencyKey } from "../routing/route.ts";
import { problemAnswer } from "../wire/answers.ts";
import { type Refused, REPLIES } from "../wire/replies.ts";
import type { OperationText, RefusalText } from "./texts.ts";

export const PROBLEM_MEDIA = "application/problem+json";
const EXAMPLE_TIME_MS = Date.UTC(2030, 4, 1, 18, 0, 0, 123);

/** Error codes that the front adds to every route of a kind. */
const FRONT_CODES: readonly (readonly [(route: Route) => boolean, readonly string[]])[] = [
  [isGuarded, ["VALIDATION_FAILED", "MALFORMED_REQUEST", "ACCESS_DENIED", "RATE_LIMITED"]],
  [takesBody, ["VALIDATION_FAILED", "MALFORMED_REQUEST", "UNSUPPORTED_MEDIA_TYPE"]],
  [takesBody, ["LENGTH_REQUIRED", "PAYLOAD_TOO_LARGE"]],
  [takesIdempotencyKey, ["IDEMPOTENCY_IN_PROGRESS", "IDEMPOTENCY_REPLY_GONE"]],
  [takesIdempotencyKey, ["IDEMPOTENCY_KEY_REUSED", "OVERLOADED"]],
  [({ durable }) => durable, ["INTERNAL_ERROR", "LOG_UNAVAILABLE", "NOT_LEADER"]],
  [isOfOrganization, ["ORGANIZATION_MOVING"]],
  [moves, ["ORGANIZATION_MOVED"]],
];

const WITHOUT_ORGANIZATION: ReadonlySet<Access> = new Set([
  Access.PUBLIC,
  Access.PLATFORM,
  Access.TENANT,
]);

export function isOfOrganization({ access }: Route): boolean {
  return !WITHOUT_ORGANIZATION.has(access);
}

/** The history before a move stays in the cell that has it. */
export function moves(route: Route): boolean {
  return isOfOrganization(route) && route.isHistory !== true;
}

function isGuarded({ access }: Route): boolean {
  return access !== Access.PUBLIC;
}

function takesBody({ body }: Route): boolean {
  return body !== undefined;
}

/** What an operation refuses with an error code. */
export interface Refusal extends RefusalText {
  readonly status: number;
}

/** The refusals of an operation by their order in the table of refusals. */
export function refusalsOf(route: Route, { refusals }: OperationText): readonly Refusal[] {
  const own = new Map(refusals.map((refusal) => [refusal.errorCode, refusal]));
  const added = FRONT_CODES.filter(([applies]) => applies(route)).flatMap(([, codes]) => codes);
  const codes = new Set([...added, ...own.keys()]);
  return [...STATUSES].flatMap(([errorCode, usual]) => {
    if (!codes.has(errorCode)) return [];
    // A row of v1 answers 400 where it does not list the status.
    const isListed = added.includes(errorCode) || route.problems.includes(usual);
    const status = route.isLegacy === true && !isListed ? 400 : usual;
    return [{ errorCode, fieldCodes: [], text: "", ...own.get(errorCode), status }];
  });
}

/** By error code, in the order of the statuses. */
export const STATUSES: ReadonlyMap<string, number> = new Map(
  Object.values(REPLIES)
    .map(({ errorCode, status }) => [errorCode, status] as const)
    .sort(([, a], [, b]) => a - b),
);

/** `EVENT_NOT_PUBLISHED` becomes `EventNotPublished`. */
export function schemaName(errorCode: string): string {
  return errorCode.toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, first: string) => {
    return first.toUpperCase();
  });
}

/** A schema per error code: a problem with this code, and the codes of its field errors. */
export function problemSchemas(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(ERROR_ENTRIES).map(([errorCode, { cause, client, fieldCodes }]) => {
      const schema = refinedProblem("Problem", Object.keys(fieldCodes), errorCode);
      return [schemaName(errorCode), { description: `${cause}\n\n${client}`, ...schema }];
    }),
  );
}

/** The schema of a problem with fewer values than its base, which is the name of a schema. */
export function refinedProblem(
  base: string,
  fieldCodes: readonly string[],
  errorCode?: string,
): object {
  const code = { type: "string", enum: fieldCodes };
  const items = refined("ErrorDetail", { code });
  const errors =
    fieldCodes.length === 0 ? { type: "array", maxItems: 0 } : { type: "array", items };
  if (errorCode === undefined) return refined(base, { errors });
  return refined(base, { errorCode: { type: "string", enum: [errorCode] }, errors });
}

function refined(base: string, properties: object): object {
  return { allOf: [{ $ref: `#/components/schemas/${base}` }, { type: "object", properties }] };
}

/** An example per error code, for operations without one of their own. */
export function problemExamples(): Record<string, object> {
  return Object.fromEntries(
    Object.entries(ERROR_ENTRIES).map(([errorCode, { cause, example }]) => {
      const row = Object.entries(REPLIES).find(([, reply]) => reply.errorCode === errorCode)!;
      const problem = { refused: Number(row[0]) as Refused, ...example };
      const { body } = problemAnswer(problem, example.path, EXAMPLE_TIME_MS);
      return [errorCode, { summary: cause, value: JSON.parse(String(body)) as unknown }];
    }),
  );
}
