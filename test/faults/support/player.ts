/** `frontrow onsale` as compiled, in a process of its own that goes when the test ends. */
import { type ChildProcess, spawn } from "node:child_process";
import { onTestFinished } from "vitest";
import type { Report } from "../../../server/onsale/report.ts";
import { CLI } from "../../support/server-process.ts";

const EVENT = /^event (\S+)$/m;

export interface PlayOptions {
  readonly url: string;
  readonly key: string;
  /** Path of the layout file. */
  readonly layout: string;
  readonly ledger: string;
  readonly buyers: number;
  readonly thinkMs: number;
  readonly seconds: number;
  readonly seed: number;
}

/** How the on-sale ended. */
export interface Played {
  readonly exitCode: number | null;
  readonly report: Report;
}

export class Player {
  readonly ended: Promise<Played>;
  readonly #child: ChildProcess;
  #stdout = "";
  #stderr = "";

  constructor({ key, thinkMs, ...options }: PlayOptions) {
    const flags = Object.entries({ ...options, "think-ms": thinkMs });
    const args = flags.flatMap(([name, value]) => [`--${name}`, String(value)]);
    this.#child = spawn(process.execPath, [CLI, "onsale", "--json", ...args], {
      env: { PATH: process.env["PATH"], FRONTROW_KEY: key },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout!.setEncoding("utf8").on("data", (text: string) => (this.#stdout += text));
    this.#child.stderr!.setEncoding("utf8").on("data", (text: string) => (this.#stderr += text));
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("close", (exitCode) => {
        if (this.#stdout === "") reject(new Error(`the on-sale ended early: ${this.#stderr}`));
        else resolve({ exitCode, report: JSON.parse(this.#stdout) as Report });
      });
    });
    // Whoever waits for the end hears of it; until then it is no unhandled rejection.
    this.ended.catch(() => {});
    onTestFinished(() => void this.#child.kill("SIGKILL"));
  }

  /** Undefined until the event is there. */
  get eventId(): string | undefined {
    return EVENT.exec(this.#stderr)?.[1];
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
