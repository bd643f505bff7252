/** Prometheus metrics: what the front answered, how long that took, and where the log stands. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Engine } from "../engine/engine.ts";
import type { Route } from "./route.ts";

/** Seconds; from a fraction of a sync to a stall. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];

/** Counters of the log since the start. */
export interface LogCounters {
  readonly batches: number;
  readonly bytes: number;
  readonly syncs: number;
}

/** What the store said of its recovery and its snapshots. Seconds; `…At` since 1970. */
export interface StoreCounters {
  readonly snapshotsMade: number;
  readonly snapshotsFailed: number;
  readonly snapshotPauseSecondsMax: number;
  readonly snapshotSeconds: number;
  readonly snapshotAtSeconds: number;
  readonly recoverySeconds: number;
  readonly recoveryRecords: number;
}

interface Timer {
  observe(seconds: number): void;
}

/** What is counted for one route; its children are looked up once, not per request. */
interface RouteMetrics {
  readonly timer: Timer;
  readonly counts: Map<number, { inc(): void }>;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"method" | "route" | "status">;
  readonly #durations: Histogram<"method" | "route">;
  readonly #routes = new Map<Route | undefined, RouteMetrics>();

  constructor(engine: Engine, log: LogCounters, store: StoreCounters) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.#requests = new Counter({
      name: "frontrow_http_requests_total",
      help: "Requests answered, by route and status.",
      labelNames: ["method", "route", "status"],
      registers,
    });
    this.#durations = new Histogram({
      name: "frontrow_http_request_duration_seconds",
      help: "From the last byte of a request to its answer, waiting for the disk included.",
      labelNames: ["method", "route"],
      buckets: BUCKETS,
      registers,
    });
    this.#gauge("frontrow_sequence", "Sequence number of the last record.", () => engine.sequence);
    this.#gauge("frontrow_events", "Events in memory.", () => engine.state.partitions.size);
    this.#gauge("frontrow_holds", "Holds alive.", () => holdCount(engine));
    this.#gauge("frontrow_log_writable", "1 while the log takes records, else 0.", () =>
      Number(engine.isWritable),
    );
    this.#counter("frontrow_log_batches_total", "Batches with records.", () => log.batches);
    this.#counter("frontrow_log_bytes_total", "Bytes written to the log.", () => log.bytes);
    this.#counter("frontrow_log_syncs_total", "Syncs of the log.", () => log.syncs);
    this.#addStore(store);
  }

  #addStore(store: StoreCounters): void {
    const snapshots = new Counter({
      name: "frontrow_snapshots_total",
      help: "Snapshots that were made, and those that could not be made.",
      labelNames: ["result"],
      registers: [this.#registry],
      collect() {
        snapshots.reset();
        snapshots.inc({ result: "made" }, store.snapshotsMade);
        snapshots.inc({ result: "failed" }, store.snapshotsFailed);
      },
    });
    const gauges: readonly (readonly [string, string, keyof StoreCounters])[] = [
      [
        "snapshot_pause_seconds_max",
        "The longest that the engine stood still for a snapshot since the start.",
        "snapshotPauseSecondsMax",
      ],
      ["snapshot_duration_seconds", "How long the last snapshot took.", "snapshotSeconds"],
      [
        "snapshot_last_success_timestamp_seconds",
        "When the last snapshot was made; 0 for none since the start.",
        "snapshotAtSeconds",
      ],
      ["recovery_duration_seconds", "How long the start took to recover.", "recoverySeconds"],
      ["recovery_records", "Records of the log that the start applied.", "recoveryRecords"],
    ];
    for (const [name, help, member] of gauges) {
      this.#gauge(`frontrow_${name}`, help, () => store[member]);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The exposition text. Cost: O(series), some hundreds. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** @param route - Undefined for a path that does not exist. */
  answered(route: Route | undefined, status: number, seconds: number): void {
    const metrics = this.#routes.get(route) ?? this.#addRoute(route);
    metrics.timer.observe(seconds);
    let count = metrics.counts.get(status);
    if (count === undefined) {
      count = this.#requests.labels({ ...labelsOf(route), status: String(status) });
      metrics.counts.set(status, count);
    }
    count.inc();
  }

  #addRoute(route: Route | undefined): RouteMetrics {
    const metrics = { timer: this.#durations.labels(labelsOf(route)), counts: new Map() };
    this.#routes.set(route, metrics);
    return metrics;
  }

  #gauge(name: string, help: string, read: () => number): void {
    const collect = () => gauge.set(read());
    const gauge: Gauge = new Gauge({ name, help, registers: [], collect });
    this.#registry.registerMetric(gauge);
  }

  #counter(name: string, help: string, read: () => number): void {
    const collect = () => {
      counter.reset();
      counter.inc(read());
    };
    const counter = new Counter({ name, help, registers: [], collect });
    this.#registry.registerMetric(counter);
  }
}

function labelsOf(route: Route | undefined): { method: string; route: string } {
  return { method: route?.method.toUpperCase() ?? "", route: route?.path ?? "none" };
}

function holdCount({ state }: Engine): number {
  let count = 0;
  for (const partition of state.partitions.values()) count += partition.holds.count;
  return count;
}
