/** An engine in memory with one event on sale, for measuring single steps. */
import type { BookingKind, Caller, CommandKind, CommandOf } from "../engine/commands.ts";
import type { AnswerOf } from "../engine/decide.ts";
import { Engine } from "../engine/engine.ts";
import type { Partition } from "../engine/partition.ts";
import { Admission, type Journal } from "../engine/ports.ts";
import { ActorKind, type LogRecord } from "../engine/records.ts";
import { Result } from "../engine/results.ts";
import { State } from "../engine/state.ts";
import { SeatState } from "../engine/states.ts";

const SEATS_PER_ROW = 40;

export interface Taken {
  readonly timeMs: number;
  readonly record: LogRecord;
}

/** Keeps what was appended since it was last asked, and calls it durable at once. */
class ShortJournal implements Journal {
  taken: Taken[] = [];
  durable: (sequence: number) => void = () => undefined;

  admission(): Admission {
    return Admission.OPEN;
  }

  append(_sequence: number, timeMs: number, record: LogRecord): void {
    this.taken.push({ timeMs, record });
  }
}

export class Hall {
  readonly engine: Engine;
  readonly eventId = "00000000-0000-4000-8000-000000000001";
  /** The records that put the event on sale. */
  readonly setUp: readonly Taken[];
  readonly #journal = new ShortJournal();
  readonly #caller: Caller;
  readonly #pairs: readonly CommandOf<"lock">["body"][];
  #turn = 0;

  constructor(seatCount: number) {
    const clock = { nowMs: () => Date.now() };
    const position = { sequence: 0, timeMs: 0 };
    this.engine = new Engine(new State(), position, { clock, journal: this.#journal });
    const actor = { kind: ActorKind.SYSTEM, id: 0 };
    const caller = { actor, tenantId: 1, organizationId: 0 };
    const keys = { publicKey: "", privateKey: "" };
    const { id } = this.#must({
      kind: "createOrganization",
      caller,
      body: { name: "Bench" },
      administrator: null,
      ...keys,
    });
    this.#caller = { ...caller, organizationId: id };
    this.#putOnSale(seatCount);
    const ids = [...this.partition.layout.seatIds];
    this.#pairs = ids.flatMap((seat, i) =>
      i % 2 === 0 && i + 1 < ids.length
        ? [{ sessionId: "bench", seats: [{ id: seat }, { id: ids[i + 1]! }] }]
        : [],
    );
    this.setUp = this.taken();
  }

  get partition(): Partition {
    return this.engine.state.partitionOf(this.engine.state.catalog.events.get(this.eventId)!);
  }

  /** Records appended since the last call. */
  taken(): readonly Taken[] {
    const { taken } = this.#journal;
    this.#journal.taken = [];
    return taken;
  }

  /** Two neighbours, another pair each time. */
  lockAndUnlock(): void {
    const body = this.#pairs[this.#turn++ % this.#pairs.length]!;
    this.#book("lock", body);
    this.#book("unlock", body);
  }

  heldSeats(): number {
    return this.partition.state.filter((state) => state === SeatState.LOCKED).length;
  }

  #book(kind: BookingKind, body: CommandOf<"lock">["body"]): void {
    this.#must({ kind, caller: this.#caller, eventId: this.eventId, body });
  }

  #putOnSale(seatCount: number): void {
    const { eventId } = this;
    const caller = this.#caller;
    const venueId = this.#must({ kind: "createVenue", caller, body: { name: "Venue" } }).id;
    const plan = { name: "Plan", venueId };
    const schemaId = this.#must({ kind: "createSchema", caller, body: plan }).id;
    const layout = { schemaId, body: layoutOf(seatCount), forceDelete: false };
    const { sectors } = this.#must({ kind: "putLayout", caller, ...layout });
    const times = { start: "2030-01-01T20:00:00", endDate: "2030-01-01T22:00:00" };
    this.#must({
      kind: "createEvent",
      caller,
      eventId,
      body: { name: "Show", schemaId, ...times },
    });
    const names = [{ name: "Seat", eventId }];
    const [price] = this.#must({ kind: "createPrices", caller, eventId, body: names });
    const groupOfSeats = sectors.map(({ id }) => ({ objectId: id, assignmentId: price!.id }));
    this.#must({ kind: "assignPrices", caller, eventId, body: { groupOfSeats } });
  }

  #must<K extends CommandKind>(command: CommandOf<K>): AnswerOf<K> {
    const outcome = this.engine.submit(command);
    if (outcome.refused === Result.OK) return outcome.value;
    throw new Error(`${command.kind}: ${outcome.detail}`);
  }
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
