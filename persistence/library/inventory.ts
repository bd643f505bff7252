/** The seats and areas of an event, now and at an earlier moment, and their audit trail. */
import type { BestPlaces } from "../../engine/best.ts";
import type { PartialLock } from "../../engine/best-effort.ts";
import { type RefusedObject, withAlternatives } from "../../engine/queries/alternatives.ts";
import type { StateSelection } from "../../engine/bodies.ts";
import type { Caller, SeatChoice } from "../../engine/bodies.ts";
import type { Catalog } from "../../engine/catalog.ts";
import type {
  AnswerOf,
  CommandKind,
  CommandOf,
  COMMANDS,
  MembersOf,
} from "../../engine/commands.ts";
import type { Extended } from "../../engine/extend.ts";
import { SeatState } from "../../engine/inventory/states.ts";
import { ownRow } from "../../engine/queries/access.ts";
import {
  askerOf,
  type AuditAnswers,
  AuditGap,
  type AuditOutcome,
  type AuditQuestion,
  type Moment,
  type TrailExtent,
  type Transition,
  TRANSITION_SORTS,
  type TransitionQuery,
} from "../../engine/queries/history.ts";
import {
  type BookedArea,
  bookedFacts,
  type BookedSeat,
  cartFacts,
  type CartPlaces,
} from "../../engine/queries/holds.ts";
import {
  type AreaFacts,
  areaFacts,
  type ListedEvent,
  listedEvent,
  listSeats,
  SEAT_SORTS,
  type SeatFacts,
  seatFacts,
} from "../../engine/queries/seats.ts";
import { type ChannelSummary, summarizeChannels } from "../../engine/queries/summary.ts";
import {
  type FieldError,
  isRefused,
  missing,
  type Refusal as EngineRefusal,
  refuseInvalid,
} from "../../engine/results.ts";
import {
  BOOLEAN,
  integer,
  list,
  LONG,
  number,
  object,
  oneOf,
  type Shape,
  TEXT,
  UUID_KEY,
  whenSet,
} from "../../engine/schema.ts";
import type { State } from "../../engine/state.ts";
import {
  type CodeNames,
  type Refusal,
  type RefusalCode,
  type Result,
  resultOf,
  type Help,
  type Show,
  type Store,
  systemCaller,
} from "../store/open-engine.ts";
import { shapeErrors } from "../store/shape-check.ts";
import { type StateName, stateName } from "./history.ts";

/** Why a question to the audit trail is refused. */
export type NotInTrail = NotOwn | "OVERLOADED" | "LOG_UNAVAILABLE" | "HISTORY_GONE";

/** A seat of an event. */
export interface Seat extends Omit<SeatFacts, "state" | "seatId"> {
  readonly id: number;
  /** Null while the seat has no price. */
  readonly state: StateName | null;
}

/** A general-admission area of an event. */
export interface Area extends Omit<AreaFacts, "areaId"> {
  readonly id: number;
}

/** Some of the seats of an event. */
export interface Seats {
  /** The last record in them: `subscribe` continues there. */
  readonly sequence: number;
  readonly seats: readonly Seat[];
  /** The number of seats that match, on all pages. */
  readonly total: number;
}

/** The general-admission areas of an event. */
export interface Areas {
  /** The last record in them: `subscribe` continues there. */
  readonly sequence: number;
  /** In the order of the layout. */
  readonly areas: readonly Area[];
}

/** A member of `Seat` other than `channel`; the name of `changedAtMs` is "updatedAt", as over HTTP. */
export type SeatSort = Exclude<keyof Seat, "changedAtMs" | "channel"> | "updatedAt";

/** A seat of a hold. */
export interface HeldSeat extends Omit<BookedSeat, "state"> {
  readonly state: StateName | null;
}

/** An area with places of a hold. */
export interface HeldArea extends Area {
  /** The number of the lock, its end (milliseconds since 1970; null for none), and its places. */
  readonly hold: NonNullable<BookedArea["hold"]>;
}

/** Places locked by `lockBest`. */
export interface BestHold {
  /** The record of the lock. */
  readonly sequence: number;
  /** True for places of one block, or of one area. */
  readonly together: boolean;
  /** Block by block, along the row. */
  readonly seats: readonly HeldSeat[];
  readonly areas: readonly HeldArea[];
  /** Places of the areas, in the form of `sell` and `unlock`. */
  readonly groupOfSeats: readonly SeatChoice[];
}

/** Lockable part of a selection. */
export interface PartialHold extends Omit<BestHold, "together"> {
  /** In the order of the selection. */
  readonly seats: readonly HeldSeat[];
  /** One error for each object that was not locked, in the order of the selection. */
  readonly refused: readonly RefusedObject[];
}

/** All inventory of extended holds. */
export interface ExtendedHolds {
  /** By id. */
  readonly seats: readonly HeldSeat[];
  /** By id: areas with places of the holds. */
  readonly areas: readonly Area[];
  /** Milliseconds since 1970: the first end of the holds; null when none ends. */
  readonly untilMs: number | null;
}

/** A seat of a cart. */
export interface CartSeat extends Omit<BookedSeat, "state"> {
  readonly state: StateName | null;
}

/** An area of a cart. */
export interface CartArea extends Area {
  /** Of a lock: as in `HeldArea`; null where it has no places, and for other calls. */
  readonly hold: BookedArea["hold"];
}

/** A granted cart. */
export interface BookedCart {
  /** Its record; the last record of its events where it changed nothing. */
  readonly sequence: number;
  /** In the order of the cart, each as the whole cart leaves it. */
  readonly items: readonly {
    readonly eventId: string;
    readonly seats: readonly CartSeat[];
    readonly areas: readonly CartArea[];
  }[];
}

/** Filter, order and page of a listing of seats: by default all of them. */
export interface SeatFilter {
  readonly sectionId?: number | undefined;
  readonly rowId?: number | undefined;
  /** Milliseconds since 1970: only seats that changed then or later. */
  readonly changedSinceMs?: number | undefined;
  /** One criterion after the other; at last the id. */
  readonly sort?: readonly { readonly property: SeatSort; readonly descending: boolean }[];
  /** Matching seats to skip, and to list after those. */
  readonly offset?: number;
  readonly limit?: number;
}

/** The seats of an event at an earlier moment. */
export interface PastSeats {
  readonly seats: readonly Seat[];
  readonly total: number;
  /** True when ACTIVE seats could be booked then. */
  readonly isOnSale: boolean;
}

/** A transition of a seat, or of some places of an area. */
export interface AuditEntry extends Omit<Transition, "from" | "to"> {
  /** Null when the place had no price, or did not exist. */
  readonly from: StateName | null;
  readonly to: StateName | null;
}

/** Some of the transitions in the audit trail of an event. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  /** The number of transitions that match, on all pages. */
  readonly total: number;
  /** The records that the trail covers. */
  readonly extent: TrailExtent;
}

/** Filter, order and page of a listing of transitions: by default all, the oldest first. */
export type AuditFilter = Partial<TransitionQuery>;

const ALL = { offset: 0, limit: Number.MAX_SAFE_INTEGER };

export function seatsOf(
  acting: Acting,
  eventId: string,
  filter: SeatFilter,
): Promise<Result<Seats, NotOwn>> {
  return readEvent(acting, { eventId, seatFilter: filter }, (event) => {
    const { seats, total } = listSeats(event, queryOf(filter));
    return { seats: seats.map((seat) => seatOf(seatFacts(event, seat))), total };
  });
}

export function areasOf(acting: Acting, eventId: string): Promise<Result<Areas, NotOwn>> {
  return readEvent(acting, { eventId }, ({ partition, prices }) => {
    const { areas } = partition.layout;
    return { areas: areas.map((_, area) => areaOf(areaFacts(partition, prices, area))) };
  });
}

export async function channelsOf(
  { store, caller }: Acting,
  eventId: string,
): Promise<Result<readonly ChannelSummary[], NotOwn>> {
  return store.read((state) => {
    const refusal = refuseArguments({ eventId });
    if (refusal !== null) return refusal;
    const event = ownRow(state.catalog.events.get(eventId), caller, "event");
    if (isRefused(event)) return resultOf(event) as Refusal<NotOwn>;
    store.engine.expire(event);
    return { ok: true, value: summarizeChannels(state, event) };
  });
}

/** Reads the inventory of the caller's event, after its expired holds have ended. */
function readEvent<Shown extends object>(
  { store, caller }: Acting,
  given: Arguments & { readonly eventId: string },
  show: (event: ListedEvent) => Shown,
): Promise<Result<Shown & { readonly sequence: number }, NotOwn>> {
  return store.read((state) => {
    const refusal = refuseArguments(given);
    if (refusal !== null) return refusal;
    const { eventId } = given;
    const event = ownRow(state.catalog.events.get(eventId), caller, "event");
    if (isRefused(event)) return resultOf(event) as Refusal<NotOwn>;
    store.engine.expire(event);
    const shown = show(listedEvent(state, event));
    return { ok: true, value: { sequence: store.engine.sequence, ...shown } };
  });
}

export async function seatsAt(
  acting: Acting,
  eventId: string,
  moment: Moment,
  filter: SeatFilter,
): Promise<Result<PastSeats, NotInTrail>> {
  const refusal = refuseArguments({ eventId, moment, seatFilter: filter });
  if (refusal !== null) return refusal;
  const query = queryOf(filter);
  const result = await ask(acting, { about: "seats", eventId, moment, query });
  if (!result.ok) return result;
  const { seats, ...rest } = result.value.answer;
  return { ok: true, value: { seats: seats.map(seatOf), ...rest } };
}

export async function areasAt(
  acting: Acting,
  eventId: string,
  moment: Moment,
): Promise<Result<readonly Area[], NotInTrail>> {
  const refusal = refuseArguments({ eventId, moment });
  if (refusal !== null) return refusal;
  const result = await ask(acting, { about: "areas", eventId, moment });
  return result.ok ? { ok: true, value: result.value.answer.map(areaOf) } : result;
}

export async function auditOf(
  acting: Acting,
  eventId: string,
  filter: AuditFilter,
): Promise<Result<AuditPage, NotInTrail>> {
  const refusal = refuseArguments({ eventId, auditFilter: filter });
  if (refusal !== null) return refusal;
  const query = { sort: [], ...ALL, ...copyOf(filter) };
  const result = await ask(acting, { about: "transitions", eventId, query });
  if (!result.ok) return result;
  const { answer, extent } = result.value;
  const entries = answer.transitions.map((transition) => ({
    ...transition,
    from: stateName(transition.from ?? SeatState.UNPRICED),
    to: stateName(transition.to ?? SeatState.UNPRICED),
  }));
  return { ok: true, value: { entries, total: answer.total, extent } };
}

/** @param state - Right after the lock. */
export function bestHold(state: State, eventId: string, places: BestPlaces): BestHold {
  const event = state.catalog.events.get(eventId)!;
  const { sequence, seats, areas } = bookedFacts(state, event, true, places);
  const { together, groupOfSeats } = places;
  const ofAreas = areas.map((area) => ({ ...areaOf(area), hold: area.hold! }));
  return { sequence, together, seats: seats.map(heldSeat), areas: ofAreas, groupOfSeats };
}

export function partialHold(
  state: State,
  eventId: string,
  selection: StateSelection,
  places: PartialLock,
): PartialHold {
  const event = state.catalog.events.get(eventId)!;
  const { sequence, seats, areas } = bookedFacts(state, event, true, places);
  const ofAreas = areas.map((area) => ({ ...areaOf(area), hold: area.hold! }));
  const { groupOfSeats } = places;
  const refused = withAlternatives(state, event, selection, places.refused);
  return { sequence, seats: seats.map(heldSeat), areas: ofAreas, groupOfSeats, refused };
}

/** @param state - Right after the cart. */
export function bookedCart(state: State, places: CartPlaces): BookedCart {
  const { sequence, items } = cartFacts(state, places);
  return {
    sequence,
    items: items.map(({ eventId, seats, areas }) => ({
      eventId,
      seats: seats.map((seat) => ({ ...seat, state: stateName(seat.state) })),
      areas: areas.map(areaOf),
    })),
  };
}

function heldSeat(seat: BookedSeat): HeldSeat {
  return { ...seat, state: stateName(seat.state) };
}

export function extendedHolds({ seats, areas, untilMs }: Extended): ExtendedHolds {
  return {
    seats: seats.map(heldSeat),
    areas: areas.map(({ hold: _hold, ...facts }) => areaOf(facts)),
    untilMs,
  };
}

/** A row calls its own id `id`; only references are named after their object. */
function seatOf({ seatId: id, ...facts }: SeatFacts): Seat {
  return { id, ...facts, state: stateName(facts.state) };
}

function areaOf<Facts extends AreaFacts>({ areaId: id, ...facts }: Facts) {
  return { id, ...facts };
}

function queryOf(filter: SeatFilter) {
  const { sort = [], ...rest } = copyOf(filter);
  const query = sort.map(({ property, descending }) => {
    return { property: property === "id" ? ("seatId" as const) : property, descending };
  });
  return { ...ALL, ...rest, sort: query };
}

interface Told<K extends keyof AuditAnswers> {
  readonly answer: AuditAnswers[K];
  readonly extent: TrailExtent;
}

/** Asks the trail about an event of the caller's, which may have been deleted. */
async function ask<K extends Exclude<keyof AuditAnswers, "changed" | "reply">>(
  { store, caller }: Acting,
  question: AuditQuestion<K>,
): Promise<Result<Told<K>, NotInTrail>> {
  const { audit } = store;
  if (audit === null) throw new Error("this store was opened without the option `audit`");
  const { eventId } = question;
  const asker = askerOf(caller);
  const event = await store.read(({ catalog }) => catalog.events.get(eventId));
  const owner = event === undefined ? await audit.ask({ about: "owner", eventId }, asker) : null;
  if (owner !== null && owner.gap !== null) return refuseGap(owner);
  const own = ownRow(event ?? { organizationId: owner!.value }, caller, "event");
  if (isRefused(own)) return resultOf(own) as Refusal<NotOwn>;
  const outcome = await audit.ask(question, asker);
  if (outcome.gap !== null) return refuseGap(outcome);
  return { ok: true, value: { answer: outcome.value, extent: outcome.extent } };
}

const GAPS = {
  [AuditGap.NO_EVENT]: ["ENTITY_NOT_FOUND", "There was no such event then."],
  [AuditGap.TOO_EARLY]: ["VALIDATION_FAILED", "This is before the beginning of the audit trail."],
  [AuditGap.DAMAGED]: ["HISTORY_GONE", "This part of the audit trail is damaged."],
  [AuditGap.TOO_LATE]: ["VALIDATION_FAILED", "This is after the last record."],
  [AuditGap.TOO_MANY]: [
    "VALIDATION_FAILED",
    "Too many transitions match; filter them, or sort by sequence.",
  ],
  [AuditGap.TOO_LONG]: [
    "VALIDATION_FAILED",
    "More than 20 million transitions match; narrow the range of time or sequence.",
  ],
  [AuditGap.BUSY]: ["OVERLOADED", "Too many questions are waiting; try again."],
  [AuditGap.UNAVAILABLE]: ["LOG_UNAVAILABLE", "The audit trail cannot be read at present."],
} as const satisfies Readonly<Record<AuditGap, readonly [RefusalCode, string]>>;

type Gap = Exclude<AuditOutcome<never>, { readonly gap: null }>;

function refuseGap({ gap }: Gap): Refusal<NotInTrail> {
  const [code, detail] = GAPS[gap];
  return { ok: false, code, detail, errors: [] };
}

// Commands and queries for one caller. Arguments and results are copies.

/** Why a query about something with an id is refused. */
export type NotOwn = "VALIDATION_FAILED" | "ENTITY_NOT_FOUND" | "ACCESS_DENIED";

/** Refusals of every command: by its shape, its caller, or the state of the log. */
export type AnyCommand =
  | "VALIDATION_FAILED"
  | "ACCESS_DENIED"
  | "LOG_UNAVAILABLE"
  | "OVERLOADED"
  | "PAYLOAD_TOO_LARGE";

interface Owned {
  readonly organizationId: number;
}

export class Acting {
  readonly store: Store;
  readonly caller: Caller;

  constructor(store: Store, caller: Caller) {
    this.store = store;
    this.caller = caller;
  }

  /** Acts for the tenant as a whole. */
  get forTenant(): Acting {
    return new Acting(this.store, systemCaller(this.caller.tenantId));
  }

  /** @param show - As by `Store.execute`. @param help - Likewise. */
  async run<K extends CommandKind, Shown = AnswerOf<K>>(
    kind: K,
    members: MembersOf<K>,
    show?: Show<K, Shown>,
    help?: Help,
  ): Promise<Result<Shown, AnyCommand | CodeNames[(typeof COMMANDS)[K]["refusals"][number]]>> {
    // The state shares no object with the program, which could change it without a record. A value
    // that JSON cannot represent throws here: the log could not keep it either.
    const command: unknown = { kind, caller: this.caller, ...copyOf(members) };
    const outcome = await this.store.execute(command as CommandOf<K>, show, help);
    return copyOf(resultOf(outcome)) as Result<Shown, never>;
  }

  /** @param ask - Answers from the rows of the state. */
  async read<Value>(
    given: Arguments,
    question: (state: State, caller: Caller) => Value | EngineRefusal,
  ): Promise<Result<Value, NotOwn>> {
    return this.store.read((state) => {
      const refusal = refuseArguments(given);
      if (refusal !== null) return refusal;
      const found = question(state, this.caller);
      if (isRefusal(found)) return resultOf(found) as Refusal<NotOwn>;
      return { ok: true, value: copyOf(found) };
    });
  }

  /** @param what - The noun for such a row, for the detail of a refusal. */
  own<Row extends Owned>(
    what: string,
    given: Arguments,
    find: (catalog: Catalog) => Row | undefined,
  ): Promise<Result<Row, NotOwn>> {
    return this.read(given, ({ catalog }, caller) => ownRow(find(catalog), caller, what));
  }

  /** The rows of a table that the condition holds for. */
  async list<Row>(
    table: (catalog: Catalog) => ReadonlyMap<unknown, Row>,
    isListed: (row: Row) => boolean,
  ): Promise<Result<readonly Row[], never>> {
    const rows = await this.store.read(({ catalog }) =>
      copyOf([...table(catalog).values()].filter(isListed)),
    );
    return { ok: true, value: rows };
  }

  /** The rows of a table that belong to the organization. */
  listOwn<Row extends Owned>(table: (catalog: Catalog) => ReadonlyMap<unknown, Row>) {
    const { organizationId } = this.caller;
    return this.list(table, (row) => row.organizationId === organizationId);
  }

  /** The rows of a table that belong to a schema of the organization. */
  listOfSchema<Row extends { readonly schemaId: number }>(
    schemaId: number,
    table: (catalog: Catalog) => ReadonlyMap<unknown, Row>,
  ): Promise<Result<readonly Row[], NotOwn>> {
    return this.read({ schemaId }, ({ catalog }, caller) => {
      const schema = ownRow(catalog.schemas.get(schemaId), caller, "schema");
      if (isRefused(schema)) return schema;
      return [...table(catalog).values()].filter((row) => row.schemaId === schemaId);
    });
  }
}

/** Adds members to each item of a list. Anything but a list is refused by the command. */
export function each<Item, Extra>(items: readonly Item[], extra: Extra): readonly (Item & Extra)[] {
  return Array.isArray(items)
    ? items.map((item: Item) => ({ ...item, ...extra }))
    : (items as never);
}

function copyOf<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

function isRefusal(found: unknown): found is EngineRefusal {
  return typeof found === "object" && found !== null && isRefused(found);
}

// Checks what a caller of the library passes to queries. Commands have checks of their own.

const COUNT = integer({ minimum: 0 });
const RANGE = { offset: whenSet(COUNT), limit: whenSet(COUNT) };
const sortBy = (properties: readonly string[]) =>
  whenSet(list(object({ property: oneOf(properties), descending: BOOLEAN })));

/** By the name of the argument. */
const SHAPES = {
  organizationId: LONG,
  venueId: LONG,
  schemaId: LONG,
  zoneId: LONG,
  priceId: LONG,
  eventId: UUID_KEY,
  cloneId: UUID_KEY,
  folder: TEXT,
  moment: object({ sequence: whenSet(COUNT), timeMs: whenSet(number()) }),
  seatFilter: object({
    sectionId: whenSet(LONG),
    rowId: whenSet(LONG),
    changedSinceMs: whenSet(number()),
    sort: sortBy(SEAT_SORTS.map((property) => (property === "seatId" ? "id" : property))),
    ...RANGE,
  }),
  auditFilter: object({
    seatId: whenSet(LONG),
    areaId: whenSet(LONG),
    session: whenSet(TEXT),
    fromMs: whenSet(number()),
    toMs: whenSet(number()),
    fromSequence: whenSet(COUNT),
    toSequence: whenSet(COUNT),
    sort: sortBy(TRANSITION_SORTS),
    ...RANGE,
  }),
} satisfies Record<string, Shape>;

/** Passed values, by the name of the argument. */
type Arguments = { readonly [Name in keyof typeof SHAPES]?: unknown };

/** @returns VALIDATION_FAILED for arguments of the wrong form; else null. */
export function refuseArguments(given: Arguments): Refusal<"VALIDATION_FAILED"> | null {
  const errors = Object.entries(given).flatMap(([name, value]) =>
    shapeErrors(SHAPES[name as keyof Arguments], value ?? null).map((error) => within(name, error)),
  );
  if ("moment" in given && errors.length === 0 && !isMoment(given.moment)) {
    errors.push(missing("moment", "must have a sequence or a timeMs"));
  }
  if (errors.length === 0) return null;
  return resultOf(refuseInvalid(errors)) as Refusal<"VALIDATION_FAILED">;
}

function isMoment(moment: unknown): boolean {
  const { sequence, timeMs } = moment as { sequence?: unknown; timeMs?: unknown };
  return sequence !== undefined || timeMs !== undefined;
}

function within(argument: string, error: FieldError): FieldError {
  return { ...error, field: error.field === "" ? argument : `${argument}.${error.field}` };
}
