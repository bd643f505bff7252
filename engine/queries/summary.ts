/** Counts of seats and places of an event by state: in all, by price and by section. */
import { assert } from "../assert.ts";
import type { EventRow, SchemaRow } from "../catalog.ts";
import { CHANNELS_PER_EVENT_MAX } from "../constants.ts";
import type { Partition } from "../inventory/partition.ts";
import { BOOKING_STATES, SeatState } from "../inventory/states.ts";
import type { Layout } from "../layout/layout.ts";
import type { State } from "../state.ts";

/** Seats and places together. */
export interface StateCounts {
  active: number;
  locked: number;
  sold: number;
  blocked: number;
  /** Without a price, so not bookable. */
  unpriced: number;
}

export interface PriceSummary extends StateCounts {
  readonly priceId: number;
  readonly priceName: string;
  /** Minor units of `currency`; both are left out for none. */
  readonly amount?: number;
  readonly currency?: string;
}

/** Of a section, a table or an area. */
export interface GroupSummary extends StateCounts {
  readonly groupOfSeatsId: number;
  readonly name: string;
}

/** Sold seats and places at the present amounts of their prices. */
export interface Revenue {
  readonly currency: string;
  /** Minor units. Exact up to 2^53; beyond it the closest number. */
  readonly sold: number;
}

export interface EventSummary {
  readonly total: StateCounts;
  /** In order of id. Sold inventory without a price is in none of them. */
  readonly byPrice: readonly PriceSummary[];
  /** In order of id. */
  readonly bySection: readonly GroupSummary[];
  /** For each currency of a price, in their order as texts. */
  readonly revenue: readonly Revenue[];
}

const { UNPRICED, WITHDRAWN, ACTIVE, LOCKED, SOLD, BLOCKED } = SeatState;
const STATE_COUNT = BLOCKED + 1;

/** Cost: O(seats), about a millisecond for 100,000. */
export function summarizeEvent(state: State, event: EventRow): EventSummary {
  const partition = state.partitionOf(event);
  const { layout } = partition;
  const prices = state.catalog.pricesOf(event.id);
  const { ofSection, ofPrice } = countSeats(partition, prices.keys());
  const total = countsOf(partition.seatsIn, 0);
  const byPrice = new Map<number, PriceSummary>();
  for (const [slot, { id, name, amount, currency }] of prices) {
    const money = currency === undefined ? {} : { amount: amount!, currency };
    byPrice.set(slot, { priceId: id, priceName: name, ...money, ...countsOf(ofPrice, slot) });
  }
  const bySection = layout.sections.map(({ id, name }, i): GroupSummary => ({
    groupOfSeatsId: id,
    name,
    ...countsOf(ofSection, i),
  }));
  const declared = state.catalog.schemas.get(event.schemaId)?.gaCapacity ?? null;
  const open = remainingPlaces(layout, declared) ?? 0;
  for (const [area, { id, name, capacity }] of layout.areas.entries()) {
    const counts = countPlaces(partition, area, capacity ?? open);
    addTo(total, counts);
    const price = byPrice.get(partition.areas.price[area]!);
    if (price !== undefined) addTo(price, counts);
    bySection.push({ groupOfSeatsId: id, name, ...counts });
  }
  return {
    total,
    byPrice: [...byPrice.values()].sort((a, b) => a.priceId - b.priceId),
    bySection: bySection.sort((a, b) => a.groupOfSeatsId - b.groupOfSeatsId),
    revenue: revenueOf(byPrice.values()),
  };
}

export interface ChannelSummary extends StateCounts {
  readonly key: string;
  readonly name: string;
}

/** The seats of each channel, in order of key. Cost: O(seats) for an event with channels. */
export function summarizeChannels(state: State, event: EventRow): readonly ChannelSummary[] {
  const { channels = [] } = event;
  if (channels.length === 0) return [];
  const partition = state.partitionOf(event);
  const counts = new Uint32Array((CHANNELS_PER_EVENT_MAX + 1) * STATE_COUNT);
  for (let seat = 0; seat < partition.state.length; seat++) {
    counts[partition.channelOf(seat) * STATE_COUNT + partition.state[seat]!]! += 1;
  }
  return channels.map(({ key, name, slot }) => ({ key, name, ...countsOf(counts, slot) }));
}

/** @param key - Of a channel of the event. Cost: as `summarizeChannels`. */
export function summarizeChannel(state: State, event: EventRow, key: string): ChannelSummary {
  const channel = summarizeChannels(state, event).find((one) => one.key === key);
  assert(channel !== undefined, "the event has the channel");
  return channel;
}

/** Summed as whole numbers of any size: many places at a high amount exceed 2^53. */
function revenueOf(prices: Iterable<PriceSummary>): Revenue[] {
  const sums = new Map<string, bigint>();
  for (const { amount, currency, sold } of prices) {
    if (amount === undefined || currency === undefined) continue;
    sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(amount) * BigInt(sold));
  }
  const byCurrency = [...sums].sort(([a], [b]) => (a < b ? -1 : 1));
  return byCurrency.map(([currency, sold]) => ({ currency, sold: Number(sold) }));
}

/** Seats by section index, and by price slot: in each case one count for every state. */
function countSeats({ layout, state, price }: Partition, slots: Iterable<number>) {
  const { rows, rowOfSeat, sections, seatCount } = layout;
  const sectionOfRow = Uint32Array.from(rows, ({ section }) => section);
  let lastSlot = 0;
  for (const slot of slots) lastSlot = Math.max(lastSlot, slot);
  const ofSection = new Uint32Array(sections.length * STATE_COUNT);
  const ofPrice = new Uint32Array((lastSlot + 1) * STATE_COUNT);
  for (let seat = 0; seat < seatCount; seat++) {
    const current = state[seat]!;
    ofSection[sectionOfRow[rowOfSeat[seat]!]! * STATE_COUNT + current]! += 1;
    ofPrice[price[seat]! * STATE_COUNT + current]! += 1;
  }
  return { ofSection, ofPrice };
}

/** @param index - The number of the set of counts. */
function countsOf(counts: Uint32Array, index: number): StateCounts {
  const of = (state: SeatState) => counts[index * STATE_COUNT + state]!;
  return {
    active: of(ACTIVE),
    locked: of(LOCKED),
    sold: of(SOLD),
    blocked: of(BLOCKED),
    unpriced: of(UNPRICED) + of(WITHDRAWN),
  };
}

/** @param capacity - The places a price would put on sale. */
function countPlaces({ areas }: Partition, area: number, capacity: number): StateCounts {
  const [active, locked, sold, blocked] = BOOKING_STATES.map((state) => areas.places(area, state));
  const isPriced = areas.price[area] !== 0;
  const unpriced = isPriced ? 0 : Math.max(0, capacity - sold!);
  return { active: active!, locked: locked!, sold: sold!, blocked: blocked!, unpriced };
}

function addTo(sum: StateCounts, { active, locked, sold, blocked, unpriced }: StateCounts): void {
  sum.active += active;
  sum.locked += locked;
  sum.sold += sold;
  sum.blocked += blocked;
  sum.unpriced += unpriced;
}

// Capacities of a schema: the declared ones until a layout is stored, then the drawn ones.

/** Null where nothing is declared. */
type Capacities = Pick<SchemaRow, "seatsCapacity" | "gaCapacity">;

/** An area without a capacity of its own keeps the declared total. Cost: O(areas). */
export function capacitiesOf(state: State, schema: SchemaRow): Capacities {
  const { seatsCapacity, gaCapacity } = schema;
  if (!state.catalog.layouts.has(schema.id)) return { seatsCapacity, gaCapacity };
  const layout = state.layoutOf(schema.id);
  const isComplete = layout.areas.every(({ capacity }) => capacity !== null);
  return {
    seatsCapacity: layout.seatCount,
    gaCapacity: isComplete ? drawnPlaces(layout) : gaCapacity,
  };
}

/**
 * The places of the one area without its own capacity: the rest of the declared total.
 *
 * @returns Null with several such areas, without a declared total, or without a rest.
 */
export function remainingPlaces(layout: Layout, total: number | null): number | null {
  const openAreas = layout.areas.filter(({ capacity }) => capacity === null);
  if (total === null || openAreas.length !== 1) return null;
  const left = total - drawnPlaces(layout);
  return left > 0 ? left : null;
}

function drawnPlaces({ areas }: Layout): number {
  return areas.reduce((sum, { capacity }) => sum + (capacity ?? 0), 0);
}
