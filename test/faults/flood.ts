/**
 * A program for the library: it requests far more changes at once than the disk takes, and reports
 * their outcomes as one line of JSON.
 */
import { Result } from "../../engine/results.ts";
import type { Caller } from "../../engine/bodies.ts";
import { openEngine } from "../../persistence/store/open-engine.ts";

/** Report of the program. */
export interface Flooded {
  readonly done: number;
  readonly refused: number;
  /** Refusals for any other reason than that the disk does not keep up. */
  readonly other: number;
  /** Largest resident memory, less what it was before. */
  readonly grownMiB: number;
  /** Venues when the store was opened again. */
  readonly kept: number;
}

const MEBIBYTE = 1024 * 1024;
const [folder = "", count = "0"] = process.argv.slice(2);

const store = await openEngine({ folder });
const caller = await store.callerFor("Flood");
const beforeBytes = process.memoryUsage.rss();
const tally = { done: 0, refused: 0, other: 0 };
await Promise.all(Array.from({ length: Number(count) }, (_, i) => ask(caller, i)));
const grownMiB = Math.round((process.memoryUsage.rss() - beforeBytes) / MEBIBYTE);
await store.close();
const again = await openEngine({ folder });
const kept = await again.read(({ catalog }) => catalog.venues.size);
await again.close();
const flooded: Flooded = { ...tally, grownMiB, kept };
process.stdout.write(`${JSON.stringify(flooded)}\n`);

async function ask(asking: Caller, number: number): Promise<void> {
  const body = { name: `Venue ${number}` };
  const { refused } = await store.execute({ kind: "createVenue", caller: asking, body });
  if (refused === Result.OK) tally.done += 1;
  else if (refused === Result.OVERLOADED) tally.refused += 1;
  else tally.other += 1;
}
