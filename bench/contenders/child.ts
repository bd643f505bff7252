/** A server in a process of its own, until it is stopped. */
import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import readline from "node:readline";
import { setTimeout } from "node:timers/promises";

export interface Child {
  readonly pid: number;
  readonly url: URL;
  readonly stop: () => Promise<void>;
}

const READY = /listening on (http:\/\/\S+)/;
const POLL_MS = 50;
const EXIT_INTERRUPTED = 130;
const START_MS_MAX = 20_000;

/**
 * A server in Node.js that says where it listens.
 * @param args - Of `node`. @throws Error when it ends before it is ready.
 */
export async function startNode(args: readonly string[], env = process.env): Promise<Child> {
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  watch(child);
  const url = await readyUrl(child);
  return { pid: child.pid!, url, stop: () => stop(child, "SIGTERM") };
}

/** A benchmark that is stopped half-way leaves no servers behind. */
const alive = new Set<ChildProcess>();
process.once("SIGINT", () => process.exit(EXIT_INTERRUPTED));
process.once("SIGTERM", () => process.exit(EXIT_INTERRUPTED));
process.on("exit", () => {
  for (const child of alive) child.kill();
});

function watch(child: ChildProcess): void {
  alive.add(child);
  child.once("exit", () => alive.delete(child));
}

async function readyUrl(child: ChildProcess): Promise<URL> {
  for await (const line of readline.createInterface({ input: child.stdout! })) {
    const match = READY.exec(line);
    if (match !== null) return new URL(match[1]!);
  }
  throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}`);
}

export interface Program {
  readonly path: string;
  readonly args: readonly string[];
  readonly options: SpawnOptions;
  readonly stopSignal: NodeJS.Signals;
  /** Throws until the program takes connections. */
  readonly probe: () => Promise<void>;
}

/** Any other program. @throws Error when it is not ready in time; what it wrote is in the text. */
export async function startProgram(
  program: Program,
): Promise<{ pid: number; stop: Child["stop"] }> {
  const options: SpawnOptions = { ...program.options, stdio: ["ignore", "pipe", "pipe"] };
  const child = spawn(program.path, program.args, options);
  watch(child);
  let written = "";
  const keep = (text: Buffer) => (written = (written + text.toString()).slice(-2_000));
  child.stdout!.on("data", keep);
  child.stderr!.on("data", keep);
  for (let waitedMs = 0; ; waitedMs += POLL_MS) {
    try {
      await program.probe();
      return { pid: child.pid!, stop: () => stop(child, program.stopSignal) };
    } catch (error) {
      if (waitedMs < START_MS_MAX && child.exitCode === null) await setTimeout(POLL_MS);
      else throw new Error(`${program.path} did not start: ${written}`, { cause: error });
    }
  }
}

async function stop(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = once(child, "exit");
  child.kill(signal);
  await ended;
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
