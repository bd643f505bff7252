/** Stored replies within their budget: which bodies are dropped, and who may store more. */
import { expect, test } from "vitest";
import type { Caller } from "../../engine/bodies.ts";
import { BODY_IN_MEMORY_MAX, diskBytesOf, type ReplyBudget } from "../../engine/stored-replies.ts";
import { digest } from "../../engine/verify.ts";
import { Bench, replayed, ROOMY } from "../support/engine.ts";

interface Given {
  readonly body?: string | null;
  readonly budget?: ReplyBudget;
}

function remember(
  bench: Bench,
  caller: Caller,
  id: string,
  { body = "true", budget = ROOMY }: Given = {},
): void {
  const reply = { id, fingerprint: "f", status: 200, body };
  bench.must("rememberReply", caller, { reply, budget });
}

/** Room for three bodies of this length for an owner, and for four in all. */
const LENGTH = 1_000;
const TIGHT: ReplyBudget = {
  ...ROOMY,
  diskOfOwner: 3 * diskBytesOf(LENGTH),
  disk: 4 * diskBytesOf(LENGTH),
};
const body = "x".repeat(LENGTH);

/** The ids of the replies whose body is kept. */
const kept = ({ engine }: Bench) =>
  [...engine.state.catalog.replies.values()]
    .filter(({ bodyLength }) => bodyLength !== undefined)
    .map(({ id }) => id);

test("the oldest long bodies of an owner make room for a new one, and their rows stay", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  remember(bench, tenant, "7:short", { body: "x".repeat(BODY_IN_MEMORY_MAX), budget: TIGHT });
  for (let i = 0; i < 5; i++) remember(bench, tenant, `7:${i}`, { body, budget: TIGHT });
  expect(kept(bench)).toEqual(["7:2", "7:3", "7:4"]);
  const { replies, storedReplies } = bench.engine.state.catalog;
  expect([...replies.keys()]).toEqual(["7:short", "7:0", "7:1", "7:2", "7:3", "7:4"]);
  expect(replies.get("7:0")).toMatchObject({ body: null, fingerprint: "f", status: 200 });
  expect(replies.get("7:short")!.body).toHaveLength(BODY_IN_MEMORY_MAX);
  expect([storedReplies.disk, storedReplies.dropped]).toEqual([3 * diskBytesOf(LENGTH), 2]);
  expect(digest(replayed(bench.journal))).toBe(digest(bench.engine.state));
  expect(replayed(bench.journal).catalog.storedReplies).toEqual(storedReplies);
});

test("when all owners together have too much, the one with most gives up its oldest bodies", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  remember(bench, tenant, "9:a", { body, budget: TIGHT });
  for (let i = 0; i < 3; i++) remember(bench, tenant, `7:${i}`, { body, budget: TIGHT });
  remember(bench, tenant, "8:a", { body, budget: TIGHT });
  remember(bench, tenant, "8:b", { body, budget: TIGHT });
  expect(kept(bench)).toEqual(["9:a", "7:2", "8:a", "8:b"]);
  remember(bench, tenant, "8:c", { body, budget: TIGHT });
  expect(kept(bench)).toEqual(["9:a", "7:2", "8:b", "8:c"]);
});

test("a body that the budget cannot hold is not kept, and drops no other", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  remember(bench, tenant, "7:a", { body, budget: TIGHT });
  remember(bench, tenant, "7:b", { body: "x".repeat(TIGHT.diskOfOwner), budget: TIGHT });
  expect(kept(bench)).toEqual(["7:a"]);
  expect(bench.engine.state.catalog.replies.get("7:b")).toMatchObject({ body: null });
});

test("an owner has room up to its limit, and up to an equal share when all memory is used", () => {
  const bench = new Bench();
  const tenant = bench.createTenant();
  for (let i = 0; i < 10; i++) remember(bench, tenant, `7:${i}`);
  const { storedReplies } = bench.engine.state.catalog;
  const { memory } = storedReplies;
  const has = (owner: string, limits: Partial<ReplyBudget>) =>
    storedReplies.hasRoom(owner, { ...ROOMY, ...limits });
  expect([has("7", { memoryOfOwner: memory }), has("7", { memoryOfOwner: memory + 1 })]).toEqual([
    false,
    true,
  ]);
  expect([has("7", { memory }), has("8", { memory })]).toEqual([false, true]);
});
