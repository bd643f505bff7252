/** Prometheus metrics of the front, the log, the snapshots and the audit trail. */
import { collectDefaultMetrics, Registry } from "prom-client";
import type { EventRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, type BookingState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type { DoorTotals, State } from "../../engine/state.ts";
import { type Refused, REPLIES } from "../http/answers.ts";
import { localDateTime } from "../http/json.ts";
import type { HttpStats } from "../http/server.ts";
import {
  type DurationCounts,
  Durations,
  family,
  histogram,
  RecentText,
  type Row,
  rowLines,
  type Sample,
} from "./exposition.ts";

/** Gauges of Node with names of counters; each has another name as well. */
const MISNAMED = ["handles", "requests", "resources"].map((kind) => `nodejs_active_${kind}_total`);

export class Metrics {
  readonly #node = new Registry();
  readonly #traffic = new Traffic();
  readonly #refusals = new Map<Refused, number>();
  readonly #sources: MetricsSources;
  readonly #text: RecentText;
  /** Of doors, when the process began to count. */
  readonly #doorsBefore: DoorTotals;

  /** @param nowMs - A monotonic clock. */
  constructor(sources: MetricsSources, nowMs: () => number = () => performance.now()) {
    this.#sources = sources;
    this.#doorsBefore = sources.engine.state.doors.totals;
    this.#text = new RecentText(() => this.#compute(), nowMs);
    collectDefaultMetrics({ register: this.#node });
    for (const name of MISNAMED) this.#node.removeSingleMetric(name);
  }

  get contentType(): string {
    return this.#node.contentType;
  }

  /**
   * The Prometheus exposition text, up to a second old. It takes milliseconds to compute:
   * series of the process need calls of the system, and its open files are counted one by one.
   */
  text(): Promise<string> {
    return this.#text.read();
  }

  /** Cost: O(events and areas). */
  async #compute(): Promise<string> {
    const { engine, clusterLines, commands } = this.#sources;
    const own = [
      ...rowLines("frontrow", [
        ...storeRows(this.#sources),
        ...inventoryRows(this.#sources),
        ...httpRows(this.#sources),
        ...callerRows(this.#sources),
        ...followerRows(this.#sources),
      ]),
      ...storeLines(this.#sources),
      ...refusalLines(this.#refusals),
      ...doorLines(engine.state, this.#doorsBefore),
      ...(clusterLines?.() ?? []),
      ...eventPlaces(engine.state, engine.nowMs()),
      ...this.#traffic.lines(),
      commands.traffic.text(),
    ];
    return `${await this.#node.metrics()}\n${own.join("\n")}`;
  }

  /** A request gets a problem document. */
  refused(refusal: Refused): void {
    this.#refusals.set(refusal, (this.#refusals.get(refusal) ?? 0) + 1);
  }

  /** @param route - Undefined for an unknown path. */
  answered(route: RouteLabels | undefined, status: number, durationMs: number): void {
    this.#traffic.answered(route, status, durationMs);
  }
}

/** Log, snapshots, audit trail. */
function storeRows({ engine, log, store, audit }: MetricsSources): Row[] {
  const pause = "Longest pause of the engine for a snapshot since the start.";
  const size = "Size of the last snapshot; 0 if there was none since the start.";
  const success = "Time of the last snapshot; 0 if there was none since the start.";
  const lag = "Durable records that the thread of the audit trail has not read yet.";
  const refused = "Reads of the audit trail refused, because too many waited.";
  return [
    ["sequence", "Sequence number of the last record.", engine.sequence],
    ["log_writable", "1 while the log accepts records, else 0.", Number(engine.isWritable)],
    ["log_batches_total", "Batches of records written to the log.", log.batches],
    ["log_bytes_total", "Bytes written to the log.", log.bytes],
    ["log_syncs_total", "Syncs of the log.", log.syncs],
    ["log_pending_bytes", "Bytes that wait to be written.", log.pendingBytes],
    ["log_pending_records", "Records that wait to be written.", log.pendingRecords],
    ["audit_lag_records", lag, audit.lagRecords],
    ["audit_usable", "1 while the audit trail can be written, else 0.", Number(!audit.isFailing)],
    ["audit_questions", "Reads of the audit trail that wait.", audit.waiting],
    ["audit_questions_refused_total", refused, audit.refused],
    ["snapshot_pause_max_seconds", pause, store.snapshotPauseSecondsMax],
    ["snapshot_duration_seconds", "Duration of the last snapshot.", store.snapshotSeconds],
    ["snapshot_bytes", size, store.snapshotBytes],
    ["snapshot_last_success_timestamp_seconds", success, store.snapshotAtSeconds],
    ["recovery_duration_seconds", "Duration of the recovery at the start.", store.recoverySeconds],
    ["recovery_records", "Records of the log that the recovery applied.", store.recoveryRecords],
  ];
}

function storeLines({ version, log, store }: MetricsSources): string[] {
  const build = { version, node: process.versions.node };
  const sync = "Time to write and sync a batch of the log.";
  const commit = "Time from the first record of a batch until the batch is on disk.";
  return [
    ...family("frontrow_build_info", "gauge", "The version that runs; always 1.", [[build, 1]]),
    ...histogram("frontrow_log_sync_duration_seconds", sync, [[{}, log.syncTimes]]),
    ...histogram("frontrow_log_commit_duration_seconds", commit, [[{}, log.commitTimes]]),
    ...family("frontrow_snapshots_total", "counter", "Snapshots by result.", [
      [{ result: "made" }, store.snapshotsMade],
      [{ result: "failed" }, store.snapshotsFailed],
    ]),
  ];
}

/** State created by clients, and the caches of its readers. */
const VISITOR_STATES = ["waiting", "invited", "inside", "gone"];

/** The doors of all events together. Cost: O(doors). */
function doorLines({ doors }: State, before: DoorTotals): string[] {
  const { invited, noShows } = doors.totals;
  const visitors = VISITOR_STATES.map(() => 0);
  const invitations = "Invitations of doors that ran out since the start.";
  for (const door of doors.values()) {
    for (const [state, count] of door.visitorsIn.entries()) visitors[state]! += count;
  }
  const byState = VISITOR_STATES.map((state, i): Sample => [{ state }, visitors[i]!]);
  return [
    ...family("frontrow_door_visitors", "gauge", "Visitors of all doors by state.", byState),
    ...rowLines("frontrow", [
      ["door_invited_total", "Visitors invited since the start.", invited - before.invited],
      ["door_no_shows_total", invitations, noShows - before.noShows],
    ]),
  ];
}

function inventoryRows({ engine, queries, replies }: MetricsSources): Row[] {
  const { catalog, partitions, used, quota } = engine.state;
  const stored = catalog.storedReplies;
  const late = "Events whose seats have yet to follow a change of their layout.";
  const memory = "Memory for stored replies, in bytes, as estimated from their number.";
  const recent = "Recent bodies of stored replies in memory, in characters.";
  const dropped = "Bodies of stored replies that were dropped to make room for others.";
  const gone = "Retries that were refused because the reply was gone.";
  const noMemory = "Requests that were refused because there was no memory for their reply.";
  return [
    ["events", "Events in memory.", partitions.size],
    ["holds", "Live holds.", partitions.holdCount],
    ["catalog_bytes", "Estimated memory for rows and layouts.", used.catalog],
    ["catalog_max_bytes", "Limit for rows and layouts.", quota.catalog],
    ["event_bytes", "Estimated memory for the seats of events.", used.events],
    ["event_max_bytes", "Limit for the seats of events.", quota.events],
    ["events_behind_layout", late, partitions.waitingCount],
    ["logins", "Logins that have not ended.", catalog.logins.size],
    ["remembered_queries", "Checked queries in memory.", queries.count],
    ["replies", "Stored replies to requests with an Idempotency-Key.", catalog.replies.size],
    ["reply_memory_bytes", memory, stored.memory],
    ["reply_recent_characters", recent, replies.recentChars],
    ["reply_disk_bytes", "Disk space for bodies of stored replies, in bytes.", stored.disk],
    ["reply_bodies_dropped_total", dropped, stored.dropped],
    ["replies_gone_total", gone, replies.gone],
    ["reply_keys_refused_total", noMemory, replies.refused],
  ];
}

function httpRows({ http, accessLog }: MetricsSources): Row[] {
  const { answers, bodies, bodyBudget, exchanges, sockets } = http;
  const inFlight = "Requests that have begun and are not answered yet.";
  const announced = "Bytes reserved by bodies that come in pieces, until they are answered.";
  const full = "Connections closed at once, because there were too many, or of their address.";
  const shed = "Connections closed after an answer, because their address had most of all.";
  const abandoned = "Answers that their client did not read to the end.";
  const noRoom = "Request bodies refused, because others hold too much memory.";
  const unmeasured = "Answers without a body that were not sent, because there were too many.";
  const buckets = "Addresses whose answers without a body are counted at present.";
  const slow = "Request bodies that came too slowly, or not to their end.";
  const lost = "Lines of the access log that were lost, because it was too slow or failed.";
  return [
    ["http_connections", "Open connections.", http.connections],
    ["http_sockets", "Those of them that are WebSockets.", sockets.count],
    ["http_connections_max", "Connections that may be open.", http.connectionsMax],
    ["http_connections_refused_total", full, http.connectionsRefused],
    ["http_connections_shed_total", shed, http.connectionsShed],
    ["http_requests_in_flight", inFlight, exchanges.open],
    ["http_idle_exchanges", "Exchanges kept for later requests.", exchanges.idle],
    ["http_empty_answers_refused_total", unmeasured, exchanges.unmeasuredRefused],
    ["http_empty_answer_buckets", buckets, exchanges.unmeasuredBuckets],
    ["http_waiting_answers", "Answers that wait until their client reads.", answers.count],
    ["http_waiting_answer_bytes", "Bytes of these answers.", answers.heldBytes],
    ["http_answers_abandoned_total", abandoned, answers.abandoned],
    ["http_unfinished_bodies", "Request bodies that have not come whole.", bodies.count],
    ["http_unfinished_body_bytes", announced, bodyBudget.bytes],
    ["http_bodies_refused_total", noRoom, bodyBudget.refused],
    ["http_bodies_abandoned_total", slow, bodies.abandoned],
    ["access_log_lines_total", "Lines of the access log.", accessLog?.lines ?? 0],
    ["access_log_lines_dropped_total", lost, accessLog?.dropped ?? 0],
  ];
}

/** Keys and logins, and waiting or refused work. */
function callerRows(sources: MetricsSources): Row[] {
  const { logins, keys, badKeys, layoutThreads, passwords, rates, waiting, commands } = sources;
  const revoked = "Logins that ended because a refresh token was used twice.";
  const keyAddresses = "Addresses whose requests without a valid key are counted.";
  const { accounts, addresses } = logins.throttled;
  const noLayout = "Jobs on large layouts refused, because too many of the organization waited.";
  const checks = "Logins whose password is being checked.";
  const noCheck = "Logins refused, because too many waited.";
  const hashes = "New accounts whose password is being hashed.";
  const noHash = "Creations of accounts refused, because too many waited.";
  const noTurn = "Long bodies refused, because too many of the organization waited.";
  const delayed = "Refusals of requests that are delayed, because too many requests wait.";
  const answerBytes = "Bytes of answers to commands of WebSockets that wait for the disk.";
  const noCommand = "Commands of WebSockets refused, because too many waited.";
  const limited = "Requests that were refused by a limit of their organization.";
  const buckets = "Keys, and pairs of key and event, whose requests are counted at present.";
  return [
    ["remembered_keys", "Valid keys in memory.", keys.counts.remembered],
    ["private_key_hashes", "Hashes of private keys in memory.", keys.counts.privateKeys],
    ["bad_key_addresses", keyAddresses, badKeys.count],
    ["bad_login_accounts", "Accounts whose wrong passwords are counted.", accounts],
    ["bad_login_addresses", "Addresses whose wrong passwords are counted.", addresses],
    ["known_login_networks", "Accounts' networks that are remembered.", logins.knownNetworks],
    ["logins_revoked_total", revoked, logins.revoked],
    ["logins_waiting", checks, passwords.checks.count],
    ["logins_refused_total", noCheck, passwords.checks.refused],
    ["accounts_waiting", hashes, passwords.hashes.count],
    ["accounts_refused_total", noHash, passwords.hashes.refused],
    ["layout_jobs", "Jobs on large layouts that wait or run.", layoutThreads.count],
    ["layout_jobs_refused_total", noLayout, layoutThreads.refused],
    ["waiting_requests", "Requests that wait.", waiting.count],
    [
      "waiting_requests_refused_total",
      "Requests refused because too many waited.",
      waiting.refused,
    ],
    ["delayed_refusals", delayed, waiting.refusals.count],
    ["waiting_bodies", "Long bodies that wait for their turn.", waiting.longBodies.used],
    ["waiting_bodies_refused_total", noTurn, waiting.longBodies.refused],
    ["waiting_commands", "Commands of WebSockets that wait.", commands.waiting.count],
    ["waiting_commands_refused_total", noCommand, commands.waiting.refused],
    ["command_answer_bytes", answerBytes, commands.answerBytes],
    ["requests_limited_total", limited, rates.refused],
    ["rate_buckets", buckets, rates.count],
  ];
}

/** Live views, webhooks, gateways. */
function followerRows({ engine, live, webhooks, gateways }: MetricsSources): Row[] {
  const { stats } = live;
  const oldest = stats.recentOldestMs;
  const ageSeconds = oldest === 0 ? 0 : Math.max(0, engine.nowMs() - oldest) / 1_000;
  const messages = "Messages with changes that were made, each for many who follow an event.";
  const slow = "Streams that were closed because too much waited to be read.";
  const refused = "Streams, server-sent events and waiting requests beyond their limit.";
  const bytes = "Compressed bytes of the deliveries that wait.";
  const places = "Seats and areas of changes in memory that become deliveries.";
  const lag = "Durable records that were not looked at for webhooks yet.";
  const rows: Row[] = [
    ["streams", "Clients that follow an event over a WebSocket.", stats.streams],
    ["event_streams", "Clients that follow an event by server-sent events.", stats.eventStreams],
    ["waiting_polls", "Requests that wait for a change of an event.", stats.waitingPolls],
    ["stream_tickets", "Valid tickets without a connection.", stats.tickets],
    ["stream_messages_total", messages, stats.messages],
    ["streams_slow_total", slow, stats.slow],
    ["streams_refused_total", refused, stats.refused],
    ["recent_changes_bytes", "Memory of the recent changes of all events.", stats.recentBytes],
    ["recent_changes_seconds", "How far back the recent changes in memory go.", ageSeconds],
    ["cached_maps", "Maps of events in memory.", stats.maps],
    ["webhook_lanes", "Pairs of webhook and event with something to send.", webhooks.counts.lanes],
    ["webhook_tries_in_flight", "Tries of deliveries under way.", webhooks.counts.inFlight],
    ["webhook_waiting_bytes", bytes, webhooks.counts.waitingBytes],
    ["webhook_draft_places", places, webhooks.counts.draftPlaces],
    ["webhook_lag_records", lag, webhooks.lagRecords],
    ["webhook_successes_total", "Tries that succeeded.", webhooks.counts.succeeded],
    ["webhook_failures_total", "Tries that failed.", webhooks.counts.failed],
    ["webhooks_disabled_total", "Webhooks that were given up.", webhooks.disabled],
  ];
  if (gateways === null) return rows;
  const waiting = "Requests over links of gateways that wait for the disk.";
  const noRoom = "Requests over links of gateways refused, because too many waited.";
  return [
    ...rows,
    ["gateway_links", "Gateways that are linked.", gateways.count],
    ["gateway_requests_total", "Requests over links of gateways.", gateways.requests],
    ["gateway_waiting_requests", waiting, gateways.waiting.count],
    ["gateway_requests_refused_total", noRoom, gateways.waiting.refused],
  ];
}

const CODES = [...new Set(Object.values(REPLIES).map(({ errorCode }) => errorCode))].sort();

function refusalLines(refusals: ReadonlyMap<Refused, number>): string[] {
  const counts = new Map(CODES.map((code) => [code, 0]));
  for (const [refusal, count] of refusals) {
    const { errorCode } = REPLIES[refusal];
    counts.set(errorCode, counts.get(errorCode)! + count);
  }
  return family(
    "frontrow_refusals_total",
    "counter",
    "Requests answered with a problem document, by its errorCode.",
    [...counts].map(([code, count]) => [{ code }, count]),
  );
}

// Sources of the metrics.

/** Totals of the log since the start. */
export interface LogCounters {
  readonly batches: number;
  readonly bytes: number;
  readonly syncs: number;
  readonly syncTimes: DurationCounts;
  readonly commitTimes: DurationCounts;
  /** Bytes and records of the open batch. */
  readonly pendingBytes: number;
  readonly pendingRecords: number;
}

/** Recovery and snapshots, in seconds; `snapshotAtSeconds` counts from 1970. */
interface StoreCounters {
  readonly snapshotsMade: number;
  readonly snapshotsFailed: number;
  readonly snapshotPauseSecondsMax: number;
  readonly snapshotSeconds: number;
  readonly snapshotBytes: number;
  readonly snapshotAtSeconds: number;
  readonly recoverySeconds: number;
  readonly recoveryRecords: number;
}

/** State of the audit trail. */
export interface AuditCounters {
  /** Durable records missing in the trail. */
  readonly lagRecords: number;
  /** Whether the last attempt to read or write it failed. */
  readonly isFailing: boolean;
  readonly waiting: number;
  readonly refused: number;
}

/** Stored replies to requests with an `Idempotency-Key`. */
interface ReplyCounters {
  /** Retries whose reply was gone. */
  readonly gone: number;
  /** First requests refused for want of memory for their reply. */
  readonly refused: number;
  /** Characters of recent bodies in memory. */
  readonly recentChars: number;
}

/** Commands over WebSockets. */
interface CommandCounters {
  readonly traffic: { text(): string };
  /** Commands waiting for the disk; commands refused because too many waited. */
  readonly waiting: { readonly count: number; readonly refused: number };
  /** Bytes of answers waiting for the disk. */
  readonly answerBytes: number;
}

/** Links of gateways, and their requests. */
export interface GatewayCounters {
  readonly count: number;
  readonly requests: number;
  /** Requests waiting for the disk; requests refused because too many waited. */
  readonly waiting: { readonly count: number; readonly refused: number };
}

/** Subscribers of events, and memory for them. */
export interface LiveStats {
  readonly streams: number;
  readonly eventStreams: number;
  readonly waitingPolls: number;
  readonly tickets: number;
  readonly refused: number;
  readonly slow: number;
  readonly messages: number;
  readonly recentBytes: number;
  readonly recentOldestMs: number;
  readonly maps: number;
}

/** Sources of the metrics. */
interface MetricsSources {
  readonly engine: Engine;
  /** Of this package. */
  readonly version: string;
  readonly log: LogCounters;
  readonly store: StoreCounters;
  readonly audit: AuditCounters;
  readonly http: HttpStats;
  readonly replies: ReplyCounters;
  /** `revoked`: logins ended because a refresh token was used twice. */
  readonly logins: {
    readonly revoked: number;
    /** Accounts and addresses whose wrong passwords are remembered. */
    readonly throttled: { readonly accounts: number; readonly addresses: number };
    /** Pairs of an account and a network of its earlier logins. */
    readonly knownNetworks: number;
  };
  readonly badKeys: { readonly count: number };
  readonly keys: { readonly counts: { readonly remembered: number; readonly privateKeys: number } };
  readonly queries: { readonly count: number };
  readonly layoutThreads: LaneCounters;
  readonly passwords: PasswordCounters;
  /** Requests beyond the limits of an organization, and the buckets that count them. */
  readonly rates: { readonly refused: number; readonly count: number };
  /** Requests waiting for their answer; requests refused because too many waited. */
  readonly waiting: {
    readonly count: number;
    readonly refused: number;
    readonly refusals: { readonly count: number };
    readonly longBodies: { readonly used: number; readonly refused: number };
  };
  readonly commands: CommandCounters;
  /** Null for a server without gateways. */
  readonly gateways: GatewayCounters | null;
  readonly live: { readonly stats: LiveStats };
  readonly webhooks: WebhookCounters;
  /** Further lines, of a host of a cluster. */
  readonly clusterLines?: (() => readonly string[]) | undefined;
  /** Null without an access log. */
  readonly accessLog: { readonly lines: number; readonly dropped: number } | null;
}

/** As the sender counts them. */
interface WebhookCounters {
  readonly lagRecords: number;
  readonly disabled: number;
  readonly counts: Readonly<
    Record<"lanes" | "inFlight" | "waitingBytes" | "draftPlaces" | "succeeded" | "failed", number>
  >;
}

/** A queue of work, such as passwords to hash. */
interface LaneCounters {
  readonly count: number;
  readonly refused: number;
}

interface PasswordCounters {
  readonly checks: LaneCounters;
  readonly hashes: LaneCounters;
}

// How full the events are: seats and places of areas by state. The largest events on sale have
// series of their own; all others are added up, to bound the number of series.

/** Events with series of their own. */
const EVENTS_MAX = 100;
const NAME_LENGTH_MAX = 64;
/** The label of all other events together. */
const OTHERS = "other";

const STATES = BOOKING_STATES.map((state) => ({ state, name: STATE_NAMES[state].toLowerCase() }));

interface Found {
  readonly event: EventRow;
  readonly partition: Partition;
  readonly size: number;
}

/** Prometheus text format. Cost: O(events and areas), no seat is looked at: 10 ms for 30,000. */
function eventPlaces(state: State, nowMs: number): string[] {
  const now = localDateTime(nowMs);
  const largest: Found[] = [];
  const others = STATES.map(() => 0);
  for (const event of state.catalog.events.values()) {
    const partition = state.partitions.peek(event.partition)!;
    const sizeBefore = sum(others);
    for (let i = 0; i < STATES.length; i++) others[i]! += placesIn(partition, STATES[i]!.state);
    if (event.status !== "PUBLISHED" || event.endDate <= now) continue;
    keepLargest(largest, { event, partition, size: sum(others) - sizeBefore });
  }
  for (const { partition } of largest) {
    for (const [i, { state: each }] of STATES.entries()) others[i]! -= placesIn(partition, each);
  }
  return [
    ...family(
      "frontrow_event_info",
      "gauge",
      "The name and the organization of an event that has its own series; always 1.",
      largest.map(({ event }) => [
        {
          event: event.id,
          name: event.name.slice(0, NAME_LENGTH_MAX),
          organization: String(event.organizationId),
        },
        1,
      ]),
    ),
    ...family(
      "frontrow_event_places",
      "gauge",
      "Seats and places of areas by state: of the largest events on sale, and of all others.",
      [
        ...largest.flatMap(({ event, partition }) =>
          samples(
            event.id,
            STATES.map((each) => placesIn(partition, each.state)),
          ),
        ),
        ...samples(OTHERS, others),
      ],
    ),
  ];
}

function samples(event: string, places: readonly number[]): Sample[] {
  return STATES.map(({ name }, i) => [{ event, state: name }, places[i]!]);
}

function placesIn({ seatsIn, areas }: Partition, state: BookingState): number {
  let count = seatsIn[state]!;
  for (let area = 0; area < areas.count; area++) count += areas.places(area, state);
  return count;
}

function sum(counts: readonly number[]): number {
  return counts[0]! + counts[1]! + counts[2]! + counts[3]!;
}

/** Inserts an event into the largest ones, sorted by size, if it is one of them. */
function keepLargest(largest: Found[], found: Found): void {
  const isFull = largest.length === EVENTS_MAX;
  if (isFull && found.size <= largest.at(-1)!.size) return;
  const at = largest.findIndex(({ size }) => size < found.size);
  largest.splice(at === -1 ? largest.length : at, 0, found);
  if (isFull) largest.pop();
}

// Requests and their durations by route. Plain counters: the labels of a metrics library cost more
// per request than the decision of a booking.

/** Labels of a route. */
interface RouteLabels {
  readonly method: string;
  readonly path: string;
}

/** Upper bounds of the histogram in milliseconds, from a fraction of a sync to a stall. */
const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** Statuses are below it. */
const STATUS_END = 600;

interface RouteTraffic {
  /** Index: the status. */
  readonly byStatus: Float64Array;
  readonly times: Durations;
}

export class Traffic {
  readonly #routes = new Map<RouteLabels | undefined, RouteTraffic>();

  /**
   * @param route - Undefined for an unknown path.
   * @param durationMs - Time since the last byte of the request.
   */
  answered(route: RouteLabels | undefined, status: number, durationMs: number): void {
    let traffic = this.#routes.get(route);
    if (traffic === undefined) {
      traffic = { byStatus: new Float64Array(STATUS_END), times: new Durations(BUCKETS_MS) };
      this.#routes.set(route, traffic);
    }
    traffic.byStatus[status]! += 1;
    traffic.times.add(durationMs);
  }

  /** Prometheus text format. Cost: O(routes called). */
  lines(): string[] {
    const requests = "Answered requests by route and status.";
    const durations = "Time from the last byte of a request to its answer, including the disk.";
    const routes = [...this.#routes].map(([route, traffic]) => {
      const method = route?.method.toUpperCase() ?? "";
      return { ...traffic, labels: { method, route: route?.path ?? "none" } };
    });
    const counts = routes.flatMap(({ labels, byStatus }) =>
      [...byStatus.entries()]
        .filter(([, count]) => count > 0)
        .map(([status, count]): Sample => [{ ...labels, status: String(status) }, count]),
    );
    return [
      ...family("frontrow_http_requests_total", "counter", requests, counts),
      ...histogram(
        "frontrow_http_request_duration_seconds",
        durations,
        routes.map(({ labels, times }) => [labels, times] as const),
      ),
    ];
  }
}
