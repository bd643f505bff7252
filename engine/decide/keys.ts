/** Rotation of keys: the version rises, and the old key is kept in mind while it still works. */
import { assert } from "../assert.ts";
import type { OrganizationRow, RetiredKey, TenantRow } from "../catalog.ts";
import type { CommandOf } from "../commands.ts";
import { callersOrganization } from "../queries/access.ts";
import { type Decision, grant } from "../results.ts";
import type { State } from "../state.ts";
import { catalogRecord } from "./catalog-record.ts";

/** @returns The organization, with its new key version. */
export function rotateOrganizationKey(
  state: State,
  { caller, body }: CommandOf<"rotateOrganizationKey">,
  timeMs: number,
): Decision<OrganizationRow> {
  const organization = callersOrganization(state, caller);
  const { keyVersion } = organization;
  const retiredKey = retire({ keyVersion, tokenSha256: null }, body.graceSeconds, timeMs);
  const row: OrganizationRow = { ...organization, keyVersion: keyVersion + 1, retiredKey };
  const { nextId } = state.catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "organizations", row }] }), row);
}

/** From now on the token is derived, also where it was given before. @returns The tenant. */
export function rotateTenantToken(
  { catalog }: State,
  { caller, body }: CommandOf<"rotateTenantToken">,
  timeMs: number,
): Decision<TenantRow> {
  const tenant = catalog.tenants.get(caller.tenantId);
  assert(tenant !== undefined, "a caller acts for a tenant that exists");
  const { keyVersion, tokenSha256 } = tenant;
  const retiredKey = retire({ keyVersion, tokenSha256 }, body.graceSeconds, timeMs);
  const row = { ...tenant, tokenSha256: null, keyVersion: keyVersion + 1, retiredKey };
  const { nextId } = catalog;
  return grant(catalogRecord(caller, { nextId, puts: [{ table: "tenants", row }] }), row);
}

/** @returns Null when the key ends at once. */
function retire(
  key: Omit<RetiredKey, "validUntilMs">,
  graceSeconds = 0,
  timeMs: number,
): RetiredKey | null {
  return graceSeconds === 0 ? null : { ...key, validUntilMs: timeMs + graceSeconds * 1_000 };
}
