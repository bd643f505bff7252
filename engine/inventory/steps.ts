/** Cooperative work: a generator yields at each possible interruption. */

/** Seats per step: a millisecond of work, or a few before its code is compiled. */
export const SEATS_PER_STEP = 20_000;

/** Runs the generator to its end. */
export function drain<Value>(steps: Generator<void, Value>): Value {
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}
