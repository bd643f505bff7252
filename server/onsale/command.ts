/** `frontrow onsale`: the flags, what is printed, and the exit code. The only file that prints. */

import { type Command, Option } from "commander";
import { randomInt } from "node:crypto";
import { HaltError } from "./http/halt.ts";
import {
  type OnsaleOptions,
  parseEventId,
  parseSeatsPerBuyer,
  parseShare,
  parseUrl,
  type Range,
  wholeNumber,
} from "./options.ts";
import { ProgressBar } from "./progress.ts";
import { formatReport } from "./report.ts";
import { type Audience, runOnsale } from "./run.ts";
import { readLayoutFile } from "./setup.ts";

const ExitCode = { PASSED: 0, FAILED: 1, WRONG_USAGE: 2 } as const;
const SEED_LIMIT = 2 ** 32;
const COUNT_MAX = 1_000_000;
const CONNECTIONS_MAX = 10_000;

const DESCRIPTION = [
  "Plays a flash sale over HTTP against a running server, then checks it.",
  "A crowd of constant size buys until everything is sold. Each buyer chooses neighbouring seats " +
    "(or general-admission places), locks them, hesitates, and pays or gives up; after a refusal " +
    "the buyer chooses again. Who leaves is replaced by a new buyer, with a new session, while " +
    "anything is free or held.",
  "The server may be killed and restarted meanwhile: the crowd waits, settles what was left " +
    "open, and goes on. Nobody else should sell on the same event during the run, or the check " +
    "counts what they sold as a fault.",
].join("\n\n");

const EPILOGUE = `
At the end the seats listing and the area counters are compared with what the
buyers were told; each comparison is one line "check: ...". Running out of time
is not a fault: the report then says what is left.

A line of the ledger: {"time","op","step","session","seats","areas"}, where op is
lock, unlock or sale, step is asked, answered or refused, seats are ids, and areas
are {"id","capacity"}. It is with the system before the request or the next step
goes, so it tells after a crash what must be there and what may be.

Exit code: 0 every check passed, 1 a check failed or the run could not go on,
2 wrong usage.

Example:
  FRONTROW_KEY=fro_1_... frontrow onsale --layout arena.json.gz --buyers 5000`;

/** The flags as commander hands them over. */
interface Flags {
  readonly url: URL;
  readonly key?: string;
  readonly event?: string;
  readonly layout?: string;
  readonly buyers: number;
  readonly seatsPerBuyer: Range;
  readonly gaShare: number;
  readonly giveUp: number;
  readonly thinkMs: number;
  readonly connections: number;
  readonly seconds: number;
  readonly seed?: number;
  readonly ledger?: string;
  readonly json?: boolean;
}

export function addOnsaleCommand(program: Command): void {
  const command = program
    .command("onsale")
    .summary("Play a flash sale against a running server, then check it.")
    .description(DESCRIPTION);
  addServerOptions(command);
  addCrowdOptions(command);
  command
    .option("--json", "print the report as one JSON object")
    .addHelpText("after", EPILOGUE)
    .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : ExitCode.WRONG_USAGE))
    .action(async (flags: Flags) => {
      process.exitCode = await playAndPrint(toOptions(flags, command), flags.json === true);
    });
}

function addServerOptions(command: Command): void {
  command
    .addOption(
      new Option("--url <url>", "base address of the server")
        .env("FRONTROW_URL")
        .argParser(parseUrl)
        .default(new URL("http://127.0.0.1:8080"), "http://127.0.0.1:8080"),
    )
    .addOption(
      new Option(
        "--key <key>",
        "secret API key of the organization; better given in the variable, where no list of " +
          "processes shows it",
      ).env("FRONTROW_KEY"),
    )
    .addOption(new Option("--event <uuid>", "event to play on").argParser(parseEventId))
    .addOption(
      new Option(
        "--layout <file>",
        "play on a new event instead: create a venue, a schema with this layout (JSON, plain " +
          "or .gz), an event and one price a section",
      ).conflicts("event"),
    )
    .option(
      "--connections <n>",
      "HTTP connections, one request at a time on each",
      wholeNumber(1, CONNECTIONS_MAX),
      64,
    )
    .option(
      "--ledger <file>",
      "write each lock, unlock and sale as JSON lines: asked before it leaves, then answered " +
        "or refused; an asked line alone is an unknown outcome",
    );
}

function addCrowdOptions(command: Command): void {
  const seatsDefault = { min: 1, max: 6 };
  command
    .option("--buyers <n>", "buyers at once", wholeNumber(1, COUNT_MAX), 1_000)
    .addOption(
      new Option("--seats-per-buyer <n or n-m>", "seats or places a buyer wants, 1 to 6")
        .argParser(parseSeatsPerBuyer)
        .default(seatsDefault, "1-6"),
    )
    .option("--ga-share <0..1>", "share of buyers who prefer general admission", parseShare, 0.2)
    .option("--give-up <0..1>", "share of buyers who give back what they hold", parseShare, 0.1)
    .option(
      "--think-ms <ms>",
      "mean hesitation between lock and purchase (even from 0 to twice this)",
      wholeNumber(0, COUNT_MAX),
      50,
    )
    .option("--seconds <s>", "time limit of the sale", wholeNumber(1, COUNT_MAX), 300)
    .option(
      "--seed <n>",
      "repeats a run: the same buyers with the same wishes (default: drawn, and printed)",
      wholeNumber(0, SEED_LIMIT - 1),
    );
}

/** Ends the process with the code for wrong usage where the flags make no run. */
function toOptions(flags: Flags, command: Command): OnsaleOptions {
  const { key, event, layout, json: _, ...crowd } = flags;
  if (key === undefined || key === "") {
    command.error("error: no key; give it in FRONTROW_KEY or with --key");
  }
  if (event === undefined && layout === undefined) {
    command.error("error: name an event with --event, or a layout to make one with --layout");
  }
  const stage =
    layout === undefined ? { eventId: event! } : { layout: readLayout(layout, command) };
  return { ...crowd, key, stage, seed: flags.seed ?? randomInt(SEED_LIMIT) };
}

function readLayout(path: string, command: Command): string {
  try {
    return readLayoutFile(path);
  } catch (error) {
    return command.error(`error: --layout ${path}: ${(error as Error).message}`);
  }
}

async function playAndPrint(options: OnsaleOptions, asJson: boolean): Promise<number> {
  try {
    const report = await runOnsale(options, audienceOf(process.stderr));
    process.stdout.write(`${asJson ? JSON.stringify(report) : formatReport(report)}\n`);
    return report.passed ? ExitCode.PASSED : ExitCode.FAILED;
  } catch (error) {
    if (!(error instanceof HaltError)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    return ExitCode.FAILED;
  }
}

function audienceOf(stream: NodeJS.WriteStream): Audience {
  const bar = stream.isTTY ? new ProgressBar(stream) : undefined;
  return {
    onEvent: (eventId) => stream.write(`event ${eventId}\n`),
    onStart: (openCount, soldCount) => bar?.start(openCount, soldCount),
    onEnd: () => bar?.stop(),
  };
}
