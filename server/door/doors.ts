/**
 * Runs the doors of all events: draws and opens each in time, invites at its rate, and shows them to
 * visitors. The keys of a draw are made as visitors join, so that the opening itself takes a
 * fraction of a second, in slices.
 */
import { createHash } from "node:crypto";
import type { Caller } from "../../engine/bodies.ts";
import type { EventRow } from "../../engine/catalog.ts";
import { doorStateOf, mayOpen, visitorFacts } from "../../engine/door.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Door } from "../../engine/inventory/door.ts";
import { ActorKind } from "../../engine/records.ts";
import { isGranted } from "../../engine/results.ts";
import { TokenBuckets } from "../http/limits.ts";
import { localDateTime } from "../http/json.ts";
import { Draw, EntryChain } from "./draw.ts";
import { DoorSecrets, entryOf } from "./keys.ts";

/** Each second of a rate has its turn, and an end is swept well within a second. */
const TICK_MS = 100;
/** Of a turn: for keys of draws to come, and for an opening. */
const AHEAD_MS = 2;
const OPENING_MS = 8;
/** Calls of visitors a second, of all doors together. */
export const VISITOR_CALLS_PER_SECOND = 20_000;
/** A status is at most as old when it is answered. */
const STATUS_MS = 500;
/** The entries are kept after a read. */
const ENTRIES_MS = 60_000;
/** An entry in hexadecimal, and the end of its line. */
const LINE_BYTES = 33;
const LINES_PER_STEP = 2_048;
/** Entries that a status takes into its hash in one piece: those of a few milliseconds. */
const CHAINED_AT_ONCE = 2_048;
const TAG_LENGTH = 22;

export interface KeptStatus {
  readonly atMs: number;
  readonly isOpen: boolean;
  readonly body: string;
  /** Of the body, for caches. */
  readonly tag: string;
}

export class Doors {
  readonly secrets: DoorSecrets;
  readonly #engine: Engine;
  /** By id of a door that has not opened. */
  readonly #draws = new Map<number, Draw>();
  /** By id of the door. */
  readonly #statuses = new Map<number, KeptStatus>();
  readonly #chains = new Map<number, EntryChain>();
  /** By door: the hashing that those who asked for the status wait for. */
  readonly #chaining = new Map<number, Promise<void>>();
  readonly #entries = new Map<
    number,
    { readonly lines: Promise<Buffer>; readonly readMs: number }
  >();
  /** Ids of doors that are being opened. */
  readonly #opening = new Set<number>();
  readonly #budget = new TokenBuckets();
  #timer: NodeJS.Timeout | null = null;

  /** @param secret - The master secret, 64 hexadecimal digits. */
  constructor(engine: Engine, secret: string) {
    this.#engine = engine;
    this.secrets = new DoorSecrets(secret);
    engine.state.doorKeys = this.secrets;
  }

  /** Opens the doors whose time has come while the server was down, then runs them all. */
  async begin(onBroken: (error: unknown) => void): Promise<void> {
    await Promise.all(this.#due().map((event) => this.#open(event)));
    this.#timer = setInterval(() => {
      try {
        this.tick().catch(onBroken);
      } catch (error) {
        onBroken(error);
      }
    }, TICK_MS);
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  /** @returns Settles when the doors whose time has come are open. */
  async tick(): Promise<void> {
    if (this.#engine.state.doors.size === 0) return;
    this.#engine.serveDoors();
    this.#prepare();
    await Promise.all(this.#due().map((event) => this.#open(event)));
  }

  /** Events whose doors have to open now. */
  #due(): EventRow[] {
    const { state, isWritable } = this.#engine;
    // An order that the log does not take would be made again and again.
    if (!isWritable) return [];
    const nowMs = this.#engine.nowMs();
    return [...state.doors].flatMap(([partition, door]) => {
      const isDue = !door.isOpen && mayOpen(door.row, nowMs) && !this.#opening.has(door.id);
      return isDue ? [state.catalog.eventOf(partition)!] : [];
    });
  }

  /** Makes keys and hashes of draws to come, as long as a slice lasts. */
  #prepare(): void {
    const endMs = performance.now() + AHEAD_MS;
    const living = new Set<number>();
    for (const door of this.#engine.state.doors.values()) {
      living.add(door.id);
      if (!door.row.draw) continue;
      const chained = this.#chainOf(door).follow(door.drawable);
      while (performance.now() < endMs && chained.next().done !== true);
      if (door.isOpen || door.row.beacon !== undefined) continue;
      const steps = this.#drawOf(door).prepare(door.drawable);
      while (performance.now() < endMs && steps.next().done !== true);
    }
    const nowMs = this.#engine.nowMs();
    for (const [id, { readMs }] of this.#entries) {
      if (!living.has(id) || nowMs - readMs > ENTRIES_MS) this.#entries.delete(id);
    }
    for (const id of this.#draws.keys()) if (!living.has(id)) this.#draws.delete(id);
    for (const id of this.#statuses.keys()) if (!living.has(id)) this.#statuses.delete(id);
    for (const id of this.#chains.keys()) if (!living.has(id)) this.#chains.delete(id);
  }

  #drawOf(door: Door): Draw {
    const beacon = door.row.beacon?.value ?? null;
    const known = this.#draws.get(door.id);
    if (known?.beacon === beacon) return known;
    const entryAt = (visitor: number) => door.entryOf(visitor);
    const draw = new Draw(this.secrets.seedOf(door.id), entryAt, beacon);
    this.#draws.set(door.id, draw);
    return draw;
  }

  #chainOf(door: Door): EntryChain {
    const known = this.#chains.get(door.id);
    if (known !== undefined) return known;
    const chain = new EntryChain((visitor) => door.entryOf(visitor));
    this.#chains.set(door.id, chain);
    return chain;
  }

  async #open(event: EventRow): Promise<void> {
    const door = this.#engine.state.doors.get(event.partition)!;
    const { id } = door;
    this.#opening.add(id);
    try {
      const count = door.row.draw ? door.drawable : 0;
      const draw = this.#drawOf(door);
      const { beacon } = draw;
      const order = await inShortSlices(draw.order(count));
      const caller = callerOf(this.#engine, event);
      const facts = { caller, eventId: event.id, order, beacon };
      // Refused if the door is gone, its beacon came meanwhile, or the log takes nothing now: then
      // the next tick tries again.
      const opened = this.#engine.submit({ kind: "openDoor", ...facts });
      if (isGranted(opened)) this.#draws.delete(id);
    } finally {
      this.#opening.delete(id);
    }
  }

  /** @returns Seconds until visitors may call again; 0 when they may now. */
  take(): number {
    return this.#budget.take("visitors", VISITOR_CALLS_PER_SECOND, this.#engine.nowMs());
  }

  /**
   * The status for everybody, as JSON; the same bytes for half a second.
   *
   * @returns A promise after a start with many visitors, until their entries are hashed; null for a
   * door that has gone meanwhile.
   */
  status(event: EventRow, door: Door): KeptStatus | Promise<KeptStatus | null> {
    const nowMs = this.#engine.nowMs();
    const known = this.#statuses.get(door.id);
    const { isOpen } = door;
    const isFresh = known?.isOpen === isOpen && nowMs - known.atMs < STATUS_MS;
    if (isFresh) return known;
    if (!door.row.draw) return this.#keepStatus(event, door, null);
    const chain = this.#chainOf(door);
    const steps = chain.follow(door.drawable);
    if (door.drawable - chain.count > CHAINED_AT_ONCE) {
      return this.#chained(door, steps).then(() => {
        const isThere = this.#engine.state.doors.get(event.partition) === door;
        return isThere ? this.status(event, door) : null;
      });
    }
    while (steps.next().done !== true);
    return this.#keepStatus(event, door, chain.hash);
  }

  /** Hashes what is missing, once for all who wait. */
  async #chained(door: Door, steps: Generator<void, void>): Promise<void> {
    const known = this.#chaining.get(door.id);
    if (known !== undefined) return known;
    const chaining = inShortSlices(steps).finally(() => this.#chaining.delete(door.id));
    this.#chaining.set(door.id, chaining);
    return chaining;
  }

  #keepStatus(event: EventRow, door: Door, joinedHash: string | null): KeptStatus {
    const { isOpen } = door;
    const body = JSON.stringify(statusView(this.#engine, event, door, joinedHash));
    const tag = createHash("sha256").update(body).digest("base64url").slice(0, TAG_LENGTH);
    const kept = { atMs: this.#engine.nowMs(), isOpen, body, tag };
    this.#statuses.set(door.id, kept);
    return kept;
  }

  /**
   * The drawn entries, one a line, in order of arrival. They never change, and are kept for a while
   * after the last read: 33 bytes each.
   */
  async entries(door: Door): Promise<Buffer> {
    const nowMs = this.#engine.nowMs();
    const known = this.#entries.get(door.id);
    const lines = known?.lines ?? inShortSlices(linesOf(door));
    this.#entries.set(door.id, { lines, readMs: nowMs });
    return await lines;
  }

  /** A visitor as shown. @param id - The secret id. */
  visitorView(event: EventRow, visitor: number, id: string) {
    const facts = visitorFacts(this.#engine.state, event, visitor, this.#engine.nowMs());
    const { entry, untilMs, seconds: _seconds, ...shown } = facts;
    const { state, place, ahead, estimatedSeconds, taken } = shown;
    const until = untilMs === null ? null : localDateTime(untilMs);
    return {
      visitor: id,
      entry: Buffer.from(entry).toString("hex"),
      state,
      place,
      ahead,
      estimatedSeconds,
      until,
      taken,
    };
  }

  /** The token of a visitor who is inside. */
  tokenOf(event: EventRow, visitor: number, id: string): string {
    const door = this.#engine.state.doors.get(event.partition)!;
    const untilMs = door.untilOf(visitor);
    const iat = Math.floor((untilMs - door.secondsOf(visitor) * 1_000) / 1_000);
    const exp = Math.floor(untilMs / 1_000);
    const claims = { aud: event.id, sub: id, place: door.placeOf(visitor), iat, exp };
    return this.secrets.sign(door.id, claims);
  }

  /** @returns The visitor with the secret id; `NONE` for none. */
  find(door: Door, id: string): number {
    return door.find(entryOf(id));
  }
}

/** The door as shown to everybody. */
function statusView(engine: Engine, event: EventRow, door: Door, joinedHash: string | null) {
  const { row, drawn, serving } = door;
  return {
    eventId: event.id,
    name: event.name,
    state: doorStateOf(engine.state, event),
    now: localDateTime(engine.nowMs()),
    opensAt: localDateTime(row.opensAtMs),
    draw: row.draw,
    beacon: row.beacon ?? null,
    perMinute: row.perMinute,
    joined: door.count,
    joinedHash,
    drawn,
    serving,
    commitment: row.commitment,
    seed: door.isOpen ? Buffer.from(door.seed).toString("hex") : null,
  };
}

/** The door as shown to the organization. */
export function admissionView(engine: Engine, { secrets }: Doors, event: EventRow, door: Door) {
  const { id: _id, opensAtMs, commitment, exemptHoldTypes, beacon = null, ...settings } = door.row;
  const [waiting, invited, inside, gone] = door.visitorsIn;
  const { perMinute, maxInside, claimSeconds, insideSeconds, seatsPerVisitor, draw, paused } =
    settings;
  return {
    opensAt: localDateTime(opensAtMs),
    perMinute,
    maxInside,
    claimSeconds,
    insideSeconds,
    seatsPerVisitor,
    draw,
    beacon,
    paused,
    exemptHoldTypes,
    shop: null,
    state: doorStateOf(engine.state, event),
    commitment,
    seed: door.isOpen ? Buffer.from(door.seed).toString("hex") : null,
    tokenKey: secrets.tokenKeyOf(door.id),
    joined: door.count,
    drawn: door.drawn,
    serving: door.serving,
    waiting: waiting!,
    invited: invited!,
    inside: inside!,
    gone: gone!,
  };
}

/** For what visitors do themselves, and for what happens by itself. */
export function callerOf({ state }: Engine, { organizationId }: EventRow): Caller {
  const { tenantId } = state.catalog.organizations.get(organizationId)!;
  return { actor: { kind: ActorKind.SYSTEM, id: 0 }, tenantId, organizationId };
}

/** An opening must not wait for quiet, so its slices follow each other, longer than others. */
function inShortSlices<Value>(steps: Generator<void, Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const slice = () => {
      const endMs = performance.now() + OPENING_MS;
      try {
        while (performance.now() < endMs) {
          const step = steps.next();
          if (step.done === true) return resolve(step.value);
        }
        setImmediate(slice);
      } catch (error) {
        reject(error);
      }
    };
    slice();
  });
}

function* linesOf(door: Door): Generator<void, Buffer> {
  const count = door.drawn;
  const lines = Buffer.alloc(count * LINE_BYTES, "\n");
  for (let visitor = 0; visitor < count; visitor++) {
    const { buffer, byteOffset, length } = door.entryOf(visitor);
    const entry = Buffer.from(buffer, byteOffset, length).toString("hex");
    lines.write(entry, visitor * LINE_BYTES, "latin1");
    if (visitor % LINES_PER_STEP === LINES_PER_STEP - 1) yield;
  }
  return lines;
}
