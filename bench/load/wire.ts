/** What a protocol does for the generator: bytes of requests, outcomes of answers. */

export const Outcome = { PENDING: 0, DONE: 1, REFUSED: 2, FAILED: 3 } as const;
export type Outcome = (typeof Outcome)[keyof typeof Outcome];

export type RequestKind = "lock" | "unlock" | "sale" | "directsale" | "revertsale";

export interface Wire {
  /** @param pair - Seats `2 * pair` and `2 * pair + 1` of the hall. */
  request(kind: RequestKind, pair: number, session: string): Buffer;
  /** A page of the seats listing, another for each turn. @throws Error where there is none. */
  page(turn: number): Buffer;
  /** One for each connection. */
  reader(): AnswerReader;
}

export interface AnswerReader {
  /** @param length - Of what arrived; `buffer` is used again for what comes next. */
  read(buffer: Buffer, length: number): Outcome;
}
