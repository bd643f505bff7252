/** Whether the caller may touch an event at all. */
import { assert } from "../assert.ts";
import type { EventRow, OrganizationRow } from "../catalog.ts";
import { refuse, type Refusal, Result } from "../results.ts";
import type { Caller } from "../shapes/caller.ts";
import type { State } from "../state.ts";

const NO_ACCESS = refuse(
  Result.EVENT_ACCESS_DENIED,
  "There is no such event, or it belongs to another organization.",
);

/** The event when it is the caller's; null when it is another's, or nobody's. */
export function ownEvent(state: State, caller: Caller, eventId: string): EventRow | null {
  const event = state.catalog.events.get(eventId);
  return event !== undefined && event.organizationId === caller.organizationId ? event : null;
}

/** One answer for what exists nowhere and for what is another organization's. */
export function refuseEvent(): Refusal {
  return NO_ACCESS;
}

/**
 * A row that belongs to an organization, for a read, update or deletion by id.
 *
 * @returns The row, or ENTITY_NOT_FOUND, or ACCESS_DENIED when it is another organization's.
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

/** An organization of the caller's tenant. @returns Or ENTITY_NOT_FOUND, or ACCESS_DENIED. */
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

export function callersOrganization(state: State, caller: Caller): OrganizationRow {
  const organization = state.catalog.organizations.get(caller.organizationId);
  assert(organization !== undefined, "a caller acts for an organization that exists");
  return organization;
}
