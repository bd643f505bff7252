/**
 * The operator's commands: verify, inspect, backup, restore, repair. Their flags and what --help
 * says; the work is loaded when it is asked for, with the native modules that it needs.
 */
import { type Command, InvalidArgumentError } from "commander";
import type { InspectFlags } from "./inspect.ts";
import type { RepairFlags } from "./repair.ts";

const EXIT_CODES = `
Exit codes: 0 done, 2 wrong usage, 73 the target cannot be used, 74 the disk fails, 75 another
process uses the folder, 78 the folder is damaged or is none of Frontrow's.`;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function addToolCommands(program: Command): void {
  addVerify(program);
  addInspect(program);
  addBackup(program);
  addRestore(program);
  addRepair(program);
}

function addVerify(program: Command): void {
  tool(program, "verify", "Check a whole data folder, and list all that is damaged.")
    .description(
      "Checks a data folder or a backup, read only: the log from its first segment, every " +
        "snapshot, and that each way of recovery gives the same state. Lists everything that is " +
        "damaged. A folder in use is refused: `frontrow backup` copies and checks one that is.",
    )
    .argument("<folder>", "data folder or backup")
    .action(async (folder: string) => {
      const { verify } = await import("./verify.ts");
      process.exitCode = verify(folder);
    });
}

function addInspect(program: Command): void {
  tool(program, "inspect", "Show the records of the log as JSON lines.")
    .description(
      "Writes the records of the log as JSON lines, oldest first: number, time, who, and what " +
        "moved from which state to which, with ids and names. Password hashes, hashes of tokens " +
        "and stored answers are left out. The folder may be in use. What is before the log's " +
        "first record is in the snapshots only.",
    )
    .argument("<folder>", "data folder or backup")
    .option("--from <number>", "first sequence number", parseSequence, 1)
    .option("--to <number>", "last sequence number", parseSequence)
    .option("--event <uuid>", "what changed this event", parseUuid)
    .option("--seat <id>", "what moved or priced this seat", parseSequence)
    .action(async (folder: string, flags: InspectFlags) => {
      const { inspect } = await import("./inspect.ts");
      process.exitCode = inspect(folder, flags);
    });
}

function addBackup(program: Command): void {
  tool(program, "backup", "Copy a data folder, also one in use, and check the copy.")
    .description(
      "Copies a data folder while its server goes on, and checks the copy whole before it gets " +
        "its name. Everything acknowledged before it began is in it. A backup is a data folder: " +
        "verify and inspect read it. It holds the secret of the keys, if the folder does.",
    )
    .argument("<folder>", "data folder")
    .argument("<target>", "folder to make; it must not be there yet, or be empty")
    .action(async (folder: string, target: string) => {
      const { backup } = await import("./copy.ts");
      process.exitCode = backup(folder, target);
    });
}

function addRestore(program: Command): void {
  tool(program, "restore", "Make a data folder from a backup.")
    .description(
      "Checks a backup, copies it to a new data folder, and checks that. The store keeps its " +
        "identity and its keys; a server that starts on it goes on where the backup ends.",
    )
    .argument("<backup>", "backup")
    .argument("<folder>", "data folder to make; it must not be there yet, or be empty")
    .action(async (source: string, folder: string) => {
      const { restore } = await import("./copy.ts");
      process.exitCode = restore(source, folder);
    });
}

function addRepair(program: Command): void {
  tool(program, "repair", "Save what can be saved of a damaged data folder.")
    .description(
      "Says what is damaged, what can be kept, and which records would be lost. Changes nothing " +
        "without --yes. With it, damaged snapshots and segments are set aside, and the log is " +
        "cut where it is damaged; where a good snapshot holds more than that, the log begins " +
        "anew behind it. The originals stay there under names that end with .broken. " +
        "Restoring a backup loses less where one is newer than the damage.",
    )
    .argument("<folder>", "data folder")
    .option("--yes", "do it")
    .option(
      "--cut-after <number>",
      "keep no record behind this one, though more could be kept",
      parseSequence,
    )
    .action(async (folder: string, flags: RepairFlags) => {
      const { repair } = await import("./repair.ts");
      process.exitCode = repair(folder, flags);
    });
}

function tool(program: Command, name: string, summary: string): Command {
  return program.command(name).summary(summary).addHelpText("after", EXIT_CODES);
}

function parseSequence(text: string): number {
  const number = Number(text);
  if (/^\d{1,16}$/.test(text) && Number.isSafeInteger(number)) return number;
  throw new InvalidArgumentError("It must be a whole number.");
}

function parseUuid(text: string): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError("It must be a UUID.");
}
