/** All campaigns, in the order of their running. */
import type { Campaign } from "./campaign.ts";
import { fullDisk } from "./full-disk.ts";
import { kills } from "./kills.ts";
import { syncFaults } from "./sync-faults.ts";
import { systemCalls } from "./system-calls.ts";

export const CAMPAIGNS: readonly Campaign[] = [kills, systemCalls, syncFaults, fullDisk];
