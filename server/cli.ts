#!/usr/bin/env -S MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=1048576 node
/** The command line: `frontrow serve`, `gateway` and `onsale`, the operator's tools and status. */
import { Command } from "commander";
import { visible } from "../engine/names.ts";
import { addServeOptions, type ServeOptions } from "./config.ts";
import {
  addCellCommands,
  addDrawCommand,
  addGatewayCommand,
  addOnsaleCommand,
  addStatusCommand,
  addToolCommands,
} from "./command-line.ts";
import {
  dropEmptyVariables,
  loadServer,
  refuseEmptyFlags,
  refuseNode,
  version,
} from "./program.ts";

const EXIT_USAGE = 2;
const EXIT_FAILED = 1;

const program = new Command("frontrow")
  .description("Seat inventory engine: atomic, durable, fast.")
  .version(version)
  .configureOutput({
    outputError: (text, write) =>
      write(`frontrow: ${text.trim().replace("error: ", "")} (--help shows the options)\n`),
  })
  .hook("preSubcommand", () => dropEmptyVariables(process.env))
  .hook("preAction", (_, command) => refuseEmptyFlags(command))
  .exitOverride((error) => process.exit(error.exitCode === 0 ? 0 : EXIT_USAGE));

const serveCommand = program
  .command("serve")
  .description("Serve the HTTP interface on a data folder.")
  .action(async (options: ServeOptions) => {
    // Loaded on demand: the other commands start without the native modules.
    const { serve } = await loadServer(() => import("./main.ts"));
    await serve(options, process.env);
  });
addServeOptions(serveCommand).copyInheritedSettings(program);
addGatewayCommand(program);
addToolCommands(program);
addStatusCommand(program);
addDrawCommand(program);
addCellCommands(program);
addOnsaleCommand(program);

try {
  const refusal = refuseNode(process.versions.node);
  if (refusal !== null) throw new Error(refusal);
  await program.parseAsync();
} catch (error) {
  const { message, exitCode = EXIT_FAILED } = error as { message: string; exitCode?: number };
  process.stderr.write(`frontrow: ${visible(message)}\n`);
  process.exit(exitCode);
}
