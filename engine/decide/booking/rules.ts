/** How the booking commands differ from each other. `commands.ts` has the rules of each. */
import type { Move } from "../../inventory/states.ts";

export interface BookingRules {
  readonly move: Move;
  /** Refused with SALES_CONTROL_REQUIRED when the organization's sales control mode is off. */
  readonly needsSalesControl: boolean;
  /** Refused with EVENT_NOT_PUBLISHED unless the event is published. */
  readonly needsPublished: boolean;
  /** Subject to orphan seat prevention when the organization has it on. */
  readonly preventsOrphans: boolean;
  /** Acts only on the holds of the session that it names, if it names one. */
  readonly respectsSession: boolean;
  /** Accepts seats that are ACTIVE already, and leaves them as they are. */
  readonly skipsActive: boolean;
}

/** The rules of a command that has no special ones. */
export const PLAIN_BOOKING: Omit<BookingRules, "move"> = {
  needsSalesControl: false,
  needsPublished: false,
  preventsOrphans: false,
  respectsSession: false,
  skipsActive: false,
};
