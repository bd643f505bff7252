/** All campaigns, in the order in which they run. */
import type { Campaign } from "./campaign.ts";
import { clock } from "./campaigns/clock.ts";
import { fullDisk } from "./campaigns/full-disk.ts";
import { kills } from "./campaigns/kills.ts";
import { limits } from "./campaigns/limits.ts";
import { onsaleKills } from "./campaigns/onsale-kills.ts";
import { slowDisk } from "./campaigns/slow-disk.ts";
import { syncFaults } from "./campaigns/sync-faults.ts";
import { systemCalls } from "./campaigns/system-calls.ts";

/** The process dies, or the system denies it something. */
export const PROCESS_CAMPAIGNS: readonly Campaign[] = [
  kills,
  onsaleKills,
  systemCalls,
  clock,
  limits,
];

/** The disk fails. Damaged files are tested in memory and by the simulation. */
export const DISK_CAMPAIGNS: readonly Campaign[] = [syncFaults, fullDisk, slowDisk];
