/** Hold types: how long a lock with a given `holdType` lasts. */
import { assert } from "../../assert.ts";
import type { HoldTypeRow, OrganizationRow } from "../../catalog.ts";
import { BUILT_IN_HOLD_TYPES } from "../../queries/lookups.ts";

/**
 * The organization's own hold types come first: they may replace the built-in ones.
 *
 * @returns Undefined when there is no hold type of that name.
 */
export function findHoldType(
  organization: OrganizationRow,
  name: string | null | undefined,
): HoldTypeRow | undefined {
  const wanted = name ?? "CART";
  return named(organization.holdTypes, wanted) ?? named(BUILT_IN_HOLD_TYPES, wanted);
}

function named(holdTypes: readonly HoldTypeRow[], wanted: string): HoldTypeRow | undefined {
  for (const holdType of holdTypes) if (holdType.name === wanted) return holdType;
  return undefined;
}

/** When a hold that begins now ends: milliseconds since 1970; 0 for never. */
export function holdEndMs({ ttlSeconds }: HoldTypeRow, timeMs: number): number {
  if (ttlSeconds === null) return 0;
  assert(ttlSeconds > 0, "a hold lasts for a while");
  return timeMs + ttlSeconds * 1_000;
}
