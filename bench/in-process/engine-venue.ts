/** An engine with one venue: puts events on sale in it, and books their seats, without HTTP. */
import { randomUUID } from "node:crypto";
import type { AnswerOf, BookingKind, CommandKind, CommandOf } from "../../engine/commands.ts";
import { Engine } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { Admission } from "../../engine/ports.ts";
import { ActorKind, type LogRecord } from "../../engine/records.ts";
import type { Caller, LayoutBody } from "../../engine/bodies.ts";
import { State } from "../../engine/state.ts";
import { Batch } from "../../persistence/log/log-writer.ts";
import { resultOf, valueOf } from "../../persistence/store/open-engine.ts";
import { Random } from "../../server/onsale/random.ts";
import { EVENT_TIMES, layoutOf } from "../harness/event-data.ts";

const BATCH_BYTES_MAX = 1024 * 1024;
const SEATS_PER_SALE = 500;

type TakeRecord = (timeMs: number, record: LogRecord) => void;

/** Encodes each record as the log does. */
function encodeOnly(): TakeRecord {
  const batch = new Batch();
  return (timeMs, record) => {
    batch.add(timeMs, record);
    if (batch.bytes > BATCH_BYTES_MAX) batch.clear();
  };
}

/** An engine that passes each record on and writes nothing. */
function engineInMemory(take: TakeRecord): Engine {
  const journal = {
    admission: () => Admission.OPEN,
    append: (_sequence: number, timeMs: number, record: LogRecord) => {
      take(timeMs, record);
      return Admission.OPEN;
    },
    appendAll: (_sequence: number, timeMs: number, records: readonly LogRecord[]) => {
      for (const record of records) take(timeMs, record);
      return Admission.OPEN;
    },
    durable: () => undefined,
  };
  const clock = { nowMs: () => Date.now() };
  return new Engine(new State(), { sequence: 0, timeMs: 0 }, { clock, journal });
}

/** A booking command, ready for `submit`. */
export type Booking = CommandOf<BookingKind>;

export class EngineVenue {
  readonly engine: Engine;
  readonly seatIds: readonly number[];
  readonly #caller: Caller;
  readonly #schemaId: number;
  readonly #sectorIds: readonly number[];

  constructor(engine: Engine, caller: Caller, body: LayoutBody) {
    this.engine = engine;
    this.#caller = caller;
    const venue = this.submit({ kind: "createVenue", caller, body: { name: "Venue" } });
    const plan = { name: "Plan", venueId: venue.id };
    this.#schemaId = this.submit({ kind: "createSchema", caller, body: plan }).id;
    const layout = { schemaId: this.#schemaId, body, forceDelete: false };
    const { sectors, seats } = this.submit({ kind: "putLayout", caller, ...layout });
    this.#sectorIds = sectors.filter(({ ga }) => !ga).map(({ id }) => id);
    this.seatIds = seats.map((seat) => seat.id);
  }

  /**
   * @param seats - Their number, or a layout.
   * @param take - Gets every record. Without it records are encoded, then dropped.
   */
  static inMemory(seats: number | LayoutBody, take: TakeRecord = encodeOnly()): EngineVenue {
    const engine = engineInMemory(take);
    const actor = { kind: ActorKind.SYSTEM, id: 0 };
    const system = { actor, tenantId: 1, organizationId: 0 };
    const organization = engine.submit({
      kind: "createOrganization",
      caller: system,
      body: { name: "Bench" },
      administrator: null,
      publicKey: "",
    });
    const caller = { ...system, organizationId: valueOf(resultOf(organization)).id };
    return new EngineVenue(engine, caller, typeof seats === "number" ? layoutOf(seats) : seats);
  }

  /** Puts another event on sale, with every seat free. @returns Its id. */
  openEvent(prices: readonly string[] = ["Seat"]): string {
    const caller = this.#caller;
    const eventId = randomUUID();
    const body = { name: "Show", schemaId: this.#schemaId, ...EVENT_TIMES };
    this.submit({ kind: "createEvent", caller, eventId, body });
    const names = prices.map((name) => ({ name, eventId }));
    const created = this.submit({ kind: "createPrices", caller, eventId, body: names });
    const groupOfSeats = this.#sectorIds.map((objectId, i) => {
      return { objectId, assignmentId: created[i % created.length]!.id };
    });
    this.submit({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
    return eventId;
  }

  partitionOf(eventId: string): Partition {
    const { state } = this.engine;
    return state.partitionOf(state.catalog.events.get(eventId)!);
  }

  holdCount(eventIds: readonly string[]): number {
    return eventIds.reduce((sum, eventId) => sum + this.partitionOf(eventId).holds.count, 0);
  }

  /** @param first - Index of the first of `count` neighbours; it also names the session. */
  booking(kind: BookingKind, eventId: string, first: number, count = 2): Booking {
    const seats = this.seatIds.slice(first, first + count).map((id) => ({ id }));
    return { kind, caller: this.#caller, eventId, body: { sessionId: `bench-${first}`, seats } };
  }

  /** Sells free seats by their indexes, several hundred a command. */
  sell(eventId: string, indexes: readonly number[]): void {
    const caller = this.#caller;
    for (let at = 0; at < indexes.length; at += SEATS_PER_SALE) {
      const batch = indexes.slice(at, at + SEATS_PER_SALE);
      const seats = batch.map((index) => ({ id: this.seatIds[index]! }));
      this.submit({ kind: "directsale", caller, eventId, body: { seats } });
    }
  }

  /** A request for the best places, at one of the event's prices or at any. */
  best(eventId: string, quantity: number, priceIds: readonly number[] = []): CommandOf<"best"> {
    return { kind: "best", caller: this.#caller, eventId, body: { quantity, priceIds } };
  }

  /** @throws Refused. */
  submit<K extends CommandKind>(command: CommandOf<K>): AnswerOf<K> {
    return valueOf(resultOf(this.engine.submit(command)));
  }
}

/** @returns The numbers below `count` in random order, the same order each time. */
export function shuffled(count: number): number[] {
  const random = new Random(1);
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}
