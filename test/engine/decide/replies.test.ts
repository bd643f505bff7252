/** Stored replies: the first answer to an idempotency key is kept for a day. */
import { expect, test } from "vitest";
import { findReply } from "../../../engine/queries/access.ts";
import type { Caller } from "../../../engine/bodies.ts";
import { Bench, ROOMY, START_MS } from "../../support/engine.ts";

const DAY_MS = 86_400_000;

const remember = (bench: Bench, caller: Caller, id: string, body = "true") => {
  const reply = { id, fingerprint: "f", status: 200, body };
  return bench.must("rememberReply", caller, { reply, budget: ROOMY });
};

test("a reply is found for exactly a day", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  expect(remember(bench, tenant, "7:key")).toMatchObject({ expiresAtMs: START_MS + DAY_MS });
  const { state } = bench.engine;
  expect(findReply(state, "7:key", START_MS + DAY_MS - 1)).toMatchObject({ body: "true" });
  expect(findReply(state, "7:key", START_MS + DAY_MS)).toBeNull();
  expect(findReply(state, "8:key", START_MS)).toBeNull();
});

test("each new reply removes several expired ones", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 6; i++) remember(bench, tenant, `7:${i}`);
  bench.clock.timeMs += 1;
  remember(bench, tenant, "7:alive");
  bench.clock.timeMs += DAY_MS - 1;
  remember(bench, tenant, "7:new");
  const { replies } = bench.engine.state.catalog;
  expect([...replies.keys()]).toEqual(["7:4", "7:5", "7:alive", "7:new"]);
  remember(bench, tenant, "7:newer");
  expect([...replies.keys()]).toEqual(["7:alive", "7:new", "7:newer"]);
});

test("a key that is used again after its day counts as new", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 9; i++) remember(bench, tenant, `7:${i}`);
  bench.clock.timeMs += DAY_MS;
  remember(bench, tenant, "7:6", "again");
  remember(bench, tenant, "7:new");
  const { replies } = bench.engine.state.catalog;
  expect([...replies.keys()]).toEqual(["7:6", "7:new"]);
});

test("expired replies are forgotten on demand, a thousand at a time", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 1_100; i++) remember(bench, tenant, `7:${i}`);
  expect(bench.must("forgetReplies", tenant, {})).toBe(0);
  bench.clock.timeMs += DAY_MS;
  expect(bench.must("forgetReplies", tenant, {})).toBe(1_000);
  expect(bench.must("forgetReplies", tenant, {})).toBe(100);
  const { replies, storedReplies } = bench.engine.state.catalog;
  expect([replies.size, storedReplies.memory]).toEqual([0, 0]);
});
