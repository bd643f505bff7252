/**
 * The clients of a hostile tenant, as a program: they do every harmful act until SIGTERM, and then
 * say as one line of JSON what they did. In a service they are on other hosts; here they must not
 * have a processor before the engine has it, so their priority is lower.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import os from "node:os";
import type { Outcome } from "./campaign.ts";
import { ACTS } from "./support/hostile/acts.ts";
import { type HostilePlan, HostileTenant, STARTED } from "./support/hostile/tenant.ts";

os.setPriority(os.constants.priority.PRIORITY_BELOW_NORMAL);
const [file = ""] = process.argv.slice(2);
const ended = once(process, "SIGTERM");
const tenant = new HostileTenant(JSON.parse(readFileSync(file, "utf8")) as HostilePlan, ACTS);
tenant.start();
process.stdout.write(STARTED);
await ended;
await tenant.stop();
const { figures, violations } = tenant;
const outcome: Outcome = { figures, violations };
process.stdout.write(`${JSON.stringify(outcome)}\n`);
