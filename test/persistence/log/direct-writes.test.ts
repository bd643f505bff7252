/** Batches written by the engine's own thread: when, their order, and the effect of a fault. */
import { expect, test } from "vitest";
import {
  DirectWrites,
  FAST_MS,
  RECORDS_MAX,
  REST_FACTOR,
  STALL_MS,
} from "../../../persistence/log/direct-writes.ts";
import { FakeDisk } from "../../support/disk/fake-disk.ts";
import { LogProcess, settle } from "./log-fixture.ts";

/** As many as it takes until the disk counts as fast. */
const WRITES = 8;

function afterFastWrites(): DirectWrites {
  const direct = new DirectWrites();
  for (let i = 0; i < WRITES; i++) direct.note(FAST_MS / 4, i, false);
  return direct;
}

test("a disk whose speed is not known yet → the thread pool writes", () => {
  const direct = new DirectWrites();
  expect(direct.allows(1, 0)).toBe(false);
  direct.note(FAST_MS / 4, 1, false);
  expect(direct.allows(1, 1)).toBe(false);
});

test("a fast disk and a small batch → the engine's thread writes; a larger one → the pool", () => {
  const direct = afterFastWrites();
  expect(direct.allows(RECORDS_MAX, WRITES)).toBe(true);
  expect(direct.allows(RECORDS_MAX + 1, WRITES)).toBe(false);
});

test("a small batch soon after a large one → the pool: many clients are there", () => {
  const direct = afterFastWrites();
  direct.answered(RECORDS_MAX + 1);
  direct.answered(1);
  expect(direct.allows(1, WRITES)).toBe(false);
  direct.answered(1);
  expect(direct.allows(1, WRITES)).toBe(true);
});

test("writes that usually take longer → the thread pool; one slow write changes nothing", () => {
  const direct = afterFastWrites();
  direct.note(STALL_MS, WRITES, false);
  expect(direct.allows(1, WRITES)).toBe(true);
  for (let i = 0; i < WRITES; i++) direct.note(2 * FAST_MS, WRITES, false);
  expect(direct.allows(1, WRITES)).toBe(false);
});

test("a stall held the engine → it is not held again for twenty times as long", () => {
  const direct = afterFastWrites();
  const stallMs = 2 * STALL_MS;
  direct.note(stallMs, 1_000, true);
  expect(direct.allows(1, 1_000 + REST_FACTOR * stallMs - 1)).toBe(false);
  expect(direct.allows(1, 1_000 + REST_FACTOR * stallMs)).toBe(true);
});

test("fewer records than the last batches had → waits for more, half as long as a write", () => {
  const direct = afterFastWrites();
  const usualMs = FAST_MS / 4;
  expect(direct.expectsMore(1, 0)).toBe(false);
  direct.answered(3);
  direct.answered(1);
  expect(direct.expectsMore(3, 0)).toBe(false);
  expect(direct.expectsMore(2, 0)).toBe(true);
  expect(direct.expectsMore(2, usualMs)).toBe(false);
  direct.answered(1);
  expect(direct.expectsMore(1, 0)).toBe(false);
});

test("the clock stands still → a batch waits for a few turns only", () => {
  const direct = afterFastWrites();
  direct.answered(3);
  let turns = 0;
  while (direct.expectsMore(1, 0)) turns += 1;
  expect(turns).toBeLessThan(100);
});

/** A log on a disk known to be fast, with a thread pool to be stopped. */
async function fastLog() {
  const pool = { isStopped: false };
  const disk = new FakeDisk({
    folder: "/data",
    later: (_, task) => {
      if (!pool.isStopped) queueMicrotask(task);
    },
  });
  const log = await LogProcess.start({ disk });
  for (let i = 0; i < WRITES; i++) await log.commit(1);
  return { disk, log, pool };
}

test("a fast disk → a small batch is durable without the thread pool", async () => {
  const { log, pool } = await fastLog();
  pool.isStopped = true;
  await log.commit(RECORDS_MAX);
  expect(log.acknowledged).toBe(WRITES + RECORDS_MAX);
  await log.commit(RECORDS_MAX + 1);
  expect(log.acknowledged).toBe(WRITES + RECORDS_MAX);
});

test("records come while the pool writes and answers leave → batches stay in order", async () => {
  const { log } = await fastLog();
  const inner = log.journal.durable;
  let more = 3;
  log.journal.durable = (sequence) => {
    inner(sequence);
    if (more-- > 0) log.append(1);
  };
  log.append(RECORDS_MAX + 1);
  await Promise.resolve();
  log.append(1);
  await settle();
  expect(log.durable).toEqual([...log.durable].sort((a, b) => a - b));
  expect(log.acknowledged).toBe(WRITES + RECORDS_MAX + 1 + 1 + 3);
  expect(log.failures).toEqual([]);
});

test.each(["write", "sync"] as const)(
  "a %s on the engine's thread fails → the log has failed, and the batch is never acknowledged",
  async (operation) => {
    const { disk, log, pool } = await fastLog();
    pool.isStopped = true;
    disk.decide = (step) => (step.operation === operation ? { code: "EIO" } : null);
    await log.commit(1);
    expect(log.acknowledged).toBe(WRITES);
    expect(log.failures).toHaveLength(1);
    disk.decide = () => null;
    expect(log.journal.hasFailed).toBe(true);
  },
);
