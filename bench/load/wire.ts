/** What a protocol does for the generator: builds requests, and reads the outcome of answers. */

export const Outcome = { PENDING: 0, DONE: 1, REFUSED: 2, FAILED: 3 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

export type BookingKind = "lock" | "unlock" | "sale" | "directsale" | "revertsale";

export interface Wire {
  /** @param pair - Seats `2 * pair` and `2 * pair + 1` of the event. */
  booking(kind: BookingKind, pair: number, session: string): Buffer;
  /** A page of the seats listing, a different one each turn. @throws Error if there is none. */
  page(turn: number): Buffer;
  /** Each connection needs a reader of its own. */
  reader(): AnswerReader;
}

export interface AnswerReader {
  /** @param length - Bytes received; the next call reuses `buffer`. */
  read(buffer: Buffer, length: number): Outcome;
}
