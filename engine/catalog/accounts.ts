/** Tenants, accounts and their logins. The engine gets hashes of secrets, never the secrets. */
import { assert } from "../assert.ts";
import type { Administrator, CommandWith, LoginTokens, RotationBody } from "../bodies.ts";
import type {
  AccountRow,
  CatalogPut,
  LoginRow,
  OrganizationRow,
  RetiredKey,
  TenantRow,
} from "../catalog.ts";
import { LOGINS_PER_ACCOUNT_MAX } from "../constants.ts";
import { accountsByEmail, callersOrganization } from "../queries/access.ts";
import { type Decision, refuse, Result } from "../results.ts";
import type { State } from "../state.ts";
import { grantChange } from "./owned.ts";

const NO_LOGIN = "There is no such login.";

export function accountRow(
  id: number,
  { email, firstName, lastName, passwordHash }: Administrator,
  rights: Pick<AccountRow, "superAdminOf" | "organizationIds">,
): AccountRow {
  assert(id > 0, "an account has an id of its own");
  return { id, email, firstName, lastName, passwordHash, ...rights };
}

type NewTenant = CommandWith<{
  name: string;
  tokenSha256: string | null;
  administrator: Administrator | null;
}>;

/** A tenant and its super admin; without one when nobody is to log in. */
export function createTenant(
  state: State,
  { caller, name, tokenSha256, administrator }: NewTenant,
): Decision<TenantRow> {
  if (administrator !== null && accountsByEmail(state, administrator.email).length > 0) {
    return refuse(Result.ACCOUNT_EMAIL_IN_USE, "An account has that email already.");
  }
  const id = state.catalog.nextId;
  assert(!state.catalog.tenants.has(id), "a new tenant has a new id");
  const row: TenantRow = { id, name, tokenSha256, keyVersion: 1, retiredKey: null };
  const puts: CatalogPut[] = [{ table: "tenants", row }];
  if (administrator !== null) {
    const rights = { superAdminOf: id, organizationIds: [] };
    puts.push({ table: "accounts", row: accountRow(id + 1, administrator, rights) });
  }
  return grantChange(state, caller, { newIds: puts.length, puts }, row);
}

/** Opens a login. It removes those of the account that have expired or are too many. */
export function openLogin(
  state: State,
  { caller, accountId, tokens }: CommandWith<{ accountId: number; tokens: LoginTokens }>,
  timeMs: number,
): Decision<LoginRow> {
  const { accounts, logins, nextId: id } = state.catalog;
  if (!accounts.has(accountId)) {
    return refuse(Result.ENTITY_NOT_FOUND, "There is no such account.");
  }
  assert(!logins.has(id), "a new login has a new id");
  const row: LoginRow = { id, accountId, ...tokens };
  // The oldest login comes first.
  const own = [...logins.values()].filter((login) => login.accountId === accountId);
  const expired = own.filter((login) => login.refreshExpiresAtMs <= timeMs);
  const live = own.filter((login) => login.refreshExpiresAtMs > timeMs);
  const surplus = live.slice(0, Math.max(0, live.length + 1 - LOGINS_PER_ACCOUNT_MAX));
  const removes = [...expired, ...surplus].map(
    (login) => ({ table: "logins", key: login.id }) as const,
  );
  return grantChange(state, caller, { newIds: 1, puts: [{ table: "logins", row }], removes }, row);
}

/** Gives a login new tokens; the old ones stop working. */
export function renewLogin(
  state: State,
  { caller, loginId, tokens }: CommandWith<{ loginId: number; tokens: LoginTokens }>,
): Decision<LoginRow> {
  const login = state.catalog.logins.get(loginId);
  if (login === undefined) return refuse(Result.ENTITY_NOT_FOUND, NO_LOGIN);
  assert(state.catalog.accounts.has(login.accountId), "a login belongs to an account");
  const row: LoginRow = { ...login, ...tokens };
  return grantChange(state, caller, { puts: [{ table: "logins", row }] }, row);
}

export function closeLogin(
  state: State,
  { caller, loginId }: CommandWith<{ loginId: number }>,
): Decision<null> {
  const login = state.catalog.logins.get(loginId);
  if (login === undefined) return refuse(Result.ENTITY_NOT_FOUND, NO_LOGIN);
  assert(state.catalog.accounts.has(login.accountId), "a login belongs to an account");
  return grantChange(state, caller, { removes: [{ table: "logins", key: loginId }] }, null);
}

// Rotation of keys: the version rises, and the old key is remembered while it still works.

export function rotateOrganizationKey(
  state: State,
  { caller, body }: CommandWith<{ body: RotationBody }>,
  timeMs: number,
): Decision<OrganizationRow> {
  const organization = callersOrganization(state, caller);
  const { keyVersion } = organization;
  const retiredKey = retire({ keyVersion, tokenSha256: null }, body.graceSeconds, timeMs);
  const row: OrganizationRow = { ...organization, keyVersion: keyVersion + 1, retiredKey };
  return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
}

/** From now on the token is derived, even if the old one was configured. */
export function rotateTenantToken(
  state: State,
  { caller, body }: CommandWith<{ body: RotationBody }>,
  timeMs: number,
): Decision<TenantRow> {
  const tenant = state.catalog.tenants.get(caller.tenantId);
  assert(tenant !== undefined, "a caller acts for a tenant that exists");
  const { keyVersion, tokenSha256 } = tenant;
  const retiredKey = retire({ keyVersion, tokenSha256 }, body.graceSeconds, timeMs);
  const row = { ...tenant, tokenSha256: null, keyVersion: keyVersion + 1, retiredKey };
  return grantChange(state, caller, { puts: [{ table: "tenants", row }] }, row);
}

/** @returns Null when the old key stops working at once. */
export function retire(
  key: Omit<RetiredKey, "validUntilMs">,
  graceSeconds: number | null | undefined,
  timeMs: number,
): RetiredKey | null {
  assert(key.keyVersion > 0, "the first version of a key is 1");
  const graceMs = (graceSeconds ?? 0) * 1_000;
  assert(graceMs >= 0, "a key does not stop working in the past");
  return graceMs === 0 ? null : { ...key, validUntilMs: timeMs + graceMs };
}
