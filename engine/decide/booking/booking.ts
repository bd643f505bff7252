/**
 * One decision for all booking commands. Each is all or nothing over every seat and area of the
 * request, and a refusal names every object that stands in the way.
 */
import { assert } from "../../assert.ts";
import type { EventRow, HoldTypeRow, OrganizationRow } from "../../catalog.ts";
import { NONE } from "../../constants.ts";
import type { Partition } from "../../inventory/partition.ts";
import { Move } from "../../inventory/states.ts";
import { callersOrganization, ownEvent, refuseEvent } from "../../queries/access.ts";
import { type MoveRecord, RecordType } from "../../records.ts";
import {
  type Decision,
  type FieldError,
  grant,
  refuse,
  type Refusal,
  refuseInvalid,
  Result,
} from "../../results.ts";
import type { StateSelection } from "../../shapes/bodies.ts";
import type { CommandWith } from "../../shapes/caller.ts";
import type { State } from "../../state.ts";
import { findInventory } from "./booking-inventory.ts";
import { findBeyondLimits } from "./held-limits.ts";
import { findHoldType, holdEndMs } from "./hold-types.ts";
import { findOrphans } from "./orphans.ts";
import type { BookingRules } from "./rules.ts";
import { checkSelection } from "./selection.ts";

type BookingCommand = CommandWith<{ eventId: string; body: StateSelection }>;

/**
 * The refusals come in the order of the result codes. A direct sale of inventory that is not ACTIVE
 * is no refusal: it answers false and changes nothing.
 * Cost: O(objects of the request), usually 2.
 */
export function decideBooking(
  state: State,
  { caller, eventId, body }: BookingCommand,
  timeMs: number,
  rules: BookingRules,
): Decision<boolean> {
  const organization = callersOrganization(state, caller);
  const isLock = rules.move === Move.LOCK;
  const holdType = isLock ? findHoldType(organization, body.holdType) : undefined;
  const errors = checkSelection(body);
  if (isLock && holdType === undefined) errors.push(unknownHoldType(body));
  if (errors.length > 0) return refuseInvalid(errors);

  const event = ownEvent(state, caller, eventId);
  if (event === null) return refuseEvent();
  const closed = checkOpen(event, organization, rules);
  if (closed !== null) return closed;

  const partition = state.partitionOf(event);
  const inventory = findInventory(partition, body, rules);
  if (inventory.errors.length > 0) return refuseInventory(rules, inventory.errors);
  if (isLock) {
    const beyond = findBeyondLimits(partition.holds, organization, body);
    if (beyond.length > 0) return refuseInventory(rules, beyond);
  }
  if (rules.preventsOrphans && organization.orphanPrevention) {
    const orphans = findOrphans(partition, inventory.requested);
    if (orphans.length > 0) return refuseOrphans(orphans);
  }
  const { seats, areas } = inventory;
  if (seats.length === 0 && areas.length === 0) {
    assert(rules.skipsActive, "a command changes nothing only when it accepts ACTIVE seats");
    return grant(null, true);
  }
  const hold = holdType === undefined ? NO_HOLD : newHold(partition, holdType, timeMs);
  return grant(
    {
      type: RecordType.MOVE,
      actor: caller.actor,
      partition: event.partition,
      move: rules.move,
      hold: hold.hold,
      expiresAtMs: hold.expiresAtMs,
      session: body.sessionId ?? "",
      holdType: rules.move === Move.DIRECT_SALE ? (body.holdType ?? "") : hold.holdType,
      seats,
      areas,
    },
    true,
  );
}

function unknownHoldType({ holdType }: StateSelection): FieldError {
  const message = "is no hold type of the organization";
  return { field: "holdType", code: "UNKNOWN", message, rejectedValue: holdType };
}

/** @returns Why the event does not take the command now; null when it does. */
function checkOpen(
  event: EventRow,
  organization: OrganizationRow,
  rules: BookingRules,
): Refusal | null {
  assert(event.organizationId === organization.id, "an organization books on its own events");
  if (!organization.bookingEnabled) {
    return refuse(Result.ORGANIZATION_DISABLED, "The organization is disabled for booking.");
  }
  if (rules.needsSalesControl && !organization.salesControl) {
    return refuse(Result.SALES_CONTROL_REQUIRED, "The organization's sales control mode is off.");
  }
  if (rules.needsPublished && event.status !== "PUBLISHED") {
    return refuse(Result.EVENT_NOT_PUBLISHED, `The event is ${event.status}, not PUBLISHED.`);
  }
  return null;
}

function refuseInventory(rules: BookingRules, errors: readonly FieldError[]): Decision<boolean> {
  const hasUnknown = errors.some((error) => error.code === "NOT_FOUND");
  if (rules.move === Move.DIRECT_SALE && !hasUnknown) return grant(null, false);
  return refuse(
    Result.INVENTORY_NOT_AVAILABLE,
    "Some of the inventory is not available; nothing was changed.",
    errors,
  );
}

function refuseOrphans(errors: readonly FieldError[]): Refusal {
  return refuse(Result.ORPHAN_SEAT, "The request would leave a single seat alone.", errors);
}

/** The members of a record that describe the hold of a lock. */
type HoldFacts = Pick<MoveRecord, "hold" | "holdType" | "expiresAtMs">;

const NO_HOLD: HoldFacts = { hold: NONE, holdType: "", expiresAtMs: 0 };

function newHold({ holds }: Partition, holdType: HoldTypeRow, timeMs: number): HoldFacts {
  assert(holds.nextSlot !== NONE, "a hold has a slot");
  const expiresAtMs = holdEndMs(holdType, timeMs);
  return { hold: holds.nextSlot, holdType: holdType.name, expiresAtMs };
}
