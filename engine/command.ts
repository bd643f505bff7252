/** A row of the command table: one command with its members, its refusals and its decision. */
import type { CommandWith } from "./bodies.ts";
import { type Decision, type Refusal, Result } from "./results.ts";
import type { Members, ObjectOf } from "./schema.ts";
import type { State } from "./state.ts";

interface CommandOptions {
  /** Given by the front alone. */
  readonly isInternal?: true;
  /** Callers without an organization: the operator, or a tenant as a whole. */
  readonly scope?: "platform" | "tenant";
}

type Refused = Refusal["refused"];

export interface CommandRow<
  M extends Members,
  Value,
  Code extends Refused = Refused,
> extends CommandOptions {
  /** Ids, the body and whatever else the command carries besides its kind and its caller. */
  readonly members: M;
  /** Possible refusals of `decide`; the journal may refuse every command as well. */
  readonly refusals: readonly Code[];
  /** All checks, in the order of the result codes. Changes nothing. */
  readonly decide: (
    state: State,
    command: CommandWith<ObjectOf<M>>,
    timeMs: number,
  ) => Decision<Value>;
}

/** Infers the types of a row. */
export function command<M extends Members, Value, Code extends Refused = never>(
  row: CommandRow<M, Value, Code>,
): CommandRow<M, Value, Code> {
  return row;
}

/** For a missing row, or a row of somebody else. */
export const NOT_OWN = [Result.ENTITY_NOT_FOUND, Result.ACCESS_DENIED];
