/** Starts the load generator in its own process, and sends it plans. */
import { once } from "node:events";
import { forkModule } from "../harness/processes.ts";
import type { Measurement, Plan } from "./plan.ts";

type Report = { readonly measured: Measurement } | { readonly error: string };

export class Generator {
  readonly #child = forkModule(new URL("./generator.js", import.meta.url));

  /** One plan at a time. @throws Error when a connection is lost or an answer is wrong. */
  async drive(plan: Plan): Promise<Measurement> {
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
