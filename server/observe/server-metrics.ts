/** Metrics of the server that have labels or are histograms: build, log, refusals, events. */
import type { Engine } from "../../engine/engine.ts";
import { type Refused, REPLIES } from "../wire/replies.ts";
import { eventPlaces } from "./event-places.ts";
import { type DurationCounts, family, histogram } from "./exposition.ts";

export interface ServerSources {
  readonly engine: Engine;
  readonly version: string;
  readonly log: { readonly syncTimes: DurationCounts; readonly commitTimes: DurationCounts };
  /** Further lines, of a host of a cluster. */
  readonly clusterLines?: (() => readonly string[]) | undefined;
}

const CODES = [...new Set(Object.values(REPLIES).map(({ errorCode }) => errorCode))].sort();

export class ServerMetrics {
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
