/**
 * The operator's commands verify, inspect, history, backup, restore, join, compare and repair:
 * flags and help. The code that does the work, with its native modules, is loaded on demand.
 */
import { type Command, InvalidArgumentError, Option } from "commander";
import { addressIn, serveOption } from "./config.ts";
import type { GatewayOptions } from "./gateway/run.ts";
import { addOnsaleOptions, type Flags, type OnsaleOptions } from "./onsale/options.ts";
import { loadServer, UsageError } from "./program.ts";
import type { HistoryFlags, InspectFlags, RepairFlags } from "./tools/offline.ts";
import type { StatusFlags } from "./tools/status.ts";

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
      const { verify } = await import("./tools/offline.ts");
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
      const { inspect } = await import("./tools/offline.ts");
      process.exitCode = inspect(folder, flags);
    });
}

export function addDrawCommand(program: Command): void {
  program
    .command("verify-draw")
    .summary("Recompute the draw of a door.")
    .description(
      "Checks that the published seed is the one that was promised, that the list of entries is " +
        "whole and has the published hash, and names the beacon; with a visitor, says which place " +
        "the draw gave to it; with a status from before, that nothing of it has changed since.",
    )
    .argument("<status>", "file or address of /door/<event>/status")
    .argument("<entries>", "file or address of /door/<event>/entries")
    .argument("[visitor]", "id or entry of a visitor")
    .option("--seen <file>", "a status of the door that was read before")
    .addHelpText(
      "after",
      "\nExit codes: 0 the draw is right, 1 it is not, 2 usage error, or there is no draw to check.",
    )
    .action(
      async (
        status: string,
        entries: string,
        visitor: string | undefined,
        { seen }: { readonly seen?: string },
      ) => {
        const { verifyDraw } = await import("./door/verify-draw.ts");
        process.exitCode = await verifyDraw(status, entries, { visitor, seen });
      },
    );
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
      const { history } = await import("./tools/offline.ts");
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
      const { backup } = await import("./tools/offline.ts");
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
      const { restore } = await import("./tools/offline.ts");
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
      const { join } = await import("./tools/offline.ts");
      process.exitCode = await join(source, folder, token);
    });
}

function addCompare(program: Command): void {
  tool(program, "compare", "Compare the logs of two hosts of a cluster.")
    .description(
      "Compares the chains of two logs, which may be in use: says up to which record they are " +
        "the same, and where they differ. With one folder it prints the chains of its log, for " +
        "a comparison on another host. Exits with 78 unless one log is the beginning of the other.",
    )
    .argument("<folder>", "data folder")
    .argument("[other]", "another data folder, or a file with what this command printed for it")
    .action(async (folder: string, other: string | undefined) => {
      const { compare } = await import("./tools/offline.ts");
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
      const { repair } = await import("./tools/offline.ts");
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

// The command `frontrow status`: flags and help.

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
      const { status } = await import("./tools/status.ts");
      await status(flags);
    });
}

// The commands `frontrow routes` and `frontrow move`: flags and help.

interface RouteFlags {
  readonly for: "haproxy" | "nginx";
  readonly cell: readonly string[];
  readonly moved: readonly string[];
}

interface MoveFlags {
  readonly from: string;
  readonly to: string;
  readonly address?: string;
  readonly tenant?: number;
  readonly token?: string;
  readonly cancel?: boolean;
  readonly clear?: boolean;
}

export function addCellCommands(program: Command): void {
  addRoutes(program);
  addMove(program);
}

function addRoutes(program: Command): void {
  program
    .command("routes")
    .summary("Print the route table of several cells for a proxy.")
    .description(
      "Prints which cell serves which organization, for HAProxy (a map file) or nginx (maps and " +
        "upstreams). A proxy routes by the id in the key; organizations that have moved are " +
        "exceptions. /docs/cells shows both configurations.",
    )
    .addOption(
      new Option("--for <proxy>", "the proxy").choices(["haproxy", "nginx"]).default("haproxy"),
    )
    .addOption(
      new Option("--cell <number=host:port>", "a cell; once for each")
        .argParser(collect)
        .default([]),
    )
    .addOption(
      new Option("--moved <organization=cell>", "an organization that has moved; once for each")
        .argParser(collect)
        .default([]),
    )
    .addHelpText(
      "after",
      "\nExample:\n  frontrow routes --cell 0=10.0.0.10:8080 --cell 7=10.0.0.17:8080 --moved 48=7",
    )
    .action(async (flags: RouteFlags) => {
      const { readCellList } = await import("./cells/move.ts");
      const { haproxyMap, nginxMaps } = await import("./cells/move.ts");
      try {
        const list = readCellList(flags.cell, flags.moved);
        process.stdout.write(flags.for === "nginx" ? nginxMaps(list) : haproxyMap(list));
      } catch (error) {
        throw new UsageError((error as Error).message);
      }
    });
}

function addMove(program: Command): void {
  program
    .command("move")
    .argument("<organization>", "id of the organization", parseId)
    .summary("Move an organization to another cell.")
    .description(
      "Moves an organization with everything it owns from one running cell to another, under the " +
        "same ids and keys. Its changes are refused meanwhile (503), and nothing is lost. A move " +
        "that was interrupted goes on when you give the command again.",
    )
    .requiredOption("--from <url>", "the cell where it is", parseAddress)
    .requiredOption("--to <url>", "the cell to which it moves", parseAddress)
    .option("--address <url>", "where clients find that cell; --to by default", parseAddress)
    .option("--tenant <id>", "tenant in that cell, if it has several", parseId)
    .addOption(
      new Option("--token <token>", "platform token of both cells").env("FRONTROW_PLATFORM_TOKEN"),
    )
    .option("--cancel", "take a move back that is not complete")
    .addOption(
      new Option(
        "--clear",
        "after a move: remove from the old cell all but the redirect",
      ).conflicts("cancel"),
    )
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 a cell refuses or does not answer, 2 usage error.",
    )
    .action(async (organizationId: number, flags: MoveFlags) => {
      const { from, to, token, tenant: tenantId, address = to } = flags;
      if (token === undefined) throw new UsageError("no token; set FRONTROW_PLATFORM_TOKEN");
      const { CellClient } = await import("./cells/move.ts");
      const { cancelMove, clearOld, moveOrganization } = await import("./cells/move.ts");
      const cells = [from, to].map((url) => new CellClient(url, token, organizationId));
      const say = (line: string) => void process.stdout.write(`${line}\n`);
      const [old, other] = [cells[0]!, cells[1]!];
      if (flags.cancel === true) await cancelMove(old, other, say);
      else if (flags.clear === true) await clearOld(old, say);
      else await moveOrganization(old, other, { address, tenantId, say });
    });
}

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}

/** @returns Scheme, host and port. */
function parseAddress(text: string): string {
  const url = addressIn(text);
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  if (isAddress) return url.origin;
  throw new InvalidArgumentError(
    "It must be an address with a port from 1 to 65535, such as http://10.0.0.10:8080.",
  );
}

function parseId(text: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be the id of an organization or a tenant.");
}

// The command `frontrow gateway`: flags and help.

/** Options that `frontrow serve` has as well. */
const SHARED = [
  "--host",
  "--port",
  "--trusted-proxy",
  "--max-connections",
  "--metrics-token",
  "--log-level",
  "--log-format",
  "--access-log",
] as const;

export function addGatewayCommand(program: Command): void {
  const command = program
    .command("gateway")
    .summary("Serve the HTTP interface for an engine on another core or host.")
    .description(
      "Takes requests of clients, with TLS if it is given a certificate, and passes them on to " +
        "an engine: booking over one link, many requests in a frame, and everything else over " +
        "HTTP. A gateway keeps nothing; start as many as you need.",
    )
    .addOption(
      new Option(
        "--engine <urls>",
        "base URL of the engine, a `frontrow serve`; several hosts of a cluster with commas",
      )
        .env("FRONTROW_ENGINE")
        .argParser(parseUrls)
        .makeOptionMandatory(),
    )
    .addOption(serveOption("--gateway-secret-file").makeOptionMandatory())
    .addOption(
      new Option("--tls-cert <file>", "certificate with its chain, in PEM; needs --tls-key").env(
        "FRONTROW_TLS_CERT",
      ),
    )
    .addOption(
      new Option("--tls-key <file>", "private key of the certificate, in PEM").env(
        "FRONTROW_TLS_KEY",
      ),
    );
  for (const flag of SHARED) command.addOption(serveOption(flag));
  command
    .addHelpText(
      "after",
      "\nThe engine needs the same --gateway-secret-file, and this host in its --trusted-proxy." +
        "\n\nExit codes: 0 after SIGINT or SIGTERM, 1 when it cannot start, 2 for a usage error.",
    )
    .action(async (options: GatewayOptions) => {
      const { runGateway } = await loadServer(() => import("./gateway/run.ts"));
      await runGateway(options);
    });
}

function parseUrls(text: string): readonly URL[] {
  const urls = text.split(",").map(parseUrl);
  if (new Set(urls.map(({ protocol }) => protocol)).size === 1) return urls;
  throw new InvalidArgumentError("Either all URLs have http: or all have https:.");
}

function parseUrl(text: string): URL {
  const url = addressIn(text.trim());
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === "/") return url;
  throw new InvalidArgumentError(
    "It must be a base URL with a port from 1 to 65535, such as http://10.0.0.5:8080.",
  );
}

// `frontrow onsale`: checks the flags, runs the sale, sets the exit code.

const ExitCode = { PASSED: 0, FAILED: 1, USAGE: 2 } as const;

const DESCRIPTION = [
  "Simulates a flash sale over HTTP on a running server, then checks the result.",
  "A crowd of constant size buys until everything is sold. Each buyer chooses adjacent seats or " +
    "general-admission places, locks them, hesitates, and then pays or gives up. After a refused " +
    "lock, the buyer chooses again. Each buyer who leaves is replaced by one with a new session. " +
    "With --best the buyers say how many they want, and the server chooses and locks the best " +
    "places; after a refusal they ask for as many as are together.",
  "With --door the event's door lets the buyers in. Without one, a door with a draw is set up, and " +
    "stays. The crowd joins before the opening; each buyer waits for its place, enters, locks with " +
    "its token, and leaves. The sale begins with the opening.",
  "You may kill and restart the server during the sale: the crowd waits, resolves every request " +
    "of unknown outcome, and continues. Do not sell on the same event by other means meanwhile: " +
    "the check would count those sales as errors.",
].join("\n\n");

const EPILOGUE = `
After the sale, the seats listing and the area counters are compared with the
answers that the buyers received. Each comparison is a line "check: ...". A run
that ends at the time limit, or because other sessions hold what is left, has not
failed: the report says what was not sold.

Of a door the run checks that the order is that of the published seed and
entries, that the rate was kept in every second in which somebody waited, that
never more than maxInside were inside, that each visitor's place stayed and its
taken is what it bought, and that locks without a token, with an altered one, and
beyond the quota were refused.

Each line of the ledger is {"time","op","step","session","seats","areas"}: op is
lock, best, unlock or sale; step is asked, answered or refused; seats are ids; areas
are {"id","capacity"}. Before it is answered, best has neither: the server chooses.
An unlock without both releases all that its session holds. Asked without a later
answered or refused is an unknown outcome. A line is handed to the operating system before the request is sent or
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
      const { runAndPrint } = await import("./onsale/run.ts");
      const passed = await runAndPrint(await toOptions(flags, command), flags.json === true);
      process.exitCode = passed ? ExitCode.PASSED : ExitCode.FAILED;
    });
}

/** Ends the process with the exit code of a usage error if the flags do not describe a run. */
async function toOptions(flags: Flags, command: Command): Promise<OnsaleOptions> {
  const { key, event, layout, json: _, ...rest } = flags;
  const { door, perMinute, maxInside, seatsPerVisitor, opensIn } = flags;
  const ofDoor = [perMinute, maxInside, seatsPerVisitor, opensIn];
  if (door !== true && ofDoor.some((flag) => flag !== undefined)) {
    command.error("error: an option of a new door needs --door");
  }
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
  const { readLayoutFile } = await import("./onsale/run.ts");
  try {
    return readLayoutFile(path);
  } catch (error) {
    return command.error(`error: --layout ${path}: ${(error as Error).message}`);
  }
}
