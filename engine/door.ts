/**
 * The door of an event: its settings, its visitors, and the admission that a lock asks for. Time
 * comes with the commands, and what is random or derived from a secret comes from `DoorKeys`, so a
 * replay needs neither.
 */
import { assert } from "./assert.ts";
import { ADMISSION, type AdmissionBody, type CommandWith } from "./bodies.ts";
import type { Beacon, DoorRow, EventRow } from "./catalog.ts";
import { grantChange } from "./catalog/owned.ts";
import { command, NOT_OWN } from "./command.ts";
import { BEACON_WAIT_SECONDS, NONE, PLACES_WAITING_MAX, VISITORS_MAX } from "./constants.ts";
import { type Door, ENTRY_BYTES, VisitorState } from "./inventory/door.ts";
import { SeatState } from "./inventory/states.ts";
import { ownRow } from "./queries/access.ts";
import {
  type Actor,
  ActorKind,
  DoorAct,
  type DoorRecord,
  type DoorStep,
  RecordType,
} from "./records.ts";
import {
  type FieldError,
  grant,
  isRefused,
  type Refusal,
  refuse,
  refuseInvalid,
  Result,
} from "./results.ts";
import { ANYTHING, integer, orNull, type Shape, TEXT, UUID_KEY } from "./schema.ts";
import { type State, VISITOR_BYTES } from "./state.ts";

const { ENTITY_NOT_FOUND, INVALID_STATUS_TRANSITION, NO_ROOM, VALIDATION_FAILED } = Result;
const { WAITING, INVITED, INSIDE, GONE } = VisitorState;

// The state of a door.

export type DoorState = "before" | "open" | "paused" | "soldout";

/** The first that applies. Cost: O(areas). */
export function doorStateOf(state: State, event: EventRow): DoorState {
  const door = state.doors.get(event.partition);
  assert(door !== undefined, "a door is asked for its state");
  if (!door.isOpen) return "before";
  const { ACTIVE, LOCKED } = SeatState;
  if (!hasIn(state, event, ACTIVE) && !hasIn(state, event, LOCKED)) return "soldout";
  return isPaused(state, event, door) ? "paused" : "open";
}

function isPaused({ catalog }: State, event: EventRow, { row }: Door): boolean {
  const organization = catalog.organizations.get(event.organizationId);
  return row.paused || event.status !== "PUBLISHED" || organization?.bookingEnabled !== true;
}

function hasIn(
  state: State,
  event: EventRow,
  wanted: typeof SeatState.ACTIVE | typeof SeatState.LOCKED,
) {
  const { seatsIn, areas } = state.partitionOf(event);
  if (seatsIn[wanted]! > 0) return true;
  for (let area = 0; area < areas.count; area++) if (areas.places(area, wanted) > 0) return true;
  return false;
}

/** True from the moment on in which a door may open: its time and its beacon have come. */
export function mayOpen({ opensAtMs, beacon }: DoorRow, timeMs: number): boolean {
  const isWaited = beacon?.value === null;
  return timeMs >= opensAtMs + (isWaited ? BEACON_WAIT_SECONDS * 1_000 : 0);
}

/** The visitor as shown. */
export interface VisitorFacts {
  readonly entry: Uint8Array;
  readonly state: "waiting" | "invited" | "inside" | "gone";
  readonly place: number | null;
  readonly ahead: number | null;
  readonly estimatedSeconds: number | null;
  /** Milliseconds since 1970: the end of the invitation or of the admission. */
  readonly untilMs: number | null;
  /** INSIDE: how long the admission lasts, in seconds. */
  readonly seconds: number;
  readonly taken: number;
}

const STATE_NAMES = ["waiting", "invited", "inside", "gone"] as const;

/** Cost: O(holds of the visitor). */
export function visitorFacts(
  state: State,
  event: EventRow,
  visitor: number,
  timeMs: number,
): VisitorFacts {
  const door = state.doors.get(event.partition)!;
  const at = door.stateOf(visitor, timeMs);
  const place = door.placeOf(visitor);
  const isQueued = at === WAITING && doorStateOf(state, event) === "open";
  const ahead = isQueued ? place - door.serving - 1 : null;
  return {
    entry: door.entryOf(visitor),
    state: STATE_NAMES[at],
    place: place === 0 ? null : place,
    ahead,
    estimatedSeconds: ahead === null ? null : Math.ceil(((ahead + 1) * 60) / door.row.perMinute),
    untilMs: at === INVITED || at === INSIDE ? door.untilOf(visitor) : null,
    seconds: door.secondsOf(visitor),
    taken: state.takenOf(event, visitor),
  };
}

// Steps by time, without a request.

const SYSTEM: Actor = { kind: ActorKind.SYSTEM, id: 0 };
/** Visitors of one record. */
const ENDED_MAX = 10_000;

function record(
  actor: Actor,
  { partition }: Pick<EventRow, "partition">,
  step: DoorStep,
): DoorRecord {
  return { type: RecordType.DOOR, actor, partition, step };
}

/**
 * The next record of a door now: ends of invitations and admissions, then the invitations of this
 * second. Cost: O(ends + areas + places passed over).
 *
 * @returns Null when there is none.
 */
export function nextDoorRecord(state: State, number: number, timeMs: number): DoorRecord | null {
  const door = state.doors.get(number)!;
  const event = state.catalog.eventOf(number)!;
  const due = door.due(timeMs, ENDED_MAX);
  if (due.length > 0) {
    return record(SYSTEM, event, { act: DoorAct.END, visitors: Uint32Array.from(due) });
  }
  const max = door.allowance(timeMs);
  if (max === 0 || door.placesWaiting === 0) return null;
  if (isPaused(state, event, door) || !hasIn(state, event, SeatState.ACTIVE)) return null;
  const untilMs = timeMs + door.row.claimSeconds * 1_000;
  return record(SYSTEM, event, { act: DoorAct.INVITE, through: door.through(max), untilMs });
}

// The commands.

interface OfEvent {
  readonly eventId: string;
}

/** @returns The caller's visitor; ENTITY_NOT_FOUND without one. */
function ownVisitor(state: State, given: CommandWith<OfEvent & { readonly entry: Uint8Array }>) {
  const own = ownDoor(state, given);
  if (isRefused(own)) return own;
  const visitor = own.door.find(given.entry);
  return visitor === NONE ? NO_VISITOR : { ...own, visitor };
}

/** @returns The caller's event with its door; ENTITY_NOT_FOUND without a door. */
function ownDoor(state: State, { caller, eventId }: CommandWith<OfEvent>) {
  const event = ownRow(state.catalog.events.get(eventId), caller, "event");
  if (isRefused(event)) return event;
  const door = state.doors.get(event.partition);
  return door === undefined ? NO_DOOR : { event, door };
}

const NO_DOOR = refuse(
  ENTITY_NOT_FOUND,
  "The event has no door: set one up with PUT events/{id}/admission.",
);

const FULL = refuse(
  NO_ROOM,
  "The server has no memory for more visitors: delete doors that are no longer needed.",
);
const NO_VISITOR = refuse(ENTITY_NOT_FOUND, "There is no such visitor at this door.");

/** The public name of a visitor: sixteen bytes. */
const ENTRY = ANYTHING as Shape<Uint8Array>;

export const DOOR_COMMANDS = {
  /** Sets up a door, or replaces its settings. The answer tells whether it is new. */
  putAdmission: command({
    isInternal: true,
    members: { eventId: UUID_KEY, body: ADMISSION, opensAtMs: integer({ minimum: 0 }) },
    refusals: [VALIDATION_FAILED, ...NOT_OWN, INVALID_STATUS_TRANSITION],
    decide(state, { caller, eventId, body, opensAtMs }, timeMs) {
      const stored = state.catalog.events.get(eventId);
      const own = stored?.organizationId === caller.organizationId ? stored.door : undefined;
      const draw = body.draw ?? true;
      const errors: FieldError[] = [];
      if (draw && opensAtMs <= timeMs && opensAtMs !== own?.opensAtMs) {
        const message = "must be later than now: visitors of a draw join before it";
        errors.push({ field: "opensAt", code: "RANGE", message, rejectedValue: body.opensAt });
      }
      const beacon = beaconOf(body);
      errors.push(...beaconErrors(beacon, { draw, opensAtMs, timeMs }));
      if (body.shop !== undefined && body.shop !== null) {
        const message = "must be of an origin in the session configuration, which has none";
        errors.push({ field: "shop", code: "RANGE", message, rejectedValue: body.shop });
      }
      const event = ownRow(stored, caller, "event");
      const door = isRefused(event) ? undefined : state.doors.get(event.partition);
      const hasOpened = door !== undefined && (door.isOpen || timeMs >= door.row.opensAtMs);
      const keepsOpening =
        own?.opensAtMs === opensAtMs &&
        own.draw === draw &&
        keepsBeacon(own.beacon, beacon, door?.isOpen === true);
      if (errors.length > 0 && !(hasOpened && errors[0]!.field === "opensAt")) {
        return refuseInvalid(errors);
      }
      if (isRefused(event)) return event;
      if (hasOpened && !keepsOpening) {
        const detail =
          "The time of the door has come: opensAt, draw and the name of its beacon no longer change, nor does a value that was given.";
        return refuse(INVALID_STATUS_TRANSITION, detail);
      }
      const id = own?.id ?? state.catalog.nextId;
      const row: DoorRow = {
        id,
        opensAtMs,
        perMinute: body.perMinute,
        maxInside: body.maxInside ?? null,
        claimSeconds: body.claimSeconds ?? 120,
        insideSeconds: body.insideSeconds ?? 600,
        seatsPerVisitor: body.seatsPerVisitor ?? null,
        draw,
        ...(beacon === undefined ? {} : { beacon }),
        paused: body.paused ?? false,
        exemptHoldTypes: body.exemptHoldTypes ?? [],
        commitment: own?.commitment ?? state.doorKeys.commitmentOf(id),
      };
      const isNew = own === undefined;
      const puts = [{ table: "events", row: { ...event, door: row }, isUnshown: true }] as const;
      const granted = grantChange(state, caller, { newIds: isNew ? 1 : 0, puts }, isNew);
      if (draw || hasOpened || opensAtMs > timeMs) return granted;
      return { ...granted, more: [record(caller.actor, event, opening(state, id, NO_ORDER))] };
    },
  }),

  /** Ends the door, with its places and tokens. */
  deleteAdmission: command({
    isInternal: true,
    members: { eventId: UUID_KEY },
    refusals: NOT_OWN,
    decide(state, given) {
      const own = ownDoor(state, given);
      if (isRefused(own)) return own;
      const { door: _door, ...row } = own.event;
      const puts = [{ table: "events", row, isUnshown: true }] as const;
      return grantChange(state, given.caller, { puts }, null);
    },
  }),

  /**
   * Opens a door whose time has come.
   *
   * @returns INVALID_STATUS_TRANSITION too early, on an open door, and for an order without the
   * latest visitors or with another value of the beacon.
   * Cost: O(visitors).
   */
  openDoor: command({
    isInternal: true,
    members: {
      eventId: UUID_KEY,
      order: ANYTHING as Shape<Uint32Array>,
      /** The value of the beacon behind the order; null for none. */
      beacon: orNull(TEXT),
    },
    refusals: [...NOT_OWN, INVALID_STATUS_TRANSITION],
    decide(state, given, timeMs) {
      const own = ownDoor(state, given);
      if (isRefused(own)) return own;
      const { event, door } = own;
      const { row } = door;
      const { order } = given;
      const drawable = row.draw ? door.drawable : 0;
      const isCurrent = order.length === drawable && given.beacon === (row.beacon?.value ?? null);
      if (door.isOpen || !mayOpen(row, timeMs) || !isCurrent) {
        return refuse(INVALID_STATUS_TRANSITION, "The door does not open now.");
      }
      assert(isPermutation(order), "an order has everybody once");
      return grant(record(given.caller.actor, event, opening(state, row.id, order)), null);
    },
  }),

  /** A visitor joins, or one that is gone comes back. The answer tells whether it is new. */
  joinDoor: command({
    isInternal: true,
    members: { eventId: UUID_KEY, entry: ENTRY },
    refusals: [NO_ROOM, ...NOT_OWN],
    decide(state, given, timeMs) {
      const own = ownDoor(state, given);
      if (isRefused(own)) return own;
      const { event, door } = own;
      const { entry } = given;
      assert(entry.length === ENTRY_BYTES, "an entry has its length");
      const known = door.find(entry);
      const isNew = known === NONE;
      const visitor = isNew ? door.count : known;
      if (!isNew && door.stateOf(visitor, timeMs) !== GONE) {
        return grant(null, { visitor, isNew });
      }
      if ((isNew && visitor >= VISITORS_MAX) || door.placesWaiting >= PLACES_WAITING_MAX) {
        const detail = `A door takes ${VISITORS_MAX} visitors: try again when some have left.`;
        return refuse(NO_ROOM, detail);
      }
      if (isNew && state.used.events + VISITOR_BYTES > state.quota.events) return FULL;
      const step = { act: DoorAct.JOIN, visitor, entry };
      return grant(record(given.caller.actor, event, step), { visitor, isNew });
    },
  }),

  /** Lets an invited visitor in; a visitor inside stays so. */
  enterDoor: command({
    isInternal: true,
    members: { eventId: UUID_KEY, entry: ENTRY },
    refusals: [...NOT_OWN, INVALID_STATUS_TRANSITION],
    decide(state, given, timeMs) {
      const own = ownVisitor(state, given);
      if (isRefused(own)) return own;
      const { event, door, visitor } = own;
      const at = door.stateOf(visitor, timeMs);
      if (at === INSIDE) return grant(null, visitor);
      if (at !== INVITED) {
        const detail =
          at === WAITING
            ? "The visitor waits: enter when its place has been invited."
            : "The visitor is gone: who has a customer may join again, at the end.";
        return refuse(INVALID_STATUS_TRANSITION, detail);
      }
      const seconds = door.row.insideSeconds;
      const untilMs = timeMs + seconds * 1_000;
      const step = { act: DoorAct.ENTER, visitor, seconds, untilMs };
      return grant(record(given.caller.actor, event, step), visitor);
    },
  }),

  /** A visitor leaves; one that is gone stays so. */
  leaveDoor: command({
    isInternal: true,
    members: { eventId: UUID_KEY, entry: ENTRY },
    refusals: NOT_OWN,
    decide(state, given, timeMs) {
      const own = ownVisitor(state, given);
      if (isRefused(own)) return own;
      const { event, door, visitor } = own;
      if (door.stateOf(visitor, timeMs) === GONE) return grant(null, null);
      const step = { act: DoorAct.END, visitors: Uint32Array.of(visitor) };
      return grant(record(given.caller.actor, event, step), null);
    },
  }),
};

const NO_ORDER = new Uint32Array(0);

function beaconOf({ beacon }: AdmissionBody): Beacon | undefined {
  if (beacon === undefined || beacon === null) return undefined;
  return { name: beacon.name, value: beacon.value ?? null };
}

/** A value that is known before `opensAt` would let its owner know the draw while visitors join. */
function beaconErrors(
  beacon: Beacon | undefined,
  at: { readonly draw: boolean; readonly opensAtMs: number; readonly timeMs: number },
): FieldError[] {
  if (beacon === undefined) return [];
  if (!at.draw) {
    const message = "decides a draw, and the door has none: leave it out, or draw";
    return [{ field: "beacon", code: "CONFLICT", message, rejectedValue: beacon.name }];
  }
  if (beacon.value === null || at.timeMs >= at.opensAtMs) return [];
  const message = "must come to exist at opensAt or later: give the name now, and the value then";
  return [{ field: "beacon.value", code: "RANGE", message, rejectedValue: beacon.value }];
}

/** From `opensAt` on the name stays, and until the opening a value may come. */
function keepsBeacon(own: Beacon | undefined, beacon: Beacon | undefined, isOpen: boolean) {
  if (own?.name !== beacon?.name) return false;
  if (own === undefined || own.value === beacon?.value) return true;
  return own.value === null && !isOpen;
}

function opening({ doorKeys }: State, doorId: number, order: Uint32Array): DoorStep {
  return { act: DoorAct.OPEN, seed: doorKeys.seedOf(doorId), order };
}

function isPermutation(order: Uint32Array): boolean {
  const seen = new Uint8Array(order.length);
  for (const visitor of order) {
    if (visitor >= order.length || seen[visitor] === 1) return false;
    seen[visitor] = 1;
  }
  return true;
}

// The admission that a lock asks for.

/** The members of a lock that a door looks at. */
interface Admittable {
  readonly admission?: string | null | undefined;
  readonly sessionId?: string | null | undefined;
  readonly holdType?: string | null | undefined;
}

const ADMISSION_REQUIRED = refuse(
  Result.ADMISSION_REQUIRED,
  "The event has a door: lock with the `admission` of a visitor who is inside.",
);

/**
 * @returns The visitor; NONE where no token is asked for; or ADMISSION_REQUIRED, ADMISSION_INVALID.
 * Cost: that of reading the token.
 */
export function admit(
  state: Pick<State, "doors" | "doorKeys">,
  event: EventRow,
  { admission, sessionId, holdType }: Admittable,
  timeMs: number,
): number | Refusal {
  const door = state.doors.size === 0 ? undefined : state.doors.get(event.partition);
  if (door === undefined || door.row.exemptHoldTypes.includes(holdType ?? "CART")) return NONE;
  if (admission === undefined || admission === null || admission === "") return ADMISSION_REQUIRED;
  const token = state.doorKeys.read(admission, door.id);
  if (token === null) return refuseAdmission("SIGNATURE");
  if (token.aud !== event.id) return refuseAdmission("EVENT");
  const visitor = token.isSigned ? door.find(token.entry) : NONE;
  if (visitor === NONE) return refuseAdmission("SIGNATURE");
  const isPresent = door.placeOf(visitor) === token.place;
  const untilMs = isPresent
    ? Math.max(door.untilOf(visitor), token.exp * 1_000)
    : token.exp * 1_000;
  if (timeMs >= untilMs) return refuseAdmission("EXPIRED");
  if (!isPresent || door.stateOf(visitor, timeMs) !== INSIDE) return refuseAdmission("LEFT");
  const bound = door.sessionOf(visitor);
  if (bound !== undefined && bound !== (sessionId ?? "")) return refuseAdmission("SESSION");
  return visitor;
}

const REASONS = {
  SIGNATURE: "is no admission to this door: enter to get one",
  EVENT: "is an admission to another event: enter at the door of this one",
  EXPIRED: "has ended: join and enter again",
  LEFT: "is of a visitor who is no longer inside: join and enter again",
  SESSION: "was used with another session: lock with the session of the first lock",
};

/** A token is never shown again. */
export function refuseAdmission(code: keyof typeof REASONS): Refusal {
  const error = { field: "admission", code, message: REASONS[code], rejectedValue: null };
  return refuse(Result.ADMISSION_INVALID, `The admission ${REASONS[code]}.`, [error]);
}

/** Seats and places that a visitor may still lock; Infinity without a limit. */
export function leftOf(
  state: Pick<State, "doors" | "takenOf">,
  event: EventRow,
  visitor: number,
): number {
  if (visitor === NONE) return Infinity;
  const { seatsPerVisitor } = state.doors.get(event.partition)!.row;
  if (seatsPerVisitor === null) return Infinity;
  return Math.max(0, seatsPerVisitor - state.takenOf(event, visitor));
}

export function visitorLimit(field: string, rejectedValue: number): FieldError {
  const message = "is more than a visitor of the door may take";
  return { field, code: "VISITOR_LIMIT", message, rejectedValue };
}
