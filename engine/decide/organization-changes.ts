/** Changes of existing organizations, and their deletion with everything they own. */
import { assert } from "../assert.ts";
import type { AccountRow, CatalogPut, CatalogRemove, OrganizationRow } from "../catalog.ts";
import { callersOrganization, tenantsOrganization } from "../queries/access.ts";
import { type Decision, isRefused, refuse, Result } from "../results.ts";
import type { OrganizationChange } from "../shapes/bodies.ts";
import type { CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import { type CatalogChange, grantChange } from "./catalog-record.ts";
import { isHeldOrSold } from "./inventory-in-use.ts";
import { refuseTakenName } from "./organizations.ts";
import { removesOfOwned, zonesOfOwned } from "./removals.ts";

/** Members that are left out get their defaults; keys, tenant and settings stay. */
export function updateOrganization(
  state: State,
  { caller, body }: CommandWith<{ body: OrganizationChange }>,
): Decision<OrganizationRow> {
  const organization = tenantsOrganization(state, caller, body.id);
  if (isRefused(organization)) return organization;
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
  assert(row.tenantId === caller.tenantId, "an organization stays with its tenant");
  return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
}

/** Sets whether browsers may open booking sessions. */
export function configureSessions(
  state: State,
  { caller, body }: CommandWith<{ body: { readonly publicSessionsEnabled: boolean } }>,
): Decision<OrganizationRow> {
  const { publicSessionsEnabled } = body;
  const row = { ...callersOrganization(state, caller), publicSessionsEnabled };
  return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
}

/**
 * Removes the organization, everything it owns, and its entry in accounts. An account that is left
 * without an organization is removed too, so that its address is free again; a super admin stays.
 *
 * @returns ENTITY_IN_USE while something is LOCKED or SOLD in one of its events.
 * Cost: O(what it owns + seats of its events + accounts).
 */
export function deleteOrganization(
  state: State,
  { caller, organizationId }: CommandWith<{ organizationId: number }>,
): Decision<null> {
  const organization = tenantsOrganization(state, caller, organizationId);
  if (isRefused(organization)) return organization;
  const isHere = organization.move === undefined;
  for (const event of state.catalog.events.values()) {
    if (event.organizationId !== organizationId || !isHere) continue;
    if (!isHeldOrSold(state, event)) continue;
    const detail = `Seats or places are held or sold, for example in event ${event.id}.`;
    return refuse(Result.ENTITY_IN_USE, detail);
  }
  const removal = removalOf(state, organizationId);
  removal.removes.push({ table: "organizations", key: organizationId });
  return grantChange(state, caller, removal, null);
}

/** The removal of everything that an organization owns, and of its entry in accounts. */
export function removalOf(
  state: State,
  organizationId: number,
): Required<Omit<CatalogChange, "newIds">> & { readonly removes: CatalogRemove[] } {
  const { accounts } = state.catalog;
  const puts: CatalogPut[] = [];
  const removes = removesOfOwned(state, organizationId);
  for (const account of accounts.values()) {
    if (!account.organizationIds.includes(organizationId)) continue;
    const organizationIds = account.organizationIds.filter((id) => id !== organizationId);
    if (organizationIds.length > 0 || account.superAdminOf !== null) {
      puts.push({ table: "accounts", row: { ...account, organizationIds } });
    } else {
      removes.push(...removesOfAccount(state, account));
    }
  }
  assert(puts.length <= accounts.size, "an account is changed once");
  return { puts, removes, zones: zonesOfOwned(state, organizationId) };
}

/** An account and its logins. */
function removesOfAccount({ catalog }: State, { id }: AccountRow): CatalogRemove[] {
  assert(catalog.accounts.has(id), "only an account that exists is removed");
  const logins = [...catalog.logins.values()].filter(({ accountId }) => accountId === id);
  return [
    ...logins.map((login): CatalogRemove => ({ table: "logins", key: login.id })),
    { table: "accounts", key: id },
  ];
}
