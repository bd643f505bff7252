/** Finds seats by place: a grid of square cells, each with the seats in it. */
import type { Box, Geometry } from "./geometry.ts";

const SEATS_PER_CELL = 6;

export class Grid {
  readonly #geometry: Geometry;
  readonly #size: number;
  readonly #columns: number;
  readonly #lines: number;
  /** Index: cell. Where its seats begin in `#seats`. */
  readonly #starts: Uint32Array;
  readonly #seats: Uint32Array;

  constructor(geometry: Geometry) {
    this.#geometry = geometry;
    const { box, x, y, seatCount } = geometry;
    const [width, height] = [box.right - box.left, box.bottom - box.top];
    this.#size = Math.sqrt((width * height * SEATS_PER_CELL) / Math.max(1, seatCount)) || 1;
    this.#columns = Math.ceil(width / this.#size) + 1;
    this.#lines = Math.ceil(height / this.#size) + 1;
    const counts = new Uint32Array(this.#columns * this.#lines + 1);
    for (let seat = 0; seat < seatCount; seat++) counts[this.#cellAt(x[seat]!, y[seat]!) + 1]! += 1;
    for (let cell = 1; cell < counts.length; cell++) counts[cell]! += counts[cell - 1]!;
    this.#starts = counts.slice();
    this.#seats = new Uint32Array(seatCount);
    for (let seat = 0; seat < seatCount; seat++) {
      this.#seats[counts[this.#cellAt(x[seat]!, y[seat]!)]!++] = seat;
    }
  }

  #column(x: number): number {
    const column = Math.floor((x - this.#geometry.box.left) / this.#size);
    return Math.max(0, Math.min(this.#columns - 1, column));
  }

  #line(y: number): number {
    const line = Math.floor((y - this.#geometry.box.top) / this.#size);
    return Math.max(0, Math.min(this.#lines - 1, line));
  }

  #cellAt(x: number, y: number): number {
    return this.#line(y) * this.#columns + this.#column(x);
  }

  /** Seats whose centre is in the box. */
  within({ left, top, right, bottom }: Box): number[] {
    const { x, y } = this.#geometry;
    const found: number[] = [];
    const [first, last] = [this.#column(left), this.#column(right)];
    for (let line = this.#line(top); line <= this.#line(bottom); line++) {
      const from = this.#starts[line * this.#columns + first]!;
      const to = this.#starts[line * this.#columns + last + 1]!;
      for (let i = from; i < to; i++) {
        const seat = this.#seats[i]!;
        const [sx, sy] = [x[seat]!, y[seat]!];
        if (sx >= left && sx < right && sy >= top && sy < bottom) found.push(seat);
      }
    }
    return found;
  }

  /** @returns The seat whose place it is; -1 for none. */
  at(x: number, y: number): number {
    const { rows, rowOfSeat, x: xs, y: ys } = this.#geometry;
    const reach = this.#geometry.pitch * 2;
    let best = -1;
    let least = Infinity;
    for (const seat of this.within({
      left: x - reach,
      top: y - reach,
      right: x + reach,
      bottom: y + reach,
    })) {
      const distance = Math.hypot(xs[seat]! - x, ys[seat]! - y);
      const { pitch, depth } = rows[rowOfSeat[seat]!]!;
      if (distance < least && distance < Math.max(pitch, depth) * 0.6) {
        least = distance;
        best = seat;
      }
    }
    return best;
  }
}
