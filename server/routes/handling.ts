/** What many handlers share: parameters and reads by id. */
import type { EventRow } from "../../engine/catalog.ts";
import { ownRow } from "../../engine/queries/access.ts";
import { isRefused, type Refusal } from "../../engine/results.ts";
import type { Caller } from "../../engine/bodies.ts";
import { LONG, UUID } from "../../engine/schema.ts";
import type { Context, Handled } from "../api/route.ts";
import { type Answer, FrontResult, type Problem } from "../http/answers.ts";

export const LONG_ID = { id: LONG };
export const UUID_ID = { id: UUID };
/** As a query parameter. */
export const EVENT_ID = { shape: UUID, description: "The event.", required: true };

/** A password takes a while to hash, and only so many may wait. */
export const TOO_MANY_ACCOUNTS: Problem = {
  refused: FrontResult.RATE_LIMITED,
  detail: "Too many accounts are being created; try again shortly.",
  headers: [["Retry-After", "1"]],
};

/** A request for one row by its id. */
export type ById<Id = number> = Context<{ readonly id: Id }>;

interface Owned {
  readonly organizationId: number;
}

/** The rows of a table that are the caller's own. */
export function ownRows<Row extends Owned>(
  table: ReadonlyMap<unknown, Row>,
  { organizationId }: Caller,
): Row[] {
  return [...table.values()].filter((row) => row.organizationId === organizationId);
}

/** Shows a row of the caller's own; refuses another's. */
export function showOwn<Row extends Owned>(
  row: Row | undefined,
  { caller }: Context,
  what: string,
  show: (row: Row) => Answer,
): Handled {
  const own = ownRow<Owned>(row, caller, what);
  return isRefused(own) ? own : show(row!);
}

/** The caller's event, after its expired holds have ended. */
export function readEvent({ services, caller }: Context, eventId: string): EventRow | Refusal {
  const { engine } = services;
  const event = ownRow(engine.state.catalog.events.get(eventId), caller, "event");
  if (!isRefused(event)) engine.expire(event);
  return event;
}
