/**
 * One decision for all booking commands. Each is all or nothing over every seat and area of the
 * request, and a refusal names every object that stands in the way.
 */
import type { EventRow, HoldTypeRow, OrganizationRow } from "../../catalog.ts";
import type { BookingKind, CommandOf } from "../../commands.ts";
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
} from "../../results.ts";
import { Result } from "../../results.ts";
import type { State } from "../../state.ts";
import { findInventory, type Inventory } from "./booking-inventory.ts";
import { type Booking, BOOKINGS } from "./bookings.ts";
import { findHoldType, holdEndMs } from "./hold-types.ts";
import { findOrphans } from "./orphans.ts";
import { checkSelection } from "./selection.ts";

type BookingCommand = CommandOf<BookingKind>;

/**
 * @returns VALIDATION_FAILED, EVENT_ACCESS_DENIED, ORGANIZATION_DISABLED, SALES_CONTROL_REQUIRED,
 * EVENT_NOT_PUBLISHED, INVENTORY_NOT_AVAILABLE or ORPHAN_SEAT, the first that applies; else true.
 * A direct sale of what is not ACTIVE is no refusal: it answers false and changes nothing.
 * Cost: O(objects of the request), usually 2.
 */
export function decideBooking(
  state: State,
  command: BookingCommand,
  timeMs: number,
): Decision<boolean> {
  const booking = BOOKINGS[command.kind];
  const organization = callersOrganization(state, command.caller);
  const isLock = booking.move === Move.LOCK;
  const holdType = isLock ? findHoldType(organization, command.body.holdType) : undefined;
  const faults = checkSelection(command.body);
  if (isLock && holdType === undefined) faults.push(unknownHoldType(command));
  if (faults.length > 0) return refuseInvalid(faults);

  const event = ownEvent(state, command.caller, command.eventId);
  if (event === null) return refuseEvent();
  const closed = checkOpen(event, organization, booking);
  if (closed !== null) return closed;

  const partition = state.partitionOf(event);
  const inventory = findInventory(partition, command.body, booking);
  if (inventory.faults.length > 0) return refuseInventory(booking, inventory.faults);
  if (booking.orphans && organization.orphanPrevention) {
    const orphans = findOrphans(partition, inventory.requested);
    if (orphans.length > 0) return refuseOrphans(orphans);
  }
  if (inventory.seats.length === 0 && inventory.areas.length === 0) return grant(null, true);
  const hold = holdType === undefined ? NO_HOLD : newHold(partition, holdType, timeMs);
  return grant(moveRecord(command, event, inventory, hold), true);
}

function unknownHoldType({ body }: BookingCommand): FieldError {
  const message = "is no hold type of the organization";
  return { field: "holdType", code: "UNKNOWN", message, rejectedValue: body.holdType };
}

/** @returns Why the event takes no such command now; null when it does. */
function checkOpen(
  event: EventRow,
  organization: OrganizationRow,
  booking: Booking,
): Refusal | null {
  if (!organization.bookingEnabled) {
    return refuse(Result.ORGANIZATION_DISABLED, "The organization is disabled for booking.");
  }
  if (booking.salesControl && !organization.salesControl) {
    return refuse(Result.SALES_CONTROL_REQUIRED, "The organization's sales control mode is off.");
  }
  if (booking.published && event.status !== "PUBLISHED") {
    return refuse(Result.EVENT_NOT_PUBLISHED, `The event is ${event.status}, not PUBLISHED.`);
  }
  return null;
}

function refuseInventory(booking: Booking, faults: readonly FieldError[]): Decision<boolean> {
  const unknown = faults.some((fault) => fault.code === "NOT_FOUND");
  if (booking.move === Move.DIRECT_SALE && !unknown) return grant(null, false);
  return refuse(
    Result.INVENTORY_NOT_AVAILABLE,
    "Some of the inventory is not available; nothing was changed.",
    faults,
  );
}

function refuseOrphans(faults: readonly FieldError[]): Refusal {
  return refuse(Result.ORPHAN_SEAT, "The request would leave a single seat alone.", faults);
}

/** What the record of a lock says of its hold. */
type HoldFacts = Pick<MoveRecord, "hold" | "holdType" | "expiresAtMs">;

const NO_HOLD: HoldFacts = { hold: NONE, holdType: "", expiresAtMs: 0 };

function newHold({ holds }: Partition, holdType: HoldTypeRow, timeMs: number): HoldFacts {
  const expiresAtMs = holdEndMs(holdType, timeMs);
  return { hold: holds.nextSlot, holdType: holdType.name, expiresAtMs };
}

function moveRecord(
  { kind, caller, body }: BookingCommand,
  event: EventRow,
  { seats, areas }: Inventory,
  { hold, holdType, expiresAtMs }: HoldFacts,
): MoveRecord {
  return {
    type: RecordType.MOVE,
    actor: caller.actor,
    partition: event.partition,
    move: BOOKINGS[kind].move,
    hold,
    expiresAtMs,
    session: body.sessionId ?? "",
    holdType: kind === "directsale" ? (body.holdType ?? "") : holdType,
    seats,
    areas,
  };
}
