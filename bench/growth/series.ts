/** A cost measured at several sizes, in interleaved rounds as everywhere in this suite. */
import { type Spread, spreadOf } from "../rounds/statistics.ts";

/** One size, prepared. */
export interface Size {
  readonly x: number;
  /** Measures once. */
  readonly play: () => number | Promise<number>;
}

export interface Point extends Spread {
  readonly x: number;
}

/** @param rounds - A first one, to warm up, comes on top. */
export async function measureSizes(sizes: readonly Size[], rounds: number): Promise<Point[]> {
  const values = sizes.map((): number[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, { play }] of sizes.entries()) {
      const value = await play();
      if (round > 0) values[i]!.push(value);
    }
  }
  return sizes.map(({ x }, i) => ({ x, ...spreadOf(values[i]!) }));
}
