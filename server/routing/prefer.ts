/** The header `Prefer` (RFC 7240), of which the service knows `return=representation`. */
import type { Answer, Problem } from "../wire/answers.ts";

const RETURN = /^\s*return\s*=\s*"?([^";\s]*)"?\s*(;|$)/i;
const APPLIED = ["Preference-Applied", "return=representation"] as const;

/** The first of several values counts. @param prefer - Empty when the header is missing. */
export function wantsRepresentation(prefer: string): boolean {
  if (prefer === "") return false;
  for (const preference of prefer.split(",")) {
    const value = RETURN.exec(preference)?.[1];
    if (value !== undefined) return value.toLowerCase() === "representation";
  }
  return false;
}

/** Says that the answer is a representation, if it is one and does not say so yet. */
export function withApplied<Shown extends Answer | Problem>(shown: Shown): Shown {
  const isAnswer = "body" in shown && shown.status === 200;
  if (!isAnswer || !String(shown.body).startsWith("{")) return shown;
  if (shown.headers.includes(APPLIED)) return shown;
  return { ...shown, headers: [...shown.headers, APPLIED] };
}
