/** Access of callers to rows: to those of their organization, or of their tenant. */
import { assert } from "../assert.ts";
import type { Caller, CommandWith } from "../bodies.ts";
import type {
  AccountRow,
  EventRow,
  HoldTypeRow,
  OrganizationRow,
  PriceRow,
  SchemaRow,
  ZoneRow,
} from "../catalog.ts";
import { CART_TTL_SECONDS } from "../constants.ts";
import { GroupType, type Layout } from "../layout/layout.ts";
import { emailKey } from "../names.ts";
import { type FieldError, isRefused, type Refusal, refuse, Result } from "../results.ts";
import type { State } from "../state.ts";
import type { ReplyRow } from "../stored-replies.ts";

/** @returns The event; null when it does not exist or belongs to another organization. */
export function ownEvent(
  state: Pick<State, "catalog">,
  caller: Caller,
  eventId: string,
): EventRow | null {
  const event = state.catalog.events.get(eventId);
  return event !== undefined && event.organizationId === caller.organizationId ? event : null;
}

/** The same refusal, whether the event does not exist or belongs to another organization. */
export function refuseEvent(): Refusal {
  const detail =
    "There is no such event, or it belongs to another organization: check its id and the key.";
  return refuse(Result.EVENT_ACCESS_DENIED, detail);
}

/**
 * Checks a row found by its id.
 *
 * @param row - Undefined for none.
 * @param what - The noun for such a row, for the detail of a refusal.
 * @returns The row, ENTITY_NOT_FOUND, or ACCESS_DENIED when it belongs to another organization.
 */
export function ownRow<Row extends { readonly organizationId: number }>(
  row: Row | undefined,
  caller: Caller,
  what: string,
): Row | Refusal {
  if (row === undefined) return refuse(Result.ENTITY_NOT_FOUND, `There is no such ${what}.`);
  if (row.organizationId === caller.organizationId) return row;
  return refuse(
    Result.ACCESS_DENIED,
    `This ${what} belongs to another organization: it needs that one's key.`,
  );
}

/** @returns The organization, ENTITY_NOT_FOUND, or ACCESS_DENIED when it is another tenant's. */
export function tenantsOrganization(
  { catalog }: State,
  { tenantId }: Caller,
  id: number,
): OrganizationRow | Refusal {
  const organization = catalog.organizations.get(id);
  if (organization === undefined) {
    return refuse(Result.ENTITY_NOT_FOUND, "There is no such organization.");
  }
  if (organization.tenantId === tenantId) return organization;
  return refuse(Result.ACCESS_DENIED, "This organization belongs to another tenant.");
}

/** The caller's organization. */
export function callersOrganization(
  state: Pick<State, "catalog">,
  caller: Caller,
): OrganizationRow {
  const organization = state.catalog.organizations.get(caller.organizationId);
  assert(organization !== undefined, "a caller acts for an organization that exists");
  return organization;
}

// Looks up rows for a caller by ids, or an email address, of a request.

interface OnSchema {
  readonly caller: Caller;
  readonly schemaId: number;
}

/** @returns The remembered reply; null when there is none or it has expired. */
export function findReply({ catalog }: State, id: string, timeMs: number): ReplyRow | null {
  const reply = catalog.replies.get(id);
  return reply === undefined || reply.expiresAtMs <= timeMs ? null : reply;
}

/** @returns The price, ENTITY_NOT_FOUND, or ACCESS_DENIED for the event. */
export function findPrice(
  { catalog }: State,
  { caller, eventId, priceId }: CommandWith<{ eventId: string; priceId: number }>,
): PriceRow | Refusal {
  const event = ownRow(catalog.events.get(eventId), caller, "event");
  if (isRefused(event)) return event;
  const price = catalog.prices.get(priceId);
  if (price?.eventId === eventId) return price;
  return refuse(Result.ENTITY_NOT_FOUND, "There is no such price on the event.");
}

/**
 * The schema on which to create or list zones. Those routes have no 404, so an unknown schema is
 * ACCESS_DENIED, like one of another organization.
 */
export function zonedSchema(
  { catalog }: State,
  { caller, schemaId }: OnSchema,
): SchemaRow | Refusal {
  const schema = catalog.schemas.get(schemaId);
  if (schema?.organizationId === caller.organizationId) return schema;
  const detail =
    "There is no such schema, or it belongs to another organization: check its id and the key.";
  return refuse(Result.ACCESS_DENIED, detail);
}

/** @returns The zone, ENTITY_NOT_FOUND, or ACCESS_DENIED for the schema. */
export function findZone(
  { catalog }: State,
  { caller, schemaId, zoneId }: OnSchema & { readonly zoneId: number },
): ZoneRow | Refusal {
  const schema = ownRow(catalog.schemas.get(schemaId), caller, "schema");
  if (isRefused(schema)) return schema;
  const zone = catalog.zones.get(zoneId);
  if (zone?.schemaId === schemaId) return zone;
  return refuse(Result.ENTITY_NOT_FOUND, "There is no such pricing zone on the schema.");
}

// Channels of an event.

/** The slot of a call's channel; 0 for none, and for one that the event does not have. */
export function channelSlot({ channels }: EventRow, key: string | null | undefined): number {
  if (channels === undefined || key === undefined || key === null) return 0;
  return channels.find((channel) => channel.key === key)?.slot ?? 0;
}

/** @param slot - Of a channel of the event. */
export function keyOfChannel({ channels = [] }: EventRow, slot: number): string {
  const channel = channels.find((one) => one.slot === slot);
  assert(channel !== undefined, "a kept seat has its channel");
  return channel.key;
}

// Ids in a list of a request that does not take them.

const GROUP_NOUNS: Readonly<Record<GroupType, string>> = {
  SECTION: "a section",
  TABLE: "a table",
  ROW: "a row",
  GA: "a general-admission area",
};

/**
 * The refusal of an id in the wrong list, or of none of the layout.
 *
 * @param takesGroups - Whether `groupOfSeats` takes sections, tables and rows, not only areas.
 */
export function misplaced(
  { groups, seatIndexes }: Layout,
  id: number,
  field: string,
  takesGroups = false,
): FieldError {
  const type = groups.get(id)?.type;
  let message = "is not in the layout, which may have changed: read its seats and groups again";
  if (seatIndexes.has(id)) message = "is a seat: name it in seats";
  else if (type !== undefined) {
    const isTaken = takesGroups || type === GroupType.GA;
    const remedy = isTaken ? "name it in groupOfSeats" : "name each of its seats in seats";
    message = `is ${GROUP_NOUNS[type]}: ${remedy}`;
  }
  return { field, code: "NOT_FOUND", message, rejectedValue: id };
}

// Hold types and accounts.

export const BUILT_IN_HOLD_TYPES: readonly HoldTypeRow[] = [
  { name: "CART", ttlSeconds: CART_TTL_SECONDS },
  { name: "RESERVED", ttlSeconds: null },
];

/** The built-in hold types without replaced ones, then the organization's own. */
export function holdTypesOf({ holdTypes }: OrganizationRow): readonly HoldTypeRow[] {
  const own = new Set(holdTypes.map(({ name }) => name));
  return [...BUILT_IN_HOLD_TYPES.filter(({ name }) => !own.has(name)), ...holdTypes];
}

/** Cost: constant. */
export function accountsByEmail({ catalog }: State, email: string): readonly AccountRow[] {
  return catalog.accountsOf(emailKey(email));
}
