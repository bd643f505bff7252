/**
 * Decides a command: returns a refusal, or a grant with the record to write. Changes nothing.
 */
import { assert } from "./assert.ts";
import { type CommandKind, type CommandOf, type CommandRow, COMMANDS } from "./commands.ts";
import { refuseAway } from "./decide/moves.ts";
import { refuseWithoutRoom } from "./decide/room.ts";
import { type Decision, type Grant, isRefused } from "./results.ts";
import type { Members } from "./shapes/shape.ts";
import type { State } from "./state.ts";

type ValueOf<D> = D extends Grant<infer Value> ? Value : never;

/** The answer of a granted command of the kind. */
export type AnswerOf<K extends CommandKind> = ValueOf<ReturnType<(typeof COMMANDS)[K]["decide"]>>;

export function isCommandKind(kind: unknown): kind is CommandKind {
  return typeof kind === "string" && Object.hasOwn(COMMANDS, kind);
}

export function decide<K extends CommandKind>(
  state: State,
  command: CommandOf<K>,
  timeMs: number,
): Decision<AnswerOf<K>> {
  // The table pairs each kind with its decision, but the compiler cannot derive that for K.
  const row = COMMANDS[command.kind] as unknown as CommandRow<Members, AnswerOf<K>>;
  const away = state.catalog.away.size === 0 ? null : refuseAway(state, command);
  if (away !== null) return away;
  const decision = row.decide(state, command, timeMs);
  if (isRefused(decision)) {
    assert(row.refusals.includes(decision.refused), "a refusal is in the row of its command");
    return decision;
  }
  return refuseWithoutRoom(state, decision.record) ?? decision;
}
