/**
 * Numbers as they were sent. JSON.parse rounds what a double cannot hold, so a refusal looks up the
 * text of a rejected number in the body.
 */
import type { FieldError } from "../../engine/results.ts";

const LITERAL_LENGTH_MAX = 256;
/** A text, which is skipped, or a number. */
const TEXT_OR_NUMBER = /"(?:\\.|[^"\\])*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const STEPS = /[^.[\]]+/g;

/** A number in the notation of JSON, to be written into an answer unchanged. */
export class NumberLiteral {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * The errors with their rejected numbers as they are in the body.
 *
 * @param body - Null for a long one, which is a layout, and is not read again.
 */
export function errorsAsSent(
  errors: readonly FieldError[],
  body: Buffer | null,
): readonly FieldError[] {
  if (!errors.some(isRounded)) return errors;
  const sent = body === null ? null : withNumbersAsTexts(body.toString("utf8"));
  return errors.map((error) =>
    isRounded(error) ? { ...error, rejectedValue: literalAt(sent, error.field) } : error,
  );
}

/** Whether the rejected value may differ from the number that was sent. */
function isRounded({ rejectedValue }: FieldError): boolean {
  return typeof rejectedValue === "number" && !Number.isSafeInteger(rejectedValue);
}

/** @param text - JSON that was parsed before. */
function withNumbersAsTexts(text: string): unknown {
  return JSON.parse(
    text
      .replace(/^\ufeff/, "")
      .replace(TEXT_OR_NUMBER, (token) => (token.startsWith('"') ? token : `"${token}"`)),
  );
}

/** @param field - In the notation of the interface, such as `seats[1].id`. */
function literalAt(sent: unknown, field: string): NumberLiteral | null {
  let value = sent;
  // The name of a member may look like several steps, which lead nowhere.
  for (const step of field.match(STEPS) ?? []) {
    value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[step];
  }
  const isShort = typeof value === "string" && value.length <= LITERAL_LENGTH_MAX;
  return isShort ? new NumberLiteral(value as string) : null;
}
