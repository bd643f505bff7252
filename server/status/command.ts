/** The command `frontrow status`: flags and help. */
import { type Command, Option } from "commander";
import type { StatusFlags } from "./status.ts";

export function addStatusCommand(program: Command): void {
  program
    .command("status")
    .summary("Show what a running server is doing, on one screen.")
    .description(
      "Shows rates, latencies, refusals, log, snapshots, audit trail, memory, and the fullest " +
        "events. It reads the server's /metrics twice, two seconds apart; it needs no data folder.",
    )
    .addOption(
      new Option("--url <url>", "base URL of the server")
        .env("FRONTROW_URL")
        .default("http://127.0.0.1:8080"),
    )
    .addOption(
      new Option("--token <token>", "bearer token, if /metrics requires one").env(
        "FRONTROW_METRICS_TOKEN",
      ),
    )
    .option("--watch", "show it again every two seconds, until Ctrl-C")
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 the server does not answer or refuses, 2 usage error.",
    )
    .action(async (flags: StatusFlags) => {
      const { status } = await import("./status.ts");
      await status(flags);
    });
}
