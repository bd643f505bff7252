/** The commands `frontrow routes` and `frontrow move`: flags and help. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { UsageError } from "../../usage-error.ts";

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
      const { readCellList } = await import("./cell-list.ts");
      const { haproxyMap, nginxMaps } = await import("./route-table.ts");
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
      const { CellClient } = await import("./cell-client.ts");
      const { cancelMove, clearOld, moveOrganization } = await import("./move.ts");
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
  const url = URL.canParse(text) ? new URL(text) : null;
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`;
  if (isAddress) return url.origin;
  throw new InvalidArgumentError("It must be an address such as http://10.0.0.10:8080.");
}

function parseId(text: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be the id of an organization or a tenant.");
}
