/** What a protocol does for the generator: builds requests, and reads the outcome of answers. */

export const Outcome = { PENDING: 0, DONE: 1, REFUSED: 2 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

export type BookingKind = "lock" | "unlock" | "sale" | "directsale" | "revertsale";

export interface Wire {
  /** @param pair - Seats `2 * pair` and `2 * pair + 1` of the event. */
  booking(kind: BookingKind, pair: number, session: string): Buffer;
  /** A page of the seats listing, a different one each turn. @throws Error if there is none. */
  page(turn: number): Buffer;
  /**
   * @param answer - What has arrived of it, one character per byte. Only one answer is in flight.
   * @returns PENDING until the answer is complete.
   * @throws Error when the answer is neither a success nor a refusal.
   */
  read(answer: string): Outcome;
}
