/** `frontrow onsale`: checks the flags, runs the sale, sets the exit code. */
import type { Command } from "commander";
import { addOnsaleOptions, type Flags, type OnsaleOptions } from "./options.ts";

const ExitCode = { PASSED: 0, FAILED: 1, USAGE: 2 } as const;

const DESCRIPTION = [
  "Simulates a flash sale over HTTP on a running server, then checks the result.",
  "A crowd of constant size buys until everything is sold. Each buyer chooses adjacent seats or " +
    "general-admission places, locks them, hesitates, and then pays or gives up. After a refused " +
    "lock, the buyer chooses again. Each buyer who leaves is replaced by one with a new session.",
  "You may kill and restart the server during the sale: the crowd waits, resolves every request " +
    "of unknown outcome, and continues. Do not sell on the same event by other means meanwhile: " +
    "the check would count those sales as errors.",
].join("\n\n");

const EPILOGUE = `
After the sale, the seats listing and the area counters are compared with the
answers that the buyers received. Each comparison is a line "check: ...". A run
that ends at the time limit, or because other sessions hold what is left, has not
failed: the report says what was not sold.

Each line of the ledger is {"time","op","step","session","seats","areas"}: op is
lock, unlock or sale; step is asked, answered or refused; seats are ids; areas
are {"id","capacity"}. Asked without a later answered or refused is an unknown
outcome. A line is handed to the operating system before the request is sent or
the next step is taken. After a crash, the ledger therefore shows which changes
must exist and which may exist.

The output has colours on a terminal, except if NO_COLOR is set.

Exit codes: 0 all checks passed, 1 a check failed or the run could not continue,
2 usage error.

Example:
  FRONTROW_KEY=fro_1_... frontrow onsale --layout arena.json.gz --buyers 5000`;

export function addOnsaleCommand(program: Command): void {
  const command = program
    .command("onsale")
    .summary("Simulate a flash sale on a running server, then check the result.")
    .description(DESCRIPTION);
  addOnsaleOptions(command)
    .addHelpText("after", EPILOGUE)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : ExitCode.USAGE))
    .action(async (flags: Flags) => {
      // Loaded on demand: its HTTP client would delay the start of a server.
      const { runAndPrint } = await import("./run-and-print.ts");
      const passed = await runAndPrint(await toOptions(flags, command), flags.json === true);
      process.exitCode = passed ? ExitCode.PASSED : ExitCode.FAILED;
    });
}

/** Ends the process with the exit code of a usage error if the flags do not describe a run. */
async function toOptions(flags: Flags, command: Command): Promise<OnsaleOptions> {
  const { key, event, layout, json: _, ...rest } = flags;
  if (key === undefined || key === "") {
    command.error("error: no key; set FRONTROW_KEY or use --key");
  }
  if (layout !== undefined) {
    return { ...rest, key, target: { layout: await readLayout(layout, command) } };
  }
  if (event !== undefined) return { ...rest, key, target: { eventId: event } };
  return command.error("error: no event; name one with --event, or create one with --layout");
}

async function readLayout(path: string, command: Command): Promise<string> {
  const { readLayoutFile } = await import("./setup.ts");
  try {
    return readLayoutFile(path);
  } catch (error) {
    return command.error(`error: --layout ${path}: ${(error as Error).message}`);
  }
}
