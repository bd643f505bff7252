/**
 * The real program in a process of its own: `frontrow serve` or another command, as compiled. Knows
 * nothing of who runs it: whoever starts a process here ends it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";

export const ROOT = rootAbove(import.meta.dirname);
export const CLI = path.join(ROOT, "dist/server/cli.js");
/** A limit, not what is expected: the machine may be busy. */
const START_MS_MAX = 60_000;
const READY = /^frontrow listening on (http:\/\/\S+)\n/;

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunOptions {
  readonly args?: readonly string[];
  /** Added to an environment that has no variable of ours. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A command that the program's own command line is given to. */
  readonly wrapper?: readonly string[] | undefined;
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

  /** @returns How it ended, by this signal or before. */
  kill(signal: NodeJS.Signals): Promise<Exit> {
    this.#child.kill(signal);
    return this.exited;
  }

  /** @param access - The key, or all headers that say who asks. */
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

/** Starts a compiled program of ours. */
export function spawnNode(program: string, options: RunOptions): ChildProcess {
  const { args = [], env = {}, cwd = ROOT, wrapper = [] } = options;
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(FRONTROW_|NODE_|VITEST|UV_)/.test(name),
  );
  const [command, ...rest] = [...wrapper, process.execPath, program, ...args];
  return spawn(command!, rest, {
    cwd,
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/** The folder of `package.json`, from the sources and from what is compiled alike. */
function rootAbove(folder: string): string {
  return existsSync(path.join(folder, "package.json")) ? folder : rootAbove(path.dirname(folder));
}

export function sleep(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}
