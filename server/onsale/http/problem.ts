/** Reads what a server says in an answer that is not a success. */

import type { Problem } from "../contract.ts";
import { HaltError } from "./halt.ts";
import type { Answered, WireRequest } from "./wire.ts";

/** A body that is not JSON (a proxy's page, say) counts as a problem without members. */
export function parseProblem(body: Buffer): Problem {
  try {
    return (JSON.parse(body.toString()) as Problem | null) ?? {};
  } catch {
    // Not JSON: the status alone has to tell what happened.
    return {};
  }
}

/** The end of the run over an answer that nothing can mend, in one line. */
export function haltOf(request: WireRequest, answered: Answered): HaltError {
  const { errorCode = "no errorCode", detail = "no detail" } = parseProblem(answered.body);
  const call = `${request.method} ${request.path}`;
  return new HaltError(`${call}: ${answered.status} ${errorCode}: ${detail}`);
}
