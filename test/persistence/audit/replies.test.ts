/** The trail keeps the bodies of stored replies too long for memory. */
import { expect, test } from "vitest";
import { BODY_IN_MEMORY_MAX, type ReplyBudget } from "../../../engine/stored-replies.ts";
import { OpenTrail } from "../../../persistence/audit/keeper.ts";
import { Bench, ROOMY } from "../../support/engine.ts";

const STORE = "11111111-2222-4333-8444-555555555555";
const CHAIN = new Uint8Array(16);
const LONG = "x".repeat(BODY_IN_MEMORY_MAX + 1);

/** Replies of a tenant, and a trail following their log. */
class Replies {
  readonly bench = new Bench();
  readonly trail: OpenTrail;
  readonly #tenant = this.bench.createTenant();

  constructor(file: string) {
    this.trail = new OpenTrail(file, STORE);
  }

  remember(id: string, body: string | null, budget: ReplyBudget = ROOMY): void {
    const reply = { id, fingerprint: "f", status: 200, body };
    this.bench.must("rememberReply", this.#tenant, { reply, budget });
  }

  follow(): void {
    const { kept } = this.bench.journal;
    const mark = { sequence: kept.length, chain: CHAIN };
    for (const { sequence, timeMs, record } of kept.slice(this.trail.row.sequence)) {
      this.trail.add(sequence, timeMs, record, mark);
    }
    this.trail.commit(mark);
  }

  bodyOf(id: string): unknown {
    const outcome = this.trail.answer({ about: "reply", id });
    return outcome.gap === null ? outcome.value : outcome.gap;
  }
}

test("a long body is in the trail until its reply is removed, dropped or replaced", () => {
  const replies = new Replies(":memory:");
  replies.remember("7:short", "true");
  replies.remember("7:long", `${LONG} é 😀`);
  replies.follow();
  expect([replies.bodyOf("7:short"), replies.bodyOf("7:long")]).toEqual([null, `${LONG} é 😀`]);
  const tight = { ...ROOMY, diskOfOwner: 1_000 };
  replies.remember("7:next", LONG, tight);
  replies.follow();
  expect([replies.bodyOf("7:long"), replies.bodyOf("7:next")]).toEqual([null, LONG]);
  replies.bench.clock.timeMs += 86_400_000;
  replies.remember("7:next", `${LONG}2`);
  replies.remember("7:last", "true");
  replies.follow();
  expect([replies.bodyOf("7:next"), replies.bodyOf("7:last")]).toEqual([`${LONG}2`, null]);
  replies.bench.clock.timeMs += 86_400_000;
  replies.remember("7:end", "true");
  replies.follow();
  expect(replies.bodyOf("7:next")).toBeNull();
});

test("many long bodies are written in several transactions", () => {
  const replies = new Replies(":memory:");
  const body = "x".repeat(1024 * 1024);
  for (let i = 0; i < 20; i++) replies.remember(`7:${i}`, body);
  const { kept } = replies.bench.journal;
  const mark = { sequence: kept.length, chain: CHAIN };
  for (const { sequence, timeMs, record } of kept) {
    replies.trail.add(sequence, timeMs, record, mark);
  }
  expect(replies.trail.row.sequence).toBe(kept.length - 4);
  replies.trail.commit(mark);
  expect(replies.bodyOf("7:19")).toBe(body);
});
