/** Organizations: who sells. Their creation, settings and hold types. */
import { assert } from "../assert.ts";
import {
  type Administrator,
  ADMINISTRATOR,
  type Caller,
  type CommandWith,
  HOLD_TYPES,
  LIMITS,
  ORGANIZATION,
  ORGANIZATION_CHANGE,
  type OrganizationBody,
  ROTATION,
  SETTINGS,
  type SettingsBody,
  WEBHOOK,
  WEBHOOK_CHANGE,
  type WebhookBody,
  type WebhookChange,
} from "../bodies.ts";
import type {
  AccountRow,
  CatalogPut,
  CatalogRemove,
  EarlierFilter,
  HoldTypeRow,
  OrganizationRow,
  WebhookFilter,
  WebhookRow,
} from "../catalog.ts";
import { command, NOT_OWN } from "../command.ts";
import {
  EARLIER_FILTERS_MAX,
  SECRET_GRACE_SECONDS,
  WEBHOOK_EVENTS_MAX,
  WEBHOOKS_MAX,
} from "../constants.ts";
import { labelKey } from "../names.ts";
import {
  accountsByEmail,
  BUILT_IN_HOLD_TYPES,
  callersOrganization,
  ownEvent,
  ownRow,
  refuseEvent,
  tenantsOrganization,
} from "../queries/access.ts";
import {
  duplicate,
  type FieldError,
  grant,
  isRefused,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "../results.ts";
import { BOOLEAN, LONG, object, orNull, TEXT, UUID } from "../schema.ts";
import type { State } from "../state.ts";
import { orphanModeOf } from "../rules.ts";
import { accountRow, retire } from "./accounts.ts";
import {
  type CatalogChange,
  grantChange,
  isHeldOrSold,
  removesOfOwned,
  zonesOfOwned,
} from "./owned.ts";

const {
  ACCOUNT_EMAIL_IN_USE,
  DUPLICATE_NAME,
  ENTITY_IN_USE,
  EVENT_ACCESS_DENIED,
  VALIDATION_FAILED,
} = Result;

const LIMIT_NAMES = Object.keys(LIMITS) as (keyof typeof LIMITS)[];

type NewOrganization = CommandWith<{
  body: OrganizationBody;
  administrator: Administrator | null;
  publicKey: string;
}>;

export const ORGANIZATION_COMMANDS = {
  createOrganization: command({
    scope: "tenant",
    members: { body: ORGANIZATION, administrator: orNull(ADMINISTRATOR), publicKey: UUID },
    refusals: [DUPLICATE_NAME, ACCOUNT_EMAIL_IN_USE],
    decide(state, given) {
      const { caller, body } = given;
      const taken = refuseTakenName(state, { id: 0, tenantId: caller.tenantId }, body.name);
      if (taken !== null) return taken;
      const account = findAdministrator(state, given);
      if (account !== null && isRefused(account)) return account;
      const row = organizationRow(state.catalog.nextId, given);
      assert(!state.catalog.organizations.has(row.id), "a new organization has a new id");
      const puts: CatalogPut[] = [{ table: "organizations", row }];
      if (account !== null) {
        const organizationIds = [...account.organizationIds, row.id];
        puts.push({ table: "accounts", row: { ...account, organizationIds } });
      }
      const isNewAccount = account !== null && account.id > row.id;
      return grantChange(state, caller, { newIds: isNewAccount ? 2 : 1, puts }, row);
    },
  }),

  changeSettings: command({
    scope: "tenant",
    members: { organizationId: LONG, body: SETTINGS },
    refusals: [VALIDATION_FAILED, ...NOT_OWN],
    decide(state, { caller, organizationId, body }, timeMs) {
      const conflict = orphanConflict(body);
      if (conflict !== null) return refuseInvalid([conflict]);
      const organization = tenantsOrganization(state, caller, organizationId);
      if (isRefused(organization)) return organization;
      const bookingEnabled = body.bookingEnabled ?? organization.bookingEnabled;
      const isSwitched = bookingEnabled !== organization.bookingEnabled;
      const row: OrganizationRow = {
        ...withOrphanRules(withLimits(organization, body), body),
        salesControl: body.salesControl ?? organization.salesControl,
        bookingEnabled,
        bookingChangedAtMs: isSwitched ? timeMs : organization.bookingChangedAtMs,
        protectSales: body.protectSales ?? organization.protectSales,
      };
      assert(row.id === organizationId, "the settings change of the organization that was named");
      return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
    },
  }),

  /** Replaces the organization's own hold types. */
  replaceHoldTypes: command({
    members: { body: HOLD_TYPES },
    refusals: [VALIDATION_FAILED],
    decide(state, { caller, body }) {
      const errors: FieldError[] = [];
      const names = new Set<string>();
      for (const [i, { name, ttlSeconds, maxSeconds }] of body.entries()) {
        const limit = maxSecondsError(`[${i}].maxSeconds`, ttlSeconds ?? null, maxSeconds ?? null);
        if (limit !== null) errors.push(limit);
        const key = labelKey(name);
        const isLikeBuiltIn = BUILT_IN_HOLD_TYPES.some((own) => own.name === key && name !== key);
        if (names.has(key)) errors.push(duplicate(`[${i}].name`, name));
        else if (isLikeBuiltIn) {
          errors.push(duplicate(`[${i}].name`, name, `looks like the built-in ${key}`));
        }
        names.add(key);
      }
      if (errors.length > 0) return refuseInvalid(errors);
      const holdTypes = body.map(({ name, ttlSeconds, maxSeconds }): HoldTypeRow => {
        const row = { name, ttlSeconds: ttlSeconds ?? null };
        return typeof maxSeconds === "number" ? { ...row, maxSeconds } : row;
      });
      assert(names.size === holdTypes.length, "a name stands for one hold type");
      const row: OrganizationRow = { ...callersOrganization(state, caller), holdTypes };
      return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, holdTypes);
    },
  }),

  /** Missing members get their defaults; keys, tenant and settings stay. */
  updateOrganization: command({
    scope: "tenant",
    members: { body: ORGANIZATION_CHANGE },
    refusals: [...NOT_OWN, DUPLICATE_NAME],
    decide(state, { caller, body }) {
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
    },
  }),

  /** Sets whether browsers may open booking sessions. */
  configureSessions: command({
    members: { body: object({ publicSessionsEnabled: BOOLEAN }) },
    refusals: [],
    decide(state, { caller, body }) {
      const { publicSessionsEnabled } = body;
      const row: OrganizationRow = { ...callersOrganization(state, caller), publicSessionsEnabled };
      return grantChange(state, caller, { puts: [{ table: "organizations", row }] }, row);
    },
  }),

  /**
   * Removes the organization with everything it owns, and its entry in accounts. An account without
   * another organization is removed too, so its address is free again; a super admin stays.
   *
   * @returns ENTITY_IN_USE while something is LOCKED or SOLD in one of its events.
   * Cost: O(owned rows + seats of its events + accounts).
   */
  deleteOrganization: command({
    scope: "tenant",
    members: { organizationId: LONG },
    refusals: [...NOT_OWN, ENTITY_IN_USE],
    decide(state, { caller, organizationId }) {
      const organization = tenantsOrganization(state, caller, organizationId);
      if (isRefused(organization)) return organization;
      const isHere = organization.move === undefined;
      for (const event of state.catalog.events.values()) {
        if (event.organizationId !== organizationId || !isHere) continue;
        if (!isHeldOrSold(state, event)) continue;
        const detail = `Seats or places are held or sold, for example in event ${event.id}.`;
        return refuse(ENTITY_IN_USE, detail);
      }
      const removal = removalOf(state, organizationId);
      removal.removes.push({ table: "organizations", key: organizationId });
      return grantChange(state, caller, removal, null);
    },
  }),
};

/** @returns DUPLICATE_NAME when another organization of the tenant has the name; else null. */
export function refuseTakenName(
  { catalog }: State,
  organization: Pick<OrganizationRow, "id" | "tenantId">,
  wanted: string,
): Refusal | null {
  const key = labelKey(wanted);
  for (const { id, tenantId, name } of catalog.organizations.values()) {
    if (id === organization.id || tenantId !== organization.tenantId) continue;
    if (labelKey(name) !== key) continue;
    const error = duplicate("name", wanted, "is the name of another organization");
    return refuse(DUPLICATE_NAME, "There is an organization of that name.", [error]);
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
  return refuse(ACCOUNT_EMAIL_IN_USE, "An account has that email already.", [error]);
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
    protectSales: false,
    holdTypes: [],
  };
}

/** @returns The contradiction of `orphanPrevention` and `orphanMode`; null for none. */
function orphanConflict({ orphanMode, orphanPrevention }: SettingsBody): FieldError | null {
  if ((orphanMode ?? null) === null || (orphanPrevention ?? null) === null) return null;
  if (orphanPrevention === (orphanMode !== "off")) return null;
  const message = `contradicts orphanPrevention, which is ${String(orphanPrevention)}: send one of them`;
  return { field: "orphanMode", code: "CONFLICT", message, rejectedValue: orphanMode };
}

/** To prevent orphans again is strict; while a mode prevents them, it stays. */
function withOrphanRules(organization: OrganizationRow, body: SettingsBody): OrganizationRow {
  const { orphanMode: _orphanMode, orphanUntilSold, ...row } = organization;
  const before = orphanModeOf(organization);
  let mode = body.orphanMode ?? before;
  if (body.orphanPrevention === false) mode = "off";
  else if (body.orphanPrevention === true && mode === "off") mode = "strict";
  const untilSold = body.orphanUntilSold === undefined ? orphanUntilSold : body.orphanUntilSold;
  return {
    ...row,
    orphanPrevention: mode !== "off",
    ...(mode === "lenient" ? { orphanMode: mode } : {}),
    ...(typeof untilSold === "number" ? { orphanUntilSold: untilSold } : {}),
  };
}

function withLimits(organization: OrganizationRow, body: SettingsBody): OrganizationRow {
  const row: Record<string, unknown> = { ...organization };
  for (const name of LIMIT_NAMES) {
    const limit = body[name];
    if (limit === 0) delete row[name];
    else if (typeof limit === "number") row[name] = limit;
  }
  return row as unknown as OrganizationRow;
}

// Changes of existing organizations, and their deletion with everything they own.

/** Removal of everything owned by an organization, and of its entry in accounts. */
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

// Webhooks: where changes of an organization's events are sent. Their commands are internal, because
// only the server sends deliveries.

export const WEBHOOK_COMMANDS = {
  createWebhook: command({
    isInternal: true,
    members: { body: WEBHOOK },
    refusals: [VALIDATION_FAILED, EVENT_ACCESS_DENIED],
    decide(state, { caller, body }) {
      const { webhooks, nextId: id } = state.catalog;
      const { organizationId } = caller;
      const own = [...webhooks.values()].filter((row) => row.organizationId === organizationId);
      if (own.length >= WEBHOOKS_MAX) {
        const message = `an organization has at most ${WEBHOOKS_MAX} webhooks`;
        return refuseInvalid([{ field: "", code: "SIZE", message, rejectedValue: own.length + 1 }]);
      }
      if (hasForeignEvent(state, caller, body)) return refuseEvent();
      const row: WebhookRow = {
        id,
        organizationId,
        ...membersOf(body),
        disabledReason: null,
        activeSince: state.sequence,
        keyVersion: 1,
        retiredKey: null,
      };
      return grantChange(state, caller, { newIds: 1, puts: [{ table: "webhooks", row }] }, row);
    },
  }),

  /**
   * Reactivation starts with the changes from now on. Earlier changes, perhaps still unsent, keep
   * the filter of their time.
   */
  updateWebhook: command({
    isInternal: true,
    members: { body: WEBHOOK_CHANGE },
    refusals: [...NOT_OWN, EVENT_ACCESS_DENIED],
    decide(state, { caller, body }) {
      const own = ownRow(state.catalog.webhooks.get(body.id), caller, "webhook");
      if (isRefused(own)) return own;
      if (hasForeignEvent(state, caller, body, own)) return refuseEvent();
      const members = membersOf(body);
      const activeSince = own.active ? own.activeSince : state.sequence;
      const { earlier: _, ...kept } = own;
      const earlier =
        own.active && members.active ? earlierFilters(own, members, state.sequence) : [];
      const row: WebhookRow = {
        ...kept,
        ...members,
        disabledReason: null,
        activeSince,
        ...(earlier.length > 0 && { earlier }),
      };
      return grantChange(state, caller, { puts: [{ table: "webhooks", row }] }, row);
    },
  }),

  deleteWebhook: command({
    isInternal: true,
    members: { webhookId: LONG },
    refusals: NOT_OWN,
    decide(state, { caller, webhookId }) {
      const own = ownRow(state.catalog.webhooks.get(webhookId), caller, "webhook");
      if (isRefused(own)) return own;
      return grantChange(state, caller, { removes: [{ table: "webhooks", key: webhookId }] }, null);
    },
  }),

  /** Both secrets sign until the grace time of the old one ends. */
  rotateWebhookSecret: command({
    isInternal: true,
    members: { webhookId: LONG, body: ROTATION },
    refusals: NOT_OWN,
    decide(state, { caller, webhookId, body }, timeMs) {
      const own = ownRow(state.catalog.webhooks.get(webhookId), caller, "webhook");
      if (isRefused(own)) return own;
      const { keyVersion } = own;
      const graceSeconds = body.graceSeconds ?? SECRET_GRACE_SECONDS;
      const retiredKey = retire({ keyVersion, tokenSha256: null }, graceSeconds, timeMs);
      const row: WebhookRow = { ...own, keyVersion: keyVersion + 1, retiredKey };
      return grantChange(state, caller, { puts: [{ table: "webhooks", row }] }, row);
    },
  }),

  /** The server gives up a failing webhook, unless it was deleted or made inactive meanwhile. */
  disableWebhook: command({
    isInternal: true,
    members: { webhookId: LONG, reason: TEXT },
    refusals: [],
    decide(state, { caller, webhookId, reason }) {
      assert(reason !== "", "the owner is told why");
      const found = state.catalog.webhooks.get(webhookId);
      if (found?.active !== true) return grant(null, null);
      const row: WebhookRow = { ...found, active: false, disabledReason: reason };
      return grantChange(state, caller, { puts: [{ table: "webhooks", row }] }, null);
    },
  }),
};

/**
 * Of more than are kept, the oldest changes go by the filter after their own. Together they name no
 * more events than one filter may: the row is written whole with each change.
 */
function earlierFilters(
  { earlier = [], types, eventIds }: WebhookRow,
  next: WebhookFilter,
  until: number,
): readonly EarlierFilter[] {
  if (isSame(types, next.types) && isSame(eventIds, next.eventIds)) return earlier;
  const kept = [...earlier, { until, types, eventIds }].slice(-EARLIER_FILTERS_MAX);
  let [first, room] = [kept.length, WEBHOOK_EVENTS_MAX];
  for (const filter of kept.toReversed()) {
    room -= filter.eventIds.length;
    if (room < 0) break;
    first -= 1;
  }
  return kept.slice(first);
}

function isSame(texts: readonly string[], others: readonly string[]): boolean {
  return texts.length === others.length && texts.every((text) => others.includes(text));
}

/** Members given by the caller. */
function membersOf({ url, events, eventIds, active }: WebhookBody | WebhookChange) {
  return {
    url,
    types: [...new Set(events)],
    eventIds: [...lowerCased(eventIds)],
    active: active ?? true,
  };
}

function lowerCased(eventIds: readonly string[] | null | undefined): ReadonlySet<string> {
  return new Set((eventIds ?? []).map((id) => id.toLowerCase()));
}

/** @param before - Its events may be named again, even if they were deleted since. */
function hasForeignEvent(
  state: State,
  caller: Caller,
  { eventIds }: WebhookBody | WebhookChange,
  before?: WebhookRow,
): boolean {
  const known = new Set(before?.eventIds);
  for (const id of lowerCased(eventIds)) {
    if (!known.has(id) && ownEvent(state, caller, id) === null) return true;
  }
  return false;
}

/** @returns Why a hold cannot be extended to the longest lifetime; null when it can. */
function maxSecondsError(
  field: string,
  ttlSeconds: number | null,
  maxSeconds: number | null,
): FieldError | null {
  if (maxSeconds === null || (ttlSeconds !== null && maxSeconds >= ttlSeconds)) return null;
  if (ttlSeconds === null) {
    const message = "must be left out for a hold type without an end: such holds are not extended";
    return { field, code: "NULL", message, rejectedValue: maxSeconds };
  }
  const message = `must be at least ttlSeconds, ${ttlSeconds}`;
  return { field, code: "RANGE", message, rejectedValue: maxSeconds };
}
