/** One reading of `/metrics`: the Prometheus text as numbers. */

export type Labels = Readonly<Record<string, string>>;

export interface Series {
  readonly labels: Labels;
  readonly value: number;
}

/** A histogram between two readings: how many values were at most as large as each bound. */
export interface Bucket {
  readonly bound: number;
  readonly atMost: number;
}

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const UNESCAPED: Readonly<Record<string, string>> = { "\\\\": "\\", '\\"': '"', "\\n": "\n" };

export class Scrape {
  readonly atMs: number;
  readonly #series = new Map<string, Series[]>();

  /** @param atMs - When the text was read, on any clock. */
  constructor(text: string, atMs: number) {
    this.atMs = atMs;
    for (const line of text.split("\n")) {
      const [, name, labels = "", value] = SAMPLE.exec(line) ?? [];
      if (name === undefined) continue;
      const series = this.#series.get(name) ?? [];
      series.push({ labels: labelsIn(labels), value: Number(value) });
      this.#series.set(name, series);
    }
  }

  series(name: string): readonly Series[] {
    return this.#series.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#series.has(name);
  }

  /** The sum over all series with these labels; 0 when there are none. */
  sum(name: string, isWanted: (labels: Labels) => boolean = () => true): number {
    return this.series(name)
      .filter(({ labels }) => isWanted(labels))
      .reduce((sum, { value }) => sum + value, 0);
  }
}

function labelsIn(text: string): Labels {
  const labels = [...text.matchAll(LABEL)].map(([, name, value]) => [
    name,
    value!.replaceAll(/\\[\\"n]/g, (escape) => UNESCAPED[escape]!),
  ]);
  return Object.fromEntries(labels) as Labels;
}

/** What happened between two readings. */
export class Interval {
  readonly before: Scrape;
  readonly after: Scrape;
  readonly #seconds: number;

  constructor(before: Scrape, after: Scrape) {
    this.before = before;
    this.after = after;
    this.#seconds = Math.max(0.001, (after.atMs - before.atMs) / 1_000);
  }

  /** How fast a counter grew, per second. A restart of the server counts as no growth. */
  rate(name: string, isWanted?: (labels: Labels) => boolean): number {
    const grown = this.after.sum(name, isWanted) - this.before.sum(name, isWanted);
    return Math.max(0, grown) / this.#seconds;
  }

  /** @returns A quantile of a histogram, estimated within its bucket; null when it had no value. */
  quantile(name: string, share: number, isWanted: (labels: Labels) => boolean = () => true) {
    const buckets = this.#buckets(`${name}_bucket`, isWanted);
    const total = buckets.at(-1)?.atMost ?? 0;
    if (total <= 0) return null;
    const rank = share * total;
    const index = buckets.findIndex(({ atMost }) => atMost >= rank);
    const { bound, atMost } = buckets[index]!;
    const below = buckets[index - 1] ?? { bound: 0, atMost: 0 };
    // The last bucket has no upper bound.
    if (bound === Infinity) return below.bound;
    return below.bound + ((bound - below.bound) * (rank - below.atMost)) / (atMost - below.atMost);
  }

  #buckets(name: string, isWanted: (labels: Labels) => boolean): Bucket[] {
    const counts = new Map<number, number>();
    for (const [scrape, sign] of [[this.after, 1] as const, [this.before, -1] as const]) {
      for (const { labels, value } of scrape.series(name)) {
        if (!isWanted(labels)) continue;
        const bound = labels["le"] === "+Inf" ? Infinity : Number(labels["le"]);
        counts.set(bound, (counts.get(bound) ?? 0) + sign * value);
      }
    }
    return [...counts].map(([bound, atMost]) => ({ bound, atMost })).sort(byBound);
  }
}

function byBound(a: Bucket, b: Bucket): number {
  return a.bound - b.bound;
}
