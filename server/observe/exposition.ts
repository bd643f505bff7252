/** The text format of Prometheus, for metrics with labels that are cheap to read. */

/** A histogram of durations, as whoever measures them keeps it. */
export interface DurationCounts {
  readonly boundsMs: readonly number[];
  /** Durations up to each bound and above the one before; the last element counts longer ones. */
  readonly counts: ArrayLike<number>;
  readonly count: number;
  readonly sumMs: number;
}

export type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number];

const MS_PER_SECOND = 1_000;
/** A text is computed again after this time. */
const TEXT_MS_MIN = 1_000;

/** A text that is computed at most once a second, however often it is read. */
export class RecentText {
  readonly #compute: () => Promise<string>;
  readonly #nowMs: () => number;
  #text: Promise<string> | null = null;
  #computedMs = 0;

  /** @param nowMs - A monotonic clock. */
  constructor(compute: () => Promise<string>, nowMs: () => number = () => performance.now()) {
    this.#compute = compute;
    this.#nowMs = nowMs;
  }

  read(): Promise<string> {
    const nowMs = this.#nowMs();
    if (this.#text === null || nowMs - this.#computedMs >= TEXT_MS_MIN) {
      this.#computedMs = nowMs;
      this.#text = this.#compute();
    }
    return this.#text;
  }
}

/** @param type - `counter` or `gauge`. */
export function family(
  name: string,
  type: "counter" | "gauge",
  help: string,
  samples: readonly Sample[],
): string[] {
  const lines = samples.map(([labels, value]) => `${name}${labelText(labels)} ${value}`);
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines];
}

/** @param name - Ends with `_seconds`. */
export function histogram(name: string, help: string, times: DurationCounts): string[] {
  let atMost = 0;
  const buckets = times.boundsMs.map((boundMs, i) => {
    atMost += times.counts[i]!;
    return `${name}_bucket{le="${boundMs / MS_PER_SECOND}"} ${atMost}`;
  });
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} histogram`,
    ...buckets,
    `${name}_bucket{le="+Inf"} ${times.count}`,
    `${name}_sum ${times.sumMs / MS_PER_SECOND}`,
    `${name}_count ${times.count}`,
  ];
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function escaped(value: string): string {
  return value.replaceAll(/[\\"\n]/g, (character) => ESCAPES[character]!);
}

// Metrics of those who follow events.

/** Those who follow events, and what is in memory for them. */
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

/** A metric, and how it is read. */
export type Row = readonly [name: string, help: string, read: () => number];

/** @param nowMs - The service clock. */
export function liveRows(
  live: { readonly stats: LiveStats },
  nowMs: () => number,
): { readonly gauges: readonly Row[]; readonly counters: readonly Row[] } {
  const polls = "Requests that wait for a change of an event.";
  const events = "Clients that follow an event by server-sent events.";
  const bytes = "Memory of the recent changes of all events.";
  const age = "How far back the recent changes in memory go.";
  const messages = "Messages with changes that were made, each for many who follow an event.";
  const slow = "Streams that were closed because too much waited to be read.";
  const refused = "Streams, server-sent events and waiting requests beyond their limit.";
  const ageOf = ({ recentOldestMs }: LiveStats) =>
    recentOldestMs === 0 ? 0 : Math.max(0, nowMs() - recentOldestMs) / 1_000;
  return {
    gauges: [
      ["streams", "Clients that follow an event over a WebSocket.", () => live.stats.streams],
      ["event_streams", events, () => live.stats.eventStreams],
      ["waiting_polls", polls, () => live.stats.waitingPolls],
      ["stream_tickets", "Tickets that are not used yet.", () => live.stats.tickets],
      ["recent_changes_bytes", bytes, () => live.stats.recentBytes],
      ["recent_changes_seconds", age, () => ageOf(live.stats)],
      ["cached_maps", "Maps of events in memory.", () => live.stats.maps],
    ],
    counters: [
      ["stream_messages_total", messages, () => live.stats.messages],
      ["streams_slow_total", slow, () => live.stats.slow],
      ["streams_refused_total", refused, () => live.stats.refused],
    ],
  };
}
