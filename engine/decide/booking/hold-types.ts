/** Hold types: what a lock's `holdType` means for how long it lasts. */
import type { HoldTypeRow, OrganizationRow } from "../../catalog.ts";
import { CART_TTL_SECONDS } from "../../constants.ts";

const BUILT_IN: readonly HoldTypeRow[] = [
  { name: "CART", ttlSeconds: CART_TTL_SECONDS },
  { name: "RESERVED", ttlSeconds: null },
];

/** Those that every organization has, then its own; its own win where they share a name. */
export function holdTypesOf(organization: OrganizationRow): readonly HoldTypeRow[] {
  const own = new Set(organization.holdTypes.map((holdType) => holdType.name));
  return [...BUILT_IN.filter(({ name }) => !own.has(name)), ...organization.holdTypes];
}

/** @returns Undefined when the organization has no hold type of that name. */
export function findHoldType(
  organization: OrganizationRow,
  name: string | null | undefined,
): HoldTypeRow | undefined {
  const wanted = name ?? "CART";
  return named(organization.holdTypes, wanted) ?? named(BUILT_IN, wanted);
}

function named(holdTypes: readonly HoldTypeRow[], wanted: string): HoldTypeRow | undefined {
  for (const holdType of holdTypes) if (holdType.name === wanted) return holdType;
  return undefined;
}

/** Milliseconds since 1970 at which a hold that begins now ends; 0 for never. */
export function holdEndMs(holdType: HoldTypeRow, timeMs: number): number {
  return holdType.ttlSeconds === null ? 0 : timeMs + holdType.ttlSeconds * 1_000;
}
