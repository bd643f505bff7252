/** Booking commands and their results. */

/** A booking call of the HTTP interface. */
export type Call = "lock" | "unlock" | "sale" | "revertsale" | "directsale" | "block" | "unblock";

/** A seat of a booking. */
export interface Seat {
  readonly id: number;
}

/** Places of an area. */
export interface Area {
  readonly id: number;
  readonly capacity: number;
}

/** What a command is about, as in the body of the HTTP call. */
export interface Booking {
  readonly eventId: string;
  readonly sessionId?: string | null;
  readonly seats?: readonly Seat[];
  readonly groupOfSeats?: readonly Area[];
  readonly holdType?: string | null;
  /** By default a client that repeats commands makes one. */
  readonly idempotencyKey?: string;
}

/** One fault of a refused command. */
export interface FieldProblem {
  /** Path into the command, such as `seats[1].id`. */
  readonly field: string;
  /** Such as `LOCKED`. */
  readonly code: string;
  readonly message: string;
  readonly rejectedValue: unknown;
}

/** The problem document of a refusal, as over HTTP. */
export interface Problem {
  readonly status: number;
  readonly title: string;
  readonly detail: string;
  /** Such as `INVENTORY_NOT_AVAILABLE`. */
  readonly errorCode: string;
  readonly errors: readonly FieldProblem[];
}

/** The result of a command. `value` is what the HTTP call returns. */
export type Result =
  | { readonly ok: true; readonly value: boolean }
  | { readonly ok: false; readonly problem: Problem };
