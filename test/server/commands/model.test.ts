/**
 * The command socket against the model of the rules: random bookings go over connections with both
 * subprotocols, everything else to the engine, and answers and inventory must be equal after each.
 * `SIM_SEED` and `SIM_STEPS` are as for the engine and the model.
 */
import { pino } from "pino";
import { expect, test } from "vitest";
import type { Outcome } from "../../../engine/engine.ts";
import { Keys } from "../../../server/auth/keys.ts";
import { RateLimits } from "../../../server/auth/limits.ts";
import { OpenCommandSockets } from "../../../server/commands/connection.ts";
import { Dispatch } from "../../../server/dispatch.ts";
import type { Services } from "../../../server/api/services.ts";
import { Workload } from "../../sim/workload/workload.ts";
import type { Submit } from "../../sim/workload/ask.ts";
import {
  type BookingCommand,
  CommandLines,
  hasLayout,
  isBooking,
  type LineAnswer,
} from "../../support/commands/command-lines.ts";
import type { Bench } from "../../support/engine.ts";
import { ROUTES, TEST_SECRET } from "../../support/server.ts";

const SEEDS = [1, 2, 3];
const seeds = process.env["SIM_SEED"] === undefined ? SEEDS : [Number(process.env["SIM_SEED"])];
const steps = Number(process.env["SIM_STEPS"] ?? 10_000);
const TIMEOUT_MS = Math.max(120_000, steps * 10);

/** What has a wrong shape is refused before the rules are asked, which the model does not know. */
function hasShape({ body }: BookingCommand): boolean {
  return (body.groupOfSeats ?? []).every(({ capacity }) => Number.isInteger(capacity ?? 0));
}

/** How many commands went each way. */
interface Counts {
  json: number;
  binary: number;
}

function overSocket({ engine, journal }: Bench, counts: Counts): Submit {
  const { catalog } = engine.state;
  const keys = new Keys(TEST_SECRET, catalog);
  const services = {
    engine,
    keys,
    rates: new RateLimits(),
    metrics: { refused: () => {} },
    commands: new OpenCommandSockets(),
    live: { attach: () => {} },
    isReady: () => true,
  } as unknown as Services;
  const lines = new CommandLines(
    services,
    new Dispatch(services, ROUTES, pino({ level: "silent" })),
  );
  return (command) => {
    const organization = catalog.organizations.get(command.caller.organizationId);
    if (!isBooking(command) || organization === undefined || !hasShape(command)) {
      return engine.submit(command);
    }
    // The text of an orphan refusal names a seat, which the binary layout has no place for.
    const isBinary =
      hasLayout(command) && counts.json > counts.binary && !organization.orphanPrevention;
    counts[isBinary ? "binary" : "json"] += 1;
    const answers: LineAnswer[] = [];
    const line = lines.of(keys.organizationKey(organization), isBinary);
    line.ask(command, (answer) => answers.push(answer));
    journal.sync();
    expect(answers).toHaveLength(1);
    return answers[0] as Outcome<unknown>;
  };
}

test.each(seeds)(
  `seed %i: socket and model agree over ${steps} commands`,
  { timeout: TIMEOUT_MS },
  (seed) => {
    const counts = { json: 0, binary: 0 };
    const workload = new Workload(seed, { submitTo: (bench) => overSocket(bench, counts) });
    workload.play(steps);
    if (steps < 10_000) return;
    expect(counts.binary).toBeGreaterThan(1_000);
    for (const answer of ["true", "false", "ORPHAN_SEAT", "HELD_BY_ANOTHER_SESSION"]) {
      expect(workload.tally.get(answer), answer).toBeGreaterThan(5);
    }
  },
);
