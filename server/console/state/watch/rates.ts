/** How many seats and places each kind of call has moved, second by second, over a minute. */

export type Kind = "sold" | "held" | "released" | "expired";

const KIND_OF_CALL: Readonly<Record<string, Kind>> = {
  sale: "sold",
  directsale: "sold",
  lock: "held",
  best: "held",
  unlock: "released",
  expire: "expired",
};
const SECONDS = 60;

export class Rates {
  /** Index: the second, modulo 60. */
  readonly #counts: Readonly<Record<Kind, Float64Array>> = {
    sold: new Float64Array(SECONDS),
    held: new Float64Array(SECONDS),
    released: new Float64Array(SECONDS),
    expired: new Float64Array(SECONDS),
  };
  /** The second that was written last. */
  #second = 0;

  /** @param places - Seats and places that the call moved. */
  add(seconds: number, call: string, places: number): void {
    const kind = KIND_OF_CALL[call];
    const second = Math.floor(seconds);
    this.#advance(second);
    const isInMinute = second > this.#second - SECONDS;
    if (kind !== undefined && isInMinute) this.#counts[kind][second % SECONDS]! += places;
  }

  /** @returns The sum of the minute before. */
  perMinute(seconds: number, kind: Kind): number {
    this.#advance(seconds);
    return this.#counts[kind].reduce((sum, count) => sum + count, 0);
  }

  /** @returns One number a second, the oldest first. */
  history(seconds: number, kind: Kind): number[] {
    this.#advance(seconds);
    const next = this.#second + 1;
    return Array.from({ length: SECONDS }, (_, i) => this.#counts[kind][(next + i) % SECONDS]!);
  }

  /** Empties the seconds that have passed. Time does not go back. */
  #advance(seconds: number): void {
    const second = Math.max(this.#second, Math.floor(seconds));
    const from = Math.max(this.#second + 1, second - SECONDS + 1);
    for (let at = from; at <= second; at++) {
      for (const counts of Object.values(this.#counts)) counts[at % SECONDS] = 0;
    }
    this.#second = second;
  }
}
