/** Runs a sale and prints its report. */
import { FatalError } from "./http/errors.ts";
import type { OnsaleOptions } from "./options.ts";
import { formatReport } from "./report.ts";
import { runOnsale } from "./run.ts";
import { paintFor } from "./terminal.ts";

/** @returns Whether all checks passed. */
export async function runAndPrint(options: OnsaleOptions, asJson: boolean): Promise<boolean> {
  const { stdout, stderr } = process;
  try {
    const report = await runOnsale(options, stderr);
    stdout.write(`${asJson ? JSON.stringify(report) : formatReport(report, paintFor(stdout))}\n`);
    return report.passed;
  } catch (error) {
    if (!(error instanceof FatalError)) throw error;
    stderr.write(`error: ${error.message}\n`);
    return false;
  }
}
