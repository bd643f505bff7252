/**
 * The history of single seats: what clients asked for, what they were told, and whether one order
 * of all calls on each seat explains it.
 */
import { type Call, contradictionIn } from "./linearizable.ts";

/**
 * The states of a seat: `ACTIVE`, `SOLD`, and `LOCKED by <session>`. A read that does not show the
 * session has the state `LOCKED`.
 */
export const ACTIVE = "ACTIVE";
export const SOLD = "SOLD";
export const LOCKED = "LOCKED";
export const lockedBy = (session: string): string => `LOCKED by ${session}`;

export type Booking = "lock" | "unlock" | "sale" | "revertsale";

/**
 * The rules: the state after a booking of a seat; null when it is refused. An unlock of a seat that
 * nobody holds is granted.
 */
const RULES: Readonly<Record<Booking, (state: string, session: string) => string | null>> = {
  lock: (state, session) => (state === ACTIVE ? lockedBy(session) : null),
  unlock: (state, session) => (state === ACTIVE || state === lockedBy(session) ? ACTIVE : null),
  sale: (state, session) => (state === lockedBy(session) ? SOLD : null),
  revertsale: (state) => (state === SOLD ? ACTIVE : null),
};

interface Times {
  readonly seat: number;
  /** As in `Call`. */
  readonly begunAt: number;
  /** As in `Call`. */
  readonly answeredAt: number;
}

export interface BookingCall extends Times {
  readonly kind: Booking;
  readonly session: string;
  /** Ignored when the call was not answered. */
  readonly isGranted: boolean;
}

export interface ReadCall extends Times {
  readonly kind: "read";
  /** The state that the client was shown. */
  readonly state: string;
}

export type SeatCall = BookingCall | ReadCall;

/** @returns One line for each seat whose history no order explains. */
export function seatFaults(calls: readonly SeatCall[], initial = ACTIVE): string[] {
  const bySeat = new Map<number, Call[]>();
  for (const call of calls) {
    const known = bySeat.get(call.seat);
    if (known === undefined) bySeat.set(call.seat, [callOf(call)]);
    else known.push(callOf(call));
  }
  return [...bySeat].flatMap(([seat, history]) => {
    const found = contradictionIn(history, initial);
    if (found === null) return [];
    const { name, begunAt, answeredAt } = found.call;
    const possible = found.possible.join(" or ");
    return `seat ${seat}: ${name} (${begunAt} to ${answeredAt}), but ${possible}`;
  });
}

function callOf(call: SeatCall): Call {
  const { begunAt, answeredAt } = call;
  if (call.kind === "read") {
    const isShown = (state: string) =>
      state === call.state || (call.state === LOCKED && state.startsWith(LOCKED));
    const effect = (state: string) => (isShown(state) ? state : null);
    return { name: `read ${call.state}`, begunAt, answeredAt, effect, mayChange: false };
  }
  const { kind, session, isGranted } = call;
  const isUnknown = answeredAt === Infinity;
  const outcome = isGranted ? "granted" : "refused";
  const name = `${kind} by ${session} ${isUnknown ? "unknown" : outcome}`;
  const granted = (state: string) => RULES[kind](state, session);
  const refused = (state: string) => (granted(state) === null ? state : null);
  const mayChange = isGranted || isUnknown;
  return { name, begunAt, answeredAt, effect: mayChange ? granted : refused, mayChange };
}
