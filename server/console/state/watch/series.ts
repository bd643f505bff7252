/** A few numbers over time, in bounded memory: when it is full, every second point is dropped. */

/** The smallest number of points that can be thinned out. */
const POINTS_MIN = 8;

export class Series {
  /** First the times, in seconds since 1970; then each number. */
  readonly columns: number[][];
  readonly #pointsMax: number;
  /** Seconds between two points that are kept. */
  #spacing: number;

  /** @param spacing - Seconds between points, until there are too many. */
  constructor(width: number, { pointsMax = 480, spacing = 1 } = {}) {
    this.#pointsMax = Math.max(POINTS_MIN, pointsMax);
    this.#spacing = spacing;
    this.columns = Array.from({ length: width + 1 }, () => []);
  }

  get length(): number {
    return this.columns[0]!.length;
  }

  /** The last point moves along until it is far enough from the one before. */
  add(seconds: number, values: readonly number[]): void {
    const times = this.columns[0]!;
    if (times.length > 0 && seconds < times.at(-1)!) return;
    const point = [seconds, ...values];
    const before = times.at(-2);
    const isClose = before !== undefined && times.at(-1)! - before < this.#spacing;
    for (const [i, column] of this.columns.entries()) {
      if (isClose) column.pop();
      column.push(point[i]!);
    }
    if (times.length > this.#pointsMax) this.#thinOut();
  }

  /** Adds points of the time before those that it has. They are in order. */
  prepend(points: readonly { readonly seconds: number; readonly values: readonly number[] }[]) {
    const later = this.columns.map((column) => [...column]);
    const [times = []] = later;
    const first = times[0] ?? Infinity;
    for (const column of this.columns) column.length = 0;
    for (const { seconds, values } of points) if (seconds < first) this.add(seconds, values);
    for (const [at, seconds] of times.entries()) {
      this.add(
        seconds,
        later.slice(1).map((column) => column[at]!),
      );
    }
  }

  /** Keeps the first and the last point. */
  #thinOut(): void {
    this.#spacing *= 2;
    for (const [i, column] of this.columns.entries()) {
      const last = column.length - 1;
      this.columns[i] = column.filter((_, at) => at % 2 === 0 || at === last);
    }
  }
}
