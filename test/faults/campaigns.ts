/** All campaigns, in the order of their running. */
import { bitFlips } from "./bit-flips.ts";
import type { Campaign } from "./campaign.ts";
import { clock } from "./clock.ts";
import { cuts } from "./cuts.ts";
import { fullDisk } from "./full-disk.ts";
import { kills } from "./kills.ts";
import { limits } from "./limits.ts";
import { misplaced } from "./misplaced.ts";
import { slowDisk } from "./slow-disk.ts";
import { syncFaults } from "./sync-faults.ts";
import { systemCalls } from "./system-calls.ts";

/** The process: when it dies, and what the system denies to it. */
export const PROCESS_CAMPAIGNS: readonly Campaign[] = [kills, systemCalls, clock, limits];

/** The disk: what fails on it, and what it gives back. */
export const DISK_CAMPAIGNS: readonly Campaign[] = [
  syncFaults,
  fullDisk,
  slowDisk,
  bitFlips,
  cuts,
  misplaced,
];
