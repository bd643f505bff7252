/**
 * The engine under test: with a manual clock and a journal that keeps its records in memory; and a
 * world with a tenant, an organization, a venue, a schema, a layout, an event and a price.
 */
import { apply } from "../../engine/apply.ts";
import type { EventRow } from "../../engine/catalog.ts";
import type { AnswerOf, BookingKind, CommandKind, MembersOf } from "../../engine/commands.ts";
import { Engine, type Outcome } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import {
  Admission,
  type Clock,
  type Journal,
  LogSpace,
  type Observer,
  type TooLong,
} from "../../engine/ports.ts";
import { ActorKind, type LogRecord, RecordType } from "../../engine/records.ts";
import { Result } from "../../engine/results.ts";
import type {
  Administrator,
  Caller,
  LayoutBody,
  SettingsBody,
  StateSelection,
} from "../../engine/bodies.ts";
import type { ReplyBudget } from "../../engine/stored-replies.ts";
import { State } from "../../engine/state.ts";
import { loadedPut, storedPut } from "../../persistence/log/layout-packing.ts";
import { labelsOf, type LayoutPart, layoutOf, type Labels } from "./layout.ts";

/** 2026-03-19T10:00:00 UTC. */
export const START_MS = 1_773_914_400_000;
/** An event id unused by any test. */
export const NO_EVENT = "00000000-0000-4000-8000-00000000beef";

export const BOOKING_KINDS: readonly BookingKind[] = [
  "lock",
  "unlock",
  "sale",
  "revertsale",
  "directsale",
  "block",
  "unblock",
];

export class ManualClock implements Clock {
  timeMs = START_MS;

  nowMs(): number {
    return this.timeMs;
  }
}

/** Room for every reply of a test. */
export const ROOMY: ReplyBudget = {
  memory: 1e9,
  memoryOfOwner: 1e9,
  disk: 1e9,
  diskOfOwner: 1e9,
};

export interface KeptRecord {
  readonly sequence: number;
  readonly timeMs: number;
  readonly record: LogRecord;
}

/** Keeps a copy of every record. Records become durable when the test calls `sync`. */
export class MemoryJournal implements Journal {
  readonly kept: KeptRecord[] = [];
  admits: Admission = Admission.OPEN;
  takes: (record: LogRecord, isFollowUp: boolean) => Admission | TooLong = (_, isFollowUp) =>
    isFollowUp ? Admission.OPEN : this.admits;
  durable: (sequence: number) => void = () => {};

  /** @returns The observer of the engine's records. */
  begin(_state: State): Observer | undefined {
    return undefined;
  }

  admission(): Admission {
    return this.admits;
  }

  append(
    sequence: number,
    timeMs: number,
    record: LogRecord,
    space: LogSpace,
  ): Admission | TooLong {
    const admission = this.takes(record, space === LogSpace.RESERVE);
    if (admission === Admission.OPEN) this.keep(sequence, timeMs, record);
    return admission;
  }

  appendAll(
    sequence: number,
    timeMs: number,
    records: readonly LogRecord[],
    space: LogSpace,
  ): Admission | TooLong {
    for (const record of records) {
      const admission = this.takes(record, space === LogSpace.RESERVE);
      if (admission !== Admission.OPEN) return admission;
    }
    for (const [i, record] of records.entries()) this.keep(sequence + i, timeMs, record);
    return Admission.OPEN;
  }

  protected keep(sequence: number, timeMs: number, record: LogRecord): void {
    // A copy: a record changed later by the engine makes the replay differ.
    this.kept.push({ sequence, timeMs, record: copyOf(record) });
  }

  /** Makes every record up to `sequence` durable; by default all of them. */
  sync(sequence = this.kept.at(-1)?.sequence ?? 0): void {
    this.durable(sequence);
  }
}

/** A copy as the log would have it: large layouts are packed, and nothing is built of them. */
export function copyOf(record: LogRecord): LogRecord {
  if (record.type !== RecordType.CATALOG) return structuredClone(record);
  const copy = structuredClone({ ...record, puts: record.puts.map(storedPut) });
  return { ...copy, puts: copy.puts.map(loadedPut) };
}

/** Keeps the records themselves: in long runs, copying would take most of the time. */
export class SharingJournal extends MemoryJournal {
  protected override keep(sequence: number, timeMs: number, record: LogRecord): void {
    this.kept.push({ sequence, timeMs, record });
  }
}

/** Applies the kept records to an empty state. */
export function replayed(journal: MemoryJournal): State {
  const state = new State();
  for (const { sequence, record, timeMs } of journal.kept)
    apply(state, copyOf(record), timeMs, sequence);
  return state;
}

/** An empty engine. */
export class Bench {
  readonly clock = new ManualClock();
  readonly journal: MemoryJournal;
  readonly engine: Engine;

  constructor(journal = new MemoryJournal()) {
    this.journal = journal;
    const state = new State();
    const observer = journal.begin(state);
    const ports = { clock: this.clock, journal: this.journal, observer };
    this.engine = new Engine(state, { sequence: 0, timeMs: 0 }, ports);
  }

  submit<K extends CommandKind>(kind: K, caller: Caller, rest: MembersOf<K>): Outcome<AnswerOf<K>> {
    return this.engine.submit({ kind, caller, ...rest });
  }

  /** Submits a command. @throws Error when it is refused. */
  must<K extends CommandKind>(kind: K, caller: Caller, rest: MembersOf<K>): AnswerOf<K> {
    const outcome = this.submit(kind, caller, rest);
    if (outcome.refused === Result.OK) return outcome.value;
    throw new Error(`${kind} was refused: ${JSON.stringify(outcome)}`);
  }

  /** The record of the last command. */
  get lastRecord(): LogRecord | undefined {
    return this.journal.kept.at(-1)?.record;
  }

  createTenant(name = "Tenant"): Caller {
    const nobody = { actor: { kind: ActorKind.SYSTEM, id: 0 }, tenantId: 0, organizationId: 0 };
    const tenant = this.must("createTenant", nobody, {
      name,
      tokenSha256: null,
      administrator: administratorOf(`admin@${name.toLowerCase()}.example`),
    });
    const actor = { kind: ActorKind.TENANT, id: tenant.id };
    return { actor, tenantId: tenant.id, organizationId: 0 };
  }

  createOrganization(tenant: Caller, name = "Organization"): Caller {
    const { id } = this.must("createOrganization", tenant, organizationOf(name));
    const actor = { kind: ActorKind.ORGANIZATION, id };
    return { actor, tenantId: tenant.tenantId, organizationId: id };
  }
}

export function administratorOf(email: string): Administrator {
  return { email, firstName: "Ada", lastName: "Byron", passwordHash: "hash" };
}

/** A `createOrganization` command with a new administrator. */
export function organizationOf(
  name: string,
  email = `${name.toLowerCase()}@house.example`,
): MembersOf<"createOrganization"> {
  return {
    body: { name },
    administrator: administratorOf(email),
    publicKey: "00000000-0000-4000-8000-000000000001",
  };
}

export interface WorldOptions {
  /** Labels of seats and areas without a price; `true` for all of them. */
  readonly unpriced?: readonly string[] | true;
  /** The declared total of the schema; 17 by default. */
  readonly gaCapacity?: number | null;
  readonly settings?: SettingsBody;
  readonly journal?: MemoryJournal;
}

/** An organization with a schema, a layout, a published event, and the price "Full". */
export class World extends Bench {
  readonly tenant: Caller;
  readonly caller: Caller;
  readonly venueId: number;
  readonly schemaId: number;
  readonly eventId: string;
  readonly priceId: number;
  labels: Labels;
  #events = 0;

  constructor(parts: readonly LayoutPart[], options: WorldOptions = {}) {
    super(options.journal);
    const { unpriced = [], gaCapacity = 17 } = options;
    this.tenant = this.createTenant();
    this.caller = this.createOrganization(this.tenant);
    this.venueId = this.must("createVenue", this.caller, { body: { name: "House" } }).id;
    this.schemaId = this.must("createSchema", this.caller, {
      body: { name: "Plan", venueId: this.venueId, gaCapacity },
    }).id;
    this.labels = this.putLayout(layoutOf(...parts));
    this.eventId = this.createEvent();
    this.priceId = this.createPrice("Full");
    if (unpriced !== true) this.priceAll(unpriced);
    if (options.settings !== undefined) this.change(options.settings);
  }

  get event(): EventRow {
    return this.engine.state.catalog.events.get(this.eventId)!;
  }

  get partition(): Partition {
    return this.engine.state.partitionOf(this.event);
  }

  /** Seat index of a label. */
  seat(label: string): number {
    return this.partition.layout.seatIndexes.get(this.labels.idOf(label))!;
  }

  area(label: string): number {
    return this.partition.layout.areaIndexes.get(this.labels.idOf(label))!;
  }

  putLayout(body: LayoutBody, forceDelete = false): Labels {
    const { schemaId } = this;
    const document = this.must("putLayout", this.caller, { schemaId, body, forceDelete });
    this.labels = labelsOf(document);
    return this.labels;
  }

  createEvent(caller = this.caller, schemaId = this.schemaId): string {
    this.#events += 1;
    // With letters, for tests of letter case.
    const eventId = `0000abcd-0000-4000-8000-${String(this.#events).padStart(12, "0")}`;
    const body = {
      name: "Night",
      start: "2026-05-01T20:00",
      endDate: "2026-05-01T23:00",
      schemaId,
    };
    return this.must("createEvent", caller, { eventId, body }).id;
  }

  createPrice(name: string, eventId = this.eventId, caller = this.caller): number {
    return this.must("createPrices", caller, { eventId, body: [{ name, eventId }] })[0]!.id;
  }

  /** Assigns the price of the world to everything except these labels. */
  priceAll(except: readonly string[] = []): void {
    const { eventId, labels, priceId: assignmentId } = this;
    const wanted = (label: string) => !except.includes(label);
    const items = (names: readonly string[]) =>
      names.filter(wanted).map((name) => ({ objectId: labels.idOf(name), assignmentId }));
    const body = { seats: items(labels.seats), groupOfSeats: items(labels.areas) };
    this.must("assignPrices", this.caller, { eventId, body });
  }

  /** Changes settings of the organization. */
  change(body: SettingsBody): void {
    const { organizationId } = this.caller;
    this.must("changeSettings", this.tenant, { organizationId, body });
  }

  book(kind: BookingKind, body: StateSelection): Outcome<boolean> {
    return this.submit(kind, this.caller, { eventId: this.eventId, body });
  }

  /** The body of a booking: seats by label, places of an area as `Pit:3`. */
  selection(sessionId: string | null, ...objects: readonly string[]): StateSelection {
    const areas = objects.filter((object) => object.includes(":"));
    return {
      sessionId,
      seats: objects
        .filter((object) => !object.includes(":"))
        .map((label) => ({ id: this.labels.idOf(label) })),
      groupOfSeats: areas.map((text) => {
        const [label, capacity] = text.split(":");
        return { id: this.labels.idOf(label!), capacity: Number(capacity) };
      }),
    };
  }
}
