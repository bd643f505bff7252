/** Errors that end a run, and the content of problem documents. */
import type { Problem } from "../contract.ts";
import type { Answer, HttpRequest } from "./transport.ts";

/**
 * Ends the run: no retry helps against a wrong key, a missing event or a server that is gone. The
 * message tells the user in one line what happened.
 */
export class FatalError extends Error {
  override readonly name = "FatalError";
}

/** A body that is not JSON, such as a proxy's error page, counts as a problem without members. */
export function parseProblem(body: Buffer): Problem {
  try {
    return (JSON.parse(body.toString()) as Problem | null) ?? {};
  } catch {
    // Not JSON: only the status says what happened.
    return {};
  }
}

/** The error for an answer after which the run cannot continue. */
export function unexpectedAnswer(request: HttpRequest, answer: Answer): FatalError {
  const { errorCode = "no errorCode", detail = "no detail" } = parseProblem(answer.body);
  const call = `${request.method} ${request.path}`;
  return new FatalError(`${call}: ${answer.status} ${errorCode}: ${detail}`);
}
