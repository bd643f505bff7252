/** Fills a data folder in one process, and measures its recovery in others. */
import { inTemporaryFolder } from "../harness/command.ts";
import { runModule } from "../harness/processes.ts";
import type { StoreReport, StoreRun } from "./store-run.ts";

export interface Recoveries {
  /** How long the bookings took until the last was on disk. */
  readonly bookingSeconds: number;
  readonly recoverySeconds: readonly number[];
}

/** @throws Error when a recovery brings back another state, or does not start from a snapshot. */
export async function measureRecoveries(
  parent: string,
  { rounds, ...run }: Omit<StoreRun, "folder"> & { readonly rounds: number },
): Promise<Recoveries> {
  return inTemporaryFolder(parent, async (folder) => {
    const filled = await runStore({ ...run, folder });
    const recoverySeconds: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const opened = await runStore({ folder, closes: false });
      const isRight = opened.digest === filled.digest && (opened.snapshot !== null) === run.closes;
      if (!isRight) throw new Error("recovery brought back another state");
      recoverySeconds.push(opened.recoverySeconds);
    }
    return { bookingSeconds: filled.bookingSeconds, recoverySeconds };
  });
}

export async function runStore(run: StoreRun): Promise<StoreReport> {
  const program = new URL("./store-run.js", import.meta.url);
  return JSON.parse(await runModule(program, [JSON.stringify(run)])) as StoreReport;
}
