/** Tenants, accounts and their logins. The engine gets hashes of secrets, never the secrets. */
import { assert } from "../assert.ts";
import { type Administrator, ADMINISTRATOR, LOGIN_TOKENS, ROTATION } from "../bodies.ts";
import type {
  AccountRow,
  CatalogPut,
  LoginRow,
  OrganizationRow,
  RetiredKey,
  TenantRow,
} from "../catalog.ts";
import { command } from "../command.ts";
import { LOGINS_PER_ACCOUNT_MAX, NETWORKS_PER_ACCOUNT_MAX } from "../constants.ts";
import { accountsByEmail, callersOrganization } from "../queries/access.ts";
import { refuse, Result } from "../results.ts";
import { LONG, NAME, orNull, TEXT } from "../schema.ts";
import { grantChange } from "./owned.ts";

const { ACCOUNT_EMAIL_IN_USE, ENTITY_NOT_FOUND } = Result;

const NO_LOGIN = "There is no such login.";

export function accountRow(
  id: number,
  { email, firstName, lastName, passwordHash }: Administrator,
  rights: Pick<AccountRow, "superAdminOf" | "organizationIds">,
): AccountRow {
  assert(id > 0, "an account has an id of its own");
  return { id, email, firstName, lastName, passwordHash, ...rights };
}

export const ACCOUNT_COMMANDS = {
  /** A tenant and its super admin; without one when nobody is to log in. */
  createTenant: command({
    scope: "platform",
    members: { name: NAME, tokenSha256: orNull(TEXT), administrator: orNull(ADMINISTRATOR) },
    refusals: [ACCOUNT_EMAIL_IN_USE],
    decide(state, { caller, name, tokenSha256, administrator }) {
      if (administrator !== null && accountsByEmail(state, administrator.email).length > 0) {
        return refuse(ACCOUNT_EMAIL_IN_USE, "An account has that email already.");
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
    },
  }),

  /** Opens a login. Removes expired and surplus logins of the account. */
  openLogin: command({
    isInternal: true,
    members: { accountId: LONG, tokens: LOGIN_TOKENS, network: TEXT },
    refusals: [ENTITY_NOT_FOUND],
    decide(state, { caller, accountId, tokens, network }, timeMs) {
      const { accounts, logins, nextId: id } = state.catalog;
      const account = accounts.get(accountId);
      if (account === undefined) {
        return refuse(ENTITY_NOT_FOUND, "There is no such account.");
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
      const puts = putsOfLogin(row, account, network, timeMs);
      return grantChange(state, caller, { newIds: 1, puts, removes }, row);
    },
  }),

  /** Gives a login new tokens; the old ones stop working. */
  renewLogin: command({
    isInternal: true,
    members: { loginId: LONG, tokens: LOGIN_TOKENS, network: TEXT },
    refusals: [ENTITY_NOT_FOUND],
    decide(state, { caller, loginId, tokens, network }, timeMs) {
      const login = state.catalog.logins.get(loginId);
      if (login === undefined) return refuse(ENTITY_NOT_FOUND, NO_LOGIN);
      const account = state.catalog.accounts.get(login.accountId);
      assert(account !== undefined, "a login belongs to an account");
      const row: LoginRow = { ...login, ...tokens };
      const puts = putsOfLogin(row, account, network, timeMs);
      return grantChange(state, caller, { puts }, row);
    },
  }),

  closeLogin: command({
    isInternal: true,
    members: { loginId: LONG },
    refusals: [ENTITY_NOT_FOUND],
    decide(state, { caller, loginId }) {
      const login = state.catalog.logins.get(loginId);
      if (login === undefined) return refuse(ENTITY_NOT_FOUND, NO_LOGIN);
      assert(state.catalog.accounts.has(login.accountId), "a login belongs to an account");
      return grantChange(state, caller, { removes: [{ table: "logins", key: loginId }] }, null);
    },
  }),
};

/**
 * The login, and its account with the network. The account keeps it, because a login that is closed
 * leaves no row: its owner must be known after a restart too.
 */
function putsOfLogin(
  row: LoginRow,
  account: AccountRow,
  hash: string,
  timeMs: number,
): readonly CatalogPut[] {
  assert(row.accountId === account.id, "a login belongs to its account");
  const others = (account.networks ?? []).filter(
    (known) => known.hash !== hash && known.untilMs > timeMs,
  );
  const latest = { hash, untilMs: row.refreshExpiresAtMs };
  const networks = [...others, latest].slice(-NETWORKS_PER_ACCOUNT_MAX);
  return [
    { table: "logins", row },
    { table: "accounts", row: { ...account, networks } },
  ];
}

// Rotation of keys: the version rises, and the old key is remembered while it still works.

export const KEY_COMMANDS = {
  rotateOrganizationKey: command({
    members: { body: ROTATION },
    refusals: [],
    decide(state, { caller, body }, timeMs) {
      const organization = callersOrganization(state, caller);
      const { keyVersion } = organization;
      const retiredKey = retire({ keyVersion, tokenSha256: null }, body.graceSeconds, timeMs);
      const row: OrganizationRow = { ...organization, keyVersion: keyVersion + 1, retiredKey };
      return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
    },
  }),

  /** From now on the token is derived, even if the old one was configured. */
  rotateTenantToken: command({
    scope: "tenant",
    members: { body: ROTATION },
    refusals: [],
    decide(state, { caller, body }, timeMs) {
      const tenant = state.catalog.tenants.get(caller.tenantId);
      assert(tenant !== undefined, "a caller acts for a tenant that exists");
      const { keyVersion, tokenSha256 } = tenant;
      const retiredKey = retire({ keyVersion, tokenSha256 }, body.graceSeconds, timeMs);
      const row: TenantRow = {
        ...tenant,
        tokenSha256: null,
        keyVersion: keyVersion + 1,
        retiredKey,
      };
      return grantChange(state, caller, { puts: [{ table: "tenants", row }] }, row);
    },
  }),
};

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
