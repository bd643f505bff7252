/**
 * The door of a run, as its visitors meet it: joins, waits for the opening and for the place,
 * enters, leaves. Keeps a record of each visitor for `door-check.ts`.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type ApiClient, FatalError, Transport, unexpectedAnswer } from "./client.ts";
import {
  type Admission,
  API_PATH,
  type Booking,
  type DoorStatus,
  type Problem,
  STATUS_CREATED,
  STATUS_NOT_FOUND,
  STATUS_OK,
  type VisitorView,
} from "./contract.ts";
import type { DoorData, VisitorRecord } from "./door-check.ts";
import type { OnsaleOptions } from "./options.ts";
import { Statistics } from "./statistics.ts";

const MS_PER_SECOND = 1_000;
const PER_MINUTE = 6_000;
const OPENS_IN_SECONDS = 10;
/** While the opening is far, near, and over. */
const FAR_POLL_MS = 1_000;
const NEAR_POLL_MS = 50;
const OPEN_POLL_MS = 100;
const NEAR_MS = 3_000;
const POLL_CONNECTIONS = 2;
/** One visitor in so many tries to lock without a right. */
const PROBE_EVERY = 16;
/** The hold type of the buyers; a door may exempt it from tokens. */
const BUYERS_HOLD_TYPE = "CART";

export class Door {
  readonly #client: ApiClient;
  readonly #eventId: string;
  readonly #first: Admission;
  /** With connections of its own: the queue of the crowd delays no poll. */
  readonly #polls: Transport;
  readonly #runName: string;
  readonly #visitors: Visitor[] = [];
  /** Joined before the sale, and not asked for yet. */
  readonly #joined: Visitor[] = [];
  /** Visitors before their turn, by place. */
  readonly #waiting = new Map<number, () => void>();
  readonly #pollTimes: number[] = [];
  readonly #probes = { tried: 0, granted: [] as string[] };
  #serving = 0;
  #insideMost = 0;
  #insideSamples = 0;
  #areSettingsKept = true;
  /** By the server's clock: the last moment before the opening, and the first one after it. */
  #lastBeforeMs = 0;
  #opened: DoorData["opened"] = null;
  #scarceMs = Infinity;
  /** Lead of this clock over the server's in milliseconds: the least of all answers. */
  #aheadMs = Infinity;
  #isStopped = false;
  #polling: Promise<void> | null = null;

  private constructor(client: ApiClient, options: OnsaleOptions, { eventId, first }: Setting) {
    this.#client = client;
    this.#eventId = eventId;
    this.#first = first;
    this.#runName = `onsale-${crypto.randomUUID().slice(0, 8)}`;
    const polled = { ...options, connections: POLL_CONNECTIONS };
    this.#polls = new Transport(polled, new Statistics());
  }

  /**
   * Takes the door of the event, or sets one up.
   * @throws FatalError for a door without tokens for these buyers.
   */
  static async of(client: ApiClient, eventId: string, options: OnsaleOptions): Promise<Door> {
    const path = `${API_PATH}/events/${eventId}/admission`;
    const { perMinute, maxInside, seatsPerVisitor, opensIn } = options;
    const wishes = [perMinute, maxInside, seatsPerVisitor, opensIn];
    const found = await client.ask({ method: "GET", path });
    if (found.status === STATUS_OK) {
      if (wishes.some((wish) => wish !== undefined)) {
        throw new FatalError("The event has a door: its settings are taken as they are.");
      }
      const first = JSON.parse(found.body.toString()) as Admission;
      if (!first.exemptHoldTypes.includes(BUYERS_HOLD_TYPE)) {
        return new Door(client, options, { eventId, first });
      }
      throw new FatalError(`The door asks for no token: ${BUYERS_HOLD_TYPE} is exempt.`);
    }
    if (found.status !== STATUS_NOT_FOUND) {
      throw unexpectedAnswer({ method: "GET", path }, found);
    }
    const opensAtMs = Date.now() + (opensIn ?? OPENS_IN_SECONDS) * MS_PER_SECOND;
    const settings = { perMinute: perMinute ?? PER_MINUTE, maxInside, seatsPerVisitor };
    const body = JSON.stringify({ ...settings, opensAt: localTime(opensAtMs) });
    const first = await client.write<Admission>("PUT", `/events/${eventId}/admission`, body);
    return new Door(client, options, { eventId, first });
  }

  /** Seats and places of a visitor. */
  get quota(): number {
    return this.#first.seatsPerVisitor ?? Infinity;
  }

  get opensAt(): string {
    return this.#first.opensAt;
  }

  /** Lets so many visitors join, and waits for the opening. */
  async open(visitors: number): Promise<void> {
    this.#polling = this.#poll();
    await Promise.all(
      Array.from({ length: visitors }, async () => void this.#joined.push(await this.#join())),
    );
    while (!this.#isOpen && !this.#isStopped) await sleep(NEAR_POLL_MS);
  }

  get #isOpen(): boolean {
    return this.#first.state !== "before" || this.#opened !== null;
  }

  /** Time until the opening, from now on. */
  get msToOpening(): number {
    return this.#isOpen ? 0 : Math.max(0, timeOf(this.#first.opensAt) - Date.now());
  }

  /**
   * The next visitor waits for its place, and enters.
   * @returns Null when the sale has ended before, or the invitation was missed.
   */
  async admit(): Promise<Visitor | null> {
    const visitor = this.#joined.shift() ?? (await this.#join());
    const { record } = visitor;
    let view = await this.#show(visitor);
    while (view.state === "waiting") {
      if (this.#isStopped) return null;
      if (view.place !== null) await this.#reached(view.place);
      else await sleep(NEAR_POLL_MS);
      view = await this.#show(visitor);
    }
    record.isMissed = !this.#noteInvitation(record, view);
    if (record.isMissed) return null;
    const entered = await this.#ask(visitor, "POST", "/enter");
    if (entered.status !== STATUS_OK) return null;
    view = JSON.parse(entered.body.toString()) as VisitorView;
    record.untilMs = timeOf(view.until!);
    visitor.admission = view.admission!;
    return visitor;
  }

  /** @returns Whether the visitor is invited. */
  #noteInvitation(record: VisitorRecord, { state, until }: VisitorView): boolean {
    if (state !== "invited") return false;
    record.untilMs = timeOf(until!);
    record.invitedMs = record.untilMs - this.#first.claimSeconds * MS_PER_SECOND;
    return true;
  }

  /** The visitor makes room. */
  async leave(visitor: Visitor): Promise<void> {
    const { record } = visitor;
    record.leaveSentMs = Date.now();
    await this.#ask(visitor, "DELETE", "");
    record.leftMs = Date.now();
  }

  /** True for visitors with probes of the door. */
  probes({ number }: Visitor): boolean {
    return number % PROBE_EVERY === 1;
  }

  /**
   * Tries a lock without a right, and undoes it if it is granted.
   * @param without - Names the missing right.
   */
  async probe(without: string, booking: Booking, expected: readonly string[]): Promise<void> {
    const send = (call: string, body: string) => {
      const path = `${API_PATH}/booking/${call}?eventId=${this.#eventId}`;
      return this.#client.ask({ method: "POST", path, body });
    };
    const call = booking.best === undefined ? "lock" : "best";
    const answer = await send(call, booking.lockBody);
    this.#probes.tried += 1;
    const { errorCode, errors } = JSON.parse(answer.body.toString()) as Problem;
    const codes = [errorCode, ...(errors ?? []).map(({ code }) => code)];
    if (answer.status !== STATUS_OK && codes.some((code) => expected.includes(code!))) return;
    this.#probes.granted.push(`${without}: ${answer.status} ${errorCode ?? ""}`.trimEnd());
    await send("unlock", JSON.stringify({ sessionId: booking.sessionId, all: true }));
  }

  /** Fewer places are free than buyers inside may be taking: invitations may stop. */
  noteScarce(): void {
    if (this.#scarceMs === Infinity) this.#scarceMs = Date.now();
  }

  /** Nobody waits any longer. */
  stop(): void {
    // Later invitations are not all seen.
    this.noteScarce();
    this.#isStopped = true;
    for (const resume of this.#waiting.values()) resume();
    this.#waiting.clear();
  }

  /** Reads what the check needs. */
  async finish(): Promise<DoorData> {
    this.stop();
    await this.#polling;
    const status = await this.#read<DoorStatus>("/status");
    const admission = await this.#client.read<Admission>(`/events/${this.#eventId}/admission`);
    this.#noteInside(admission);
    const aheadMs = this.#aheadMs === Infinity ? 0 : this.#aheadMs;
    const isPublished = admission.draw && status.seed !== null;
    await Promise.all(
      this.#visitors.map(async (visitor) => {
        const view = await this.#show(visitor);
        const { record } = visitor;
        if (record.invitedMs === null) this.#noteInvitation(record, view);
        Object.assign(record, { lastPlace: view.place, taken: view.taken });
      }),
    );
    return {
      settings: this.#first,
      areSettingsKept: this.#areSettingsKept,
      last: { ...status, joined: admission.joined },
      entries: isPublished ? await this.#entries() : [],
      visitors: this.#visitors.map(({ record }) => byServer(record, aheadMs)),
      opened: this.#opened,
      scarceMs: this.#scarceMs - aheadMs,
      pollTimes: this.#pollTimes.map((timeMs) => timeMs - aheadMs),
      inside: { most: this.#insideMost, samples: this.#insideSamples },
      probes: this.#probes,
    };
  }

  async close(): Promise<void> {
    this.stop();
    await this.#polling;
    await this.#polls.destroy();
  }

  async #join(): Promise<Visitor> {
    const number = this.#visitors.length + 1;
    const record: VisitorRecord = { ...NEW_RECORD };
    const visitor: Visitor = { number, id: "", admission: "", record };
    this.#visitors.push(visitor);
    const path = `${API_PATH}/events/${this.#eventId}/admission/visitors`;
    // A customer has one place, so a join of unknown outcome is repeated.
    const body = JSON.stringify({ customer: `${this.#runName}-${number}` });
    record.joinSentMs = Date.now();
    const joined = await this.#client.ask({ method: "POST", path, body });
    record.joinedMs = Date.now();
    if (joined.status !== STATUS_CREATED && joined.status !== STATUS_OK) {
      throw unexpectedAnswer({ method: "POST", path }, joined);
    }
    const view = JSON.parse(joined.body.toString()) as VisitorView;
    visitor.id = view.visitor;
    record.entry = view.entry;
    record.place = view.place;
    return visitor;
  }

  async #show(visitor: Visitor): Promise<VisitorView> {
    const answer = await this.#ask(visitor, "GET", "");
    const view = JSON.parse(answer.body.toString()) as VisitorView;
    visitor.record.place ??= view.place;
    return view;
  }

  /** A call of the visitor's browser, which has no key. */
  #ask({ id }: Visitor, method: "GET" | "POST" | "DELETE", call: string) {
    const path = `/door/${this.#eventId}/visitors/${id}${call}`;
    return this.#client.ask({ method, path, isPublic: true });
  }

  async #read<Body>(path: string): Promise<Body> {
    const request = {
      method: "GET",
      path: `/door/${this.#eventId}${path}`,
      isPublic: true,
    } as const;
    const answer = await this.#client.ask(request);
    if (answer.status !== STATUS_OK) throw unexpectedAnswer(request, answer);
    return JSON.parse(answer.body.toString()) as Body;
  }

  async #entries(): Promise<string[]> {
    const path = `/door/${this.#eventId}/entries`;
    const answer = await this.#client.ask({ method: "GET", path, isPublic: true });
    if (answer.status !== STATUS_OK) throw unexpectedAnswer({ method: "GET", path }, answer);
    return answer.body.toString().split("\n").filter(Boolean);
  }

  /** Settles when the place is served, or the sale ends. */
  #reached(place: number): Promise<void> {
    if (place <= this.#serving || this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.set(place, resolve));
  }

  /** The public status, at the rate of a cache, and the operator's view. */
  async #poll(): Promise<void> {
    while (!this.#isStopped) {
      await Promise.all([this.#pollStatus(), this.#pollInside()]);
      const isFar = this.msToOpening > NEAR_MS;
      await sleep(this.#isOpen ? OPEN_POLL_MS : isFar ? FAR_POLL_MS : NEAR_POLL_MS);
    }
  }

  async #pollStatus(): Promise<void> {
    const path = `/door/${this.#eventId}/status`;
    const result = await this.#polls.send({ method: "GET", path, isPublic: true });
    if (result.kind !== "answer" || result.status !== STATUS_OK) return;
    const { now, state, serving } = JSON.parse(result.body.toString()) as DoorStatus;
    const nowMs = timeOf(now);
    this.#aheadMs = Math.min(this.#aheadMs, Date.now() - nowMs);
    this.#pollTimes.push(Date.now());
    if (state === "before") this.#lastBeforeMs = nowMs;
    else if (!this.#isOpen) {
      const fromMs = Math.max(timeOf(this.#first.opensAt), this.#lastBeforeMs);
      this.#opened = { fromMs, toMs: nowMs };
    }
    for (let place = this.#serving + 1; place <= serving; place++) {
      this.#waiting.get(place)?.();
      this.#waiting.delete(place);
    }
    this.#serving = serving;
  }

  async #pollInside(): Promise<void> {
    const path = `${API_PATH}/events/${this.#eventId}/admission`;
    const result = await this.#polls.send({ method: "GET", path });
    if (result.kind !== "answer" || result.status !== STATUS_OK) return;
    this.#noteInside(JSON.parse(result.body.toString()) as Admission);
  }

  #noteInside(admission: Admission): void {
    const { perMinute, maxInside, claimSeconds, paused, invited, inside } = admission;
    const first = this.#first;
    this.#areSettingsKept &&=
      perMinute === first.perMinute &&
      maxInside === first.maxInside &&
      claimSeconds === first.claimSeconds &&
      !paused;
    this.#insideMost = Math.max(this.#insideMost, invited + inside);
    this.#insideSamples += 1;
  }
}

interface Setting {
  readonly eventId: string;
  readonly first: Admission;
}

/** A visitor of the run. */
export interface Visitor {
  /** From 1. */
  readonly number: number;
  /** The secret. */
  id: string;
  /** The token; empty before the visitor is inside. */
  admission: string;
  readonly record: VisitorRecord;
}

const NEW_RECORD: VisitorRecord = {
  entry: "",
  joinSentMs: 0,
  joinedMs: 0,
  place: null,
  invitedMs: null,
  untilMs: null,
  isMissed: false,
  leaveSentMs: null,
  leftMs: null,
  bought: 0,
  lastPlace: null,
  taken: 0,
};

/** By the server's clock. */
function byServer(record: VisitorRecord, aheadMs: number): VisitorRecord {
  const { joinSentMs, joinedMs, leaveSentMs, leftMs } = record;
  return {
    ...record,
    joinSentMs: joinSentMs - aheadMs,
    joinedMs: joinedMs - aheadMs,
    leaveSentMs: leaveSentMs === null ? null : leaveSentMs - aheadMs,
    leftMs: leftMs === null ? null : leftMs - aheadMs,
  };
}

function timeOf(localTimeText: string): number {
  return Date.parse(`${localTimeText}Z`);
}

function localTime(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, -1);
}
