/** Starts the load generator and talks to it. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Measured, Plan } from "./plan.ts";

const GENERATOR = fileURLToPath(new URL("./generator.js", import.meta.url));

type Report = { readonly measured: Measured } | { readonly error: string };

export class Generator {
  readonly #child: ChildProcess = fork(GENERATOR, { serialization: "advanced" });

  get pid(): number {
    return this.#child.pid!;
  }

  /** One plan at a time. @throws Error when a connection is lost or an answer makes no sense. */
  async drive(plan: Plan): Promise<Measured> {
    const reported = once(this.#child, "message");
    this.#child.send(plan);
    const [report] = (await reported) as [Report];
    if ("error" in report) throw new Error(report.error);
    return report.measured;
  }

  async stop(): Promise<void> {
    const ended = once(this.#child, "exit");
    this.#child.disconnect();
    await ended;
  }
}
