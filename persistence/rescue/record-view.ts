/**
 * A record of the log as JSON for people and their tools: ids instead of indexes, names instead of
 * codes, times as ISO 8601, and no secrets. It is rendered with the state before the record.
 */
import type { EventRow } from "../../engine/catalog.ts";
import { MOVES, STATE_NAMES, SeatState } from "../../engine/inventory/states.ts";
import { type Layout, seatName } from "../../engine/layout/layout.ts";
import {
  type Actor,
  ActorKind,
  type CatalogRecord,
  type MoveRecord,
  type PriceRecord,
  RecordType,
} from "../../engine/records.ts";
import type { State } from "../../engine/state.ts";
import { ACTOR_NAMES } from "../audit/file.ts";
import type { Step } from "./survey.ts";

/** Selects records. An undefined member matches all. */
export interface RecordFilter {
  /** UUID, lower case. */
  readonly eventId?: string | undefined;
  readonly seatId?: number | undefined;
}

/** Plain JSON. */
export type RecordView = Readonly<Record<string, unknown>>;

const REDACTED = "(redacted)";
/** Members of rows that are secret; "body" is a stored reply, which may repeat one. */
const SECRETS: ReadonlySet<string> = new Set([
  "passwordHash",
  "tokenSha256",
  "refreshSha256",
  "fingerprint",
  "body",
]);

export class RecordViewer {
  readonly #state: State;
  /** By partition number, which is never reused. */
  readonly #events = new Map<number, EventRow>();

  constructor(state: State) {
    this.#state = state;
  }

  /** @returns null for a record that does not match. Cost: O(seats of the record). */
  view(step: Step, filter: RecordFilter): RecordView | null {
    const { sequence, timeMs, record } = step;
    const head = { sequence, time: moment(timeMs), actor: actorOf(record.actor) };
    if (record.type === RecordType.CATALOG) {
      if (filter.seatId !== undefined || !concerns(this.#state, record, filter)) return null;
      const puts = record.puts.map(({ table, row }) => ({ table, row: redacted(row) }));
      return { ...head, type: "catalog", puts, removes: record.removes };
    }
    const event = this.#eventOf(record.partition);
    if (filter.eventId !== undefined && event?.id !== filter.eventId) return null;
    const layout = event === undefined ? undefined : this.#state.layoutOf(event.schemaId);
    if (filter.seatId !== undefined && !hasSeat(record, layout, filter.seatId)) return null;
    const place = { ...head, eventId: event?.id ?? null };
    if (record.type === RecordType.MOVE) {
      return { ...place, type: "move", ...this.#moveOf(record, layout, step.isExact) };
    }
    return { ...place, type: "price", ...this.#pricesOf(record, layout, event) };
  }

  #eventOf(partition: number): EventRow | undefined {
    const known = this.#events.get(partition);
    // The row may have been replaced since.
    const event = known === undefined ? undefined : this.#state.catalog.events.get(known.id);
    if (event !== undefined) return event;
    for (const row of this.#state.catalog.events.values()) this.#events.set(row.partition, row);
    return this.#events.get(partition);
  }

  #moveOf(record: MoveRecord, layout: Layout | undefined, isExact: boolean): RecordView {
    const { move, session, holdType, expiresAtMs, seats, areas } = record;
    const { name, from, to } = MOVES[move];
    return {
      move: name,
      from: STATE_NAMES[from],
      to: STATE_NAMES[to],
      ...(session === "" ? {} : { session }),
      ...(holdType === "" ? {} : { holdType }),
      ...(expiresAtMs === 0 ? {} : { expiresAt: moment(expiresAtMs) }),
      ...(isExact && from === SeatState.LOCKED ? { heldBy: this.#holdersOf(record) } : {}),
      seats: Array.from(seats, (seat) => seatOf(layout, seat)),
      areas: triplesOf(areas).map(([area, , places]) => ({ ...areaOf(layout, area), places })),
    };
  }

  /** @returns Sessions of the holds whose seats and places move. */
  #holdersOf({ partition, seats, areas }: MoveRecord): string[] {
    const { hold, holds } = this.#state.partitions.get(partition) ?? {};
    if (hold === undefined || holds === undefined) return [];
    const slots = new Set([
      ...Array.from(seats, (seat) => hold[seat]!),
      ...triplesOf(areas).map(([, slot]) => slot),
    ]);
    return [...new Set([...slots].map((slot) => holds.get(slot).session))];
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

function hasSeat(
  record: MoveRecord | PriceRecord,
  layout: Layout | undefined,
  seatId: number,
): boolean {
  const seat = layout?.seatIndexes.get(seatId);
  if (seat === undefined) return false;
  if (record.type === RecordType.MOVE) return record.seats.includes(seat);
  return triplesOf(record.runs).some(([, first, count]) => seat >= first && seat < first + count);
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
