/** Prometheus metrics of the front, the log, the snapshots and the audit trail. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { Engine } from "../../engine/engine.ts";
import { listingCache } from "../../engine/queries/seat-listing.ts";
import type { HttpStats } from "../wire/http.ts";
import type { Refused } from "../wire/replies.ts";
import { RecentText } from "./exposition.ts";
import { liveRows, type Row } from "./live-metrics.ts";
import { ServerMetrics } from "./server-metrics.ts";
import type {
  CommandCounters,
  MetricsSources,
  PasswordCounters,
  ReplyCounters,
  StoreCounters,
} from "./sources.ts";
import { type RouteLabels, Traffic } from "./traffic.ts";
import { webhookRows } from "./webhook-metrics.ts";

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
      ["catalog_max_bytes", "Limit for rows and layouts.", () => state.room.catalog],
      ["event_bytes", "Estimated memory for the seats of events.", () => state.used.events],
      ["event_max_bytes", "Limit for the seats of events.", () => state.room.events],
      ["logins", "Logins that have not ended.", () => catalog.logins.size],
      ["events_behind_layout", late, () => partitions.waitingCount],
      ["cached_listings", "Sorted listings of seats in memory.", () => listingCache.count],
      ["cached_listing_bytes", "Their estimated memory.", () => listingCache.bytes],
      ["remembered_queries", "Checked queries in memory.", () => queries.count],
    ]);
    const dropped = "Sorted listings that were dropped to make room for others.";
    this.#addCounters([["cached_listings_dropped_total", dropped, () => listingCache.dropped]]);
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
