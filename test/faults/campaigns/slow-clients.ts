/** Thousands of clients send or read slowly, beside an on-sale that must not notice. */
import { openFilesMax } from "../../../server/config.ts";
import type { Campaign, Run } from "../campaign.ts";
import { besideOnsale, LONG_SALE, SHORT_SALE } from "../support/neighbour.ts";
import { SlowCrowd, type SlowForm } from "../support/slow-crowd.ts";

const TIMES_MAX = 2;
const SHORT = {
  sale: { ...SHORT_SALE, goalTimes: TIMES_MAX },
  slow: { senders: 200, deaf: 50 },
};
const LONG = {
  sale: { ...LONG_SALE, disturbedMs: 60_000, goalTimes: TIMES_MAX, timesMax: TIMES_MAX },
  slow: { senders: 5_000, deaf: 2_000 },
};
/** Files of each side that are no connections of the crowd. */
const RESERVED_FILES = 512;

export const slowClients: Campaign = {
  name: "slow-clients",
  shows: "clients that send or read slowly do not stop an on-sale",
  missing: () => (process.platform === "linux" ? null : "needs Linux"),
  run,
};

async function run({ isLong, ...rest }: Run) {
  const { sale, slow } = isLong ? LONG : SHORT;
  const form = allowed(slow);
  const outcome = await besideOnsale({ isLong, ...rest }, sale, (server) => {
    return Promise.resolve(new SlowCrowd(server, form));
  });
  const missing = slow.senders + slow.deaf - form.senders - form.deaf;
  const figures = { ...outcome.figures, "connections that the limit on files denies": missing };
  return { ...outcome, figures };
}

/** Both sides need a file for each connection. */
function allowed({ senders, deaf }: SlowForm): SlowForm {
  const share = Math.min(1, (openFilesMax() - RESERVED_FILES) / (senders + deaf));
  return { senders: Math.floor(senders * share), deaf: Math.floor(deaf * share) };
}
