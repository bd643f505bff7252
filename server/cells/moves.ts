/**
 * The moves of organizations, in the cell that one leaves and in the cell where it arrives. Parts
 * are sealed with the master secret, which all cells share. A step that must not come before
 * another needs its receipt, which only holders of the secret can make:
 *
 * - The organization leaves for good when the other cell has all of it.
 * - It is open in the other cell when it has left.
 *
 * The number of that cell is in the parts and in the receipts, so it opens in no third one.
 */
import { createHash } from "node:crypto";
import { setImmediate as turn } from "node:timers/promises";
import type {
  AccountRow,
  CatalogPut,
  ChannelSeats,
  EventRow,
  LayoutRow,
  OrganizationRow,
  TableName,
  WebhookRow,
} from "../../engine/catalog.ts";
import { cellOf, type OrganizationMove, placeInCell } from "../../engine/cells.ts";
import type { CommandOf } from "../../engine/commands.ts";
import { NONE, PRICES_PER_EVENT_MAX } from "../../engine/constants.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { Move, SeatState } from "../../engine/inventory/states.ts";
import { PackedLayout } from "../../engine/layout/packed.ts";
import { ActorKind, type ArrivalRecord, RecordType } from "../../engine/records.ts";
import { isRefused, type Refusal, refuse, Result } from "../../engine/results.ts";
import type { State } from "../../engine/state.ts";
import { ownerOf, type ReplyRow } from "../../engine/stored-replies.ts";
import { isSame, type Keys } from "../auth/keys.ts";
import { answer, type Answer, type Problem } from "../http/answers.ts";

export const MOVE_STEPS = ["begin", "leave", "open", "cancel", "clear"] as const;

/** A step of a move of an organization to another cell. */
export interface MoveStep {
  readonly step: (typeof MOVE_STEPS)[number];
  /** With `begin`: the number of the other cell. */
  readonly toCell?: number | null | undefined;
  /** With `begin`: its base URL. */
  readonly address?: string | null | undefined;
  /** With `leave` and `open`: that of the other cell. */
  readonly receipt?: string | null | undefined;
}

/** Progress of an organization's move, as seen by one cell. */
export interface MoveView {
  readonly organizationId: number;
  /** The number of this cell. */
  readonly cell: number;
  readonly phase: "ABSENT" | "HERE" | "LEAVING" | "LEFT" | "ARRIVING";
  readonly moveId: number | null;
  /** Target cell, and its address. */
  readonly toCell: number | null;
  readonly address: string | null;
  /** Number of the organization's parts. */
  readonly parts: number | null;
  /** Signed receipt for the other cell: departed, or fully imported. */
  readonly receipt: string | null;
}

/** A part of an organization that arrives. */
export interface SentPart {
  readonly content: string;
  readonly tenantId?: number | null | undefined;
  /** Only says whether the organization could arrive. */
  readonly isTrial?: boolean | null | undefined;
}

// Stores the parts of an organization that arrives. Ids stay as they are; what is numbered in each
// cell anew are partitions, holds and records.

type Arrival = CommandOf<"arrive">["arrival"];

const ACTOR = { kind: ActorKind.SYSTEM, id: 0 } as const;
const CALLER = { actor: ACTOR, tenantId: 0, organizationId: 0 };
/** Records of one turn of the event loop: they take a few milliseconds. */
const RECORDS_PER_TURN = 500;

/** Where parts arrive. */
interface Place {
  readonly engine: Engine;
  readonly unpacked: (bytes: Uint8Array) => PackedLayout;
}

interface Beginning {
  readonly move: OrganizationMove;
  readonly tenantId: number;
  readonly isTrial: boolean | null | undefined;
}

/** @returns Why the organization cannot arrive; null when its row is stored, or could be. */
function beginArrival(
  { engine }: Place,
  { row, accounts }: OrganizationPart,
  { move, tenantId, isTrial }: Beginning,
): Refusal | null {
  const own: OrganizationRow = { ...row, tenantId, move };
  const command = { kind: "beginArrival", caller: CALLER, row: own, accounts } as const;
  const outcome = isTrial === true ? engine.check(command) : engine.submit(command);
  return isRefused(outcome) ? outcome : null;
}

/** @returns Why the part was not stored; null when it was. */
function storePart(place: Place, organizationId: number, part: Part): Promise<Refusal | null> {
  const arriving = new Arriving(place, organizationId);
  switch (part.kind) {
    case "organization":
      return Promise.resolve(refuse(Result.INVALID_STATUS_TRANSITION, "It has begun to arrive."));
    case "rows":
      return arriving.rows(part);
    case "layout":
      return arriving.layout(part);
    case "prices":
      return arriving.prices(part);
    case "channels":
      return arriving.channels(part);
    case "holds":
      return arriving.holds(part);
    case "taken":
      return arriving.taken(part);
  }
  return part satisfies never;
}

class Arriving {
  readonly #place: Place;
  readonly #organizationId: number;
  #records = 0;

  constructor(place: Place, organizationId: number) {
    this.#place = place;
    this.#organizationId = organizationId;
  }

  rows({ table, rows }: RowsPart): Promise<Refusal | null> {
    const { catalog, sequence } = this.#place.engine.state;
    // The rows come from a cell that had checked them, and were sealed on the way.
    const puts = rows.map((row) => ({ table, row }) as unknown as CatalogPut);
    if (table === "events") {
      const numbered = (rows as EventRow[]).map((row, i): CatalogPut => {
        return { table, row: { ...row, partition: placeInCell(catalog.nextId + i) } };
      });
      return this.#store({ newIds: rows.length, puts: numbered });
    }
    if (table === "webhooks") {
      const begun = (rows as WebhookRow[]).map((row): CatalogPut => {
        const { earlier: _, ...kept } = row;
        return { table, row: { ...kept, activeSince: sequence } };
      });
      return this.#store({ newIds: 0, puts: begun });
    }
    if (table !== "replies") return this.#store({ newIds: 0, puts });
    // A longer body stays in the trail of the other cell.
    const short = (rows as ReplyRow[]).map((reply): CatalogPut => {
      const { bodyLength: _, ...row } = reply;
      return { table, row };
    });
    return this.#store({ newIds: 0, puts: short });
  }

  layout({ row, isPacked }: LayoutPart): Promise<Refusal | null> {
    const document = isPacked
      ? this.#place.unpacked(Buffer.from(String(row.document), "base64"))
      : row.document;
    const put = { table: "layouts", row: { ...row, document } } as unknown as CatalogPut;
    return this.#store({ newIds: 0, puts: [put] });
  }

  async prices({ eventId, runs, areas, lostSlot }: PricesPart): Promise<Refusal | null> {
    const { catalog } = this.#place.engine.state;
    if (lostSlot !== 0) {
      const price = { id: catalog.nextId, eventId, slot: lostSlot, name: "removed" };
      const row = { ...price, renamedAtMs: 0, externalId: null };
      const refusal = await this.#store({ newIds: 1, puts: [{ table: "prices", row }] });
      if (refusal !== null) return refusal;
    }
    if (runs.length + areas.length === 0) return null;
    return this.#store({
      type: RecordType.PRICE,
      actor: ACTOR,
      partition: this.#eventOf(eventId).partition,
      runs: Uint32Array.from(runs),
      areas: Uint32Array.from(areas),
    });
  }

  async channels({ eventId, channels }: ChannelsPart): Promise<Refusal | null> {
    for (const channel of channels) {
      const put = { table: "events", row: this.#eventOf(eventId), channel } as const;
      // oxlint-disable-next-line no-await-in-loop -- the records of an event come in order
      const refusal = await this.#store({ newIds: 0, puts: [put] });
      if (refusal !== null) return refusal;
    }
    return null;
  }

  async holds({ eventId, holds }: HoldsPart): Promise<Refusal | null> {
    const event = this.#eventOf(eventId);
    for (const hold of holds) {
      // oxlint-disable-next-line no-await-in-loop -- a hold takes the slot after the one before it
      const refusal = await this.#store(() => this.#lockOf(event, hold));
      if (refusal !== null) return refusal;
    }
    return null;
  }

  async taken({
    eventId,
    sold,
    blocked,
    lostSlot,
    fenceBound,
    digest,
  }: TakenPart): Promise<Refusal | null> {
    const event = this.#eventOf(eventId);
    const { state } = this.#place.engine;
    // Even without a sold seat: fences that late calls may still name are not given again.
    const sale = arrivalOf(event, { move: Move.DIRECT_SALE, ...sold, fenceBound });
    const block = arrivalOf(event, { move: Move.BLOCK, ...blocked, fenceBound });
    const refusal =
      (await this.#store(sale)) ??
      (await this.#store(block)) ??
      (await this.#removeLost(eventId, lostSlot));
    if (refusal !== null) return refusal;
    if (digestOf(state.partitionOf(event)) === digest) return null;
    const detail = `The inventory of event ${eventId} is not the same as in the other cell.`;
    return refuse(Result.INVALID_STATUS_TRANSITION, detail);
  }

  /** The seats that had it are left as they are without a price that they once had. */
  #removeLost(eventId: string, slot: number): Promise<Refusal | null> {
    const price = this.#place.engine.state.catalog.pricesOf(eventId).get(slot);
    if (slot === 0 || price === undefined) return Promise.resolve(null);
    return this.#store({ priceId: price.id });
  }

  #lockOf(event: EventRow, { fence, ...hold }: SentHold): ArrivalRecord {
    const { engine } = this.#place;
    const slot = engine.state.partitionOf(event).holds.nextSlot;
    // The clock of the other cell may be ahead, and holds start in the order of their fences.
    const startedAtMs = Math.min(hold.startedAtMs, engine.nowMs());
    const facts = { ...hold, startedAtMs, slot, fenceBound: fence + 1 };
    return arrivalOf(event, { ...facts, move: Move.LOCK, fences: [fence] });
  }

  #eventOf(eventId: string): EventRow {
    return this.#place.engine.state.catalog.events.get(eventId)!;
  }

  /** Waits while the log has too much to write. */
  async #store(arrival: Arrival | (() => Arrival)): Promise<Refusal | null> {
    const { engine } = this.#place;
    const ownerId = this.#organizationId;
    this.#records += 1;
    if (this.#records % RECORDS_PER_TURN === 0) await turn();
    for (;;) {
      const made = typeof arrival === "function" ? arrival() : arrival;
      const command = { kind: "arrive", caller: CALLER, ownerId, arrival: made } as const;
      const outcome = engine.submit(command);
      if (!isRefused(outcome)) return null;
      if (outcome.refused !== Result.OVERLOADED) return outcome;
      // oxlint-disable-next-line no-await-in-loop -- the log has no room before
      await new Promise<void>((resolve) => {
        engine.afterDurable(resolve);
      });
    }
  }
}

interface Arrived extends Taken, Partial<Omit<SentHold, "fence" | "seats" | "areas">> {
  readonly move: Move;
  readonly slot?: number;
  readonly fenceBound?: number;
}

function arrivalOf(
  { partition }: EventRow,
  { move, seats, areas, fences, slot: hold = NONE, fenceBound = 0, ...facts }: Arrived,
): ArrivalRecord {
  const triples: number[] = [];
  for (let i = 0; i < areas.length; i += 2) triples.push(areas[i]!, hold, areas[i + 1]!);
  const { session = "", holdType = "", startedAtMs = 0, expiresAtMs = 0 } = facts;
  return {
    type: RecordType.ARRIVAL,
    actor: ACTOR,
    partition,
    move,
    hold,
    startedAtMs,
    expiresAtMs,
    session,
    holdType,
    seats: Uint32Array.from(seats),
    areas: Uint32Array.from(triples),
    fences: Float64Array.from(fences),
    fenceBound,
  };
}

// The inventory of an event as parts of a move: assigned prices, holds, and what is sold or
// blocked. Seats and areas are named by their indexes, which are the same wherever the same layout
// is.

const { WITHDRAWN, SOLD, BLOCKED } = SeatState;
/** Holds of one part. */
const HOLDS_PER_PART = 2_000;

/** The members of `PriceRecord`. */
interface PricesPart {
  readonly kind: "prices";
  readonly eventId: string;
  readonly runs: readonly number[];
  readonly areas: readonly number[];
  /**
   * A slot without a price, for seats that had one and lost it: they get a price of that slot,
   * which is removed at the end. 0 when there are none.
   */
  readonly lostSlot: number;
}

interface ChannelsPart {
  readonly kind: "channels";
  readonly eventId: string;
  readonly channels: readonly ChannelSeats[];
}

interface SentHold {
  readonly fence: number;
  readonly session: string;
  readonly holdType: string;
  /** Milliseconds since 1970. */
  readonly startedAtMs: number;
  /** Milliseconds since 1970; 0 for never. */
  readonly expiresAtMs: number;
  readonly seats: readonly number[];
  /** Pairs: area, places. */
  readonly areas: readonly number[];
}

interface HoldsPart {
  readonly kind: "holds";
  readonly eventId: string;
  readonly holds: readonly SentHold[];
}

/** Seats, and pairs of area and places, in one state. */
interface Taken {
  readonly seats: readonly number[];
  readonly areas: readonly number[];
  /** By seat; 0 for none. */
  readonly fences: readonly number[];
}

/** The last part of an event. */
interface TakenPart {
  readonly kind: "taken";
  readonly eventId: string;
  readonly sold: Taken;
  readonly blocked: Taken;
  readonly lostSlot: number;
  /** More than every fence of the event so far. */
  readonly fenceBound: number;
  /** `digestOf` the inventory. */
  readonly digest: string;
}

type InventoryPart = PricesPart | ChannelsPart | HoldsPart | TakenPart;

/** The parts of an event, in their order. Each is made when it is called for. */
function inventoryParts(state: State, event: EventRow): (() => InventoryPart)[] {
  const partition = () => state.partitionOf(event);
  const eventId = event.id;
  const lostSlot = () => lostSlotOf(partition(), state.catalog.pricesOf(eventId));
  const holdParts = Math.ceil(partition().holds.count / HOLDS_PER_PART);
  return [
    () => pricesPart(eventId, partition(), lostSlot()),
    ...(event.channels === undefined ? [] : [() => channelsPart(event, partition())]),
    ...Array.from({ length: holdParts }, (_, i) => () => holdsPart(eventId, partition(), i)),
    () => ({
      kind: "taken",
      eventId,
      sold: takenIn(partition(), SOLD),
      blocked: takenIn(partition(), BLOCKED),
      lostSlot: lostSlot(),
      fenceBound: partition().holds.nextFence((state.sequences.get(event.partition) ?? 0) + 1),
      digest: digestOf(partition()),
    }),
  ];
}

function hasLostPrice({ state, price }: Partition, seat: number): boolean {
  return state[seat] === WITHDRAWN || (state[seat] === SOLD && price[seat] === 0);
}

function lostSlotOf(partition: Partition, prices: ReadonlyMap<number, unknown>): number {
  const { layout, areas } = partition;
  let isNeeded = false;
  for (let seat = 0; seat < layout.seatCount && !isNeeded; seat++) {
    isNeeded = hasLostPrice(partition, seat);
  }
  for (let area = 0; area < areas.count; area++) {
    if (areas.price[area] === 0 && areas.capacity(area) > 0) isNeeded = true;
  }
  if (!isNeeded) return 0;
  for (let slot = 1; slot <= PRICES_PER_EVENT_MAX; slot++) if (!prices.has(slot)) return slot;
  throw new RangeError("an event that moves has a free price slot");
}

/** Cost: O(seats), like all parts but those with holds. */
function pricesPart(eventId: string, partition: Partition, lostSlot: number): PricesPart {
  const { layout, price, areas } = partition;
  const runs: number[] = [];
  let slotBefore = 0;
  for (let seat = 0; seat < layout.seatCount; seat++) {
    const slot = hasLostPrice(partition, seat) ? lostSlot : price[seat]!;
    if (slot !== 0 && slot === slotBefore) runs[runs.length - 1]! += 1;
    else if (slot !== 0) runs.push(slot, seat, 1);
    slotBefore = slot;
  }
  const triples: number[] = [];
  for (let area = 0; area < areas.count; area++) {
    const capacity = areas.capacity(area);
    const slot = areas.price[area]!;
    if (slot !== 0 || capacity > 0) triples.push(area, slot === 0 ? lostSlot : slot, capacity);
  }
  return { kind: "prices", eventId, runs, areas: triples, lostSlot };
}

function channelsPart({ id, channels = [] }: EventRow, partition: Partition): ChannelsPart {
  const { seatCount } = partition.layout;
  const seatsOf = (slot: number): ChannelSeats => {
    const runs: number[] = [];
    let isRunning = false;
    for (let seat = 0; seat < seatCount; seat++) {
      const isIn = partition.channelOf(seat) === slot;
      if (isIn && isRunning) runs[runs.length - 1]! += 1;
      else if (isIn) runs.push(seat, 1);
      isRunning = isIn;
    }
    return { slot, runs };
  };
  return { kind: "channels", eventId: id, channels: channels.map(({ slot }) => seatsOf(slot)) };
}

function holdsPart(eventId: string, partition: Partition, number: number): HoldsPart {
  const first = number * HOLDS_PER_PART;
  const slots = partition.holds.slots().slice(first, first + HOLDS_PER_PART);
  const held = partition.areas.heldOf(new Set(slots));
  const holds = slots.map((slot) => {
    const { seats: _, ...facts } = partition.holds.get(slot);
    return { ...facts, seats: [...partition.seatsOf(slot)], areas: (held.get(slot) ?? []).flat() };
  });
  return { kind: "holds", eventId, holds };
}

function takenIn(partition: Partition, wanted: typeof SOLD | typeof BLOCKED): Taken {
  const { layout, state, areas } = partition;
  const seats: number[] = [];
  for (let seat = 0; seat < layout.seatCount; seat++) if (state[seat] === wanted) seats.push(seat);
  const pairs: number[] = [];
  for (let area = 0; area < areas.count; area++) {
    const places = areas.places(area, wanted);
    if (places > 0) pairs.push(area, places);
  }
  return { seats, areas: pairs, fences: seats.map((seat) => partition.fenceOf(seat)) };
}

/**
 * A hash of the states, prices, channels, fences and holds of an inventory. Times of changes and starts of
 * holds are left out: a clock behind the other one moves them.
 * Cost: O(seats + n log n) in the holds.
 */
function digestOf(partition: Partition): string {
  const { state, price, channels, areas, holds } = partition;
  const held = areas.heldOf(new Set(holds.taken()));
  const texts = holds.slots().map((slot) => {
    const { fence, session, holdType, expiresAtMs } = holds.get(slot);
    const facts = [fence, session, holdType, expiresAtMs];
    return JSON.stringify([...facts, [...partition.seatsOf(slot)], held.get(slot)]);
  });
  const counters = areas.copy();
  const fences = Float64Array.from(state, (_, seat) => partition.fenceOf(seat));
  const hash = createHash("sha256").update(state).update(bytesOf(price)).update(bytesOf(fences));
  hash.update(bytesOf(counters.counts)).update(bytesOf(counters.price));
  if (channels !== null) hash.update(channels);
  return hash.update(texts.join("\n")).digest("hex");
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

// Everything that belongs to an organization, as the parts in which it moves.

/** Rows of one part. Those of schemas may have a thumbnail of 256 KiB. */
const ROWS_PER_PART = 2_000;
const SCHEMAS_PER_PART = 16;

interface OrganizationPart {
  readonly kind: "organization";
  readonly row: OrganizationRow;
  /** Those that belong to it, without their other organizations. */
  readonly accounts: readonly AccountRow[];
}

interface RowsPart {
  readonly kind: "rows";
  readonly table: TableName;
  readonly rows: readonly object[];
}

interface LayoutPart {
  readonly kind: "layout";
  /** A packed document is a text: Base64. */
  readonly row: Omit<LayoutRow, "document"> & { readonly document: unknown };
  readonly isPacked: boolean;
}

type Part = OrganizationPart | RowsPart | LayoutPart | InventoryPart;

/**
 * The parts of an organization that is leaving: it does not change meanwhile, so they are always
 * the same. They are in an order in which each part has what it needs. Cost: O(rows of the cell);
 * a part is made when it is called for.
 */
function partsOf(state: State, organization: OrganizationRow): readonly (() => Part)[] {
  const { id } = organization;
  const { catalog } = state;
  const isOwn = (row: { readonly organizationId: number }) => row.organizationId === id;
  const schemas = [...catalog.schemas.values()].filter(isOwn);
  const schemaIds = new Set(schemas.map((schema) => schema.id));
  const ofSchema = (row: { readonly schemaId: number }) => schemaIds.has(row.schemaId);
  const events = [...catalog.events.values()].filter(isOwn);
  const prices = events.flatMap((event) => [...catalog.pricesOf(event.id).values()]);
  const layouts = schemas.flatMap((schema) => catalog.layouts.get(schema.id) ?? []);
  const rows = (table: TableName, of: Iterable<object>) => rowParts(table, [...of]);
  const own = <Row extends object>(
    of: ReadonlyMap<unknown, Row>,
    isWanted: (row: Row) => boolean,
  ) => [...of.values()].filter(isWanted);
  return [
    () => organizationPart(state, organization),
    ...rows("venues", own(catalog.venues, isOwn)),
    ...rowParts("schemas", schemas, SCHEMAS_PER_PART),
    ...layouts.map((layout) => () => layoutPart(layout)),
    ...rows("zones", own(catalog.zones, ofSchema)),
    ...rows("zoneAssignments", own(catalog.zoneAssignments, ofSchema)),
    ...rows("clones", own(catalog.clones, isOwn)),
    ...rows("series", own(catalog.series, isOwn)),
    ...rows("events", events),
    ...rows("prices", prices),
    ...events.flatMap((event) => inventoryParts(state, event)),
    ...rows(
      "replies",
      own(catalog.replies, (reply) => ownerOf(reply.id) === String(id)),
    ),
    // Last, so that they do not send what is stored before.
    ...rows("webhooks", own(catalog.webhooks, isOwn)),
  ];
}

function organizationPart({ catalog }: State, row: OrganizationRow): OrganizationPart {
  const accounts = [...catalog.accounts.values()].filter(
    ({ superAdminOf, organizationIds }) =>
      superAdminOf === null && organizationIds.includes(row.id),
  );
  const own = accounts.map((account) => ({ ...account, organizationIds: [] }));
  return { kind: "organization", row, accounts: own };
}

function rowParts(
  table: TableName,
  rows: readonly object[],
  perPart = ROWS_PER_PART,
): (() => RowsPart)[] {
  return Array.from({ length: Math.ceil(rows.length / perPart) }, (_, i) => () => {
    const first = i * perPart;
    return { kind: "rows", table, rows: rows.slice(first, first + perPart) };
  });
}

function layoutPart(row: LayoutRow): LayoutPart {
  const { document } = row;
  if (!(document instanceof PackedLayout)) return { kind: "layout", row, isPacked: false };
  const text = Buffer.from(document.bytes).toString("base64");
  return { kind: "layout", row: { ...row, document: text }, isPacked: true };
}

/** What is sealed. */
interface Envelope {
  readonly organizationId: number;
  readonly moveId: number;
  /** Null before the move has begun: no cell takes it then. */
  readonly toCell: number | null;
  readonly address: string;
  /** Whether it had left when the part was read. */
  readonly hasLeft: boolean;
  readonly number: number;
  readonly count: number;
  readonly part: Part;
}

const NOT_LEAVING = refuse(
  Result.INVALID_STATUS_TRANSITION,
  "The organization is not about to leave this cell.",
);
const NO_RECEIPT = refuse(
  Result.INVALID_STATUS_TRANSITION,
  "The receipt of the other cell is missing, or is that of another move.",
);
const NO_ADDRESS = refuse(
  Result.VALIDATION_FAILED,
  "The address of the other cell must be given, such as https://cell-7.tickets.example.",
);
const NO_CELL = refuse(
  Result.VALIDATION_FAILED,
  "The number of the other cell must be given, as its own move shows it.",
);
const MOVED_ON = refuse(
  Result.INVALID_STATUS_TRANSITION,
  "The organization has been in this cell since then, and has moved on.",
);
const OTHER_SECRET = refuse(
  Result.ACCESS_DENIED,
  "The part was sealed with another secret: all cells need the same FRONTROW_SECRET.",
);

const NAME_TENANT = refuse(Result.VALIDATION_FAILED, "The cell has several tenants: name one.");
const NO_TENANT = refuse(Result.VALIDATION_FAILED, "The cell has no such tenant.");
const ANOTHER_PART = refuse(Result.INVALID_STATUS_TRANSITION, "This is another part.");
const NOT_BEGUN = { phase: "HERE", id: 0, toCell: null, address: "" } as const;

export class Moves {
  readonly #place: Place;
  readonly #engine: Engine;
  readonly #keys: Keys;
  /** The parts of the organization that leaves, of one at a time. */
  #leaving: { readonly row: OrganizationRow; readonly parts: readonly (() => Part)[] } | null =
    null;
  /** By organization: the part that comes next. It begins again after a restart of the server. */
  readonly #next = new Map<number, number>();

  constructor(place: Place, keys: Keys) {
    this.#place = place;
    this.#engine = place.engine;
    this.#keys = keys;
  }

  view(organizationId: number): MoveView {
    const { catalog } = this.#engine.state;
    const row = catalog.organizations.get(organizationId);
    const none = { moveId: null, toCell: null, address: null, parts: null, receipt: null };
    const facts = { organizationId, cell: this.#cell() };
    if (row === undefined) return { ...facts, phase: "ABSENT", ...none };
    if (row.move === undefined) return { ...facts, phase: "HERE", ...none };
    const { phase, id: moveId, toCell, address, isWhole = false } = row.move;
    const parts = phase === "ARRIVING" ? null : this.#partsOf(row).length;
    const isDone = phase === "LEFT" || isWhole;
    const receipt = isDone ? this.#receipt(phase, organizationId, row.move) : null;
    return { ...facts, phase, moveId, toCell, address, parts, receipt };
  }

  step(organizationId: number, step: MoveStep): Answer | Problem {
    const refusal = this.#step(organizationId, step);
    return refusal ?? answer(200, this.view(organizationId));
  }

  #step(organizationId: number, { step, toCell, address, receipt }: MoveStep): Refusal | null {
    const move = this.#engine.state.catalog.away.get(organizationId);
    const isReceipt = (phase: OrganizationMove["phase"]) =>
      move !== undefined && isSame(receipt ?? "", this.#receipt(phase, organizationId, move));
    switch (step) {
      case "begin": {
        if (!URL.canParse(address ?? "") || new URL(address!).origin !== address) return NO_ADDRESS;
        if (typeof toCell !== "number" || toCell === this.#cell()) return NO_CELL;
        const { sequence: id } = this.#engine;
        return this.#become(organizationId, { phase: "LEAVING", id, toCell, address });
      }
      case "leave":
        if (!isReceipt("ARRIVING")) return NO_RECEIPT;
        return this.#become(organizationId, { ...move!, phase: "LEFT" });
      case "open":
        if (move?.isWhole !== true || !isReceipt("LEFT")) return NO_RECEIPT;
        return this.#become(organizationId, null);
      case "cancel":
        if (move?.phase === "ARRIVING") return this.#clear(organizationId);
        return this.#become(organizationId, null);
      case "clear":
        if (move?.phase !== "LEFT") return NOT_LEAVING;
        return this.#clear(organizationId);
    }
    return step satisfies never;
  }

  /**
   * @returns A part of an organization that leaves, sealed. The first one can be had before, to ask
   * the other cell whether it could arrive.
   */
  part(organizationId: number, number: number): Answer | Problem {
    const row = this.#engine.state.catalog.organizations.get(organizationId);
    if (row === undefined) return NOT_LEAVING;
    const { phase, id: moveId, toCell, address } = row.move ?? NOT_BEGUN;
    if (phase === "ARRIVING" || (phase === "HERE" && number > 0)) return NOT_LEAVING;
    const parts = this.#partsOf(row);
    const part = parts[number];
    if (part === undefined) return refuse(Result.ENTITY_NOT_FOUND, "There is no such part.");
    const hasLeft = phase === "LEFT";
    const count = parts.length;
    const facts = { organizationId, moveId, toCell, address, hasLeft, number, count };
    const content = this.#keys.seal(JSON.stringify({ ...facts, part: part() } satisfies Envelope));
    return answer(200, { content });
  }

  /** Stores a part of an organization that arrives. The first one begins its arrival again. */
  async take(
    organizationId: number,
    number: number,
    { content, ...rest }: SentPart,
  ): Promise<Answer | Problem> {
    // A log that takes no changes is noticed before a part is decrypted.
    const check = this.#engine.check({ kind: "clearOrganization", caller: CALLER, organizationId });
    if (check.refused === Result.OVERLOADED || check.refused === Result.LOG_UNAVAILABLE) {
      return check;
    }
    const envelope = this.#open(content);
    if (envelope === null) return OTHER_SECRET;
    if (envelope.organizationId !== organizationId || envelope.number !== number) {
      return ANOTHER_PART;
    }
    const refusal =
      number === 0 || rest.isTrial === true
        ? this.#begin(envelope, rest)
        : await this.#continue(envelope);
    return refusal ?? answer(200, this.view(organizationId));
  }

  #begin(envelope: Envelope, { tenantId, isTrial }: Omit<SentPart, "content">): Refusal | null {
    const { organizationId, moveId: id, toCell, address, count, part } = envelope;
    if (part.kind !== "organization") return ANOTHER_PART;
    const cell = this.#cell();
    if (toCell !== cell && isTrial !== true) return refuseCell(toCell, cell);
    const gone = this.#refuseLater(envelope);
    if (gone !== null) return gone;
    const { organizations, tenants } = this.#engine.state.catalog;
    const known = organizations.get(organizationId);
    const [only, ...others] = tenants.keys();
    const tenant = tenantId ?? known?.tenantId ?? only ?? 0;
    if ((tenantId ?? known) === undefined && others.length > 0) return NAME_TENANT;
    if (!tenants.has(tenant)) return NO_TENANT;
    const isAway = known?.move !== undefined;
    // Its own row would be in the way of it.
    if (isTrial === true && isAway) return null;
    if (isAway) {
      // What is left of an earlier time, or of an interrupted attempt.
      const refusal = this.#clear(organizationId) ?? this.#forgetLeft(organizationId);
      if (refusal !== null) return refusal;
    }
    // One that owns nothing has no other part.
    const whole = count === 1 ? ({ isWhole: true } as const) : null;
    const move: OrganizationMove = { phase: "ARRIVING", id, toCell: cell, address, ...whole };
    const refusal = beginArrival(this.#place, part, { move, tenantId: tenant, isTrial });
    if (refusal === null && isTrial !== true) this.#next.set(organizationId, 1);
    return refusal;
  }

  /** Why an organization cannot arrive after what is known of it here. */
  #refuseLater({ organizationId, moveId, hasLeft }: Envelope): Refusal | null {
    const known = this.#engine.state.catalog.away.get(organizationId);
    if (known === undefined) return null;
    if (known.phase === "LEAVING") return NOT_LEAVING;
    const isOne = known.phase === "ARRIVING" && known.id === moveId;
    // All of it was here when it left the other cell, so another move here is a later one.
    return hasLeft && !isOne ? MOVED_ON : null;
  }

  async #continue({ organizationId, moveId, number, count, part }: Envelope) {
    const move = this.#engine.state.catalog.away.get(organizationId);
    const isNext = this.#next.get(organizationId) === number;
    if (move?.phase !== "ARRIVING" || move.id !== moveId || !isNext) {
      return refuse(Result.INVALID_STATUS_TRANSITION, "The parts must come in order, from part 0.");
    }
    // A second request with the same part must not store it while this one does.
    this.#next.delete(organizationId);
    const refusal = await storePart(this.#place, organizationId, part);
    if (refusal !== null) return refusal;
    if (number + 1 === count) return this.#become(organizationId, { ...move, isWhole: true });
    this.#next.set(organizationId, number + 1);
    return null;
  }

  #become(organizationId: number, move: OrganizationMove | null): Refusal | null {
    const command = { kind: "moveOrganization", caller: CALLER, organizationId, move } as const;
    const outcome = this.#engine.submit(command);
    return isRefused(outcome) ? outcome : null;
  }

  #clear(organizationId: number): Refusal | null {
    this.#next.delete(organizationId);
    this.#leaving = null;
    const command = { kind: "clearOrganization", caller: CALLER, organizationId } as const;
    const outcome = this.#engine.submit(command);
    return isRefused(outcome) ? outcome : null;
  }

  /** The row that redirects, of an organization that comes back. */
  #forgetLeft(organizationId: number): Refusal | null {
    const row = this.#engine.state.catalog.organizations.get(organizationId);
    if (row === undefined) return null;
    const caller = { ...CALLER, tenantId: row.tenantId };
    const outcome = this.#engine.submit({ kind: "deleteOrganization", caller, organizationId });
    return isRefused(outcome) ? outcome : null;
  }

  #cell(): number {
    return cellOf(this.#engine.state.catalog.nextId);
  }

  #partsOf(row: OrganizationRow): readonly (() => Part)[] {
    if (this.#leaving?.row !== row) {
      this.#leaving = { row, parts: partsOf(this.#engine.state, row) };
    }
    return this.#leaving.parts;
  }

  #receipt(
    phase: OrganizationMove["phase"],
    organizationId: number,
    { id, toCell }: OrganizationMove,
  ): string {
    return this.#keys.sign(`move\n${phase}\n${organizationId}\n${id}\n${toCell}`);
  }

  #open(content: string): Envelope | null {
    try {
      return JSON.parse(this.#keys.unseal(content)) as Envelope;
    } catch {
      // It was sealed with another secret, or changed.
      return null;
    }
  }
}

function refuseCell(toCell: number | null, cell: number): Refusal {
  const detail = `The organization moves to cell ${toCell}; this is cell ${cell}.`;
  return refuse(Result.INVALID_STATUS_TRANSITION, detail);
}
