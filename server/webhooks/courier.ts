/**
 * Sends the deliveries of webhooks, in turns: one transaction records the results of attempts and
 * forms deliveries; then the next attempts begin. A delivery is on disk before it is sent, and an
 * attempt with a lost result is repeated.
 */
import { createHash, randomBytes } from "node:crypto";
import type { WebhookFilter, WebhookType } from "../../engine/catalog.ts";
import {
  AuditGap,
  type EventChange,
  type FollowedEvent,
  type OpenCount,
  placesOf,
} from "../../engine/queries/history.ts";
import type { AskHistory } from "../../persistence/history/thread.ts";
import type {
  DeliveryFile,
  Lane,
  NewDelivery,
  PendingDelivery,
} from "../../persistence/deliveries.ts";
import type { Emitter } from "../../persistence/disk/worker.ts";
import { changeView } from "../live/change-view.ts";
import {
  type Attempt,
  type AttemptResult,
  delayMs,
  GIVE_UP_MS,
  RETRY_AFTER_MS_MAX,
  sentenceOf,
} from "./attempt.ts";
import {
  signedHeaders,
  type TestOutcome,
  type Webhook,
  type WebhookCounts,
  type WebhookProgram,
} from "./messages.ts";

/** Attempts under way of one webhook, of one organization, and in all. */
export const OF_WEBHOOK_MAX = 4;
export const OF_ORGANIZATION_MAX = 16;
export const IN_FLIGHT_MAX = 64;
/**
 * The share of the attempts, of an organization and in all, for receivers whose last attempt has
 * succeeded: those that fail take up to fifteen seconds for each.
 */
const PROVEN_SHARE = 1 / 4;
/** Bytes of their bodies. One attempt may always be made. */
export const IN_FLIGHT_BYTES_MAX = 64 * 1024 * 1024;
/** Compressed bytes of pending deliveries, of one webhook and in all. */
export const WAITING_BYTES_MAX = 16 * 1024 * 1024;
export const ALL_WAITING_BYTES_MAX = 1024 * 1024 * 1024;
/** The same of one webhook while all together have too much. */
const SMALL_WAITING_BYTES = 64 * 1024;
/** Changes formed into deliveries at a time, of one lane. */
const CHANGES_MAX = 1_000;
/** Drafts of lanes, read or about to be. */
export const DRAFTS_MAX = 16;
/**
 * Seats and areas of read drafts. Beyond it the next reads wait, because one draft may have 220,000:
 * those of a page, and a last change of a whole layout.
 */
export const DRAFT_PLACES_MAX = 100_000;
/** Drafts being read: the history answers one question after the other. */
const READS_MAX = 2;
/** Before a lane without room is formed again. */
const NO_ROOM_MS = 10_000;
/** The pending bytes are added up this often, for the metrics. */
const WEIGH_EVERY_MS = 10_000;
/** Ended deliveries listed of a webhook, whatever their age. */
export const LISTED_MAX = 100_000;
export const GONE = 410;

/** Gaps that will not close, and their reasons. */
const LOST: Partial<Record<AuditGap, string>> = {
  [AuditGap.DAMAGED]: "the trail is damaged there",
  [AuditGap.NO_EVENT]: "it was deleted, and the retention of the trail has removed it",
};

export interface CourierPorts {
  readonly file: DeliveryFile;
  readonly ask: AskHistory;
  readonly attempt: (attempt: Attempt) => Promise<AttemptResult>;
  readonly allowsPrivate: boolean;
  readonly nowMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly emit: Emitter<WebhookProgram>;
  /** An attempt has ended, or a draft is complete: there may be work for a turn. */
  readonly wake: () => void;
}

interface InFlight {
  readonly lane: Lane;
  readonly webhook: Webhook;
  readonly delivery: PendingDelivery;
}

interface Ended extends InFlight {
  readonly result: AttemptResult;
}

/** The next changes of a lane, read between two turns: the history is in another thread. */
interface Draft {
  readonly lane: Lane;
  /** Cursor of the question: later changes come to a lane when they are followed. */
  readonly until: number;
  event: FollowedEvent | null;
  changes: readonly EventChange[];
  /** Seats and areas of the changes. */
  places: number;
  /** By record; null where the trail has lost the count. */
  readonly counts: Map<number, OpenCount | null>;
  isComplete: boolean;
}

export class Courier {
  readonly #ports: CourierPorts;
  readonly #webhooks = new Map<number, Webhook>();
  /** By lane. */
  readonly #inFlight = new Map<string, InFlight>();
  #inFlightBytes = 0;
  /** The last result of a receiver, by webhook. */
  readonly #results = new Map<number, AttemptResult>();
  /** Attempts with a result the file lacks. */
  #ended: Ended[] = [];
  /** By lane. */
  readonly #drafts = new Map<string, Draft>();
  /** The oldest first. */
  readonly #unread: Draft[] = [];
  #reading = 0;
  /** Counts of the draft in `#formLane`. */
  #counts: Draft["counts"] = new Map();
  readonly #open = new OpenPlaces((_, sequence) => this.#counts.get(sequence)!);
  /** Compressed bytes of pending deliveries, by webhook. */
  #waiting: Map<number, number>;
  #weighedMs = -Infinity;
  #turns = 0;
  #succeeded = 0;
  #failed = 0;

  constructor(ports: CourierPorts, webhooks: readonly Webhook[]) {
    this.#ports = ports;
    const { file } = ports;
    for (const webhook of webhooks) this.#webhooks.set(webhook.id, webhook);
    file.transaction(() => {
      for (const id of file.webhookIds) if (!this.#webhooks.has(id)) file.remove(id);
      for (const webhook of webhooks) if (!webhook.active) file.discard(webhook.id);
      this.#skipUnwanted();
    });
    this.#waiting = file.pendingBytes();
  }

  /** Events from before the first webhook became active go to nobody. */
  #skipUnwanted(): void {
    const { file } = this.#ports;
    let first = Infinity;
    for (const { active, activeSince } of this.#webhooks.values()) {
      if (active) first = Math.min(first, activeSince);
    }
    if (first > file.followed && Number.isFinite(first)) file.follow(first);
  }

  /** A webhook was made or changed. */
  put(webhook: Webhook): void {
    if (this.#webhooks.get(webhook.id)?.url !== webhook.url) this.#results.delete(webhook.id);
    this.#webhooks.set(webhook.id, webhook);
    const { file } = this.#ports;
    file.transaction(() => {
      if (webhook.active) this.#skipUnwanted();
      else file.discard(webhook.id);
    });
  }

  remove(webhookId: number): void {
    this.#webhooks.delete(webhookId);
    this.#results.delete(webhookId);
    const { file } = this.#ports;
    file.transaction(() => file.remove(webhookId));
  }

  /**
   * Follows the new records of the trail.
   *
   * @param until - Up to here the webhooks are known: a later record may change them.
   * @returns False when the trail has no answer at present. @throws SqlFault.
   */
  async follow(until: number): Promise<boolean> {
    const { file, ask, emit, nowMs } = this.#ports;
    const outcome = await ask({ about: "changed", since: file.followed });
    if (outcome.gap !== null) return false;
    const { firstSequence, lastSequence: last } = outcome.extent;
    const lastSequence = Math.min(last, until);
    if (lastSequence <= file.followed) return true;
    const since = Math.max(file.followed, firstSequence - 1);
    if (since > file.followed) {
      const lost = `webhooks miss the changes up to record ${since}, which the trail does not have`;
      emit("report", lost);
    }
    const webhooks = this.#byOrganization();
    file.transaction(() => {
      for (const { partition, eventId, organizationId } of outcome.value) {
        for (const webhook of webhooks.get(organizationId) ?? []) {
          const { id: webhookId, activeSince } = webhook;
          const lane = { webhookId, partition, since: Math.max(since, activeSince) };
          if (isNamedAfter(webhook, eventId, lane.since)) file.addLane(lane, nowMs());
        }
      }
      file.follow(lastSequence);
    });
    return true;
  }

  /** The active webhooks of each organization. */
  #byOrganization(): ReadonlyMap<number, readonly Webhook[]> {
    const found = new Map<number, Webhook[]>();
    for (const webhook of this.#webhooks.values()) {
      if (!webhook.active) continue;
      const own = found.get(webhook.organizationId);
      if (own === undefined) found.set(webhook.organizationId, [webhook]);
      else own.push(webhook);
    }
    return found;
  }

  /** @returns True when there is more to do at once. @throws SqlFault; then nothing has changed. */
  turn(): boolean {
    const { file } = this.#ports;
    const ended = this.#ended;
    const formed = file.transaction(() => {
      for (const one of ended) this.#settle(one);
      return this.#form();
    });
    this.#ended = this.#ended.slice(ended.length);
    for (const one of ended) this.#forget(one);
    this.#send();
    this.#turns += 1;
    // A lane whose delivery has ended is drafted again in the next turn.
    return formed + ended.length > 0;
  }

  /**
   * Makes the backlog of a webhook due, whatever its receiver has asked for.
   *
   * @returns How many deliveries wait, without those in an attempt. @throws SqlFault.
   */
  retry(webhookId: number): number {
    const { file, nowMs } = this.#ports;
    // An attempt that has just failed would postpone its lane again.
    this.turn();
    file.transaction(() => file.hasten(webhookId, nowMs()));
    const inFlight = [...this.#inFlight.values()].map(({ delivery }) => delivery.number);
    return file.pendingCount(webhookId, inFlight);
  }

  /** One attempt beside the lanes, whose outcome changes nothing. Never rejects. */
  async test({ url, secrets }: Pick<Webhook, "url" | "secrets">): Promise<TestOutcome> {
    const { attempt, allowsPrivate, nowMs } = this.#ports;
    const sentMs = nowMs();
    const delivery = testDelivery(sentMs);
    const headers = signedHeaders(delivery, secrets, sentMs);
    const startMs = performance.now();
    const { status, failure } = await attempt({
      url,
      body: delivery.body,
      headers,
      allowsPrivate,
    });
    const milliseconds = Math.round(performance.now() - startMs);
    return { status, milliseconds, error: status === null ? sentenceOf(failure) : null };
  }

  get counts(): WebhookCounts {
    const { file, nowMs } = this.#ports;
    // Sent deliveries count until then.
    if (nowMs() - this.#weighedMs >= WEIGH_EVERY_MS) this.#weigh();
    const waitingBytes = sumOf(this.#waiting.values());
    const tries = { succeeded: this.#succeeded, failed: this.#failed };
    const { laneCount: lanes, followed } = file;
    const { draftPlaces } = this;
    return { lanes, inFlight: this.#inFlight.size, waitingBytes, draftPlaces, ...tries, followed };
  }

  /** Seats and areas of all drafts. */
  get draftPlaces(): number {
    return sumOf([...this.#drafts.values()].map(({ places }) => places));
  }

  close(): void {
    this.#ports.file.close();
  }

  /** Due lanes of a webhook without an attempt under way. */
  #dueLanes({ id }: Webhook): Lane[] {
    const { file, nowMs } = this.#ports;
    const due = file.dueLanes(id, nowMs(), 2 * OF_WEBHOOK_MAX);
    return due.filter((lane) => !this.#inFlight.has(keyOf(lane)));
  }

  /** Forms deliveries of complete drafts, and begins drafts of empty lanes. @returns How many. */
  #form(): number {
    let formed = 0;
    for (const [key, draft] of this.#drafts) {
      if (!draft.isComplete) continue;
      this.#drafts.delete(key);
      this.#formLane(draft);
      formed += 1;
    }
    this.#beginDrafts();
    this.#readNext();
    return formed;
  }

  #beginDrafts(): void {
    const { file, nowMs } = this.#ports;
    for (const webhook of this.#busy) {
      for (const lane of this.#dueLanes(webhook)) {
        if (this.#drafts.size >= DRAFTS_MAX) return;
        if (this.#drafts.has(keyOf(lane)) || file.isWaiting(lane)) continue;
        if (this.#hasRoom(webhook)) this.#draft(lane);
        else file.delay(lane, nowMs() + NO_ROOM_MS);
      }
    }
  }

  #draft(lane: Lane): void {
    const until = this.#ports.file.followed;
    const draft: Draft = {
      lane,
      until,
      event: null,
      changes: [],
      places: 0,
      counts: new Map(),
      isComplete: false,
    };
    this.#drafts.set(keyOf(lane), draft);
    this.#unread.push(draft);
  }

  #readNext(): void {
    while (this.#reading < READS_MAX && this.draftPlaces < DRAFT_PLACES_MAX) {
      const draft = this.#unread.shift();
      if (draft === undefined) return;
      this.#reading += 1;
      const work = this.#read(draft).finally(() => {
        this.#reading -= 1;
      });
      this.#complete(draft, work);
    }
  }

  /** @param work - Settles with false when the trail has no answer at present. */
  #complete(draft: Draft, work: Promise<boolean>): void {
    const key = keyOf(draft.lane);
    this.#drafts.set(key, draft);
    draft.isComplete = false;
    const end = (isDone: boolean) => {
      draft.isComplete = isDone;
      if (isDone) this.#ports.wake();
      // A later turn begins it again.
      else this.#drafts.delete(key);
      this.#readNext();
    };
    void work.then(end);
  }

  async #read(draft: Draft): Promise<boolean> {
    const { ask, emit } = this.#ports;
    const { lane, until } = draft;
    const { partition } = lane;
    const found = await ask({ about: "event", eventId: "", partition });
    if (found.gap !== null) return this.#isLost(found.gap, `changes of event number ${partition}`);
    const { eventId } = found.value;
    const after = (since: number) =>
      ask({ about: "changes", eventId, partition, since, limit: CHANGES_MAX });
    let page = await after(lane.since);
    if (page.gap === AuditGap.TOO_EARLY) {
      emit("report", `a webhook misses changes of the event ${eventId}: the trail has lost them`);
      page = await after(page.extent!.firstSequence - 1);
    }
    if (page.gap !== null) return this.#isLost(page.gap, `changes of the event ${eventId}`);
    draft.event = found.value;
    draft.changes = page.value.changes.filter(({ sequence }) => sequence <= until);
    draft.places = sumOf(draft.changes.map(placesOf));
    return true;
  }

  /** Counts the open places after records. */
  async #count(draft: Draft, sequences: readonly number[]): Promise<boolean> {
    const { eventId, partition } = draft.event!;
    for (const sequence of sequences) {
      // oxlint-disable-next-line no-await-in-loop -- one question at a time
      const found = await this.#ports.ask({ about: "open", eventId, partition, sequence });
      if (found.gap === null) draft.counts.set(sequence, found.value);
      else if (this.#isLost(found.gap, `whether record ${sequence} sold out the event ${eventId}`))
        draft.counts.set(sequence, null);
      else return false;
    }
    return true;
  }

  /** @returns True when the trail will not have it at a later time either. */
  #isLost(gap: AuditGap, missed: string): boolean {
    const reason = LOST[gap];
    if (reason === undefined) return false;
    this.#ports.emit("report", `a webhook misses ${missed}: ${reason}`);
    return true;
  }

  #formLane(draft: Draft): void {
    const { file, nowMs } = this.#ports;
    const { lane, until, event, changes, counts } = draft;
    const webhook = this.#webhooks.get(lane.webhookId);
    if (webhook?.active !== true || !file.hasLane(lane)) return;
    const { eventId } = event ?? { eventId: "" };
    const isWanted = event !== null && isNamedAfter(webhook, eventId, lane.since);
    if (!isWanted || changes.length === 0) {
      if (until === file.followed) return file.removeLane(lane);
      // Later changes were followed during the question, and have no other lane.
      return void file.form({ ...lane, since: Math.max(lane.since, until) }, [], nowMs());
    }
    const typesOf = ({ sequence }: EventChange) => {
      const filter = filterOf(webhook, sequence);
      return isNamed(filter, eventId) ? filter.types : [];
    };
    const watched = changes.filter((change) => typesOf(change).includes("soldout"));
    const missing = this.#open
      .countsFor(lane.partition, watched, counts)
      .filter((sequence) => !counts.has(sequence));
    if (missing.length > 0) return this.#complete(draft, this.#count(draft, missing));
    this.#counts = counts;
    const isLast = this.#open.isLast.bind(this.#open, lane.partition);
    const told = { webhookId: webhook.id, eventId, typesOf, isLast };
    const deliveries = deliveriesOf(changes, told);
    const since = changes.at(-1)!.sequence;
    const bytes = file.form({ ...lane, since }, deliveries, nowMs());
    this.#waiting.set(webhook.id, (this.#waiting.get(webhook.id) ?? 0) + bytes);
  }

  /** Counts again when it seems full: sent deliveries are still counted. */
  #hasRoom({ id }: Webhook): boolean {
    const has = () => {
      const isFull = sumOf(this.#waiting.values()) > ALL_WAITING_BYTES_MAX;
      const max = isFull ? SMALL_WAITING_BYTES : WAITING_BYTES_MAX;
      return (this.#waiting.get(id) ?? 0) < max;
    };
    if (has()) return true;
    this.#weigh();
    return has();
  }

  #weigh(): void {
    const { file, nowMs } = this.#ports;
    this.#waiting = file.pendingBytes();
    this.#weighedMs = nowMs();
  }

  /** Begins due attempts within the limits. */
  #send(): void {
    const { file } = this.#ports;
    for (const webhook of this.#busy) {
      for (const lane of this.#dueLanes(webhook)) {
        if (!this.#mayBegin(webhook)) break;
        const delivery = file.pending(lane);
        if (delivery !== null) void this.#begin({ lane, webhook, delivery });
      }
    }
  }

  #mayBegin({ id, organizationId }: Webhook): boolean {
    const count = this.#inFlight.size;
    if (count > 0 && this.#inFlightBytes >= IN_FLIGHT_BYTES_MAX) return false;
    const isProven = this.#isProven(id);
    let [ofWebhook, ofOrganization, unproven, unprovenOfOrganization] = [0, 0, 0, 0];
    for (const { webhook } of this.#inFlight.values()) {
      const isOwn = webhook.organizationId === organizationId;
      if (webhook.id === id) ofWebhook += 1;
      if (isOwn) ofOrganization += 1;
      if (this.#isProven(webhook.id)) continue;
      unproven += 1;
      if (isOwn) unprovenOfOrganization += 1;
    }
    const isSlow = this.#results.get(id)?.isTimeout === true;
    if (ofWebhook >= (isSlow ? 1 : OF_WEBHOOK_MAX)) return false;
    const hasPlace = (taken: number, takenByUnproven: number, max: number) =>
      taken < max && (isProven || takenByUnproven < max * (1 - PROVEN_SHARE));
    const hasOwnPlace = hasPlace(ofOrganization, unprovenOfOrganization, OF_ORGANIZATION_MAX);
    return hasOwnPlace && hasPlace(count, unproven, IN_FLIGHT_MAX);
  }

  #isProven(webhookId: number): boolean {
    return this.#results.get(webhookId)?.failure === "";
  }

  async #begin(begun: InFlight): Promise<void> {
    const { attempt, allowsPrivate, nowMs, wake } = this.#ports;
    const { lane, webhook, delivery } = begun;
    this.#inFlight.set(keyOf(lane), begun);
    this.#inFlightBytes += delivery.body.length;
    const headers = signedHeaders(delivery, webhook.secrets, nowMs());
    const { body } = delivery;
    const result = await attempt({ url: webhook.url, body, headers, allowsPrivate });
    this.#ended.push({ ...begun, result });
    wake();
  }

  /** The result is in the file. */
  #forget({ lane, webhook, delivery, result }: Ended): void {
    this.#inFlight.delete(keyOf(lane));
    if (this.#webhooks.get(webhook.id)?.url === webhook.url) this.#results.set(webhook.id, result);
    this.#inFlightBytes -= delivery.body.length;
    if (result.failure === "") this.#succeeded += 1;
    else this.#failed += 1;
  }

  #settle({ lane, webhook, delivery, result }: Ended): void {
    const { file, nowMs, random } = this.#ports;
    // A webhook deleted or made inactive meanwhile gets no verdict.
    if (this.#webhooks.get(webhook.id)?.active !== true) return;
    const { number, attempts, firstTriedMs } = delivery;
    const { status } = result;
    const now = nowMs();
    if (result.failure === "") {
      file.end(number, "DELIVERED", status);
      file.succeeded(webhook.id, now);
      return file.delay(lane, now);
    }
    if (status === GONE) {
      file.end(number, "FAILED", status);
      return this.#disable(webhook, "The receiver answered 410 Gone.");
    }
    if (now - file.failingSince(webhook.id, now) >= GIVE_UP_MS) {
      file.end(number, "FAILED", status);
      return this.#disable(webhook, `Three days without success; last: ${result.failure}.`);
    }
    if (firstTriedMs !== null && now - firstTriedMs >= GIVE_UP_MS) {
      file.end(number, "FAILED", status);
      return file.delay(lane, now);
    }
    const nextAtMs = now + delayMs(attempts + 1, result.askedMs, random());
    file.retry(number, { lastStatus: status, nowMs: now, nextAtMs });
    file.delay(lane, nextAtMs, now + Math.min(result.askedMs, RETRY_AFTER_MS_MAX));
  }

  /** Sends nothing more; the backlog is discarded when the engine has disabled the webhook. */
  #disable(webhook: Webhook, reason: string): void {
    if (this.#webhooks.get(webhook.id) !== webhook) return;
    this.#webhooks.set(webhook.id, { ...webhook, active: false });
    this.#ports.emit("disable", { webhookId: webhook.id, version: webhook.version, reason });
  }

  /** The active webhooks with lanes, round robin. */
  get #busy(): Webhook[] {
    const ids = this.#ports.file.busyWebhooks();
    const first = this.#turns % Math.max(1, ids.length);
    return [...ids.slice(first), ...ids.slice(0, first)].flatMap((id) => {
      const webhook = this.#webhooks.get(id);
      return webhook?.active === true ? [webhook] : [];
    });
  }
}

/** The filter in force at a record. */
function filterOf(webhook: Webhook, sequence: number): WebhookFilter {
  const { earlier = [] } = webhook;
  return earlier.find(({ until }) => sequence <= until) ?? webhook;
}

/** @returns True when a filter in force after this record names the event. */
function isNamedAfter(webhook: Webhook, eventId: string, sequence: number): boolean {
  const { earlier = [] } = webhook;
  const filters = [...earlier.filter(({ until }) => until > sequence), webhook];
  return filters.some((filter) => isNamed(filter, eventId));
}

function isNamed({ eventIds }: WebhookFilter, eventId: string): boolean {
  return eventIds.length === 0 || eventIds.includes(eventId);
}

function keyOf({ webhookId, partition }: Lane): string {
  return `${webhookId}/${partition}`;
}

function sumOf(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

// Forms deliveries from changes of an event. A delivery is about one event and has one type;
// changes of the same second travel together.

/** Changes within this time may travel in one delivery. */
const TOGETHER_MS = 1_000;
const ID_BYTES = 18;
/** The sending order of deliveries with the same last change. */
const ORDER: readonly WebhookType[] = ["change", "expired", "soldout", "status"];

export interface Told {
  readonly webhookId: number;
  readonly eventId: string;
  /** The types this change is delivered as. */
  readonly typesOf: (change: EventChange) => readonly WebhookType[];
  /** True for the change that took the last ACTIVE or LOCKED seat or place. */
  readonly isLast: (change: EventChange) => boolean;
}

/** @returns The deliveries in the order of their last changes. */
export function deliveriesOf(changes: readonly EventChange[], told: Told): NewDelivery[] {
  const deliveries: NewDelivery[] = [];
  for (const together of windowsOf(changes)) {
    const made = ORDER.flatMap((type) => {
      const wanted = together.filter((change) => isTold(type, change, told));
      return wanted.length === 0 ? [] : [deliveryOf(type, told, wanted)];
    });
    // A sort keeps the order of equals.
    deliveries.push(...made.sort((a, b) => a.sequence - b.sequence));
  }
  return deliveries;
}

function* windowsOf(changes: readonly EventChange[]): Generator<readonly EventChange[], void> {
  let window: EventChange[] = [];
  for (const change of changes) {
    const [first] = window;
    if (first !== undefined && change.timeMs >= first.timeMs + TOGETHER_MS) {
      yield window;
      window = [];
    }
    window.push(change);
  }
  if (window.length > 0) yield window;
}

function isTold(type: WebhookType, change: EventChange, { typesOf, isLast }: Told): boolean {
  if (!typesOf(change).includes(type)) return false;
  const { call, seats, areas, status, bookable } = change;
  switch (type) {
    case "change":
      return seats.length + areas.length > 0;
    case "expired":
      return call === "expire";
    case "soldout":
      return isLast(change);
    case "status":
      return status !== null || bookable !== null || call === "deleteevent";
  }
  return type satisfies never;
}

function deliveryOf(
  type: WebhookType,
  { webhookId, eventId }: Told,
  changes: readonly EventChange[],
): NewDelivery {
  const { sequence, timeMs } = changes.at(-1)!;
  const timestamp = new Date(timeMs).toISOString();
  const data = { eventId, sequence, changes: changes.map((change) => changeView(change, false)) };
  const body = JSON.stringify({ type, timestamp, data });
  // Derived, so that a host that takes over repeats the id.
  const digest = createHash("sha256").update(`${webhookId}\n${body}`).digest();
  return { id: idOf(digest.subarray(0, ID_BYTES)), type, sequence, body };
}

/** About no event, in the shape of the others, so that a receiver reads it in the same way. */
function testDelivery(nowMs: number): Pick<NewDelivery, "id" | "body"> {
  const timestamp = new Date(nowMs).toISOString();
  const data = { eventId: null, sequence: 0, changes: [] };
  return {
    id: idOf(randomBytes(ID_BYTES)),
    body: JSON.stringify({ type: "test", timestamp, data }),
  };
}

function idOf(bytes: Buffer): string {
  return `msg_${bytes.toString("base64url")}`;
}

// Detects the change that takes the last ACTIVE or LOCKED seat or place of an event. Moves add or
// subtract; after other changes the trail is asked for a new count.

/** Events with a count in memory. */
const EVENTS_MAX = 1_000;

/** Open seats that each seat of a call adds. Other calls do more than move seats. */
const ADDED: Readonly<Record<string, number>> = {
  lock: 0,
  unlock: 0,
  expire: 0,
  sale: -1,
  directsale: -1,
  block: -1,
  revertsale: 1,
  unblock: 1,
};

/** @returns Those of an event after a record; null where the trail has lost them. */
export type CountOpen = (partition: number, sequence: number) => OpenCount | null;

interface Known {
  sequence: number;
  seats: number;
  /** In all areas together. */
  places: number;
  readonly areas: Map<number, number>;
}

export class OpenPlaces {
  readonly #count: CountOpen;
  /** By partition number. */
  readonly #known = new Map<number, Known>();

  constructor(count: CountOpen) {
    this.#count = count;
  }

  /**
   * @param counts - By record: known counts.
   * @returns The records whose counts `isLast` will ask for.
   */
  countsFor(partition: number, changes: readonly EventChange[], counts: Draft["counts"]): number[] {
    const counted: number[] = [];
    let last = this.#known.get(partition)?.sequence;
    for (const { call, previous, sequence } of changes) {
      const added = ADDED[call];
      const isKnown = added !== undefined && last === previous;
      if (!isKnown && added === -1) counted.push(sequence);
      const isCounted = added === -1 && counts.get(sequence) !== null;
      last = isKnown || isCounted ? sequence : undefined;
    }
    return counted;
  }

  /** To be asked about the changes of an event in order. */
  isLast(partition: number, change: EventChange): boolean {
    const added = ADDED[change.call];
    let known = this.#known.get(partition);
    if (known !== undefined && added !== undefined && known.sequence === change.previous) {
      move(known, change, added);
    } else {
      this.#known.delete(partition);
      // Only taking calls can take the last one.
      if (added !== -1) return false;
      const counted = this.#counted(partition, change.sequence);
      if (counted === null) return false;
      if (this.#known.size >= EVENTS_MAX) this.#known.clear();
      this.#known.set(partition, (known = counted));
    }
    return added === -1 && known.seats + known.places === 0;
  }

  #counted(partition: number, sequence: number): Known | null {
    const count = this.#count(partition, sequence);
    if (count === null) return null;
    const { seats, areas } = count;
    const places = [...areas.values()].reduce((sum, open) => sum + open, 0);
    return { sequence, seats, places, areas: new Map(areas) };
  }
}

function move(known: Known, { sequence, seats, areas }: EventChange, added: number): void {
  known.sequence = sequence;
  known.seats += added * seats.length;
  for (const { id, active, locked } of areas) {
    const open = active + locked;
    known.places += open - (known.areas.get(id) ?? 0);
    known.areas.set(id, open);
  }
}
