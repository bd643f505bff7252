/** Outcomes as the library shows them: a value, or a refusal whose code is a name. */
import type { Outcome } from "../../engine/engine.ts";
import { type FieldError, isGranted, Result as Codes } from "../../engine/results.ts";

/** By the number that the engine uses. */
export type CodeNames = { readonly [Name in keyof typeof Codes as (typeof Codes)[Name]]: Name };

/** Why a call was refused. */
export type RefusalCode = Exclude<keyof typeof Codes, "OK"> | "HISTORY_GONE";

/** What a call came to: `ok` tells a value from a refusal. A refused call changed nothing. */
export type Result<Value, Code extends RefusalCode = RefusalCode> =
  | { readonly ok: true; readonly value: Value }
  | Refusal<Code>;

export interface Refusal<Code extends RefusalCode = RefusalCode> {
  readonly ok: false;
  readonly code: Code;
  /** One sentence for a person. */
  readonly detail: string;
  /** Every refused object or member, in the order of the request. Empty when the code says all. */
  readonly errors: readonly FieldError[];
}

const NAMES = new Map(Object.entries(Codes).map(([name, code]) => [code, name as RefusalCode]));

export function resultOf<Value>(outcome: Outcome<Value>): Result<Value> {
  if (isGranted(outcome)) return { ok: true, value: outcome.value };
  const { refused, detail, errors } = outcome;
  return { ok: false, code: NAMES.get(refused)!, detail, errors };
}

/**
 * The value of a result, where no refusal is expected.
 *
 * @throws Refused when the call was refused.
 */
export function valueOf<Value>(result: Result<Value>): Value {
  if (result.ok) return result.value;
  throw new Refused(result);
}

/** A refusal where none was expected. */
export class Refused extends Error {
  override readonly name = "Refused";
  readonly code: RefusalCode;
  /** As in `Refusal`. */
  readonly errors: readonly FieldError[];

  constructor({ code, detail, errors }: Refusal) {
    const fields = errors.map(({ field, code: fault, message }) => `${field} ${fault}: ${message}`);
    super([detail, ...fields].join("; "));
    this.code = code;
    this.errors = errors;
  }
}
