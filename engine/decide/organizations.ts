/**
 * Organizations: who sells. Creation follows the five documented rules; settings and hold types.
 */
import { assert } from "../assert.ts";
import type { AccountRow, HoldTypeRow, OrganizationRow, CatalogPut } from "../catalog.ts";
import type { CommandOf } from "../commands.ts";
import { callersOrganization, isRefusal, tenantsOrganization } from "../queries/access.ts";
import { accountsByEmail } from "../queries/lookups.ts";
import {
  type Decision,
  type FieldError,
  grant,
  refuse,
  type Refusal,
  refuseInvalid,
  Result,
  duplicate,
} from "../results.ts";
import type { State } from "../state.ts";
import { accountRow } from "./accounts.ts";
import { catalogRecord } from "./catalog-record.ts";

/** @returns DUPLICATE_NAME or ACCOUNT_EMAIL_IN_USE, nothing created; else the organization. */
export function createOrganization(
  state: State,
  command: CommandOf<"createOrganization">,
): Decision<OrganizationRow> {
  const { caller, body } = command;
  const taken = refuseTakenName(state, { id: 0, tenantId: caller.tenantId }, body.name);
  if (taken !== null) return taken;
  const account = findAdministrator(state, command);
  if (account !== null && "refused" in account) return account;
  const row = organizationRow(state.catalog.nextId, command);
  const puts: CatalogPut[] = [{ table: "organizations", row }];
  if (account !== null) {
    const organizationIds = [...account.organizationIds, row.id];
    puts.push({ table: "accounts", row: { ...account, organizationIds } });
  }
  // A new account has taken the id after the organization's; an existing one has a lower id.
  const nextId = Math.max(row.id, account?.id ?? 0) + 1;
  return grant(catalogRecord(caller, { nextId, puts }), row);
}

/** @returns DUPLICATE_NAME when another organization of the tenant has the name; else null. */
export function refuseTakenName(
  { catalog }: State,
  organization: Pick<OrganizationRow, "id" | "tenantId">,
  wanted: string,
): Refusal | null {
  for (const { id, tenantId, name } of catalog.organizations.values()) {
    if (id === organization.id || tenantId !== organization.tenantId || name !== wanted) continue;
    const fault = duplicate("name", name, "is the name of another organization");
    return refuse(Result.DUPLICATE_NAME, "There is an organization of that name.", [fault]);
  }
  return null;
}

/** @returns The account to become administrator, existing or new; null when there is to be none. */
function findAdministrator(
  state: State,
  { caller, administrator }: CommandOf<"createOrganization">,
): AccountRow | Refusal | null {
  if (administrator === null) return null;
  const { email } = administrator;
  const [account, ...others] = accountsByEmail(state, email);
  if (account === undefined) {
    const rights = { superAdminOf: null, organizationIds: [] };
    return accountRow(state.catalog.nextId + 1, administrator, rights);
  }
  if (others.length === 0 && isReusable(state, account, caller.tenantId)) return account;
  const fault = duplicate("email", email, "is the address of an existing account");
  return refuse(Result.ACCOUNT_EMAIL_IN_USE, "An account has that email already.", [fault]);
}

/** The account keeps its password and becomes administrator of one more organization. */
function isReusable(state: State, account: AccountRow, tenantId: number): boolean {
  if (account.superAdminOf !== null || account.organizationIds.length === 0) return false;
  return account.organizationIds.every(
    (id) => state.catalog.organizations.get(id)?.tenantId === tenantId,
  );
}

function organizationRow(
  id: number,
  { caller, body, publicKey, privateKey }: CommandOf<"createOrganization">,
): OrganizationRow {
  return {
    id,
    tenantId: caller.tenantId,
    name: body.name,
    publicKey,
    privateKey,
    domain: body.domain ?? null,
    autologinEnabled: body.autologinEnabled ?? false,
    appendDomainToLogin: body.appendDomainToLogin ?? false,
    type: body.type ?? "DEFAULT",
    keyVersion: 1,
    retiredKey: null,
    publicSessionsEnabled: false,
    salesControl: true,
    bookingEnabled: true,
    orphanPrevention: false,
    holdTypes: [],
  };
}

/** @returns ENTITY_NOT_FOUND or ACCESS_DENIED; else the organization. */
export function changeSettings(
  state: State,
  { caller, organizationId, body }: CommandOf<"changeSettings">,
): Decision<OrganizationRow> {
  const organization = tenantsOrganization(state, caller, organizationId);
  if (isRefusal(organization)) return organization;
  const row: OrganizationRow = {
    ...organization,
    salesControl: body.salesControl ?? organization.salesControl,
    bookingEnabled: body.bookingEnabled ?? organization.bookingEnabled,
    orphanPrevention: body.orphanPrevention ?? organization.orphanPrevention,
  };
  const { nextId } = state.catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "organizations", row }] }), row);
}

/**
 * Replaces the organization's own set. @returns VALIDATION_FAILED for a name that is there twice.
 */
export function replaceHoldTypes(
  state: State,
  { caller, body }: CommandOf<"replaceHoldTypes">,
): Decision<readonly HoldTypeRow[]> {
  const faults: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, { name }] of body.entries()) {
    if (names.has(name)) faults.push(duplicate(`[${i}].name`, name, "is there twice"));
    names.add(name);
  }
  if (faults.length > 0) return refuseInvalid(faults);
  const holdTypes = body.map(({ name, ttlSeconds }) => ({ name, ttlSeconds: ttlSeconds ?? null }));
  const row = { ...callersOrganization(state, caller), holdTypes };
  assert(row.tenantId === caller.tenantId, "a caller acts for an organization of its tenant");
  const { nextId } = state.catalog;
  return grant(
    catalogRecord(caller, { nextId, puts: [{ table: "organizations", row }] }),
    holdTypes,
  );
}
