/**
 * Long work in slices: between two of them the server does other work. All long work together has
 * one slice per turn of the event loop, and a quarter of the time while there is other work. Works
 * of one owner come one after the other: each takes memory from its first slice on.
 */

/** A slice takes no longer, as far as its work lets it: milliseconds. */
const SLICE_MS = 2;
/** After a slice, other work may take so many times as long before the next one. */
const OTHERS_SHARE = 3;
/** A turn of the event loop that took less had no other work. */
const IDLE_TURN_MS = 0.1;

/** Work whose first slice was not enough. @returns Whether it has come to its end. */
type Rest = () => boolean;

/** By owner. The owners take turns: the one that has waited longest comes first. */
const waiting = new Map<unknown, Rest[]>();

/**
 * Runs a generator, which yields wherever it may be interrupted.
 *
 * @param owner - For whom it is done; by default, no other work has the same owner.
 * @returns The result, at once when no other work waits and the first slice is enough.
 */
export function inSlices<Value>(
  work: Generator<void, Value>,
  owner: unknown = work,
): Value | Promise<Value> {
  if (waiting.size === 0) {
    const first = nextSlice(work);
    if (first.done === true) return first.value;
  }
  return new Promise<Value>((resolve, reject) => {
    const rest = () => {
      try {
        const slice = nextSlice(work);
        if (slice.done === true) resolve(slice.value);
        return slice.done === true;
      } catch (error) {
        reject(error);
        return true;
      }
    };
    const own = waiting.get(owner);
    if (own === undefined) waiting.set(owner, [rest]);
    else own.push(rest);
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
  const [owner, own] = waiting.entries().next().value!;
  if (own[0]!()) own.shift();
  waiting.delete(owner);
  if (own.length > 0) waiting.set(owner, own);
  if (waiting.size > 0) schedule();
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
