// A client of the v2 and management interface, written from the documents only. It calls every row
// as an integrator does, and checks the documented members; the rules are tested without a socket.
//
//   BASE_URL=http://127.0.0.1:8080 TENANT_TOKEN=… node test/clients/v2.mjs
//
// With PLATFORM_TOKEN set, it also uses two tenants. Each step prints a line. Deviations from the
// documents are printed at the end, and then the exit code is 1.

import { accounts, isolation, keys, login, organizations } from "./v2-account.mjs";
import { bookings, directSales, generalAdmission, sessions } from "./v2-booking.mjs";
import { clone, layouts, layoutChange, schemaDeletion, schemas } from "./v2-catalog.mjs";
import { seatmaps, venues, zones } from "./v2-catalog.mjs";
import { eventEnd, events, polling, series, statuses } from "./v2-events.mjs";
import { documents, echoes, races } from "./v2-corners.mjs";
import { countOfSteps, deviations, topic, withKey, MANAGEMENT } from "./v2-kit.mjs";
import { priceDeletion, priceList, seatListing } from "./v2-prices.mjs";
import { holdTypes, idempotency, orphans } from "./v2-rules.mjs";
import { tenants } from "./v2-tenants.mjs";

const token = process.env.TENANT_TOKEN ?? "";
const began = Date.now();
const world = {
  token,
  run: Date.now().toString(36),
  manage: withKey(MANAGEMENT, token),
};

// Later topics use the organization, venue, schema and event of earlier ones.
const topics = [
  [organizations, login, accounts],
  [venues, schemas, layouts, seatmaps, zones],
  [events, priceList, seatListing, statuses, series],
  [bookings, generalAdmission, sessions, directSales],
  [holdTypes, orphans, idempotency],
  [polling, priceDeletion, layoutChange, clone, schemaDeletion, eventEnd],
  [echoes, races, documents],
  [isolation, tenants, keys],
];

for (const run of topics.flat()) await topic(run.name, () => run(world));

const seconds = ((Date.now() - began) / 1000).toFixed(1);
console.log(`# ${countOfSteps()} steps, ${deviations.length} deviations, ${seconds} s`);
for (const deviation of deviations) console.log(`\nDEVIATION ${deviation}`);
process.exitCode = deviations.length > 0 ? 1 : 0;
