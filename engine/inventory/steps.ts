/** Work in steps: a generator that yields wherever the work may be interrupted. */

/** Seats that a step visits: a millisecond of work, or a few before its code is compiled. */
export const SEATS_PER_STEP = 20_000;

/** Does all that is left. */
export function drain<Value>(steps: Generator<void, Value>): Value {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
