/**
 * The map of an event: every listed seat in one answer. It is built as text in one pass, because
 * objects for 80,000 seats would take ten times as long, and kept until the event changes.
 */
import { keepRecent } from "../../engine/bounds.ts";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { Packr } from "msgpackr";
import type { EventRow } from "../../engine/catalog.ts";
import { channelIn } from "../../engine/inventory/channels.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, SeatState } from "../../engine/inventory/states.ts";
import type { Layout } from "../../engine/layout/layout.ts";
import { isOnSale } from "../../engine/queries/seats.ts";
import type { State } from "../../engine/state.ts";
import { localDateTime } from "../http/json.ts";

/** Maps kept, two or three megabytes each at most. */
export const MAPS_MAX = 16;
/** Snapshots up to this age are shared by many clients. */
const RECENT_MS = 250;
/** Index: a `SeatState`. */
const LETTERS = Buffer.from("-?ALSB");
/** More than a price index takes, with its comma. */
const INDEX_BYTES_MAX = 6;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const compress = promisify(gzip);
/** Fast: the threads that compress also write the log. */
const LEVEL = { level: 1 };

const packer = new Packr({ useRecords: false, variableMapSize: true });

/** Layouts never change. */
const idsOfLayout = new WeakMap<Layout, string>();

/** Everything but the columns. */
interface Facts {
  readonly sequence: number;
  readonly status: string;
  readonly bookable: boolean;
  readonly prices: readonly number[];
  readonly areas: readonly object[];
}

/** The map of an event at a record, in each requested form. */
export class EventMap {
  readonly sequence: number;
  readonly #facts: Facts;
  readonly #ids: string;
  readonly #states: string;
  readonly #priceIndexes: string;
  /** Null while no seat is in a channel. */
  readonly #channels: string | null;
  readonly #ends: string;
  #json: Buffer | null = null;
  #packed: Buffer | null = null;
  #compressed: Promise<Buffer> | null = null;
  #snapshot: Buffer | null = null;
  #packedSnapshot: Buffer | null = null;
  readonly #builtMs = performance.now();

  /** Cost: O(seats). */
  constructor(state: State, event: EventRow) {
    const partition = state.partitionOf(event);
    const { layout, seatsIn } = partition;
    const prices = [...state.catalog.pricesOf(event.id).values()];
    this.sequence = state.sequenceOf(event);
    const hasAll = seatsIn[SeatState.WITHDRAWN] === 0;
    this.#ids = hasAll ? idsOf(layout) : listedIds(partition);
    this.#states = statesOf(partition);
    this.#priceIndexes = priceIndexesOf(
      partition,
      new Map(prices.map(({ slot }, index) => [slot, index])),
    );
    this.#channels = channelsOf(partition, event);
    this.#ends = endsOf(partition);
    this.#facts = {
      sequence: this.sequence,
      status: event.status,
      bookable: isOnSale(state, event),
      prices: prices.map(({ id }) => id),
      areas: partition.layout.areas.map(({ id }, area) => areaView(partition, id, area)),
    };
  }

  /** @param head - Text of leading members, each with a comma after it. */
  text(head = ""): string {
    const { areas, ...facts } = this.#facts;
    const channels = this.#channels === null ? "" : `,"channels":[${this.#channels}]`;
    const columns =
      `{"ids":[${this.#ids}],"states":"${this.#states}",` +
      `"priceIndexes":[${this.#priceIndexes}]${channels}}`;
    const rest = `"expiresAt":{${this.#ends}},"areas":${JSON.stringify(areas)}`;
    return `{${head}${JSON.stringify(facts).slice(1, -1)},"columns":${columns},${rest}}`;
  }

  get json(): Buffer {
    return (this.#json ??= Buffer.from(this.text(), "latin1"));
  }

  get packed(): Buffer {
    return (this.#packed ??= pack(this.value()));
  }

  /** The first message of a stream. */
  get snapshot(): Buffer {
    return (this.#snapshot ??= Buffer.from(this.text('"type":"snapshot",'), "latin1"));
  }

  get packedSnapshot(): Buffer {
    return (this.#packedSnapshot ??= pack(this.value({ type: "snapshot" })));
  }

  get ageMs(): number {
    return performance.now() - this.#builtMs;
  }

  /** @param head - Leading members. */
  value(head: object = {}): object {
    const numbers = (text: string) => JSON.parse(`[${text}]`) as number[];
    const channels =
      this.#channels === null ? null : (JSON.parse(`[${this.#channels}]`) as unknown);
    const columns = {
      ids: numbers(this.#ids),
      states: this.#states,
      priceIndexes: numbers(this.#priceIndexes),
      ...(channels === null ? {} : { channels }),
    };
    const { areas, ...facts } = this.#facts;
    const expiresAt = JSON.parse(`{${this.#ends}}`) as object;
    return { ...head, ...facts, columns, expiresAt, areas };
  }

  /** @returns The JSON, compressed in another thread; one map at a time. */
  compressed(): Promise<Buffer> {
    return (this.#compressed ??= oneByOne(() => compress(this.json, LEVEL)));
  }
}

/** Packs a value as MessagePack. */
export function pack(value: unknown): Buffer {
  return Buffer.from(packer.pack(value));
}

let last: Promise<unknown> = Promise.resolve();

function oneByOne(work: () => Promise<Buffer>): Promise<Buffer> {
  const mine = last.then(work);
  last = mine.catch(() => null);
  return mine;
}

/** The newest maps; the least recently used is dropped. */
export class EventMaps {
  readonly #maps = new Map<number, EventMap>();

  get count(): number {
    return this.#maps.size;
  }

  /** A map up to `RECENT_MS` old. */
  recent(state: State, event: EventRow): EventMap {
    const map = this.#maps.get(event.partition);
    return map !== undefined && map.ageMs < RECENT_MS ? map : this.of(state, event);
  }

  of(state: State, event: EventRow): EventMap {
    const { partition } = event;
    let map = this.#maps.get(partition);
    if (map?.sequence !== state.sequenceOf(event)) map = new EventMap(state, event);
    return keepRecent(this.#maps, partition, map, MAPS_MAX);
  }
}

function idsOf(layout: Layout): string {
  let ids = idsOfLayout.get(layout);
  if (ids === undefined) idsOfLayout.set(layout, (ids = layout.seatIds.join(",")));
  return ids;
}

function listedIds({ layout, state }: Partition): string {
  return layout.seatIds.filter((_, seat) => state[seat] !== SeatState.WITHDRAWN).join(",");
}

function statesOf({ state }: Partition): string {
  const letters = Buffer.allocUnsafe(state.length);
  let count = 0;
  for (let seat = 0; seat < state.length; seat++) {
    const code = state[seat]!;
    if (code !== SeatState.WITHDRAWN) letters[count++] = LETTERS[code]!;
  }
  return letters.toString("latin1", 0, count);
}

/** @param indexes - Of the prices, by slot. */
function priceIndexesOf({ state, price }: Partition, indexes: ReadonlyMap<number, number>): string {
  const bytes = Buffer.allocUnsafe(price.length * INDEX_BYTES_MAX + 1);
  const texts: Buffer[] = [];
  let at = 0;
  for (let seat = 0; seat < price.length; seat++) {
    if (state[seat] === SeatState.WITHDRAWN) continue;
    const slot = price[seat]!;
    if (slot === 0) {
      bytes[at++] = MINUS;
      bytes[at++] = ZERO + 1;
    } else {
      const text = (texts[slot] ??= Buffer.from(String(indexes.get(slot))));
      for (let i = 0; i < text.length; i++) bytes[at++] = text[i]!;
    }
    bytes[at++] = COMMA;
  }
  return bytes.toString("latin1", 0, Math.max(0, at - 1));
}

/** @returns By listed seat the key of its channel or null, as JSON; null while none is in one. */
function channelsOf({ channels, state }: Partition, event: EventRow): string | null {
  if (channels === null) return null;
  const texts = ["null"];
  for (const { slot, key } of event.channels ?? []) texts[slot] = JSON.stringify(key);
  const items: string[] = [];
  for (let seat = 0; seat < state.length; seat++) {
    if (state[seat] !== SeatState.WITHDRAWN) items.push(texts[channelIn(channels, seat)]!);
  }
  return items.join(",");
}

/** @returns The members of an object: ends by seat id. Neighbours were often locked together. */
function endsOf(partition: Partition): string {
  const { layout, state, holds, seatsIn } = partition;
  if (seatsIn[SeatState.LOCKED] === 0) return "";
  const members: string[] = [];
  let [lastMs, end] = [0, ""];
  for (let seat = 0; seat < state.length; seat++) {
    if (state[seat] !== SeatState.LOCKED) continue;
    const { expiresAtMs } = holds.get(partition.holdOf(seat));
    if (expiresAtMs === 0) continue;
    if (expiresAtMs !== lastMs) [lastMs, end] = [expiresAtMs, localDateTime(expiresAtMs)];
    members.push(`"${layout.seatIds[seat]!}":"${end}"`);
  }
  return members.join(",");
}

function areaView({ areas }: Partition, groupOfSeatsId: number, area: number) {
  const [active, locked, sold, blocked] = BOOKING_STATES.map((state) => areas.places(area, state));
  return { groupOfSeatsId, capacity: areas.capacity(area), active, locked, sold, blocked };
}
