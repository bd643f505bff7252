/** Looks up rows for a caller by the ids, or the email address, that a request names. */
import type {
  AccountRow,
  HoldTypeRow,
  OrganizationRow,
  PriceRow,
  SchemaRow,
  ZoneRow,
} from "../catalog.ts";
import { CART_TTL_SECONDS } from "../constants.ts";
import { isRefused, refuse, type Refusal, Result } from "../results.ts";
import type { Caller, CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import type { ReplyRow } from "../stored-replies.ts";
import { ownRow } from "./access.ts";

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
 * The schema on which to create or list zones. Those routes have no 404, so a schema that does not
 * exist is ACCESS_DENIED, like one of another organization.
 */
export function zonedSchema(
  { catalog }: State,
  { caller, schemaId }: OnSchema,
): SchemaRow | Refusal {
  const schema = catalog.schemas.get(schemaId);
  if (schema?.organizationId === caller.organizationId) return schema;
  const detail = "There is no such schema, or it belongs to another organization.";
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

export const BUILT_IN_HOLD_TYPES: readonly HoldTypeRow[] = [
  { name: "CART", ttlSeconds: CART_TTL_SECONDS },
  { name: "RESERVED", ttlSeconds: null },
];

/** The built-in hold types that the organization has not replaced, then its own. */
export function holdTypesOf({ holdTypes }: OrganizationRow): readonly HoldTypeRow[] {
  const own = new Set(holdTypes.map(({ name }) => name));
  return [...BUILT_IN_HOLD_TYPES.filter(({ name }) => !own.has(name)), ...holdTypes];
}

/** Addresses with the same key are the same address: the composed form in lower case. */
export function emailKey(email: string): string {
  return email.normalize("NFC").toLowerCase().normalize("NFC");
}

/** Cost: O(accounts). */
export function accountsByEmail(state: State, email: string): AccountRow[] {
  const key = emailKey(email);
  return [...state.catalog.accounts.values()].filter((account) => emailKey(account.email) === key);
}
