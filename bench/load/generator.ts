/** The load generator as a process of its own, so that it takes nothing from what it measures. */
import { drive } from "./drive.ts";
import type { Plan } from "./plan.ts";

process.on("message", (plan: Plan) => {
  drive(plan).then(
    (measured) => process.send!({ measured }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
