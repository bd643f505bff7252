/**
 * The real program in a process of its own: `frontrow serve` as compiled, on a free port, with a
 * data folder that goes when the test ends. Whatever a test starts here is ended with it.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

const ROOT = path.resolve(import.meta.dirname, "../..");
export const CLI = path.join(ROOT, "dist/server/cli.js");
const SOURCES = ["engine", "persistence", "server"];
const BUILD_LOCK = path.join(ROOT, "node_modules/.frontrow-build-lock");
const BUILD_MS_MAX = 60_000;
const LOCK_POLL_MS = 50;
const START_MS_MAX = 15_000;
const READY = /^frontrow listening on (http:\/\/\S+)\n/;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A process that ran to its end. */
export interface Finished extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly args?: readonly string[];
  /** Added to an environment that has no variable of ours. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

export interface StartOptions extends RunOptions {
  /** Made and removed when it is not given. */
  readonly folder?: string;
}

/** A folder that goes when the test ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "frontrow-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts `frontrow serve` and waits for its ready line. @throws Error when it ends before. */
export async function startServer({
  folder = path.join(temporaryFolder(), "data"),
  args = [],
  ...options
}: StartOptions = {}): Promise<ServerProcess> {
  const places = ["--port", "0", "--data", folder];
  const child = await spawnCli({ ...options, args: ["serve", ...places, ...args] });
  const server = new ServerProcess(child, folder);
  onTestFinished(async () => void (await server.kill("SIGKILL")));
  await server.ready(args.includes("--demo") || options.env?.["FRONTROW_DEMO"] !== undefined);
  return server;
}

/** Runs the command line to its end. */
export async function runCli(options: RunOptions = {}): Promise<Finished> {
  const child = await spawnCli(options);
  const output = collect(child);
  const timer = setTimeout(() => child.kill("SIGKILL"), START_MS_MAX);
  const exit = await exitOf(child);
  clearTimeout(timer);
  return { ...exit, stdout: output.stdout, stderr: output.stderr };
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

  /** From the ready line. */
  get url(): string {
    return READY.exec(this.stdout)?.[1] ?? "";
  }

  /** The demo organization's key; empty without `--demo`. */
  get key(): string {
    return /API key\s+(\S+)/.exec(this.stdout)?.[1] ?? "";
  }

  /** The demo's event; empty without `--demo`. */
  get eventId(): string {
    return /event id\s+(\S+)/.exec(this.stdout)?.[1] ?? "";
  }

  /** What a first start generated and said once: `tenant token`, `admin password`. */
  generated(name: string): string {
    return new RegExp(`^${name}: (\\S+)$`, "m").exec(this.stderr)?.[1] ?? "";
  }

  /** The messages of the log, one object a line. */
  get logLines(): readonly Readonly<Record<string, unknown>>[] {
    const lines = this.stderr.split("\n").filter((line) => line.startsWith("{"));
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** @param isDemo - Whether what the demo says is to be waited for as well. */
  async ready(isDemo: boolean): Promise<void> {
    const endMs = Date.now() + START_MS_MAX;
    const isReady = () => this.url !== "" && (!isDemo || /^curl .*\n\n$/m.test(this.stdout));
    while (!isReady()) {
      const { exitCode, signalCode } = this.#child;
      if (exitCode !== null || signalCode !== null || Date.now() > endMs) {
        throw new Error(`the server did not start: ${exitCode} ${signalCode} ${this.stderr}`);
      }
      await sleep(5);
    }
  }

  /** @returns How it ended, by this signal or before. */
  kill(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.kill(signal);
    return this.exited;
  }

  async request(method: string, target: string, body?: unknown, key = this.key): Promise<Response> {
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const text = body === undefined ? null : JSON.stringify(body);
    return fetch(`${this.url}${target}`, { method, headers, body: text });
  }
}

function collect(child: ChildProcess): { stdout: string; stderr: string } {
  const output = { stdout: "", stderr: "" };
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output.stdout += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output.stderr += text));
  return output;
}

function exitOf(child: ChildProcess): Promise<Exit> {
  return new Promise((resolve) => {
    child.once("close", (code, signal) => resolve({ code, signal }));
  });
}

async function spawnCli({ args = [], env = {}, cwd = ROOT }: RunOptions): Promise<ChildProcess> {
  await built();
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(FRONTROW_|NODE_|VITEST|UV_)/.test(name),
  );
  return spawn(process.execPath, [CLI, ...args], {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

let building: Promise<void> | undefined;

/** Compiles once, whichever test file comes first; the others wait. */
export function built(): Promise<void> {
  building ??= build();
  return building;
}

async function build(): Promise<void> {
  const endMs = Date.now() + BUILD_MS_MAX;
  while (!takeLock()) {
    if (Date.now() > endMs) throw new Error(`another build does not end: remove ${BUILD_LOCK}`);
    await sleep(LOCK_POLL_MS);
  }
  try {
    if (isStale()) compile();
  } finally {
    rmdirSync(BUILD_LOCK);
  }
}

function takeLock(): boolean {
  try {
    mkdirSync(BUILD_LOCK);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    dropDeadLock();
    return false;
  }
}

/** A lock that a killed run left behind. */
function dropDeadLock(): void {
  try {
    if (statSync(BUILD_LOCK).mtimeMs < Date.now() - BUILD_MS_MAX) rmdirSync(BUILD_LOCK);
  } catch {
    // Its owner was faster.
  }
}

function isStale(): boolean {
  if (!existsSync(CLI)) return true;
  const builtMs = statSync(CLI).mtimeMs;
  const sources = SOURCES.flatMap((folder) => {
    const names = readdirSync(path.join(ROOT, folder), { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".ts")).map((name) => path.join(folder, name));
  });
  const inputs = [...sources, "package.json", "tsconfig.json", "tsconfig.build.json"];
  return inputs.some((source) => statSync(path.join(ROOT, source)).mtimeMs > builtMs);
}

function compile(): void {
  const startedMs = Date.now();
  const compiler = path.join(ROOT, "node_modules/.bin/tsc");
  const { status, stdout, error } = spawnSync(compiler, ["-p", "tsconfig.build.json"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the sources do not compile:\n${stdout}`, { cause: error });
  // The time before, so that what was changed during the build is built again next time.
  utimesSync(CLI, startedMs / 1_000, startedMs / 1_000);
}

function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}
