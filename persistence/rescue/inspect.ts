/** Shows the records of a log, even while it is being written. Changes nothing. */
import type { EventRow } from "../../engine/catalog.ts";
import { NONE } from "../../engine/constants.ts";
import { MOVES, SeatState, STATE_NAMES, statesBefore } from "../../engine/inventory/states.ts";
import { type Layout, seatName } from "../../engine/layout/layout.ts";
import {
  type Actor,
  ActorKind,
  type CartRecord,
  type CatalogRecord,
  DoorAct,
  type DoorStep,
  type EventRecord,
  type ExtensionRecord,
  type Movement,
  type PriceRecord,
  RecordType,
} from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { ACTOR_NAMES } from "../history/archive.ts";
import { ensureStore, readStore, type StorePlace } from "../disk/data-folder.ts";
import type { Disk, ReadDisk } from "../disk/disk.ts";
import { LogCorrupt, only, SnapshotsDamaged } from "../disk/faults.ts";
import { readFileNow } from "../disk/transfer.ts";
import {
  decodeSegmentHeader,
  LOG_FOLDER,
  padToSector,
  payloadIsIntact,
  readChain,
  readFrameHeader,
  SEGMENT_HEADER_BYTES,
  segmentName,
  type SegmentPlace,
} from "../log/frame.ts";
import { findSegments } from "../log/log-reader.ts";
import { SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import { HeldFolder } from "./copy-store.ts";
import { type OnWork, rebuild, type Step, surveySnapshots } from "./survey.ts";

export interface InspectOptions extends RecordFilter {
  readonly disk: Disk;
  /** The data folder. */
  readonly folder: string;
  /** Sequence numbers, both inclusive. */
  readonly from: number;
  readonly to: number;
  readonly onWork?: OnWork | undefined;
  /** Called with each matching record. @returns False to stop. */
  readonly emit: (record: RecordView) => boolean;
}

export interface Inspected {
  /** The first record to be shown. Earlier ones are only in snapshots. */
  readonly firstSequence: number;
  /** The last record read. */
  readonly sequence: number;
}

/** Thrown through the reader of the log to stop it. */
class StopReading extends Error {}

/**
 * Cost: O(bytes of the log), however few records match, because ids and names depend on all records
 * before.
 * @throws FolderRefused, LogCorrupt after the last intact record, SnapshotsDamaged, DiskFault.
 */
export function inspectFolder(options: InspectOptions): Inspected {
  const { disk, folder, from, to, onWork, emit } = options;
  ensureStore(disk, folder);
  const held = HeldFolder.hold(disk, folder);
  try {
    const { storeId } = readStore(held, folder);
    const survey = { disk: held, folder, storeId };
    const base = oldestBase(survey);
    let viewer: RecordViewer | null = null;
    let first = 0;
    let last = 0;
    const rebuilt = attempt(() =>
      rebuild({ ...survey, onWork }, base, (step) => {
        if (first === 0) first = step.sequence;
        last = step.sequence;
        if (last > to) throw new StopReading();
        if (last < from) return;
        viewer ??= new RecordViewer(step.state);
        const view = viewer.view(step, options);
        if (view !== null && !emit(view)) throw new StopReading();
      }),
    );
    if (rebuilt === null) return { firstSequence: first, sequence: last };
    const { fault, sequence } = rebuilt;
    if (fault === null) return { firstSequence: first, sequence };
    throw new LogCorrupt(fault.path, fault.offset ?? 0, fault.expected, fault.found);
  } finally {
    held.release();
  }
}

/** @returns The oldest intact snapshot; null when the log has its beginning. */
function oldestBase(survey: StorePlace<HeldFolder>): string | null {
  const [first] = findSegments(survey.disk, survey.folder);
  if (first === undefined || first.number === 1) return null;
  const { intact, findings } = surveySnapshots(survey);
  const oldest = intact.at(-1);
  if (oldest !== undefined) return oldest.name;
  const reasons = findings.map(({ path, found }) => `${path}: ${found}`);
  throw new SnapshotsDamaged(`${survey.folder}/${SNAPSHOT_FOLDER}`, reasons);
}

function attempt<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    only(error, StopReading);
    return null;
  }
}

// A record of the log as JSON for people and their tools: ids instead of indexes, names instead of
// codes, times as ISO 8601, and no secrets. It is rendered with the state before the record.

/** Selects records. An undefined member matches all. */
export interface RecordFilter {
  /** UUID, lower case. */
  readonly eventId?: string | undefined;
  readonly seatId?: number | undefined;
}

/** Plain JSON. */
export type RecordView = Readonly<Record<string, unknown>>;

const REDACTED = "(redacted)";
/** Secret members of rows; "body" is a stored reply, and may repeat one. */
const SECRETS: ReadonlySet<string> = new Set([
  "passwordHash",
  "tokenSha256",
  "refreshSha256",
  "fingerprint",
  "body",
]);

export class RecordViewer {
  readonly #state: State;
  /** By partition number, never reused. */
  readonly #events = new Map<number, EventRow>();

  constructor(state: State) {
    this.#state = state;
  }

  /** @returns null for any other record. Cost: O(seats of the record). */
  view(step: Step, filter: RecordFilter): RecordView | null {
    const { sequence, timeMs, record } = step;
    const head = { sequence, time: moment(timeMs), actor: actorOf(record.actor) };
    if (record.type === RecordType.CATALOG) {
      if (filter.seatId !== undefined || !concerns(this.#state, record, filter)) return null;
      const puts = record.puts.map(({ table, row }) => ({ table, row: redacted(row) }));
      return { ...head, type: "catalog", puts, removes: record.removes };
    }
    if (record.type === RecordType.CART) return this.#cartOf(head, { ...step, record }, filter);
    if (!this.#concerns(record, filter)) return null;
    return { ...head, ...this.#eventRecordOf(record, step.isExact) };
  }

  #concerns(record: EventRecord, { eventId, seatId }: RecordFilter): boolean {
    const event = this.#eventOf(record.partition);
    if (eventId !== undefined && event?.id !== eventId) return false;
    return seatId === undefined || this.#hasSeat(record, this.#layoutOf(event), seatId);
  }

  /** All parts, when one matches. Holds are shown with the first part on each event. */
  #cartOf(
    head: RecordView,
    { record, isExact }: Pick<Step, "isExact"> & { readonly record: CartRecord },
    filter: RecordFilter,
  ): RecordView | null {
    if (!record.parts.some((part) => this.#concerns(part, filter))) return null;
    const { session, parts } = record;
    const known = new Set<number>();
    const views = parts.map((part) => {
      const isFirst = !known.has(part.partition);
      known.add(part.partition);
      return this.#eventRecordOf(part, isExact && isFirst);
    });
    return { ...head, type: "cart", ...(session === "" ? {} : { session }), parts: views };
  }

  #eventRecordOf(record: EventRecord, isExact: boolean): RecordView {
    const event = this.#eventOf(record.partition);
    const layout = this.#layoutOf(event);
    const place = { eventId: event?.id ?? null };
    if (record.type === RecordType.MOVE || record.type === RecordType.ARRIVAL) {
      const type = record.type === RecordType.MOVE ? "move" : "arrival";
      return { ...place, type, ...this.#moveOf(record, layout, isExact) };
    }
    if (record.type === RecordType.EXTENSION) {
      return { ...place, type: "extension", ...this.#extensionOf(record, layout, isExact) };
    }
    if (record.type === RecordType.DOOR) return { ...place, type: "door", ...stepOf(record.step) };
    return { ...place, type: "price", ...this.#pricesOf(record, layout, event) };
  }

  #layoutOf(event: EventRow | undefined): Layout | undefined {
    return event === undefined ? undefined : this.#state.layoutOf(event.schemaId);
  }

  #eventOf(partition: number): EventRow | undefined {
    const known = this.#events.get(partition);
    // The row may have been replaced since.
    const event = known === undefined ? undefined : this.#state.catalog.events.get(known.id);
    if (event !== undefined) return event;
    for (const row of this.#state.catalog.events.values()) this.#events.set(row.partition, row);
    return this.#events.get(partition);
  }

  #hasSeat(record: EventRecord, layout: Layout | undefined, seatId: number): boolean {
    const seat = layout?.seatIndexes.get(seatId);
    if (seat === undefined) return false;
    if (record.type === RecordType.MOVE || record.type === RecordType.ARRIVAL) {
      return record.seats.includes(seat);
    }
    if (record.type === RecordType.DOOR) return false;
    if (record.type === RecordType.EXTENSION) {
      const slot = this.#state.partitions.get(record.partition)?.holdOf(seat) ?? NONE;
      return record.holds.includes(slot);
    }
    return triplesOf(record.runs).some(([, first, count]) => seat >= first && seat < first + count);
  }

  #moveOf(record: Movement, layout: Layout | undefined, isExact: boolean): RecordView {
    const { move, session, holdType, expiresAtMs, seats, areas } = record;
    const { name, from, to } = MOVES[move];
    const states = statesBefore(move).map((state) => STATE_NAMES[state]);
    return {
      move: name,
      from: states.join(" or "),
      to: STATE_NAMES[to],
      ...(session === "" ? {} : { session }),
      ...(holdType === "" ? {} : { holdType }),
      ...(expiresAtMs === 0 ? {} : { expiresAt: moment(expiresAtMs) }),
      ...(isExact && from === SeatState.LOCKED ? { heldBy: this.#holdersOf(record) } : {}),
      seats: Array.from(seats, (seat) => seatOf(layout, seat)),
      areas: triplesOf(areas).map(([area, , places]) => ({ ...areaOf(layout, area), places })),
    };
  }

  #extensionOf(
    { partition: number, session, holds, endsAtMs }: ExtensionRecord,
    layout: Layout | undefined,
    isExact: boolean,
  ): RecordView {
    const partition = isExact ? this.#state.partitions.get(number) : undefined;
    const views = Array.from(holds, (slot, i) => {
      const expiresAt = moment(endsAtMs[i]!);
      if (partition === undefined) return { expiresAt };
      const seats = Array.from(partition.seatsOf(slot), (seat) => seatOf(layout, seat));
      return { fence: partition.holds.get(slot).fence, expiresAt, seats };
    });
    return { ...(session === "" ? {} : { session }), holds: views };
  }

  /** @returns Sessions of the holds whose seats and places move. */
  #holdersOf({ partition, seats, areas }: Movement): string[] {
    const inventory = this.#state.partitions.get(partition);
    if (inventory === undefined) return [];
    const slots = new Set([
      ...Array.from(seats, (seat) => inventory.holdOf(seat)).filter((slot) => slot !== NONE),
      ...triplesOf(areas).map(([, slot]) => slot),
    ]);
    return [...new Set([...slots].map((slot) => inventory.holds.get(slot).session))];
  }

  #pricesOf(
    { runs, areas }: PriceRecord,
    layout: Layout | undefined,
    event: EventRow | undefined,
  ): RecordView {
    const prices = this.#state.catalog.pricesOf(event?.id ?? "");
    const priceId = (slot: number) => prices.get(slot)?.id ?? null;
    return {
      runs: triplesOf(runs).map(([slot, first, count]) => ({
        priceId: priceId(slot),
        firstSeat: seatOf(layout, first),
        lastSeat: seatOf(layout, first + count - 1),
        seats: count,
      })),
      areas: triplesOf(areas).map(([area, slot, capacity]) => ({
        ...areaOf(layout, area),
        priceId: priceId(slot),
        capacity,
      })),
    };
  }
}

const ACT_NAMES = new Map(Object.entries(DoorAct).map(([name, act]) => [act, name.toLowerCase()]));

function stepOf(step: DoorStep): RecordView {
  const act = ACT_NAMES.get(step.act);
  switch (step.act) {
    case DoorAct.JOIN:
      return { act, visitor: step.visitor, entry: Buffer.from(step.entry).toString("hex") };
    case DoorAct.OPEN:
      return { act, seed: Buffer.from(step.seed).toString("hex"), drawn: step.order.length };
    case DoorAct.INVITE:
      return { act, through: step.through, until: moment(step.untilMs) };
    case DoorAct.ENTER:
      return { act, visitor: step.visitor, until: moment(step.untilMs) };
    case DoorAct.END:
      return { act, visitors: Array.from(step.visitors) };
  }
  return step satisfies never;
}

/** @returns A copy without the values of secret members at any depth. */
function redacted(row: object): unknown {
  return JSON.parse(
    JSON.stringify(row, (name, value: unknown) =>
      SECRETS.has(name) && value !== null ? REDACTED : value,
    ),
  );
}

function concerns(
  state: State,
  { puts, removes }: CatalogRecord,
  { eventId }: RecordFilter,
): boolean {
  if (eventId === undefined) return true;
  const { events, prices } = state.catalog;
  const schemaId = events.get(eventId)?.schemaId;
  const isPut = puts.some(({ table, row }) => {
    if (table === "events") return row.id === eventId;
    if (table === "prices") return row.eventId === eventId;
    return table === "layouts" && row.id === schemaId;
  });
  return (
    isPut ||
    removes.some(({ table, key }) => {
      if (table === "events") return key === eventId;
      return table === "prices" && prices.get(Number(key))?.eventId === eventId;
    })
  );
}

function seatOf(layout: Layout | undefined, seat: number): RecordView {
  const row = layout?.rows[layout.rowOfSeat[seat]!];
  if (layout === undefined || row === undefined) return { seatIndex: seat };
  const section = layout.sections[row.section]?.name;
  return { id: layout.seatIds[seat], section, row: row.name, seat: seatName(layout, seat) };
}

function areaOf(layout: Layout | undefined, area: number): RecordView {
  const known = layout?.areas[area];
  return known === undefined ? { areaIndex: area } : { id: known.id, name: known.name };
}

function actorOf({ kind, id }: Actor): RecordView {
  const name = ACTOR_NAMES[kind].toLowerCase();
  return kind === ActorKind.SYSTEM ? { kind: name } : { kind: name, id };
}

function moment(timeMs: number): string {
  return new Date(timeMs).toISOString();
}

function triplesOf(words: Uint32Array): (readonly [number, number, number])[] {
  const triples: (readonly [number, number, number])[] = [];
  for (let i = 0; i < words.length; i += 3) triples.push([words[i]!, words[i + 1]!, words[i + 2]!]);
  return triples;
}

// The chain of a log at the beginning of each segment, and after each frame of the newest two. It
// links each frame to all frames before it, so two logs whose chains agree at one place are the
// same up to there.

/** Hosts are seldom further apart. */
const WHOLE_SEGMENTS = 2;

/** A place between two frames. */
export interface ChainAt {
  readonly segment: number;
  /** Bytes from the beginning of the segment. */
  readonly offset: number;
  /** The last record before the place. */
  readonly sequence: number;
  /** Hexadecimal. */
  readonly chain: string;
}

export interface Chains {
  readonly storeId: string;
  /** The oldest first; the last one is the end of the log. */
  readonly chains: readonly ChainAt[];
}

/** Outcome of a comparison of two logs. */
export interface Compared {
  /** The newest common place with the same chain; null when they share no place. */
  readonly same: ChainAt | null;
  /** The oldest common place with another chain; null when there is none. */
  readonly different: ChainAt | null;
  /** The log that ends first is the beginning of the other one. */
  readonly isPrefix: boolean;
}

/**
 * Reads the chains of a data folder, even one in use.
 *
 * @param wholeSegment - The number of an older segment of which all places are wanted, too.
 * Cost: O(bytes of the segments that are read whole). @throws LogCorrupt, FolderRefused, DiskFault.
 */
export function chainsOf(disk: Disk, folder: string, wholeSegment?: number): Chains {
  const held = HeldFolder.hold(disk, folder);
  try {
    const { storeId } = readStore(held, folder);
    const places = findSegments(held, folder);
    const whole = new Set(places.slice(-WHOLE_SEGMENTS));
    const chains = places.flatMap((place) => {
      const isWhole = whole.has(place) || place.number === wholeSegment;
      return chainsIn(held, folder, { place, isWhole });
    });
    return { storeId, chains };
  } finally {
    held.release();
  }
}

/** Compares two logs at their common places, and at the end of the one that ends first. */
export function compareChains(one: Chains, other: Chains): Compared {
  const others = new Map(other.chains.map((each) => [keyOf(each), each.chain]));
  let same: ChainAt | null = null;
  for (const each of one.chains) {
    const found = others.get(keyOf(each));
    if (found === undefined) continue;
    if (found !== each.chain) return { same, different: each, isPrefix: false };
    same = each;
  }
  const isPrefix = same !== null && keyOf(same) === keyOf(firstEnd(one, other));
  return { same, different: null, isPrefix };
}

/** @returns The end of the log that ends first. */
export function firstEnd(one: Chains, other: Chains): ChainAt {
  const [end, otherEnd] = [one, other].map(({ chains }) => chains.at(-1)!) as [ChainAt, ChainAt];
  const order = end.segment - otherEnd.segment || end.offset - otherEnd.offset;
  return order <= 0 ? end : otherEnd;
}

function keyOf({ segment, offset }: ChainAt): string {
  return `${segment}:${offset}`;
}

function chainsIn(
  disk: ReadDisk,
  folder: string,
  { place, isWhole }: { readonly place: SegmentPlace; readonly isWhole: boolean },
): ChainAt[] {
  const path = `${folder}/${LOG_FOLDER}/${segmentName(place)}`;
  const bytes = isWhole ? readFileNow(disk, path) : headOf(disk, path);
  const { number, firstSequence, chain } = decodeSegmentHeader(bytes);
  const at = (offset: number, sequence: number, hash: Uint8Array): ChainAt => {
    return { segment: number, offset, sequence, chain: Buffer.from(hash).toString("hex") };
  };
  let offset = SEGMENT_HEADER_BYTES;
  const chains = [at(offset, firstSequence - 1, chain)];
  for (;;) {
    const header = readFrameHeader(bytes, offset);
    const end = offset + padToSector(header?.frameBytes ?? 0);
    const frame = bytes.subarray(offset, end);
    if (header === null || end > bytes.length || !payloadIsIntact(frame)) return chains;
    offset = end;
    chains.push(at(end, header.firstSequence + header.recordCount - 1, readChain(frame)));
  }
}

function headOf(disk: ReadDisk, path: string): Buffer {
  const file = disk.openNow(path);
  try {
    const head = Buffer.alloc(SEGMENT_HEADER_BYTES);
    file.readNow(head, 0);
    return head;
  } finally {
    file.closeNow();
  }
}
