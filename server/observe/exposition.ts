/** The text format of Prometheus. */
import { visible } from "../../engine/names.ts";

/** A histogram of durations, as whoever measures them keeps it. */
export interface DurationCounts {
  readonly boundsMs: readonly number[];
  /** Durations up to each bound and above the one before; the last element counts longer ones. */
  readonly counts: ArrayLike<number>;
  readonly count: number;
  readonly sumMs: number;
}

export class Durations implements DurationCounts {
  readonly boundsMs: readonly number[];
  readonly counts: Float64Array;
  count = 0;
  sumMs = 0;

  constructor(boundsMs: readonly number[]) {
    this.boundsMs = boundsMs;
    this.counts = new Float64Array(boundsMs.length + 1);
  }

  add(durationMs: number): void {
    const { boundsMs, counts } = this;
    let place = 0;
    while (place < boundsMs.length && durationMs > boundsMs[place]!) place += 1;
    counts[place]! += 1;
    this.count += 1;
    this.sumMs += durationMs;
  }
}

type Labels = Readonly<Record<string, string>>;
export type Sample = readonly [labels: Labels, value: number];

const MS_PER_SECOND = 1_000;
/** A text is computed again after this time. */
const TEXT_MS_MIN = 1_000;

/** A cached text, computed at most once a second. */
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

/** A metric without labels, and its value. A name ending with `_total` is a counter. */
export type Row = readonly [name: string, help: string, value: number];

export function rowLines(prefix: string, rows: readonly Row[]): string[] {
  return rows.flatMap(([name, help, value]) => {
    const type = name.endsWith("_total") ? "counter" : "gauge";
    return family(`${prefix}_${name}`, type, help, [[{}, value]]);
  });
}

/** @param name - Ends with `_seconds`. */
export function histogram(
  name: string,
  help: string,
  samples: readonly (readonly [labels: Labels, times: DurationCounts])[],
): string[] {
  const lines = samples.flatMap(([labels, { boundsMs, counts, count, sumMs }]) => {
    let atMost = 0;
    const bucket = (le: string, value: number) =>
      `${name}_bucket${labelText({ le, ...labels })} ${value}`;
    return [
      ...boundsMs.map((boundMs, i) =>
        bucket(String(boundMs / MS_PER_SECOND), (atMost += counts[i]!)),
      ),
      bucket("+Inf", count),
      `${name}_sum${labelText(labels)} ${sumMs / MS_PER_SECOND}`,
      `${name}_count${labelText(labels)} ${count}`,
    ];
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...lines];
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const ESCAPES: Readonly<Record<string, string>> = { "\\": "\\\\", '"': '\\"', "\n": "\\n" };

function escaped(value: string): string {
  return visible(value).replaceAll(/[\\"\n]/g, (character) => ESCAPES[character]!);
}
