/**
 * One tenant does everything at once that is known to be expensive or harmful, while another one
 * has an on-sale. The process stays alive, its memory stays bounded, and the on-sale sells out.
 */
import type { Campaign, Run } from "../campaign.ts";
import { HostileClients } from "../support/hostile/clients.ts";
import { MEBIBYTE } from "../support/hostile/tenant.ts";
import { besideOnsale, LONG_SALE, SHORT_SALE } from "../support/neighbour.ts";

const TIMES_MAX = 3;
const SHORT = {
  sale: { ...SHORT_SALE, goalTimes: TIMES_MAX },
  hostile: { seats: 1_000, sockets: 100, bodyBytes: MEBIBYTE, pauseMs: 250 },
};
const LONG = {
  sale: { ...LONG_SALE, disturbedMs: 600_000, goalTimes: TIMES_MAX, timesMax: TIMES_MAX },
  /** The largest body is a little below the limit of 56 MiB. */
  hostile: { seats: 60_000, sockets: 400, bodyBytes: 55 * MEBIBYTE, pauseMs: 5 },
};

export const hostileTenant: Campaign = {
  name: "hostile-tenant",
  shows: "a tenant that does everything harmful at once ends nothing and fills nothing",
  missing: () => (process.platform === "linux" ? null : "needs Linux"),
  run: (run: Run) => {
    const { sale, hostile } = run.isLong ? LONG : SHORT;
    return besideOnsale(run, sale, (server) => HostileClients.create(run.scope, server, hostile));
  },
};
