/**
 * The compiled program in its own process: `frontrow serve` or another command. `npm run build`
 * compiles it. Servers and folders of `startServer` and `temporaryFolder` are removed when the test
 * ends; the campaigns of faults start and end their processes themselves.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";

export const ROOT = rootAbove(import.meta.dirname);
export const V2 = "/api/private/v2.0";
export const CLI = path.join(ROOT, "dist/server/cli.js");
/** Generous limits, because the machine may be busy. */
const START_MS_MAX = 60_000;
const RUN_MS_MAX = 60_000;
const READY = /^frontrow listening on (https?:\/\/\S+)\n/;

/** End of a process. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that has ended. */
export interface Finished extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The program; that of this build by default. */
  readonly cli?: string;
  readonly args?: readonly string[];
  /** Added to an environment without variables of Frontrow, Node and Vitest. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** The limit on open files. */
  readonly openFilesMax?: number;
  /** Words before the command, such as those that let it run on another network. */
  readonly enter?: readonly string[];
}

export interface StartOptions extends RunOptions {
  /** A new one by default. */
  readonly folder?: string;
}

/** Creates a folder that is removed when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "frontrow-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts `frontrow serve` on a free port and waits until it is ready. @throws Error if it ends. */
export async function startServer({
  folder = path.join(temporaryFolder(), "data"),
  args = [],
  cli = CLI,
  ...options
}: StartOptions = {}): Promise<ServerProcess> {
  const places = ["--port", "0", "--data", folder];
  const child = spawnNode(cli, { ...options, args: ["serve", ...places, ...args] });
  const server = new ServerProcess(child, folder);
  onTestFinished(async () => void (await server.kill("SIGKILL")));
  await server.ready(args.includes("--demo") || options.env?.["FRONTROW_DEMO"] !== undefined);
  return server;
}

/**
 * A port that the system gives to no connection: one on which a server is to start again, while
 * others try to connect to it.
 */
export function quietPort(): number {
  return 20_000 + Math.floor(10_000 * Math.random());
}

/** Runs the command line until it ends. */
export async function runCli({ cli = CLI, ...options }: RunOptions = {}): Promise<Finished> {
  const child = spawnNode(cli, options);
  const output = collect(child);
  const timer = setTimeout(() => child.kill("SIGKILL"), RUN_MS_MAX);
  const exit = await exitOf(child);
  clearTimeout(timer);
  return { ...exit, ...output };
}

export class ServerProcess {
  readonly folder: string;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  readonly #output: { stdout: string; stderr: string };

  constructor(child: ChildProcess, folder: string) {
    this.#child = child;
    this.folder = folder;
    this.#output = collect(child);
    this.exited = exitOf(child);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get stdout(): string {
    return this.#output.stdout;
  }

  get stderr(): string {
    return this.#output.stderr;
  }

  /** The address in the ready line. */
  get url(): string {
    return READY.exec(this.stdout)?.[1] ?? "";
  }

  /** The key of the demo's organization; empty without `--demo`. */
  get key(): string {
    const file = path.join(this.folder, "demo-key");
    if (!existsSync(file)) return "";
    return /^X-API-Key: (\S+)\n$/.exec(readFileSync(file, "utf8"))?.[1] ?? "";
  }

  /** The demo's event; empty without `--demo`. */
  get eventId(): string {
    return /event id\s+(\S+)/.exec(this.stdout)?.[1] ?? "";
  }

  /** A secret that the first start generated: `tenant token`, `admin password`. */
  generated(name: string): string {
    const text = readFileSync(path.join(this.folder, "first-credentials"), "utf8");
    return new RegExp(`^${name}: (\\S+)$`, "m").exec(text)?.[1] ?? "";
  }

  /** The messages of the log. */
  get logLines(): readonly Readonly<Record<string, unknown>>[] {
    const lines = this.stderr.split("\n").filter((line) => line.startsWith("{"));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Waits for the ready line. @param isDemo - Waits for the text of the demo, too. */
  async ready(isDemo: boolean, startMsMax = START_MS_MAX): Promise<void> {
    const endMs = Date.now() + startMsMax;
    const isReady = () => this.url !== "" && (!isDemo || /^curl .*\n\n$/m.test(this.stdout));
    while (!isReady()) {
      const { exitCode, signalCode } = this.#child;
      if (exitCode !== null || signalCode !== null || Date.now() > endMs) {
        throw new Error(`the server did not start: ${exitCode} ${signalCode} ${this.stderr}`);
      }
      await sleep(5);
    }
  }

  /** @returns How the process ended: by this signal, or earlier. */
  kill(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.kill(signal);
    return this.exited;
  }

  /** @returns The ids of the demo's free seats, at most 100 of them. */
  async freeSeats(): Promise<number[]> {
    const target = `${V2}/events/${this.eventId}/seats/?sort=state&size=100`;
    const { content } = (await (await this.request("GET", target)).json()) as {
      content: { seatId: number; state: string }[];
    };
    return content.filter(({ state }) => state === "ACTIVE").map(({ seatId }) => seatId);
  }

  /** @param access - An API key, or the headers that identify the caller. */
  async request(
    method: string,
    target: string,
    body?: unknown,
    access: string | Readonly<Record<string, string>> = this.key,
  ): Promise<Response> {
    const who = typeof access === "string" ? { "X-API-Key": access } : access;
    const headers = { "Content-Type": "application/json", ...who };
    const text = body === undefined ? null : JSON.stringify(body);
    return fetch(`${this.url}${target}`, { method, headers, body: text });
  }
}

export function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  return output;
}

export function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

/** Starts a compiled program of this project. */
export function spawnNode(program: string, options: RunOptions): ChildProcess {
  const { args = [], env = {}, cwd = ROOT, openFilesMax, enter = [] } = options;
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(FRONTROW_|NODE_|VITEST|UV_)/.test(name),
  );
  const limited = ["sh", "-c", 'ulimit -n "$0" && exec "$@"', String(openFilesMax)];
  const limit = openFilesMax === undefined ? [] : limited;
  const [file = "", ...command] = [...enter, ...limit, process.execPath, program, ...args];
  return spawn(file, command, {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** Starts shell commands, and waits for the line that names the address. They end with the test. */
export async function begun(
  commands: string,
  env: Readonly<Record<string, string>> = {},
  cwd = ROOT,
) {
  const child = spawn("bash", ["-c", commands], { cwd, env: { ...process.env, ...env } });
  const output = collect(child);
  onTestFinished(() => void child.kill("SIGKILL"));
  const address = () => /^frontrow listening on (\S+)$/m.exec(output.stdout)?.[1];
  while (address() === undefined) {
    if (child.exitCode !== null) throw new Error(`${commands} ended: ${output.stderr}`);
    await sleep(10);
  }
  return { child, url: address()!, exited: exitOf(child), output };
}

/** The folder of `package.json`, seen from the source or from the compiled file. */
function rootAbove(folder: string): string {
  return existsSync(path.join(folder, "package.json")) ? folder : rootAbove(path.dirname(folder));
}

export { sleep };
