/**
 * The checks of a request that need nothing but the request and its row, so that a gateway can make
 * them as well as the engine's own front.
 */
import { type FieldError, isRefused } from "../../engine/results.ts";
import type { Problem } from "../wire/answers.ts";
import type { RequestHead } from "../wire/front.ts";
import { NO_MEMBERS, parseJson } from "../wire/json.ts";
import { errorsAsSent } from "../wire/number-literals.ts";
import { FrontResult } from "../wire/replies.ts";
import { Access, type Handled, type Route } from "./route.ts";
import type { RouteChecks } from "./validate.ts";

const NOT_JSON: Problem = {
  refused: FrontResult.UNSUPPORTED_MEDIA_TYPE,
  detail: "The body must be application/json.",
};

const ENCODED: Problem = {
  refused: FrontResult.UNSUPPORTED_MEDIA_TYPE,
  detail: "The body must not be compressed: Content-Encoding must be identity.",
};

/** @returns What is wrong with the headers; null for nothing. */
export function refuseHead(route: Route, head: RequestHead): Problem | null {
  if (route.body !== undefined) {
    if (!isJson(head.contentType)) return NOT_JSON;
    if (!isIdentity(head.contentEncoding)) return ENCODED;
  }
  if (head.repeatedHeader === "" || route.access === Access.PUBLIC) return null;
  const detail = `The header ${head.repeatedHeader} may come only once.`;
  return { refused: FrontResult.MALFORMED_REQUEST, detail };
}

function isIdentity(contentEncoding: string): boolean {
  return contentEncoding === "" || contentEncoding.trim().toLowerCase() === "identity";
}

/** A body without a type counts as JSON. */
function isJson(contentType: string): boolean {
  if (contentType === "" || contentType === "application/json") return true;
  return contentType.split(";", 1)[0]!.trim().toLowerCase() === "application/json";
}

interface ReadBody {
  readonly body: unknown;
  readonly errors: readonly FieldError[];
}

/** A body in any form, with what is wrong with it. */
export function readBody(
  { mayBeEmpty }: Route,
  checks: RouteChecks,
  bytes: Buffer,
): ReadBody | Problem {
  const isLeftOut = bytes.length === 0 && mayBeEmpty === true;
  const parsed = isLeftOut ? NO_MEMBERS : parseJson(bytes);
  if (!parsed.ok) return { refused: FrontResult.MALFORMED_REQUEST, detail: parsed.reason };
  const body = parsed.isAscii ? parsed.value : checks.compose(parsed.value);
  return { body, errors: checks.body(body, bytes.length) };
}

/** Shows rejected numbers as they were sent. */
export function asSent(handled: Handled, body: Buffer): Handled {
  if (!isRefused(handled) || handled.errors === undefined) return handled;
  return { ...handled, errors: errorsAsSent(handled.errors, body) };
}
