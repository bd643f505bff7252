/**
 * What the organization, or an event on its own, says about single seats left alone and about how
 * much may be held. The rules of an event beat those of the organization, from the next command on.
 */
import type { EventRow, OrganizationRow, OrphanMode } from "./catalog.ts";
import type { Partition } from "./inventory/partition.ts";
import { SeatState } from "./inventory/states.ts";

/** The rules that count. A missing one is none. */
export interface PresentRules extends HeldLimits {
  readonly orphanMode: OrphanMode;
  readonly orphanUntilSold?: number;
}

/** At most so many seats and places, in an event. */
export interface HeldLimits {
  readonly heldPerSession?: number;
  readonly heldPerEvent?: number;
}

export function orphanModeOf({ orphanPrevention, orphanMode }: OrganizationRow): OrphanMode {
  return orphanPrevention ? (orphanMode ?? "strict") : "off";
}

/** May be the row of the organization itself: it is asked for with each lock. */
export function limitsOf(organization: OrganizationRow, { rules }: EventRow): HeldLimits {
  if (rules === undefined) return organization;
  const heldPerSession = rules.heldPerSession ?? organization.heldPerSession;
  const heldPerEvent = rules.heldPerEvent ?? organization.heldPerEvent;
  return {
    ...(heldPerSession ? { heldPerSession } : {}),
    ...(heldPerEvent ? { heldPerEvent } : {}),
  };
}

export function presentRules(organization: OrganizationRow, event: EventRow): PresentRules {
  const { rules } = event;
  const isOwn = rules?.orphanMode !== undefined;
  const { orphanUntilSold } = isOwn ? rules : organization;
  const { heldPerSession, heldPerEvent } = limitsOf(organization, event);
  return {
    orphanMode: rules?.orphanMode ?? orphanModeOf(organization),
    ...(orphanUntilSold === undefined ? {} : { orphanUntilSold }),
    ...(heldPerSession === undefined ? {} : { heldPerSession }),
    ...(heldPerEvent === undefined ? {} : { heldPerEvent }),
  };
}

/** The mode for a request now: with `orphanUntilSold` it ends when so much is sold. */
export function orphanModeNow(
  organization: OrganizationRow,
  { rules }: EventRow,
  { seatsIn }: Partition,
): OrphanMode {
  const own = rules?.orphanMode;
  const mode = own ?? orphanModeOf(organization);
  if (mode === "off") return mode;
  const { orphanUntilSold } = own === undefined ? organization : rules!;
  if (orphanUntilSold === undefined) return mode;
  const sold = seatsIn[SeatState.SOLD]!;
  const seats = seatsIn[SeatState.ACTIVE]! + seatsIn[SeatState.LOCKED]! + sold;
  return sold * 100 < orphanUntilSold * seats ? mode : "off";
}
