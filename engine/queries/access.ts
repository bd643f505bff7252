/** Which rows a caller may access: those of its organization, or of its tenant. */
import { assert } from "../assert.ts";
import type { EventRow, OrganizationRow } from "../catalog.ts";
import { refuse, type Refusal, Result } from "../results.ts";
import type { Caller } from "../shapes/caller.ts";
import type { State } from "../state.ts";

/** @returns The event; null when it does not exist or belongs to another organization. */
export function ownEvent(state: State, caller: Caller, eventId: string): EventRow | null {
  const event = state.catalog.events.get(eventId);
  return event !== undefined && event.organizationId === caller.organizationId ? event : null;
}

/** The same refusal, whether the event does not exist or belongs to another organization. */
export function refuseEvent(): Refusal {
  const detail = "There is no such event, or it belongs to another organization.";
  return refuse(Result.EVENT_ACCESS_DENIED, detail);
}

/**
 * Checks a row that was looked up by its id.
 *
 * @param row - Undefined when there is none.
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
  return refuse(Result.ACCESS_DENIED, `This ${what} belongs to another organization.`);
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

/** The organization that the caller acts for. */
export function callersOrganization(state: State, caller: Caller): OrganizationRow {
  const organization = state.catalog.organizations.get(caller.organizationId);
  assert(organization !== undefined, "a caller acts for an organization that exists");
  return organization;
}
