/** Whether a state is whole: every invariant holds, and its log leads to it again. */
import { expect } from "vitest";
import { checkState } from "../../engine/verify/check.ts";
import { digest } from "../../engine/verify/digest.ts";
import { type Bench, replayed } from "./engine.ts";

export function expectWhole({ engine, journal }: Bench): void {
  checkState(engine.state);
  expect(digest(replayed(journal))).toBe(digest(engine.state));
}
