/** Starts the load generator in its own process, and sends it plans. */
import { PlanProcess } from "../harness/processes.ts";
import type { Measurement, Plan } from "./plan.ts";

export class Generator extends PlanProcess<Plan, Measurement> {
  constructor() {
    super(new URL("./generator.js", import.meta.url));
  }

  /** One plan at a time. @throws Error when a connection is lost or an answer is wrong. */
  drive(plan: Plan): Promise<Measurement> {
    return this.ask(plan);
  }
}
