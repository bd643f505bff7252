/** The program of the load generator: a process of its own, so that it does not slow the server. */
import { drive } from "./drive.ts";
import type { Plan } from "./plan.ts";

process.on("message", (plan: Plan) => {
  drive(plan).then(
    (measured) => process.send!({ measured }),
    (error: unknown) => process.send!({ error: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
