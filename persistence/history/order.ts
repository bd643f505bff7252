/** The order of listed transitions. */
import { STATE_NAMES } from "../../engine/inventory/states.ts";
import type { Transition, TransitionQuery, TransitionSort } from "../../engine/queries/history.ts";
import { ACTOR_NAMES } from "./archive.ts";

/** Times rise with sequence numbers. */
const IN_ORDER: ReadonlySet<TransitionSort> = new Set<TransitionSort>(["sequence", "time"]);

type Key = number | string | null;

/** The compared value of each property. A missing one is null or empty, and comes first. */
const SORT_KEYS: Readonly<Record<TransitionSort, (row: Transition) => Key>> = {
  sequence: ({ sequence }) => sequence,
  ordinal: ({ ordinal }) => ordinal,
  time: ({ sequence }) => sequence,
  call: ({ call }) => call,
  actorType: ({ actor }) => ACTOR_NAMES[actor.kind],
  actorId: ({ actor }) => actor.id,
  sessionId: ({ session }) => session,
  holdType: ({ holdType }) => holdType,
  holdSequence: ({ hold }) => Math.max(hold, 0),
  seatId: ({ placeId, isArea }) => (isArea ? null : placeId),
  groupOfSeatsId: ({ placeId, isArea }) => (isArea ? placeId : null),
  capacity: ({ places }) => places,
  fromState: ({ from }) => (from === null ? null : STATE_NAMES[from]),
  toState: ({ to }) => (to === null ? null : STATE_NAMES[to]),
  priceId: ({ priceId }) => priceId,
  channel: ({ channel }) => channel ?? null,
};

/** True for the order of the records, and for its reverse. */
export function isInOrder({ sort }: TransitionQuery): boolean {
  return sort.length === 0 || IN_ORDER.has(sort[0]!.property);
}

export function comparing({ sort }: TransitionQuery): (a: Transition, b: Transition) => number {
  return (a, b) => {
    const bySequence = a.sequence - b.sequence || a.ordinal - b.ordinal;
    for (const { property, descending } of sort) {
      const valueOf = SORT_KEYS[property];
      const order = IN_ORDER.has(property) ? bySequence : compare(valueOf(a), valueOf(b));
      if (order !== 0) return descending ? -order : order;
    }
    return bySequence;
  };
}

function compare(a: Key, b: Key): number {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  return typeof a === "number" ? a - Number(b) : compareText(a, String(b));
}

/** By code point, as UTF-8 is. */
function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  for (let i = 0; i < end; i++) {
    const [one, other] = [a.charCodeAt(i), b.charCodeAt(i)];
    if (one !== other) return rankOf(one) - rankOf(other);
  }
  return a.length - b.length;
}

/** Surrogates stand for characters after all others. */
const rankOf = (unit: number) => (unit >= 0xd800 && unit < 0xe000 ? unit + 0x1_0000 : unit);
