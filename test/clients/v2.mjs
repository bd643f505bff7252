// A client of the v2 and management interface, written from the documents only. It calls every row
// as an integrator does, and checks the documented members; the rules are tested without a socket.
//
//   BASE_URL=http://127.0.0.1:8080 TENANT_TOKEN=… node test/clients/v2.mjs
//
// With PLATFORM_TOKEN set, it also creates a tenant. Each step prints a line. The paths that were
// called with success and the deviations from the documents are printed at the end; with a
// deviation the exit code is 1.

import { holdTypes, keys, login, organizations, tenants } from "./v2-account.mjs";
import { bookings, directSales, generalAdmission, retries } from "./v2-booking.mjs";
import { live } from "./v2-live.mjs";
import { clone, layouts, schemaDeletion, schemas } from "./v2-catalog.mjs";
import { seatmaps, venues, zones } from "./v2-catalog.mjs";
import { channels, clones, doors, echoes, eventEnd, events } from "./v2-events.mjs";
import { series, statuses } from "./v2-events.mjs";
import { calledRows, caller, countOfSteps, deviations, step, topic } from "./v2-kit.mjs";
import { MANAGEMENT, withKey } from "./v2-kit.mjs";
import { priceList, seatListing } from "./v2-prices.mjs";
import { commands } from "./v2-socket.mjs";
import { webhooks } from "./v2-webhooks.mjs";

const token = process.env.TENANT_TOKEN ?? "";
const began = Date.now();
const world = {
  token,
  run: Date.now().toString(36),
  manage: withKey(MANAGEMENT, token),
};

async function documents() {
  const open = caller("", {});
  await step("health, metrics and the documents need no key", async () => {
    const interfaces = ["/openapi.json", "/asyncapi.json"];
    const documented = ["/docs", "/docs/reference", "/docs/errors/", ...interfaces];
    for (const path of ["/", "/healthz", "/readyz", "/metrics", ...documented]) {
      const { status } = await open.get(path);
      if (status !== 200) throw new Error(`${path} is ${status}`);
    }
  });
}

// Later topics use the organization, venue, schema and event of earlier ones.
const topics = [
  [organizations, login, holdTypes],
  [venues, schemas, layouts, seatmaps, zones],
  [events, priceList, seatListing, statuses, clones, channels, doors, series],
  [bookings, generalAdmission, directSales, retries, commands, live, webhooks],
  [clone, schemaDeletion, eventEnd, echoes],
  [documents, tenants, keys],
];

for (const run of topics.flat()) await topic(run.name, () => run(world));

for (const row of calledRows) console.log(`called ${row}`);
const seconds = ((Date.now() - began) / 1000).toFixed(1);
console.log(`# ${countOfSteps()} steps, ${deviations.length} deviations, ${seconds} s`);
for (const deviation of deviations) console.log(`\nDEVIATION ${deviation}`);
process.exitCode = deviations.length > 0 ? 1 : 0;
