/** Starts every process of the benchmarks, and leaves none running when the benchmark ends. */
import {
  type ChildProcess,
  execFile,
  type ExecFileOptions,
  fork,
  type Serializable,
  spawn,
  type SpawnOptions,
  spawnSync,
} from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import readline from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const READY = /listening on (http:\/\/\S+)/;
const POLL_MS = 50;
const START_MS_MAX = 20_000;
const EXIT_INTERRUPTED = 130;

const running = new Set<ChildProcess>();
process.once("SIGINT", () => process.exit(EXIT_INTERRUPTED));
process.once("SIGTERM", () => process.exit(EXIT_INTERRUPTED));
process.on("exit", () => {
  for (const child of running) child.kill();
});

function track(child: ChildProcess): ChildProcess {
  running.add(child);
  return child.once("exit", () => running.delete(child));
}

/** Runs a program to its end. @returns What it wrote to standard output. */
export async function run(
  program: string,
  args: readonly string[],
  options: ExecFileOptions = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(program, args, { ...options, encoding: "utf8" });
  return stdout.trim();
}

/** Runs a compiled module to its end. @returns What it wrote to standard output. */
export function runModule(module: URL, args: readonly string[]): Promise<string> {
  return run(process.execPath, [fileURLToPath(module), ...args]);
}

type Report<Measured> = { readonly measured: Measured } | { readonly error: string };

/** A compiled module in a process of its own, which answers one plan after the other. */
export class PlanProcess<Plan extends Serializable, Measured> {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  /** @param module - It calls `answerPlans`. */
  constructor(module: URL) {
    this.#child = track(fork(module, { serialization: "advanced" }));
    this.#ended = once(this.#child, "exit");
  }

  /** @throws Error when it fails, or ends without a report. */
  async ask(plan: Plan): Promise<Measured> {
    const reported = once(this.#child, "message") as Promise<[Report<Measured>]>;
    this.#child.send(plan);
    const lost = this.#ended.then((): [{ error: string }] => [{ error: "it ended too early" }]);
    const [report] = await Promise.race([reported, lost]);
    if ("error" in report) throw new Error(report.error);
    return report.measured;
  }

  async stop(): Promise<void> {
    if (this.#child.connected) this.#child.disconnect();
    await this.#ended;
  }
}

/** The other side of `PlanProcess`: the process ends when it is disconnected. */
export function answerPlans(answer: (plan: never) => unknown): void {
  const reportOf = async (plan: never): Promise<Report<unknown>> => {
    try {
      return { measured: await answer(plan) };
    } catch (error) {
      return { error: String(error) };
    }
  };
  process.on("message", (plan) => {
    void reportOf(plan as never).then((report) => process.send!(report));
  });
  process.on("disconnect", () => process.exit());
}

/** Asks a program one plan. */
export async function measureIn<Measured>(module: URL, plan: object): Promise<Measured> {
  const program = new PlanProcess<object, Measured>(module);
  const measured = await program.ask(plan);
  await program.stop();
  return measured;
}

export interface RunningProgram {
  readonly pid: number;
  readonly stop: () => Promise<void>;
}

export interface Server extends RunningProgram {
  readonly url: URL;
  /** Asks the module that was loaded before the server. */
  readonly ask: () => Promise<unknown>;
}

interface ModuleOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** Loaded before the module; answers messages. */
  readonly preload?: URL | undefined;
}

/** Starts a compiled module that prints its address. @throws Error when it ends before that. */
export async function startModule(
  module: URL,
  args: readonly string[],
  { env = {}, preload }: ModuleOptions = {},
): Promise<Server> {
  const imports = preload === undefined ? [] : ["--import", preload.href];
  const child = spawn(process.execPath, [...imports, fileURLToPath(module), ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  track(child);
  const ask = async () => {
    const answered = once(child, "message");
    child.send("ask");
    const [answer] = (await answered) as [unknown];
    return answer;
  };
  for await (const line of readline.createInterface({ input: child.stdout! })) {
    const match = READY.exec(line);
    if (match !== null) return { ...programOf(child, "SIGTERM"), url: new URL(match[1]!), ask };
  }
  throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}`);
}

export interface Program<Connection> {
  readonly path: string;
  readonly args: readonly string[];
  readonly options?: SpawnOptions;
  readonly stopSignal: NodeJS.Signals;
  /** Throws until the program accepts connections. */
  readonly connect: () => Promise<Connection>;
}

/** Starts an installed program. @throws Error with its output when it is not ready in time. */
export async function startProgram<Connection>(
  program: Program<Connection>,
): Promise<RunningProgram & { readonly connection: Connection }> {
  const options: SpawnOptions = { ...program.options, stdio: ["ignore", "pipe", "pipe"] };
  const child = track(spawn(program.path, program.args, options));
  let output = "";
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on("data", (text: Buffer) => (output = (output + text.toString()).slice(-2_000)));
  }
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    try {
      const connection = await program.connect();
      return { ...programOf(child, program.stopSignal), connection };
    } catch (error) {
      if (waitedMs < START_MS_MAX && child.exitCode === null) await setTimeout(POLL_MS);
      else throw new Error(`${program.path} did not start: ${output}`, { cause: error });
    }
  }
}

function programOf(child: ChildProcess, stopSignal: NodeJS.Signals): RunningProgram {
  const stop = async () => {
    if (!running.has(child)) return;
    const ended = once(child, "exit");
    child.kill(stopSignal);
    await ended;
  };
  return { pid: child.pid!, stop };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

/** True when a folder of `PATH` has the program. */
export function isInstalled(name: string): boolean {
  return spawnSync(name, ["--version"]).error === undefined;
}
