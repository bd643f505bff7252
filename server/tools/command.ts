/**
 * The operator's commands verify, inspect, history, backup, restore, join, compare and repair:
 * flags and help. The code that does the work, with its native modules, is loaded on demand.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import type { HistoryFlags } from "./history.ts";
import type { InspectFlags } from "./inspect.ts";
import type { RepairFlags } from "./repair.ts";

const EXIT_CODES = `
Exit codes: 0 done, 2 usage error, 73 the target cannot be used, 74 the disk fails, 75 another
process uses the folder or the other host does not send a whole copy, 78 the folder is damaged, is
not a Frontrow store, or has a format of another version of Frontrow.`;

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function addToolCommands(program: Command): void {
  addVerify(program);
  addInspect(program);
  addHistory(program);
  addBackup(program);
  addRestore(program);
  addJoin(program);
  addCompare(program);
  addRepair(program);
}

function addVerify(program: Command): void {
  tool(program, "verify", "Check a data folder and list everything that is damaged.")
    .description(
      "Checks a data folder or a backup without changing it: the log from its first segment, " +
        "every snapshot, and that every way of recovery leads to the same state. Lists all " +
        "damage. Refuses a folder in use: `frontrow backup` copies and checks such a folder.",
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
      "Writes the records of the log as JSON lines, oldest first: sequence number, time, actor, " +
        "and what moved from which state to which, with ids and names. Omits password hashes, " +
        "token hashes and stored answers. The folder may be in use. Records before the first one " +
        "of the log are in the snapshots only.",
    )
    .argument("<folder>", "data folder or backup")
    .option("--from <number>", "first sequence number", parseSequence, 1)
    .option("--to <number>", "last sequence number", parseSequence)
    .option("--event <uuid>", "only changes of this event", parseUuid)
    .option("--seat <id>", "only changes of this seat", parseSequence)
    .action(async (folder: string, flags: InspectFlags) => {
      const { inspect } = await import("./inspect.ts");
      process.exitCode = inspect(folder, flags);
    });
}

function addHistory(program: Command): void {
  tool(program, "history", "Show the transitions of the audit trail as JSON lines.")
    .description(
      "Writes every transition of the audit trail as a JSON line, event by event, the oldest " +
        "first: time, call, actor, session, seat or area, and the states before and after. The " +
        "folder may be in use.",
    )
    .argument("<folder>", "data folder or backup")
    .option("--event <uuid>", "only transitions of this event", parseUuid)
    .action(async (folder: string, flags: HistoryFlags) => {
      const { history } = await import("./history.ts");
      process.exitCode = history(folder, flags);
    });
}

function addBackup(program: Command): void {
  tool(program, "backup", "Copy a data folder, even one in use, and check the copy.")
    .description(
      "Copies a data folder while its server keeps running, and checks the whole copy before it " +
        "gets its name. The copy has everything that was acknowledged before the backup began. A " +
        "backup is a data folder: verify and inspect read it. It contains the secret of the keys " +
        "if the folder does.",
    )
    .argument("<folder>", "data folder")
    .argument("<target>", "folder to create; must not exist, or be empty")
    .action(async (folder: string, target: string) => {
      const { backup } = await import("./copy.ts");
      process.exitCode = backup(folder, target);
    });
}

function addRestore(program: Command): void {
  tool(program, "restore", "Create a data folder from a backup.")
    .description(
      "Checks a backup, copies it to a new data folder, and checks the copy. The store keeps its " +
        "identity and its keys. A server that starts on it continues where the backup ends.",
    )
    .argument("<backup>", "backup to copy")
    .argument("<folder>", "data folder to create; must not exist, or be empty")
    .action(async (source: string, folder: string) => {
      const { restore } = await import("./copy.ts");
      process.exitCode = restore(source, folder);
    });
}

function addJoin(program: Command): void {
  tool(program, "join", "Create the data folder of a new host of a cluster.")
    .description(
      "Copies the store of another host of the cluster: from the running host, if its URL is " +
        "given, or from its data folder or a backup. Checks the copy before it gets its name. A " +
        "server that starts on it with --cluster follows from where the copy ends. Start it " +
        "within five minutes: etcd keeps only the end of the log. An interrupted copy is begun " +
        "again.",
    )
    .argument("<source>", "URL of another host, its data folder, or a backup of it")
    .argument("<folder>", "data folder to create; must not exist, or be empty")
    .addOption(
      new Option("--token <token>", "platform token of the host; only for a URL").env(
        "FRONTROW_PLATFORM_TOKEN",
      ),
    )
    .action(async (source: string, folder: string, { token }: { readonly token?: string }) => {
      const { join } = await import("./join.ts");
      process.exitCode = await join(source, folder, token);
    });
}

function addCompare(program: Command): void {
  tool(program, "compare", "Compare the logs of two hosts of a cluster.")
    .description(
      "Compares the chains of two logs, which may be in use: says up to which record they are " +
        "the same, and where they differ. With one folder it prints the chains of its log, for " +
        "a comparison on another host. Exits with 78 when they differ.",
    )
    .argument("<folder>", "data folder")
    .argument("[other]", "another data folder, or a file with what this command printed for it")
    .action(async (folder: string, other: string | undefined) => {
      const { compare } = await import("./compare.ts");
      process.exitCode = compare(folder, other);
    });
}

function addRepair(program: Command): void {
  tool(program, "repair", "Recover what can be recovered of a damaged data folder.")
    .description(
      "Reports what is damaged, what can be kept, and which records would be lost. Changes " +
        "nothing without --yes. With --yes it first exports what the audit trail and the rest " +
        "of the log still know of the lost records, as JSON lines, to a file in the folder. " +
        "Then it sets damaged snapshots and segments aside and cuts the log where it is " +
        "damaged; if a good snapshot reaches further, a new log starts after that snapshot. " +
        "The originals stay in the folder under names that end with .broken. " +
        "If you have a backup that is newer than the damage, restoring it loses less.",
    )
    .argument("<folder>", "data folder")
    .option("--yes", "carry out the repair")
    .option(
      "--cut-after <number>",
      "keep no record after this one, even if more could be kept",
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
  throw new InvalidArgumentError("It must be an integer.");
}

function parseUuid(text: string): string {
  if (UUID.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError("It must be a UUID.");
}
