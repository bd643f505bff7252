/** The trail keeps the bodies of stored replies too long for memory. */
import { expect, test } from "vitest";
import { BODY_IN_MEMORY_MAX, type ReplyBudget } from "../../../engine/stored-replies.ts";
import type { Book } from "../../support/audit.ts";
import { Bench, ROOMY } from "../../support/engine.ts";
import { openBook } from "./history-fixture.ts";

const LONG = "x".repeat(BODY_IN_MEMORY_MAX + 1);

/** Replies of a tenant, and a trail following their log. */
class Replies {
  readonly bench = new Bench();
  readonly trail: Book;
  readonly #tenant = this.bench.createTenant();

  constructor() {
    this.trail = openBook();
  }

  remember(id: string, body: string | null, budget: ReplyBudget = ROOMY): void {
    const reply = { id, fingerprint: "f", status: 200, body };
    this.bench.must("rememberReply", this.#tenant, { reply, budget });
  }

  follow(): void {
    this.trail.feed(this.bench.journal.kept);
  }

  bodyOf(id: string): unknown {
    const outcome = this.trail.answer({ about: "reply", id });
    return outcome.gap === null ? outcome.value : outcome.gap;
  }
}

test.each([
  ["in memory", () => {}],
  ["in the archive", (book: Book) => book.archiveAll()],
])("a long body %s → it is there until its reply is removed, dropped or replaced", (_, keep) => {
  const replies = new Replies();
  replies.remember("7:short", "true");
  replies.remember("7:long", `${LONG} é 😀`);
  replies.follow();
  keep(replies.trail);
  expect([replies.bodyOf("7:short"), replies.bodyOf("7:long")]).toEqual([null, `${LONG} é 😀`]);
  const tight = { ...ROOMY, diskOfOwner: 1_000 };
  replies.remember("7:next", LONG, tight);
  replies.follow();
  keep(replies.trail);
  expect([replies.bodyOf("7:long"), replies.bodyOf("7:next")]).toEqual([null, LONG]);
  replies.bench.clock.timeMs += 86_400_000;
  replies.remember("7:next", `${LONG}2`);
  replies.remember("7:last", "true");
  replies.follow();
  keep(replies.trail);
  expect([replies.bodyOf("7:next"), replies.bodyOf("7:last")]).toEqual([`${LONG}2`, null]);
  replies.bench.clock.timeMs += 86_400_000;
  replies.remember("7:end", "true");
  replies.follow();
  keep(replies.trail);
  expect(replies.bodyOf("7:next")).toBeNull();
});
