/** The program that `floors.ts` runs: it hashes the same bytes until the time is over. */
import { createHash } from "node:crypto";
import { answerPlans } from "../harness/processes.ts";

/** In the second-level cache of a processor, so the memory is no limit. */
const BYTES = Buffer.alloc(64 * 1_024);
const MS_PER_SECOND = 1_000;

answerPlans(({ durationMs }: { readonly durationMs: number }) => {
  const startMs = performance.now();
  let count = 0;
  while (performance.now() - startMs < durationMs) {
    createHash("sha256").update(BYTES).digest();
    count += 1;
  }
  return (count * MS_PER_SECOND) / (performance.now() - startMs);
});
