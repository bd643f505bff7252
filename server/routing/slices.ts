/**
 * Long work in slices: between two of them the server does other work. All long work together has
 * one slice per turn of the event loop, and a quarter of the time while there is other work.
 */

/** A slice takes no longer, as far as its work lets it: milliseconds. */
const SLICE_MS = 2;
/** After a slice, other work may take so many times as long before the next one. */
const OTHERS_SHARE = 3;
/** A turn of the event loop that took less had no other work. */
const IDLE_TURN_MS = 0.1;

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
/** When the present turn of the event loop began. */
let turnMs = 0;
/** When other work has had its share since the last slice. */
let dueMs = 0;

function schedule(): void {
  isScheduled = true;
  turnMs = performance.now();
  setImmediate(runOne);
}

function runOne(): void {
  const nowMs = performance.now();
  if (nowMs < dueMs && nowMs - turnMs > IDLE_TURN_MS) return schedule();
  const rest = waiting.shift()!;
  if (!rest()) waiting.push(rest);
  if (waiting.length > 0) schedule();
  else isScheduled = false;
}

function nextSlice<Value>(work: Generator<void, Value>): IteratorResult<void, Value> {
  const startMs = performance.now();
  let step = work.next();
  let endMs = performance.now();
  while (step.done !== true && endMs - startMs < SLICE_MS) {
    step = work.next();
    endMs = performance.now();
  }
  dueMs = endMs + (endMs - startMs) * OTHERS_SHARE;
  return step;
}
