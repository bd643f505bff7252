/** Organizations: who sells. Their creation, settings and hold types. */
import { assert } from "../assert.ts";
import type { AccountRow, CatalogPut, HoldTypeRow, OrganizationRow } from "../catalog.ts";
import { callersOrganization, tenantsOrganization } from "../queries/access.ts";
import { accountsByEmail } from "../queries/lookups.ts";
import {
  type Decision,
  duplicate,
  type FieldError,
  isRefused,
  refuse,
  type Refusal,
  refuseInvalid,
  Result,
} from "../results.ts";
import {
  type Administrator,
  type HoldTypesBody,
  LIMITS,
  type OrganizationBody,
  type SettingsBody,
} from "../shapes/bodies.ts";
import type { CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import { accountRow } from "./accounts.ts";
import { grantChange } from "./catalog-record.ts";

const LIMIT_NAMES = Object.keys(LIMITS) as (keyof typeof LIMITS)[];

type NewOrganization = CommandWith<{
  body: OrganizationBody;
  administrator: Administrator | null;
  publicKey: string;
}>;

export function createOrganization(
  state: State,
  command: NewOrganization,
): Decision<OrganizationRow> {
  const { caller, body } = command;
  const taken = refuseTakenName(state, { id: 0, tenantId: caller.tenantId }, body.name);
  if (taken !== null) return taken;
  const account = findAdministrator(state, command);
  if (account !== null && isRefused(account)) return account;
  const row = organizationRow(state.catalog.nextId, command);
  assert(!state.catalog.organizations.has(row.id), "a new organization has a new id");
  const puts: CatalogPut[] = [{ table: "organizations", row }];
  if (account !== null) {
    const organizationIds = [...account.organizationIds, row.id];
    puts.push({ table: "accounts", row: { ...account, organizationIds } });
  }
  const isNewAccount = account !== null && account.id > row.id;
  return grantChange(state, caller, { newIds: isNewAccount ? 2 : 1, puts }, row);
}

/** @returns DUPLICATE_NAME when another organization of the tenant has the name; else null. */
export function refuseTakenName(
  { catalog }: State,
  organization: Pick<OrganizationRow, "id" | "tenantId">,
  wanted: string,
): Refusal | null {
  for (const { id, tenantId, name } of catalog.organizations.values()) {
    if (id === organization.id || tenantId !== organization.tenantId || name !== wanted) continue;
    const error = duplicate("name", name, "is the name of another organization");
    return refuse(Result.DUPLICATE_NAME, "There is an organization of that name.", [error]);
  }
  return null;
}

/** @returns The account of the administrator, existing or new; null when there is to be none. */
function findAdministrator(
  state: State,
  { caller, administrator }: NewOrganization,
): AccountRow | Refusal | null {
  if (administrator === null) return null;
  const { email } = administrator;
  const [account, ...others] = accountsByEmail(state, email);
  if (account === undefined) {
    const rights = { superAdminOf: null, organizationIds: [] };
    return accountRow(state.catalog.nextId + 1, administrator, rights);
  }
  if (others.length === 0 && isReusable(state, account, caller.tenantId)) return account;
  const error = duplicate("email", email, "is the address of an existing account");
  return refuse(Result.ACCOUNT_EMAIL_IN_USE, "An account has that email already.", [error]);
}

/** Such an account keeps its password and becomes administrator of one more organization. */
function isReusable(state: State, account: AccountRow, tenantId: number): boolean {
  if (account.superAdminOf !== null || account.organizationIds.length === 0) return false;
  return account.organizationIds.every(
    (id) => state.catalog.organizations.get(id)?.tenantId === tenantId,
  );
}

function organizationRow(
  id: number,
  { caller, body, publicKey }: NewOrganization,
): OrganizationRow {
  return {
    id,
    tenantId: caller.tenantId,
    name: body.name,
    publicKey,
    domain: body.domain ?? null,
    autologinEnabled: body.autologinEnabled ?? false,
    appendDomainToLogin: body.appendDomainToLogin ?? false,
    type: body.type ?? "DEFAULT",
    keyVersion: 1,
    retiredKey: null,
    publicSessionsEnabled: false,
    salesControl: true,
    bookingEnabled: true,
    bookingChangedAtMs: 0,
    orphanPrevention: false,
    holdTypes: [],
  };
}

export function changeSettings(
  state: State,
  { caller, organizationId, body }: CommandWith<{ organizationId: number; body: SettingsBody }>,
  timeMs: number,
): Decision<OrganizationRow> {
  const organization = tenantsOrganization(state, caller, organizationId);
  if (isRefused(organization)) return organization;
  const bookingEnabled = body.bookingEnabled ?? organization.bookingEnabled;
  const isSwitched = bookingEnabled !== organization.bookingEnabled;
  const row: OrganizationRow = {
    ...withLimits(organization, body),
    salesControl: body.salesControl ?? organization.salesControl,
    bookingEnabled,
    bookingChangedAtMs: isSwitched ? timeMs : organization.bookingChangedAtMs,
    orphanPrevention: body.orphanPrevention ?? organization.orphanPrevention,
  };
  assert(row.id === organizationId, "the settings change of the organization that was named");
  return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
}

/** A limit of 0 is none, and leaves no member. */
function withLimits(organization: OrganizationRow, body: SettingsBody): OrganizationRow {
  const row: Record<string, unknown> = { ...organization };
  for (const name of LIMIT_NAMES) {
    const limit = body[name];
    if (limit === 0) delete row[name];
    else if (typeof limit === "number") row[name] = limit;
  }
  return row as unknown as OrganizationRow;
}

/** Replaces the organization's own hold types. */
export function replaceHoldTypes(
  state: State,
  { caller, body }: CommandWith<{ body: HoldTypesBody }>,
): Decision<readonly HoldTypeRow[]> {
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [i, { name }] of body.entries()) {
    if (names.has(name)) errors.push(duplicate(`[${i}].name`, name));
    names.add(name);
  }
  if (errors.length > 0) return refuseInvalid(errors);
  const holdTypes = body.map(({ name, ttlSeconds }) => ({ name, ttlSeconds: ttlSeconds ?? null }));
  assert(names.size === holdTypes.length, "a name stands for one hold type");
  const row = { ...callersOrganization(state, caller), holdTypes };
  return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, holdTypes);
}
