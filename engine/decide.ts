/**
 * From a command to its decision: all checks in the order of the result codes, giving a refusal or
 * a record. Changes nothing.
 */
import type { CommandKind, CommandOf } from "./commands.ts";
import { closeLogin, createTenant, openLogin, renewLogin } from "./decide/accounts.ts";
import { decideBooking } from "./decide/booking/booking.ts";
import { changeEventStatus, createEvent, deleteEvent, updateEvent } from "./decide/events.ts";
import { rotateOrganizationKey, rotateTenantToken } from "./decide/keys.ts";
import {
  configureSessions,
  deleteOrganization,
  updateOrganization,
} from "./decide/organization-changes.ts";
import { changeSettings, createOrganization, replaceHoldTypes } from "./decide/organizations.ts";
import { deletePrice, updatePrices } from "./decide/pricing/price-changes.ts";
import { clearPrices, unassignPrices } from "./decide/pricing/price-removal.ts";
import { assignPrices, createPrices } from "./decide/pricing/prices.ts";
import { assignZones } from "./decide/pricing/zone-assignments.ts";
import { createZones, deleteZone, updateZones } from "./decide/pricing/zones.ts";
import { rememberReply } from "./decide/replies.ts";
import { cloneSchema } from "./decide/schema/clone-schema.ts";
import { putLayout } from "./decide/schema/layouts.ts";
import { createSchema, deleteSchema, updateSchema } from "./decide/schema/schemas.ts";
import { createVenue, deleteVenue, updateVenue } from "./decide/schema/venues.ts";
import { bindEvent, createSeries, deleteSeries } from "./decide/series.ts";
import type { Decision, Grant } from "./results.ts";
import type { State } from "./state.ts";

const DECISIONS = {
  createTenant,
  createOrganization,
  updateOrganization,
  deleteOrganization,
  changeSettings,
  configureSessions,
  rotateOrganizationKey,
  rotateTenantToken,
  replaceHoldTypes,
  openLogin,
  renewLogin,
  closeLogin,
  rememberReply,
  createVenue,
  updateVenue,
  deleteVenue,
  createSchema,
  updateSchema,
  deleteSchema,
  cloneSchema,
  putLayout,
  createZones,
  updateZones,
  deleteZone,
  assignZones,
  createSeries,
  deleteSeries,
  createEvent,
  updateEvent,
  deleteEvent,
  bindEvent,
  changeEventStatus,
  createPrices,
  updatePrices,
  deletePrice,
  assignPrices,
  unassignPrices,
  clearPrices,
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

export function isCommandKind(kind: unknown): kind is CommandKind {
  return typeof kind === "string" && Object.hasOwn(DECISIONS, kind);
}

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
