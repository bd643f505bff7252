/** Prometheus metrics of the front, the log, the snapshots and the audit trail. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { EventRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import type { Partition } from "../../engine/inventory/partition.ts";
import { BOOKING_STATES, type BookingState, STATE_NAMES } from "../../engine/inventory/states.ts";
import type { State } from "../../engine/state.ts";
import { type Refused, REPLIES } from "../http/answers.ts";
import { localDateTime } from "../http/json.ts";
import type { HttpStats } from "../http/server.ts";
import {
  type DurationCounts,
  family,
  histogram,
  liveRows,
  type LiveStats,
  RecentText,
  type Row,
  type Sample,
} from "./exposition.ts";

/** Gauges of Node that are named like counters; each has another name as well. */
const MISNAMED = ["handles", "requests", "resources"].map((kind) => `nodejs_active_${kind}_total`);

export class Metrics {
  readonly #registry = new Registry();
  readonly #traffic = new Traffic();
  readonly #commands: CommandCounters["traffic"];
  readonly #server: ServerMetrics;
  readonly #text: RecentText;

  /** @param nowMs - A monotonic clock. */
  constructor(sources: MetricsSources, nowMs: () => number = () => performance.now()) {
    const { engine, log, store, audit, http, replies, passwords } = sources;
    this.#text = new RecentText(() => this.#compute(), nowMs);
    this.#commands = sources.commands.traffic;
    this.#server = new ServerMetrics(sources);
    collectDefaultMetrics({ register: this.#registry });
    for (const name of MISNAMED) this.#registry.removeSingleMetric(name);
    this.#addGauges([
      ["sequence", "Sequence number of the last record.", () => engine.sequence],
      ["events", "Events in memory.", () => engine.state.partitions.size],
      ["holds", "Live holds.", () => engine.state.partitions.holdCount],
      ["log_writable", "1 while the log accepts records, else 0.", () => Number(engine.isWritable)],
    ]);
    this.#addCounters([
      ["log_batches_total", "Batches of records written to the log.", () => log.batches],
      ["log_bytes_total", "Bytes written to the log.", () => log.bytes],
      ["log_syncs_total", "Syncs of the log.", () => log.syncs],
    ]);
    this.#addGauges([
      ["log_pending_bytes", "Bytes that wait to be written.", () => log.pendingBytes],
      ["log_pending_records", "Records that wait to be written.", () => log.pendingRecords],
    ]);
    this.#addState(engine, sources.queries);
    const lag = "Durable records that the audit trail does not have yet.";
    const usable = "1 while the audit trail can be written, else 0.";
    this.#addGauges([
      ["audit_lag_records", lag, () => audit.lagRecords],
      ["audit_usable", usable, () => Number(!audit.isFailing)],
      ["audit_questions", "Reads of the audit trail that wait.", () => audit.waiting],
    ]);
    const refused = "Reads of the audit trail refused, because too many waited.";
    this.#addCounters([["audit_questions_refused_total", refused, () => audit.refused]]);
    this.#addStore(store);
    this.#addHttp(http);
    this.#addReplies(engine, replies);
    this.#addCallers(sources);
    this.#addPasswords(passwords);
    this.#addRates(sources);
    this.#addLive(sources);
    this.#addWebhooks(sources);
    this.#addAccessLog(sources);
    this.#addGateways(sources);
  }

  #addGateways({ gateways }: MetricsSources): void {
    if (gateways === null) return;
    const waiting = "Requests over links of gateways that wait for the disk.";
    const refused = "Requests over links of gateways refused, because too many waited.";
    this.#addGauges([
      ["gateway_links", "Gateways that are linked.", () => gateways.count],
      ["gateway_waiting_requests", waiting, () => gateways.waiting.count],
    ]);
    this.#addCounters([
      ["gateway_requests_total", "Requests over links of gateways.", () => gateways.requests],
      ["gateway_requests_refused_total", refused, () => gateways.waiting.refused],
    ]);
  }

  #addAccessLog({ accessLog }: MetricsSources): void {
    const dropped = "Lines of the access log that were lost, because it was too slow or failed.";
    this.#addCounters([
      ["access_log_lines_total", "Lines of the access log.", () => accessLog?.lines ?? 0],
      ["access_log_lines_dropped_total", dropped, () => accessLog?.dropped ?? 0],
    ]);
  }

  /** What clients have created, and what is kept so that reading it is fast. */
  #addState({ state }: Engine, queries: MetricsSources["queries"]): void {
    const { catalog, partitions } = state;
    const rows = "Estimated memory for rows and layouts.";
    const late = "Events whose seats have yet to follow a change of their layout.";
    this.#addGauges([
      ["catalog_bytes", rows, () => state.used.catalog],
      ["catalog_max_bytes", "Limit for rows and layouts.", () => state.quota.catalog],
      ["event_bytes", "Estimated memory for the seats of events.", () => state.used.events],
      ["event_max_bytes", "Limit for the seats of events.", () => state.quota.events],
      ["logins", "Logins that have not ended.", () => catalog.logins.size],
      ["events_behind_layout", late, () => partitions.waitingCount],
      ["remembered_queries", "Checked queries in memory.", () => queries.count],
    ]);
  }

  #addCallers({ logins, keys, badKeys, layoutThreads }: MetricsSources): void {
    const revoked = "Logins that ended because a refresh token was used twice.";
    const late = "Jobs on large layouts refused, because too many of the organization waited.";
    this.#addCounters([
      ["logins_revoked_total", revoked, () => logins.revoked],
      ["layout_jobs_refused_total", late, () => layoutThreads.refused],
    ]);
    const keyAddresses = "Addresses whose requests without a valid key are counted.";
    const accounts = "Accounts whose wrong passwords are counted.";
    const loginAddresses = "Addresses whose wrong passwords are counted.";
    const hashes = "Hashes of private keys in memory.";
    this.#addGauges([
      ["layout_jobs", "Jobs on large layouts that wait or run.", () => layoutThreads.count],
      ["bad_key_addresses", keyAddresses, () => badKeys.count],
      ["bad_login_accounts", accounts, () => logins.throttled.accounts],
      ["bad_login_addresses", loginAddresses, () => logins.throttled.addresses],
      ["remembered_keys", "Valid keys in memory.", () => keys.counts.remembered],
      ["private_key_hashes", hashes, () => keys.counts.privateKeys],
    ]);
  }

  #addRates({ rates, waiting, commands }: MetricsSources): void {
    const busy = "Requests refused because too many waited.";
    const delayed = "Refusals of requests that are delayed, because too many requests wait.";
    const prepared = "Bytes of answers to commands of WebSockets that wait for the disk.";
    const late = "Commands of WebSockets refused, because too many waited.";
    this.#addGauges([
      ["waiting_requests", "Requests that wait.", () => waiting.count],
      ["delayed_refusals", delayed, () => waiting.refusals.count],
      ["waiting_commands", "Commands of WebSockets that wait.", () => commands.waiting.count],
      ["command_answer_bytes", prepared, () => commands.answerBytes],
    ]);
    this.#addCounters([
      ["waiting_requests_refused_total", busy, () => waiting.refused],
      ["waiting_commands_refused_total", late, () => commands.waiting.refused],
    ]);
    const limited = "Requests that were refused by a limit of their organization.";
    const buckets = "Keys, and pairs of key and event, whose requests are counted at present.";
    this.#addCounters([["requests_limited_total", limited, () => rates.refused]]);
    this.#addGauges([["rate_buckets", buckets, () => rates.count]]);
  }

  #addLive({ live, engine }: MetricsSources): void {
    const { gauges, counters } = liveRows(live, () => engine.nowMs());
    this.#addGauges(gauges);
    this.#addCounters(counters);
  }

  #addWebhooks({ webhooks }: MetricsSources): void {
    const { gauges, counters } = webhookRows(webhooks);
    this.#addGauges(gauges);
    this.#addCounters(counters);
  }

  #addPasswords({ checks, hashes }: PasswordCounters): void {
    const noLogin = "Logins refused, because too many waited.";
    const noAccount = "Creations of accounts refused, because too many waited.";
    this.#addGauges([
      ["logins_waiting", "Logins whose password is being checked.", () => checks.count],
      ["accounts_waiting", "New accounts whose password is being hashed.", () => hashes.count],
    ]);
    this.#addCounters([
      ["logins_refused_total", noLogin, () => checks.refused],
      ["accounts_refused_total", noAccount, () => hashes.refused],
    ]);
  }

  #addHttp(http: HttpStats): void {
    const { answers, bodies, bodyBudget, exchanges, sockets } = http;
    const inFlight = "Requests that have begun and are not answered yet.";
    const waiting = "Answers that wait until their client reads.";
    const unfinished = "Request bodies that have not come whole.";
    const announced = "Bytes announced by bodies that come in pieces, until they are answered.";
    this.#addGauges([
      ["http_connections", "Open connections.", () => http.connections],
      ["http_sockets", "Those of them that are WebSockets.", () => sockets.count],
      ["http_connections_max", "Connections that may be open.", () => http.connectionsMax],
      ["http_requests_in_flight", inFlight, () => exchanges.open],
      ["http_waiting_answers", waiting, () => answers.count],
      ["http_waiting_answer_bytes", "Bytes of these answers.", () => answers.heldBytes],
      ["http_unfinished_bodies", unfinished, () => bodies.count],
      ["http_unfinished_body_bytes", announced, () => bodyBudget.bytes],
      ["http_idle_exchanges", "Exchanges kept for later requests.", () => exchanges.idle],
    ]);
    const refused = "Connections closed at once, because there were too many.";
    const abandoned = "Answers that their client did not read to the end.";
    const noRoom = "Request bodies refused, because others hold too much memory.";
    const unmeasured = "Answers without a body that were not sent, because there were too many.";
    const slow = "Request bodies that came too slowly, or not to their end.";
    this.#addCounters([
      ["http_connections_refused_total", refused, () => http.connectionsRefused],
      ["http_answers_abandoned_total", abandoned, () => answers.abandoned],
      ["http_bodies_refused_total", noRoom, () => bodyBudget.refused],
      ["http_bodies_abandoned_total", slow, () => bodies.abandoned],
      ["http_empty_answers_refused_total", unmeasured, () => exchanges.unmeasuredRefused],
    ]);
  }

  #addReplies({ state }: Engine, replies: ReplyCounters): void {
    const { catalog } = state;
    const { storedReplies: stored } = catalog;
    const memory = "Memory for stored replies, in bytes, as estimated from their number.";
    const recent = "Recent bodies of stored replies in memory, in characters.";
    const disk = "Disk space for bodies of stored replies, in bytes.";
    this.#addGauges([
      [
        "replies",
        "Stored replies to requests with an Idempotency-Key.",
        () => catalog.replies.size,
      ],
      ["reply_memory_bytes", memory, () => stored.memory],
      ["reply_recent_characters", recent, () => replies.recentChars],
      ["reply_disk_bytes", disk, () => stored.disk],
    ]);
    const dropped = "Bodies of stored replies that were dropped to make room for others.";
    const gone = "Retries that were refused because the reply was gone.";
    const refused = "Requests that were refused because there was no memory for their reply.";
    this.#addCounters([
      ["reply_bodies_dropped_total", dropped, () => stored.dropped],
      ["replies_gone_total", gone, () => replies.gone],
      ["reply_keys_refused_total", refused, () => replies.refused],
    ]);
  }

  #addStore(store: StoreCounters): void {
    const snapshots = new Counter({
      name: "frontrow_snapshots_total",
      help: "Snapshots by result.",
      labelNames: ["result"],
      registers: [this.#registry],
      collect() {
        snapshots.reset();
        snapshots.inc({ result: "made" }, store.snapshotsMade);
        snapshots.inc({ result: "failed" }, store.snapshotsFailed);
      },
    });
    const pause = "Longest pause of the engine for a snapshot since the start.";
    const duration = "Duration of the last snapshot.";
    const size = "Size of the last snapshot; 0 if there was none since the start.";
    const success = "Time of the last snapshot; 0 if there was none since the start.";
    const recovery = "Duration of the recovery at the start.";
    const records = "Records of the log that the recovery applied.";
    this.#addGauges([
      ["snapshot_pause_max_seconds", pause, () => store.snapshotPauseSecondsMax],
      ["snapshot_duration_seconds", duration, () => store.snapshotSeconds],
      ["snapshot_bytes", size, () => store.snapshotBytes],
      ["snapshot_last_success_timestamp_seconds", success, () => store.snapshotAtSeconds],
      ["recovery_duration_seconds", recovery, () => store.recoverySeconds],
      ["recovery_records", records, () => store.recoveryRecords],
    ]);
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /**
   * The Prometheus exposition text, which may be a second old. It takes milliseconds to compute:
   * series of the process need calls of the system, and its open files are counted one by one.
   */
  text(): Promise<string> {
    return this.#text.read();
  }

  async #compute(): Promise<string> {
    const registered = await this.#registry.metrics();
    const parts = [registered, this.#server.text(), this.#traffic.text(), this.#commands.text()];
    return parts.join("\n");
  }

  /** A request gets a problem document. */
  refused(refusal: Refused): void {
    this.#server.refused(refusal);
  }

  /** @param route - Undefined for a path that does not exist. */
  answered(route: RouteLabels | undefined, status: number, durationMs: number): void {
    this.#traffic.answered(route, status, durationMs);
  }

  #addGauges(rows: readonly Row[]): void {
    for (const [name, help, read] of rows) {
      const collect = () => gauge.set(read());
      const options = { name: `frontrow_${name}`, help, registers: [this.#registry], collect };
      const gauge: Gauge = new Gauge(options);
    }
  }

  #addCounters(rows: readonly Row[]): void {
    for (const [name, help, read] of rows) {
      const collect = () => {
        counter.reset();
        counter.inc(read());
      };
      const options = { name: `frontrow_${name}`, help, registers: [this.#registry], collect };
      const counter = new Counter(options);
    }
  }
}

// What the metrics are read from, wherever it is counted.

/** Totals of the log since the start. */
export interface LogCounters {
  readonly batches: number;
  readonly bytes: number;
  readonly syncs: number;
  readonly syncTimes: DurationCounts;
  readonly commitTimes: DurationCounts;
  /** Bytes and records of the open batch, which waits for the disk. */
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
  /** Durable records that the trail does not have yet. */
  readonly lagRecords: number;
  /** Whether the last attempt to read or write it failed. */
  readonly isFailing: boolean;
  /** Questions that wait for an answer. */
  readonly waiting: number;
  /** Questions that were refused because too many were waiting. */
  readonly refused: number;
}

/** Stored replies to requests with an `Idempotency-Key`. */
interface ReplyCounters {
  /** Retries whose reply was gone. */
  readonly gone: number;
  /** First requests that were refused, because there was no memory for their reply. */
  readonly refused: number;
  /** Characters of recent bodies in memory. */
  readonly recentChars: number;
}

/** Commands over WebSockets. */
interface CommandCounters {
  readonly traffic: { text(): string };
  /** Commands that wait for the disk, and those that were refused because too many did. */
  readonly waiting: { readonly count: number; readonly refused: number };
  /** Bytes of answers that wait for the disk. */
  readonly answerBytes: number;
}

/** Links of gateways, and the requests that came over them. */
export interface GatewayCounters {
  readonly count: number;
  readonly requests: number;
  /** Requests that wait for the disk, and those that were refused because too many did. */
  readonly waiting: { readonly count: number; readonly refused: number };
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
  /** `revoked` counts the logins that ended because a refresh token was used twice. */
  readonly logins: {
    readonly revoked: number;
    /** Accounts and addresses whose wrong passwords are remembered. */
    readonly throttled: { readonly accounts: number; readonly addresses: number };
  };
  /** Addresses that sent requests without a valid key. */
  readonly badKeys: { readonly count: number };
  /** Keys that are remembered, and hashes of private keys. */
  readonly keys: { readonly counts: { readonly remembered: number; readonly privateKeys: number } };
  /** Queries that are remembered. */
  readonly queries: { readonly count: number };
  /** Jobs of the layout threads. */
  readonly layoutThreads: LaneCounters;
  readonly passwords: PasswordCounters;
  /** Requests beyond the limits of an organization, and the buckets that count them. */
  readonly rates: { readonly refused: number; readonly count: number };
  /** Requests that wait for their answer, and those refused because too many waited. */
  readonly waiting: {
    readonly count: number;
    readonly refused: number;
    /** Refusals that are delayed. */
    readonly refusals: { readonly count: number };
  };
  readonly commands: CommandCounters;
  /** Links of gateways; null for a server that takes none. */
  readonly gateways: GatewayCounters | null;
  readonly live: { readonly stats: LiveStats };
  readonly webhooks: WebhookCounters;
  /** As in `ServerSources`. */
  readonly clusterLines?: (() => readonly string[]) | undefined;
  /** Lines of the access log, and those that were lost; null without one. */
  readonly accessLog: { readonly lines: number; readonly dropped: number } | null;
}

/** A queue of work, such as one in which passwords wait to be hashed. */
interface LaneCounters {
  readonly count: number;
  readonly refused: number;
}

interface PasswordCounters {
  readonly checks: LaneCounters;
  readonly hashes: LaneCounters;
}

// Metrics of the server that have labels or are histograms: build, log, refusals, events.

export interface ServerSources {
  readonly engine: Engine;
  readonly version: string;
  readonly log: { readonly syncTimes: DurationCounts; readonly commitTimes: DurationCounts };
  /** Further lines, of a host of a cluster. */
  readonly clusterLines?: (() => readonly string[]) | undefined;
}

const CODES = [...new Set(Object.values(REPLIES).map(({ errorCode }) => errorCode))].sort();

class ServerMetrics {
  readonly #sources: ServerSources;
  readonly #refusals = new Map<Refused, number>();

  constructor(sources: ServerSources) {
    this.#sources = sources;
  }

  refused(refusal: Refused): void {
    this.#refusals.set(refusal, (this.#refusals.get(refusal) ?? 0) + 1);
  }

  /** Prometheus text format. Cost: O(events and areas). */
  text(): string {
    const { engine, version, log, clusterLines } = this.#sources;
    const { syncTimes, commitTimes } = log;
    const build = { version, node: process.versions.node };
    const sync = "Time to write and sync a batch of the log.";
    const commit = "Time from the first record of a batch until the batch is on disk.";
    const lines = [
      ...family("frontrow_build_info", "gauge", "The version that runs; always 1.", [[build, 1]]),
      ...histogram("frontrow_log_sync_duration_seconds", sync, syncTimes),
      ...histogram("frontrow_log_commit_duration_seconds", commit, commitTimes),
      ...this.#refusalLines(),
      ...(clusterLines?.() ?? []),
      ...eventPlaces(engine.state, engine.nowMs()),
    ];
    return `${lines.join("\n")}\n`;
  }

  #refusalLines(): string[] {
    const counts = new Map(CODES.map((code) => [code, 0]));
    for (const [refusal, count] of this.#refusals) {
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
}

// How full the events are: seats and places of areas by state. The largest events on sale have
// series of their own; all others are added up, so that the number of series is bounded.

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

/** Adds an event to the largest ones, which are in order of their size, if it is one of them. */
function keepLargest(largest: Found[], found: Found): void {
  const isFull = largest.length === EVENTS_MAX;
  if (isFull && found.size <= largest.at(-1)!.size) return;
  const at = largest.findIndex(({ size }) => size < found.size);
  largest.splice(at === -1 ? largest.length : at, 0, found);
  if (isFull) largest.pop();
}

// The metrics of webhooks and their deliveries.

/** As the sender counts them. */
interface WebhookCounters {
  readonly lagRecords: number;
  readonly disabled: number;
  readonly counts: Readonly<
    Record<"lanes" | "inFlight" | "waitingBytes" | "succeeded" | "failed", number>
  >;
}

function webhookRows(webhooks: WebhookCounters): {
  readonly gauges: readonly Row[];
  readonly counters: readonly Row[];
} {
  const lanes = "Pairs of webhook and event with something to send.";
  const tries = "Tries of deliveries under way.";
  const bytes = "Compressed bytes of the deliveries that wait.";
  const lag = "Durable records that were not looked at for webhooks yet.";
  return {
    gauges: [
      ["webhook_lanes", lanes, () => webhooks.counts.lanes],
      ["webhook_tries_in_flight", tries, () => webhooks.counts.inFlight],
      ["webhook_waiting_bytes", bytes, () => webhooks.counts.waitingBytes],
      ["webhook_lag_records", lag, () => webhooks.lagRecords],
    ],
    counters: [
      ["webhook_successes_total", "Tries that succeeded.", () => webhooks.counts.succeeded],
      ["webhook_failures_total", "Tries that failed.", () => webhooks.counts.failed],
      ["webhooks_disabled_total", "Webhooks that were given up.", () => webhooks.disabled],
    ],
  };
}

// Requests and their durations by route. Plain counters: the labels of a metrics library cost more
// per request than the decision of a booking. The Prometheus text is built on demand.

/** The part of a route that labels its metrics. */
interface RouteLabels {
  readonly method: string;
  readonly path: string;
}

/** Upper bounds of the histogram in milliseconds, from a fraction of a sync to a stall. */
const BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000];

/** Statuses are below it. */
const STATUS_END = 600;

class RouteTraffic {
  /** Index: the status. */
  readonly byStatus = new Float64Array(STATUS_END);
  /** Answers per bucket of BUCKETS_MS; the last element counts the slower ones. */
  readonly buckets = new Float64Array(BUCKETS_MS.length + 1);
  count = 0;
  sumMs = 0;
}

export class Traffic {
  readonly #routes = new Map<RouteLabels | undefined, RouteTraffic>();

  /**
   * @param route - Undefined for a path that does not exist.
   * @param durationMs - Time since the last byte of the request.
   */
  answered(route: RouteLabels | undefined, status: number, durationMs: number): void {
    let traffic = this.#routes.get(route);
    if (traffic === undefined) {
      traffic = new RouteTraffic();
      this.#routes.set(route, traffic);
    }
    traffic.byStatus[status]! += 1;
    let bucket = 0;
    while (bucket < BUCKETS_MS.length && durationMs > BUCKETS_MS[bucket]!) bucket++;
    traffic.buckets[bucket]! += 1;
    traffic.count += 1;
    traffic.sumMs += durationMs;
  }

  /** Prometheus text format. Cost: O(routes called). */
  text(): string {
    const requests = "frontrow_http_requests_total";
    const durations = "frontrow_http_request_duration_seconds";
    const lines = [
      `# HELP ${requests} Answered requests by route and status.`,
      `# TYPE ${requests} counter`,
    ];
    for (const [route, { byStatus }] of this.#routes) {
      for (const [status, count] of byStatus.entries()) {
        if (count === 0) continue;
        lines.push(`${requests}{${labelsOf(route)},status="${status}"} ${count}`);
      }
    }
    lines.push(
      "",
      `# HELP ${durations} Time from the last byte of a request to its answer, including the disk.`,
      `# TYPE ${durations} histogram`,
    );
    for (const [route, traffic] of this.#routes) {
      lines.push(...durationLines(durations, labelsOf(route), traffic));
    }
    return `${lines.join("\n")}\n`;
  }
}

function durationLines(name: string, labels: string, traffic: RouteTraffic): string[] {
  let atMost = 0;
  const lines = BUCKETS_MS.map((endMs, i) => {
    atMost += traffic.buckets[i]!;
    return `${name}_bucket{le="${endMs / 1_000}",${labels}} ${atMost}`;
  });
  return [
    ...lines,
    `${name}_bucket{le="+Inf",${labels}} ${traffic.count}`,
    `${name}_sum{${labels}} ${traffic.sumMs / 1_000}`,
    `${name}_count{${labels}} ${traffic.count}`,
  ];
}

/** Paths of the route table need no escaping. */
function labelsOf(route: RouteLabels | undefined): string {
  return `method="${route?.method.toUpperCase() ?? ""}",route="${route?.path ?? "none"}"`;
}
