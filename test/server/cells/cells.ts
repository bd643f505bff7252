/** Two cells as real processes, and the commands of an operator. */
import {
  type Finished,
  runCli,
  type ServerProcess,
  startServer,
  V2,
} from "../../support/server-process.ts";

export { V2 };

export const TOKEN = "platform-token-of-the-test";
const SECRET = "5e".repeat(32);
const ENV = { FRONTROW_PLATFORM_TOKEN: TOKEN, FRONTROW_SECRET: SECRET };

export interface CellOptions {
  readonly folder?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export function startCell(
  cell: number,
  { args = [], env = {}, ...options }: CellOptions = {},
): Promise<ServerProcess> {
  const flags = ["--cell", String(cell), ...args];
  return startServer({ ...options, args: flags, env: { ...ENV, ...env } });
}

/** Runs a command with the platform token. */
export function operate(...args: readonly string[]): Promise<Finished> {
  return runCli({ args, env: ENV });
}

/** Plays a sale against servers. @returns How the player ended, with its report as JSON. */
export function play(urls: readonly string[], key: string, flags: readonly string[]) {
  const where = ["--url", urls.join(","), "--key", key, "--json", "--seed", "1"];
  return runCli({ args: ["onsale", ...where, ...flags] });
}

/** Sold seats and places of an event. */
export async function soldIn(url: string, key: string, eventId: string): Promise<number> {
  const target = `${url}${V2}/events/${eventId}/summary/`;
  const answer = await fetch(target, { headers: { "X-API-Key": key } });
  return ((await answer.json()) as { total: { sold: number } }).total.sold;
}

/** The organization of a key. */
export function organizationOf(key: string): number {
  return Number(key.split("_")[1]);
}

/** The status of a move, as a cell answers. */
export async function moveOf(server: ServerProcess, organizationId: number) {
  const target = `/api/admin/organizations/${organizationId}/move`;
  const answer = await server.request("GET", target, undefined, TOKEN);
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}
