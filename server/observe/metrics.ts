/** Prometheus metrics of the front, the log, the snapshots and the audit trail. */
import { collectDefaultMetrics, Counter, Gauge, Registry } from "prom-client";
import type { Engine } from "../../engine/engine.ts";
import { type RouteLabels, Traffic } from "./traffic.ts";

/** Totals of the log since the start. */
export interface LogCounters {
  readonly batches: number;
  readonly bytes: number;
  readonly syncs: number;
}

/** Recovery and snapshots, in seconds; `snapshotAtSeconds` counts from 1970. */
export interface StoreCounters {
  readonly snapshotsMade: number;
  readonly snapshotsFailed: number;
  readonly snapshotPauseSecondsMax: number;
  readonly snapshotSeconds: number;
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
}

/** Sources of the metrics. */
export interface MetricsSources {
  readonly engine: Engine;
  readonly log: LogCounters;
  readonly store: StoreCounters;
  readonly audit: AuditCounters;
}

export class Metrics {
  readonly #registry = new Registry();
  readonly #traffic = new Traffic();

  constructor({ engine, log, store, audit }: MetricsSources) {
    collectDefaultMetrics({ register: this.#registry });
    this.#gauge("frontrow_sequence", "Sequence number of the last record.", () => engine.sequence);
    this.#gauge("frontrow_events", "Events in memory.", () => engine.state.partitions.size);
    this.#gauge("frontrow_holds", "Live holds.", () => holdCount(engine));
    this.#gauge("frontrow_log_writable", "1 while the log accepts records, else 0.", () =>
      Number(engine.isWritable),
    );
    this.#counter(
      "frontrow_log_batches_total",
      "Batches of records written to the log.",
      () => log.batches,
    );
    this.#counter("frontrow_log_bytes_total", "Bytes written to the log.", () => log.bytes);
    this.#counter("frontrow_log_syncs_total", "Syncs of the log.", () => log.syncs);
    this.#gauge(
      "frontrow_audit_lag_records",
      "Durable records that the audit trail does not have yet.",
      () => {
        return audit.lagRecords;
      },
    );
    this.#gauge("frontrow_audit_usable", "1 while the audit trail can be written, else 0.", () =>
      Number(!audit.isFailing),
    );
    this.#addStore(store);
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
    const gauges: readonly (readonly [string, string, keyof StoreCounters])[] = [
      [
        "snapshot_pause_seconds_max",
        "Longest pause of the engine for a snapshot since the start.",
        "snapshotPauseSecondsMax",
      ],
      ["snapshot_duration_seconds", "Duration of the last snapshot.", "snapshotSeconds"],
      [
        "snapshot_last_success_timestamp_seconds",
        "Time of the last snapshot; 0 if there was none since the start.",
        "snapshotAtSeconds",
      ],
      ["recovery_duration_seconds", "Duration of the recovery at the start.", "recoverySeconds"],
      ["recovery_records", "Records of the log that the recovery applied.", "recoveryRecords"],
    ];
    for (const [name, help, member] of gauges) {
      this.#gauge(`frontrow_${name}`, help, () => store[member]);
    }
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The Prometheus exposition text. Cost: O(series), usually a few hundred. */
  async text(): Promise<string> {
    return `${await this.#registry.metrics()}\n${this.#traffic.text()}`;
  }

  /** @param route - Undefined for a path that does not exist. */
  answered(route: RouteLabels | undefined, status: number, durationMs: number): void {
    this.#traffic.answered(route, status, durationMs);
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

function holdCount({ state }: Engine): number {
  let count = 0;
  for (const partition of state.partitions.values()) count += partition.holds.count;
  return count;
}
