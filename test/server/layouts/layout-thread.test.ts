/** Assignment of layout jobs to threads. The threads here answer only on demand. */
import { expect, test } from "vitest";
import { LayoutThreads, type StartLayoutThread } from "../../../server/layouts/layout-thread.ts";

const LONG_BYTES = 8 * 1_024 * 1_024;

test("an ordinary layout does not wait for a very large one of another organization", async () => {
  const started: ((length: number) => void)[] = [];
  const start: StartLayoutThread = (_, events) => {
    let asked = 0;
    started.push((length) => events.message({ id: asked, result: new Uint8Array(length) }));
    return {
      post: ({ id }) => void (asked = id),
      keepAlive: () => {},
      terminate: () => Promise.resolve(),
    };
  };
  const threads = new LayoutThreads(start);
  const show = (organizationId: number, bytes: number) =>
    threads.threadFor(bytes).run(
      "show",
      organizationId,
      () => ({ stored: Uint8Array.of(), hasRoom: false }),
      (shown) => shown.length,
    )!;
  const long = [show(1, LONG_BYTES), show(1, 7 * LONG_BYTES)];
  const ordinary = show(2, LONG_BYTES - 1);
  expect(threads.count).toBe(3);
  expect(started).toHaveLength(2);
  started[1]!(5);
  expect(await ordinary).toBe(5);
  for (const length of [6, 7]) {
    started[0]!(length);
    // The next job starts in a later turn.
    await new Promise(setImmediate);
    await new Promise(setImmediate);
  }
  expect(await Promise.all(long)).toEqual([6, 7]);
  await new Promise(setImmediate);
  expect(threads.count).toBe(0);
});
