/**
 * From a command to its decision: all checks in the order of the result codes, giving a refusal or a
 * record. Changes nothing.
 */
import type { CommandKind, CommandOf } from "./commands.ts";
import { closeLogin, createTenant, openLogin, renewLogin } from "./decide/accounts.ts";
import { decideBooking } from "./decide/booking.ts";
import { changeEventStatus, createEvent } from "./decide/events.ts";
import { putLayout } from "./decide/layouts.ts";
import { changeSettings, createOrganization, replaceHoldTypes } from "./decide/organizations.ts";
import { assignPrices, createPrices } from "./decide/prices.ts";
import { createSchema } from "./decide/schemas.ts";
import { createVenue, deleteVenue, updateVenue } from "./decide/venues.ts";
import type { Decision, Grant } from "./results.ts";
import type { State } from "./state.ts";

const DECISIONS = {
  createTenant,
  createOrganization,
  changeSettings,
  replaceHoldTypes,
  openLogin,
  renewLogin,
  closeLogin,
  createVenue,
  updateVenue,
  deleteVenue,
  createSchema,
  putLayout,
  createEvent,
  changeEventStatus,
  createPrices,
  assignPrices,
  lock: decideBooking,
  unlock: decideBooking,
  sale: decideBooking,
  revertsale: decideBooking,
  directsale: decideBooking,
  block: decideBooking,
  unblock: decideBooking,
} as const satisfies Record<CommandKind, unknown>;

type ValueOf<D> = D extends Grant<infer Value> ? Value : never;

/** What a granted command of the kind answers. */
export type AnswerOf<K extends CommandKind> = ValueOf<ReturnType<(typeof DECISIONS)[K]>>;

type Decide<K extends CommandKind> = (
  state: State,
  command: CommandOf<K>,
  timeMs: number,
) => Decision<AnswerOf<K>>;

export function decide<K extends CommandKind>(
  state: State,
  command: CommandOf<K>,
  timeMs: number,
): Decision<AnswerOf<K>> {
  // The table pairs each kind with its function; the compiler cannot follow that through K.
  return (DECISIONS[command.kind] as unknown as Decide<K>)(state, command, timeMs);
}
