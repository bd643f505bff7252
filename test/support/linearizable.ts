/**
 * Decides whether one order of all calls explains every answer, when each call takes effect at a
 * single moment between its beginning and its answer (Herlihy and Wing, "Linearizability", 1990).
 * It walks through the history once and keeps each possible situation once. A call takes effect
 * only when an answer needs it (Lowe, "Testing for linearizability", 2017).
 */

/** A call as its client saw it. A request and its retries with one idempotency key are one call. */
export interface Call {
  /** For the report, such as `lock by ann`. Calls of one name have the same effect. */
  readonly name: string;
  /** The places of its beginning and of its answer in one order of all of them. */
  readonly begunAt: number;
  /** Infinity when there was no answer: it may take effect at any later moment, or never. */
  readonly answeredAt: number;
  /** @returns The state after it; null when it cannot have this answer in this state. */
  readonly effect: (state: string) => string | null;
  /** False for reads and refusals. */
  readonly mayChange: boolean;
}

/** The first answer without an explaining order. */
export interface Contradiction {
  readonly call: Call;
  /** Possible states before this answer, without the call. */
  readonly possible: readonly string[];
}

/** A possible situation after a part of the history. */
interface Situation {
  readonly state: string;
  /** Calls in effect and not answered yet, in rising order. */
  readonly done: readonly number[];
  /** The same for calls without any answer. */
  readonly used: readonly number[];
}

/** Beyond this the history has too many unanswered calls to be decided. */
const SITUATIONS_MAX = 200_000;

/** @returns null when the history is linearizable. Cost: usually O(calls). */
export function contradictionIn(calls: readonly Call[], initial: string): Contradiction | null {
  const open = new Set<number>();
  let situations: Situation[] = [{ state: initial, done: [], used: [] }];
  for (const { number, isAnswer } of eventsOf(calls)) {
    open.add(number);
    if (!isAnswer) continue;
    const next = new Situations();
    for (const situation of situationsWith(number, { calls, open, situations })) {
      next.add({ ...situation, done: situation.done.filter((other) => other !== number) });
    }
    if (next.all.length === 0) {
      const possible = [...new Set(situations.map(({ state }) => state))];
      return { call: calls[number]!, possible };
    }
    open.delete(number);
    situations = next.all;
  }
  return null;
}

/** Beginnings and answers in order. At the same place beginnings come first: the calls overlap. */
function eventsOf(calls: readonly Call[]) {
  const events = calls.flatMap(({ begunAt, answeredAt }, number) => [
    { at: begunAt, number, isAnswer: false },
    ...(answeredAt === Infinity ? [] : [{ at: answeredAt, number, isAnswer: true }]),
  ]);
  return events.toSorted((a, b) => a.at - b.at || Number(a.isAnswer) - Number(b.isAnswer));
}

interface Search {
  readonly calls: readonly Call[];
  /** Calls begun and not answered. */
  readonly open: ReadonlySet<number>;
  readonly situations: readonly Situation[];
}

/** All situations with the call in effect, after any other open calls. */
function situationsWith(number: number, search: Search): Situation[] {
  const found: Situation[] = [];
  const tried = new Situations();
  for (const situation of search.situations) tried.add(withSeen(situation, search));
  for (let at = 0; at < tried.all.length; at++) {
    const situation = tried.all[at]!;
    if (situation.done.includes(number)) found.push(situation);
    else for (const next of successors(situation, search)) tried.add(withSeen(next, search));
    if (tried.all.length > SITUATIONS_MAX) throw new Error("too many calls without an answer");
  }
  return found;
}

/** Fitting reads and refusals take effect at once: later they might not fit. */
function withSeen(situation: Situation, { calls, open }: Search): Situation {
  const { state, done } = situation;
  const seen = [...open].filter((number) => {
    const { answeredAt, effect, mayChange } = calls[number]!;
    return !mayChange && answeredAt < Infinity && !done.includes(number) && effect(state) === state;
  });
  return seen.length === 0 ? situation : { ...situation, done: sorted([...done, ...seen]) };
}

/** The situations after one more state-changing call. */
function successors({ state, done, used }: Situation, { calls, open }: Search): Situation[] {
  const names = new Set<string>();
  return [...open].flatMap((number): Situation[] => {
    const { name, answeredAt, effect, mayChange } = calls[number]!;
    if (!mayChange || done.includes(number) || used.includes(number)) return [];
    if (answeredAt === Infinity) {
      // Of unanswered calls with the same effect, the first is as good as any.
      if (names.has(name)) return [];
      names.add(name);
    }
    const next = effect(state);
    if (next === null) return [];
    if (answeredAt === Infinity) {
      return next === state ? [] : [{ state: next, done, used: sorted([...used, number]) }];
    }
    return [{ state: next, done: sorted([...done, number]), used }];
  });
}

function sorted(numbers: readonly number[]): number[] {
  return numbers.toSorted((a, b) => a - b);
}

/** Situations without repetition, in order of insertion. */
class Situations {
  readonly all: Situation[] = [];
  readonly #used = new Map<string, (readonly number[])[]>();

  /** One that has used more of the unanswered calls than an equal one explains nothing more. */
  add(situation: Situation): void {
    const { state, done, used } = situation;
    const key = `${done.join()} ${state}`;
    const known = this.#used.get(key) ?? [];
    if (known.some((fewer) => fewer.every((number) => used.includes(number)))) return;
    this.#used.set(key, [...known, used]);
    this.all.push(situation);
  }
}

// The history of single seats: requests and answers of clients; one order of all calls on each seat
// must explain them.

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
  /** As shown to the client. */
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
