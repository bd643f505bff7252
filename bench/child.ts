/** A server in a process of its own, until it is stopped. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import readline from "node:readline";

export interface Child {
  readonly url: URL;
  stop(): Promise<void>;
}

const READY = /listening on (http:\/\/\S+)/;

/** @param args - Of `node`. @throws Error when it ends before it is ready. */
export async function start(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Child> {
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  const url = await readyUrl(child);
  return {
    url,
    stop: async () => {
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function readyUrl(child: ChildProcess): Promise<URL> {
  for await (const line of readline.createInterface({ input: child.stdout! })) {
    const match = READY.exec(line);
    if (match !== null) return new URL(match[1]!);
  }
  throw new Error(`the server ended with ${child.exitCode ?? child.signalCode}`);
}
