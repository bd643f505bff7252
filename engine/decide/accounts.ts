/** Tenants, accounts and their logins. Secrets never come here: only hashes of them. */
import type { AccountRow, LoginRow, TenantRow, CatalogPut } from "../catalog.ts";
import type { Administrator, CommandOf } from "../commands.ts";
import { accountsByEmail } from "../queries/lookups.ts";
import { type Decision, grant, refuse, Result } from "../results.ts";
import type { State } from "../state.ts";
import { catalogRecord } from "./catalog-record.ts";

const NO_LOGIN = "There is no such login.";

export function accountRow(
  id: number,
  { email, firstName, lastName, passwordHash }: Administrator,
  rights: Pick<AccountRow, "superAdminOf" | "organizationIds">,
): AccountRow {
  return { id, email, firstName, lastName, passwordHash, ...rights };
}

/** A tenant, with its super admin. @returns ACCOUNT_EMAIL_IN_USE; else the tenant. */
export function createTenant(
  state: State,
  { caller, name, tokenSha256, administrator }: CommandOf<"createTenant">,
): Decision<TenantRow> {
  if (administrator !== null && accountsByEmail(state, administrator.email).length > 0) {
    return refuse(Result.ACCOUNT_EMAIL_IN_USE, "An account has that email already.");
  }
  const id = state.catalog.nextId;
  const row: TenantRow = { id, name, tokenSha256, keyVersion: 1, retiredKey: null };
  const puts: CatalogPut[] = [{ table: "tenants", row }];
  if (administrator !== null) {
    const rights = { superAdminOf: id, organizationIds: [] };
    puts.push({ table: "accounts", row: accountRow(id + 1, administrator, rights) });
  }
  return grant(catalogRecord(caller, { nextId: id + puts.length, puts }), row);
}

/** Opens a login, and drops those that ran out. @returns ENTITY_NOT_FOUND for no account. */
export function openLogin(
  state: State,
  { caller, accountId, tokens }: CommandOf<"openLogin">,
  timeMs: number,
): Decision<LoginRow> {
  if (!state.catalog.accounts.has(accountId)) {
    return refuse(Result.ENTITY_NOT_FOUND, "There is no such account.");
  }
  const id = state.catalog.nextId;
  const row: LoginRow = { id, accountId, ...tokens };
  const removes = [...state.catalog.logins.values()]
    .filter((old) => old.accountId === accountId && old.refreshExpiresAtMs <= timeMs)
    .map((old) => ({ table: "logins", key: old.id }) as const);
  const puts = [{ table: "logins", row }] as const;
  return grant(catalogRecord(caller, { nextId: id + 1, puts, removes }), row);
}

/** New tokens for the same login; the old ones end. @returns ENTITY_NOT_FOUND when it is closed. */
export function renewLogin(
  state: State,
  { caller, loginId, tokens }: CommandOf<"renewLogin">,
): Decision<LoginRow> {
  const login = state.catalog.logins.get(loginId);
  if (login === undefined) return refuse(Result.ENTITY_NOT_FOUND, NO_LOGIN);
  const row: LoginRow = { ...login, ...tokens };
  const { nextId } = state.catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "logins", row }] }), row);
}

/** @returns ENTITY_NOT_FOUND when it is closed already. */
export function closeLogin(
  state: State,
  { caller, loginId }: CommandOf<"closeLogin">,
): Decision<null> {
  if (!state.catalog.logins.has(loginId)) {
    return refuse(Result.ENTITY_NOT_FOUND, NO_LOGIN);
  }
  const { nextId } = state.catalog;
  const removes = [{ table: "logins", key: loginId }] as const;
  return grant(catalogRecord(caller, { nextId, removes }), null);
}
