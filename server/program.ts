/** The program `frontrow` as its environment sees it: version, usage errors, variables, signals. */
import { createRequire } from "node:module";
import type { Command } from "commander";

const manifest = createRequire(import.meta.url)("@frontrow/server/package.json") as {
  version: string;
};

export const version: string = manifest.version;

const NODE_MIN = [20, 19] as const;
/** That the binaries of uWebSockets.js need, but for Node 20. */
const GLIBC = "2.38";

/** @returns Why no command works on a version of Node, such as "18.20.0"; null when they do. */
export function refuseNode(node: string): string | null {
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const [least, leastMinor] = NODE_MIN;
  if (major > least || (major === least && minor >= leastMinor)) return null;
  return `Node ${node} is too old: use Node 24, or 20.19 or a later 20`;
}

/** @returns Why the server cannot load its HTTP library, and what works. */
export function explainServer(node: string, glibc: string | undefined, reason: string): string {
  const works =
    `Node 22.12 to 24 on Linux with glibc ${GLIBC} or later, such as Debian 13, or Node 20 on ` +
    "Linux with any glibc";
  const here = `Node ${node} with ${glibc === undefined ? "no glibc" : `glibc ${glibc}`}`;
  const [line = ""] = reason.replace(/^[^]*?Error: /, "").split("\n", 1);
  return `the server does not run on ${here}: use ${works} (${line})`;
}

/** Loads a module with uWebSockets.js. @throws Error naming the supported Node versions. */
export async function loadServer<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { message } = error as Error;
    if (!message.includes("uWS.js")) throw error;
    const { header } = process.report.getReport() as {
      readonly header: { readonly glibcVersionRuntime?: string };
    };
    const { node } = process.versions;
    throw new Error(explainServer(node, header.glibcVersionRuntime, message), { cause: error });
  }
}

/** A usage error of the command line: one line on standard error, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode = 2;
}

/** Empty, each would open to everybody something that its operator meant to close. */
const SECRETS: ReadonlySet<string> = new Set([
  "FRONTROW_SECRET",
  "FRONTROW_TENANT_TOKEN",
  "FRONTROW_PLATFORM_TOKEN",
  "FRONTROW_METRICS_TOKEN",
]);

/**
 * Removes empty variables: a compose file or a unit sets them for want of a value, and an empty
 * address would listen everywhere. @throws UsageError for an empty secret.
 */
export function dropEmptyVariables(env: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(env)) {
    if (value !== "" || !name.startsWith("FRONTROW_")) continue;
    if (SECRETS.has(name)) throw new UsageError(`${name} is empty; give it a value, or unset it`);
    delete env[name];
  }
}

/** @throws UsageError naming the first empty flag of the command line. */
export function refuseEmptyFlags(command: Command): void {
  for (const option of command.options) {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) !== "cli" || command.getOptionValue(name) !== "")
      continue;
    throw new UsageError(`${option.long} is empty; give it a value, or leave it out`);
  }
}

/** Terminals, and programs that start others, may send the same signal twice. */
const SAME_SIGNAL_MS = 200;
export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGQUIT"] as const;

/**
 * Resolves at the first signal to stop. A later one ends the process at once: everything that was
 * answered is in the log.
 */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let firstMs: number | null = null;
    const stop = () => {
      firstMs ??= performance.now();
      if (performance.now() - firstMs > SAME_SIGNAL_MS) process.exit(0);
      resolve();
    };
    for (const signal of STOP_SIGNALS) process.on(signal, stop);
  });
}

/**
 * Takes the signals that would end the process, or open a debugger, by default.
 *
 * @param reopen - Called at SIGHUP: a program that rotates logs has moved the file.
 */
export function takeOtherSignals(reopen: () => void): void {
  process.on("SIGHUP", reopen);
  const ignore = () => {
    // As documented: SIGUSR1 would start Node's inspector, and SIGUSR2 end the process.
  };
  process.on("SIGUSR1", ignore).on("SIGUSR2", ignore);
}
