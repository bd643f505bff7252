/** An engine in memory with a hall and events on sale in it, for measuring single steps. */
import { randomUUID } from "node:crypto";
import type { BookingKind, CommandKind, CommandOf } from "../../engine/commands.ts";
import type { Caller } from "../../engine/shapes/caller.ts";
import type { AnswerOf } from "../../engine/decide.ts";
import { Engine } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { Admission, type Journal } from "../../engine/ports.ts";
import { ActorKind, type LogRecord } from "../../engine/records.ts";
import { isGranted } from "../../engine/results.ts";
import { State } from "../../engine/state.ts";
import { Batch } from "../../persistence/log/batch.ts";
import { Random } from "../../server/onsale/random.ts";

const SEATS_PER_ROW = 40;
const BATCH_BYTES_MAX = 1024 * 1024;
const SHOW_HOURS = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };

/** Encodes each record as the log does, and calls it durable without writing it. */
class EncodingJournal implements Journal {
  readonly #batch = new Batch();
  durable: (sequence: number) => void = () => undefined;

  admission(): Admission {
    return Admission.OPEN;
  }

  append(_sequence: number, timeMs: number, record: LogRecord): Admission {
    this.#batch.add(timeMs, record);
    if (this.#batch.bytes > BATCH_BYTES_MAX) this.#batch.clear();
    return Admission.OPEN;
  }
}

/** A booking command that is ready to be submitted. */
export type Booking = CommandOf<BookingKind>;

export class Hall {
  readonly engine: Engine;
  readonly seatIds: readonly number[];
  readonly #caller: Caller;
  readonly #schemaId: number;
  readonly #sectorIds: readonly number[];

  constructor(seatCount: number, journal: Journal = new EncodingJournal()) {
    const clock = { nowMs: () => Date.now() };
    const position = { sequence: 0, timeMs: 0 };
    this.engine = new Engine(new State(), position, { clock, journal });
    const actor = { kind: ActorKind.SYSTEM, id: 0 };
    const nobody = { actor, tenantId: 1, organizationId: 0 };
    const { id } = this.#must({
      kind: "createOrganization",
      caller: nobody,
      body: { name: "Bench" },
      administrator: null,
      publicKey: "",
      privateKey: "",
    });
    const caller = { ...nobody, organizationId: id };
    this.#caller = caller;
    const venueId = this.#must({ kind: "createVenue", caller, body: { name: "Venue" } }).id;
    const plan = { name: "Plan", venueId };
    this.#schemaId = this.#must({ kind: "createSchema", caller, body: plan }).id;
    const layout = { schemaId: this.#schemaId, body: layoutOf(seatCount), forceDelete: false };
    const { sectors, seats } = this.#must({ kind: "putLayout", caller, ...layout });
    this.#sectorIds = sectors.map((sector) => sector.id);
    this.seatIds = seats.map((seat) => seat.id);
  }

  /** Puts another event on sale in the hall. @returns Its id. */
  openShow(): string {
    const caller = this.#caller;
    const eventId = randomUUID();
    const show = { name: "Show", schemaId: this.#schemaId, ...SHOW_HOURS };
    this.#must({ kind: "createEvent", caller, eventId, body: show });
    const names = [{ name: "Seat", eventId }];
    const [price] = this.#must({ kind: "createPrices", caller, eventId, body: names });
    const groupOfSeats = this.#sectorIds.map((objectId) => ({
      objectId,
      assignmentId: price!.id,
    }));
    this.#must({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
    return eventId;
  }

  partitionOf(eventId: string): Partition {
    const { catalog } = this.engine.state;
    return this.engine.state.partitionOf(catalog.events.get(eventId)!);
  }

  /** @param first - Index of the first of `count` neighbours; they have a session of their own. */
  booking(kind: BookingKind, eventId: string, first: number, count = 2): Booking {
    const seats = this.seatIds.slice(first, first + count).map((id) => ({ id }));
    const body = { sessionId: `bench-${first}`, seats };
    return { kind, caller: this.#caller, eventId, body };
  }

  /** @throws Error when it is refused. */
  submit(booking: Booking): void {
    this.#must(booking);
  }

  #must<K extends CommandKind>(command: CommandOf<K>): AnswerOf<K> {
    const outcome = this.engine.submit(command);
    if (isGranted(outcome)) return outcome.value;
    throw new Error(`${command.kind}: ${outcome.detail}`);
  }
}

/** @returns The numbers below `count`, in an order without a pattern, the same each time. */
export function shuffled(count: number): number[] {
  const random = new Random(1);
  const order = Array.from({ length: count }, (_, i) => i);
  for (let i = count - 1; i > 0; i--) {
    const other = random.below(i + 1);
    [order[i], order[other]] = [order[other]!, order[i]!];
  }
  return order;
}

export function layoutOf(seatCount: number) {
  const rows = Array.from({ length: Math.ceil(seatCount / SEATS_PER_ROW) }, (_, i) =>
    String(i + 1),
  );
  return {
    sectors: [{ guid: "hall", name: "Hall", ga: false }],
    rows: rows.map((row) => ({ guid: row, sectorGuid: "hall", rowNumber: row })),
    seats: Array.from({ length: seatCount }, (_, i) => {
      const row = rows[Math.floor(i / SEATS_PER_ROW)]!;
      const name = String((i % SEATS_PER_ROW) + 1);
      return { guid: `${row}/${name}`, rowGuid: row, name, x: i % SEATS_PER_ROW, y: 0 };
    }),
  };
}
