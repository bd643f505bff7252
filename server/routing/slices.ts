/**
 * Long work in slices: between two of them the server does other work. All long work together has
 * one slice per turn while any of it waits, so other requests wait for one slice only.
 */

/** A slice takes no longer, as far as its work lets it: milliseconds. */
const SLICE_MS = 5;

/** Work whose first slice was not enough. @returns Whether it has come to its end. */
type Rest = () => boolean;

/** They take turns: the one that has waited longest comes first. */
const waiting: Rest[] = [];

/**
 * Runs a generator, which yields wherever it may be interrupted.
 *
 * @returns The result, at once when no other work waits and the first slice is enough.
 */
export function inSlices<Value>(work: Generator<void, Value>): Value | Promise<Value> {
  if (waiting.length === 0) {
    const first = nextSlice(work);
    if (first.done === true) return first.value;
  }
  return new Promise<Value>((resolve, reject) => {
    waiting.push(() => {
      try {
        const slice = nextSlice(work);
        if (slice.done === true) resolve(slice.value);
        return slice.done === true;
      } catch (error) {
        reject(error);
        return true;
      }
    });
    if (!isScheduled) schedule();
  });
}

let isScheduled = false;

function schedule(): void {
  isScheduled = true;
  setImmediate(runOne);
}

function runOne(): void {
  const rest = waiting.shift()!;
  if (!rest()) waiting.push(rest);
  if (waiting.length > 0) schedule();
  else isScheduled = false;
}

function nextSlice<Value>(work: Generator<void, Value>): IteratorResult<void, Value> {
  const endMs = performance.now() + SLICE_MS;
  let step = work.next();
  while (step.done !== true && performance.now() < endMs) step = work.next();
  return step;
}
