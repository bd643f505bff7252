/** Changes of organizations that are there, and their end with all that they own. */
import type { AccountRow, OrganizationRow, CatalogPut, CatalogRemove } from "../catalog.ts";
import type { CommandOf } from "../commands.ts";
import { callersOrganization, isRefusal, tenantsOrganization } from "../queries/access.ts";
import { type Decision, grant, refuse, Result } from "../results.ts";
import type { State } from "../state.ts";
import { catalogRecord } from "./catalog-record.ts";
import { isHeldOrSold } from "./inventory-in-use.ts";
import { refuseTakenName } from "./organizations.ts";
import { removesOfOwned } from "./removals.ts";

/**
 * What is not sent becomes as in a new organization; keys, tenant and settings stay.
 *
 * @returns ENTITY_NOT_FOUND, ACCESS_DENIED or DUPLICATE_NAME; else the organization.
 */
export function updateOrganization(
  state: State,
  { caller, body }: CommandOf<"updateOrganization">,
): Decision<OrganizationRow> {
  const organization = tenantsOrganization(state, caller, body.id);
  if (isRefusal(organization)) return organization;
  const taken = refuseTakenName(state, organization, body.name);
  if (taken !== null) return taken;
  const row: OrganizationRow = {
    ...organization,
    name: body.name,
    domain: body.domain ?? null,
    autologinEnabled: body.autologinEnabled ?? false,
    appendDomainToLogin: body.appendDomainToLogin ?? false,
    type: body.type ?? "DEFAULT",
  };
  const { nextId } = state.catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "organizations", row }] }), row);
}

/** Whether browsers may open booking sessions. @returns The organization. */
export function configureSessions(
  state: State,
  { caller, body }: CommandOf<"configureSessions">,
): Decision<OrganizationRow> {
  const { publicSessionsEnabled } = body;
  const row = { ...callersOrganization(state, caller), publicSessionsEnabled };
  const { nextId } = state.catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "organizations", row }] }), row);
}

/**
 * Removes all that the organization owns, and it from its accounts. An account that is left without
 * an organization goes as well, so that its address is free again; a super admin stays.
 *
 * @returns ENTITY_NOT_FOUND, ACCESS_DENIED, or ENTITY_IN_USE while something is LOCKED or SOLD in
 * one of its events. Cost: O(what it owns + seats of its events + accounts).
 */
export function deleteOrganization(
  state: State,
  { caller, organizationId }: CommandOf<"deleteOrganization">,
): Decision<null> {
  const organization = tenantsOrganization(state, caller, organizationId);
  if (isRefusal(organization)) return organization;
  const { catalog } = state;
  for (const event of catalog.events.values()) {
    if (event.organizationId !== organizationId || !isHeldOrSold(state.partitionOf(event)))
      continue;
    const detail = `Seats or places are held or sold, for example in event ${event.id}.`;
    return refuse(Result.ENTITY_IN_USE, detail);
  }
  const puts: CatalogPut[] = [];
  const removes = removesOfOwned(state, organizationId);
  for (const account of catalog.accounts.values()) {
    if (!account.organizationIds.includes(organizationId)) continue;
    const organizationIds = account.organizationIds.filter((id) => id !== organizationId);
    if (organizationIds.length > 0 || account.superAdminOf !== null) {
      puts.push({ table: "accounts", row: { ...account, organizationIds } });
    } else {
      removes.push(...removesOfAccount(state, account));
    }
  }
  removes.push({ table: "organizations", key: organizationId });
  return grant(catalogRecord(caller, { nextId: catalog.nextId, puts, removes }), null);
}

/** An account and its logins. */
function removesOfAccount({ catalog }: State, { id }: AccountRow): CatalogRemove[] {
  const logins = [...catalog.logins.values()].filter(({ accountId }) => accountId === id);
  return [
    ...logins.map((login): CatalogRemove => ({ table: "logins", key: login.id })),
    { table: "accounts", key: id },
  ];
}
