/** Long work in slices: between two of them the server does what else is to be done. */
import { setImmediate as turn } from "node:timers/promises";

/** A slice takes no longer, as far as its work lets it: milliseconds. */
const SLICE_MS = 5;

/**
 * Runs a generator, which yields wherever it may be interrupted.
 *
 * @returns The result, at once when the first slice is enough.
 */
export function inSlices<Value>(work: Generator<void, Value>): Value | Promise<Value> {
  const first = nextSlice(work);
  return first.done === true ? first.value : restOf(work);
}

function restOf<Value>(work: Generator<void, Value>): Promise<Value> {
  return turn().then(() => {
    const slice = nextSlice(work);
    return slice.done === true ? slice.value : restOf(work);
  });
}

function nextSlice<Value>(work: Generator<void, Value>): IteratorResult<void, Value> {
  const endMs = performance.now() + SLICE_MS;
  let step = work.next();
  while (step.done !== true && performance.now() < endMs) step = work.next();
  return step;
}
