/** What most handlers do: submit a command and show what it answers. */
import type { EventRow } from "../../engine/catalog.ts";
import type { Caller, CommandKind, CommandOf } from "../../engine/commands.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import type { Engine } from "../../engine/engine.ts";
import { isRefusal, ownRow } from "../../engine/queries/access.ts";
import { type Refusal, Result } from "../../engine/results.ts";
import { LONG, UUID_SHAPE } from "../../engine/shapes.ts";
import type { Context, Handled } from "../routing/route.ts";
import type { Answer } from "../wire/answers.ts";

export const LONG_ID = { id: LONG };
export const UUID_ID = { id: UUID_SHAPE };

export function submit<K extends CommandKind>(
  { services }: Context,
  command: CommandOf<K>,
  show: (value: AnswerOf<K>) => Answer,
): Handled {
  const outcome = services.engine.submit(command);
  return outcome.refused === Result.OK ? show(outcome.value) : outcome;
}

/** A row of the caller's for a read by id, shown; or the refusal. */
export function showOwn<Row extends { readonly organizationId: number }>(
  row: Row | undefined,
  { caller }: Context,
  what: string,
  show: (row: Row) => Answer,
): Handled {
  const own = ownRow(row, caller, what);
  return isRefusal(own) ? own : show(own);
}

/** The caller's event, its holds that have run out ended; or the refusal. */
export function readEvent(engine: Engine, caller: Caller, eventId: unknown): EventRow | Refusal {
  const event = ownRow(engine.state.catalog.events.get(String(eventId)), caller, "event");
  if (!isRefusal(event)) engine.expire(event);
  return event;
}
