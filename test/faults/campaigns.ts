/** All campaigns, in the order of their running. */
import type { Campaign } from "./campaign.ts";
import { bitFlips } from "./campaigns/bit-flips.ts";
import { clock } from "./campaigns/clock.ts";
import { cluster } from "./campaigns/cluster.ts";
import { cuts } from "./campaigns/cuts.ts";
import { fullDisk } from "./campaigns/full-disk.ts";
import { hostileTenant } from "./campaigns/hostile-tenant.ts";
import { kills } from "./campaigns/kills.ts";
import { limits } from "./campaigns/limits.ts";
import { misplaced } from "./campaigns/misplaced.ts";
import { onsaleKills } from "./campaigns/onsale-kills.ts";
import { slowClients } from "./campaigns/slow-clients.ts";
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

/** The disk: its failures, and its returned files. */
export const DISK_CAMPAIGNS: readonly Campaign[] = [
  syncFaults,
  fullDisk,
  slowDisk,
  bitFlips,
  cuts,
  misplaced,
];

/** Hosts of a cluster, on real members of etcd. */
export const CLUSTER_CAMPAIGNS: readonly Campaign[] = [cluster];

/** Clients that mean harm, or read and send slowly, beside the on-sale of another organization. */
export const CLIENT_CAMPAIGNS: readonly Campaign[] = [hostileTenant, slowClients];
