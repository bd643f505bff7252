/**
 * The real program in a process of its own: `frontrow serve` as compiled, on a free port, with a
 * data folder that goes when the test ends. Whatever a test starts here is ended with it.
 */
import { type ChildProcess, spawnSync } from "node:child_process";
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
import {
  CLI,
  collect,
  type Exit,
  exitOf,
  ROOT,
  type RunOptions,
  ServerProcess,
  sleep,
  spawnNode,
} from "./server-process.ts";

/** What `npm run build` compiles, but for the bench. */
const SOURCES = ["engine", "persistence", "server", "test/faults", "test/support", "test/sim"];
const BUILD_LOCK = path.join(ROOT, "node_modules/.frontrow-build-lock");
const BUILD_MS_MAX = 60_000;
const LOCK_POLL_MS = 50;
const RUN_MS_MAX = 45_000;

/** A process that ran to its end. */
export interface Finished extends Exit {
  readonly stdout: string;
  readonly stderr: string;
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
  const timer = setTimeout(() => child.kill("SIGKILL"), RUN_MS_MAX);
  const exit = await exitOf(child);
  clearTimeout(timer);
  return { ...exit, stdout: output.stdout, stderr: output.stderr };
}

async function spawnCli(options: RunOptions): Promise<ChildProcess> {
  await built();
  return spawnNode(CLI, options);
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
    return names.filter(isCompiled).map((name) => path.join(folder, name));
  });
  const inputs = [...sources, "package.json", "tsconfig.json", "tsconfig.build.json"];
  return inputs.some((source) => statSync(path.join(ROOT, source)).mtimeMs > builtMs);
}

function isCompiled(name: string): boolean {
  return name.endsWith(".ts") && !name.endsWith(".test.ts");
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
