/**
 * Orphan mode and hold limits: an event's own rules override the organization's, from the next
 * command on.
 */
import type { EventRow, OrganizationRow, OrphanMode } from "./catalog.ts";
import type { Partition } from "./inventory/partition.ts";
import { SeatState } from "./inventory/states.ts";

interface OrphanRule {
  readonly orphanMode: OrphanMode;
  /** Percent of the seats; left out for no end. */
  readonly orphanUntilSold?: number;
}

/** The rules in force. A missing one is none. */
interface PresentRules extends HeldLimits, OrphanRule {}

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

/** A percent goes with its mode. */
function orphanRuleOf(organization: OrganizationRow, { rules }: EventRow): OrphanRule {
  const own = rules?.orphanMode;
  const orphanMode = own ?? orphanModeOf(organization);
  const { orphanUntilSold } = own === undefined ? organization : rules!;
  return orphanUntilSold === undefined ? { orphanMode } : { orphanMode, orphanUntilSold };
}

export function presentRules(organization: OrganizationRow, event: EventRow): PresentRules {
  const { heldPerSession, heldPerEvent } = limitsOf(organization, event);
  return {
    ...orphanRuleOf(organization, event),
    ...(heldPerSession === undefined ? {} : { heldPerSession }),
    ...(heldPerEvent === undefined ? {} : { heldPerEvent }),
  };
}

/** The mode for a request now: with `orphanUntilSold` it ends when so much is sold. */
export function orphanModeNow(
  organization: OrganizationRow,
  event: EventRow,
  { seatsIn }: Partition,
): OrphanMode {
  const { orphanMode, orphanUntilSold } = orphanRuleOf(organization, event);
  if (orphanMode === "off" || orphanUntilSold === undefined) return orphanMode;
  const sold = seatsIn[SeatState.SOLD]!;
  const seats = seatsIn[SeatState.ACTIVE]! + seatsIn[SeatState.LOCKED]! + sold;
  return sold * 100 < orphanUntilSold * seats ? orphanMode : "off";
}
