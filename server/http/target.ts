/** Request targets: a target is a path of this server, never a URL to resolve. */
import { FrontResult, type Problem } from "./answers.ts";

/**
 * `//` at the start, a backslash, or a dot segment, also percent-encoded: browsers, proxies and URL
 * parsers read them as a host or as another path. For those a `#` ends a segment, too.
 */
const AMBIGUOUS = /^\/(?:\/|%2f)|\\|%5c|(?:\/|%2f)(?:\.|%2e){1,2}(?:[/#]|%2f|$)/i;

export const AMBIGUOUS_TARGET: Problem = {
  refused: FrontResult.MALFORMED_REQUEST,
  detail:
    "The path must begin with one slash, and hold no backslash and no segment . or .. in any form.",
};

/** @param path - Without the query, which may hold any of these. */
export function isAmbiguous(path: string): boolean {
  return AMBIGUOUS.test(path);
}
