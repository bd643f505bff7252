/** The compiled `frontrow onsale`, in a process that ends with its scope. */
import type { ChildProcess } from "node:child_process";
import type { Report } from "../../../server/onsale/run.ts";
import { CLI, collect, exitOf, sleep, spawnNode } from "../../support/server-process.ts";
import type { Scope } from "./scope.ts";

const EVENT = /^event (\S+)$/m;
const POLL_MS = 5;

export interface PlayOptions {
  readonly url: string;
  readonly key: string;
  /** Path of the layout file. */
  readonly layout: string;
  readonly ledger: string;
  readonly buyers: number;
  readonly seconds: number;
  readonly seed: number;
  /** The server chooses the places. */
  readonly best?: true;
}

/** Exit and report of the on-sale. */
interface Played {
  readonly exitCode: number | null;
  readonly report: Report;
}

export class Player {
  readonly #child: ChildProcess;
  readonly #output: { stdout: string; stderr: string };
  readonly #exited: ReturnType<typeof exitOf>;

  constructor(scope: Scope, { key, ...options }: PlayOptions) {
    const args = Object.entries(options).flatMap(([name, value]) => {
      return value === true ? [`--${name}`] : [`--${name}`, String(value)];
    });
    const env = { FRONTROW_KEY: key };
    this.#child = spawnNode(CLI, { args: ["onsale", "--json", ...args], env });
    this.#output = collect(this.#child);
    this.#exited = exitOf(this.#child);
    scope.defer(() => void this.#child.kill("SIGKILL"));
  }

  /** Undefined until the event exists. */
  get eventId(): string | undefined {
    return EVENT.exec(this.#output.stderr)?.[1];
  }

  /** Waits. @throws Error when the on-sale ends before. */
  async until(isDue: () => boolean): Promise<void> {
    while (!isDue()) {
      const ended = await Promise.race([this.#exited, sleep(POLL_MS)]);
      if (ended === undefined) continue;
      throw new Error(`the on-sale ended with ${ended.code} before its time`);
    }
  }

  async ended(): Promise<Played> {
    const { code } = await this.#exited;
    const { stdout, stderr } = this.#output;
    if (stdout === "") throw new Error(`the on-sale ended early: ${stderr}`);
    return { exitCode: code, report: JSON.parse(stdout) as Report };
  }
}
