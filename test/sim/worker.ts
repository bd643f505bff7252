/** The process for a share of the seeds: reports each; see `command.ts`. */
import { runHistory } from "./cluster/seed.ts";
import { type SeedResult, runSeed } from "./seed.ts";

/** Its only message. */
export interface Share {
  readonly first: number;
  readonly count: number;
  readonly stride: number;
  /** Histories of a cluster in place of runs of a single host. */
  readonly isCluster: boolean;
  /** The folder for the files of runs. */
  readonly root: string;
}

// The parent process has ended, or needs no more results.
process.once("disconnect", () => process.exit());
process.once("message", (share: Share) => void run(share));

async function run({ first, count, stride, isCluster, root }: Share): Promise<void> {
  const runOne = isCluster ? runHistory : runSeed;
  for (let i = 0; i < count; i++) {
    const result: SeedResult = await runOne(first + i * stride, root);
    await new Promise<void>((resolve) => {
      process.send!(result, undefined, undefined, () => resolve());
    });
  }
  process.disconnect();
}
