/** Rotation of keys: the version rises, and the old key is remembered while it still works. */
import { assert } from "../assert.ts";
import type { OrganizationRow, RetiredKey, TenantRow } from "../catalog.ts";
import { callersOrganization } from "../queries/access.ts";
import type { Decision } from "../results.ts";
import type { RotationBody } from "../shapes/bodies.ts";
import type { CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import { grantChange } from "./catalog-record.ts";

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
