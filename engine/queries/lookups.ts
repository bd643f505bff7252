/** Rows found by what the interface names them by, where the caller may see them. */
import type { AccountRow, PriceRow, ReplyRow, SchemaRow, ZoneRow } from "../catalog.ts";
import { isRefused, refuse, type Refusal, Result } from "../results.ts";
import type { Caller, CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import { ownRow } from "./access.ts";

interface OnSchema {
  readonly caller: Caller;
  readonly schemaId: number;
}

/** The reply of that id, while it is to be given again. */
export function findReply({ catalog }: State, id: string, timeMs: number): ReplyRow | null {
  const reply = catalog.replies.get(id);
  return reply === undefined || reply.expiresAtMs <= timeMs ? null : reply;
}

/**
 * @returns ENTITY_NOT_FOUND or ACCESS_DENIED for the event, ENTITY_NOT_FOUND for a price not on it.
 */
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
 * The schema to create or list zones on. Those rows of the interface know no 404, so what exists
 * nowhere is denied like what is another organization's.
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

/** @returns ENTITY_NOT_FOUND or ACCESS_DENIED for the schema, ENTITY_NOT_FOUND for the zone. */
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

/**
 * What makes two addresses one: composed form, ASCII letters folded. Never the full Unicode
 * folding, which would let a look-alike letter take over an account.
 */
export function emailKey(email: string): string {
  return email.normalize("NFC").replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** Cost: O(accounts). */
export function accountsByEmail(state: State, email: string): AccountRow[] {
  const key = emailKey(email);
  return [...state.catalog.accounts.values()].filter((account) => emailKey(account.email) === key);
}
