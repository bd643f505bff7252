/**
 * The plan of a seed: the size of its world, its requests, and its faults. Each seed enables a
 * random part of the operations and faults: more is found so than by enabling all of them (Groce et
 * al., "Swarm Testing", ISSTA 2012).
 */
import { Random } from "./random.ts";

/** The share of each group in the requests; each seed has some of the groups. */
const WEIGHTS = {
  booking: 60,
  prices: 5,
  layouts: 2,
  events: 5,
  settings: 4,
  zones: 3,
  series: 2,
  catalog: 2,
  accounts: 2,
  reads: 5,
  carts: 15,
  offers: 6,
} as const;
export type Group = keyof typeof WEIGHTS;
export const GROUPS = Object.keys(WEIGHTS) as readonly Group[];
/** Drawn last, so that a seed keeps the rest of its plan. */
export const LATER_GROUPS: readonly Group[] = ["carts", "offers"];

/** Each group as often as its weight. */
export function bagOf(groups: readonly Group[]): Group[] {
  return groups.flatMap((group) => Array.from({ length: WEIGHTS[group] }, () => group));
}

/** Faults; each seed has some of them. */
export const FAULTS = [
  /** Power cuts; other crashes keep the cache. */
  "power",
  /** A process ends during a disk operation, possibly during recovery. */
  "steps",
  /** A write or a sync fails: once, or from then on. */
  "eio",
  /** The start cannot read or write a file. */
  "startEio",
  /** No file can grow for a while. */
  "full",
  /** Writes are short, without a reason. */
  "short",
  /** Disk operations take long. */
  "slow",
  /** The machine's clock is set between two processes. */
  "clock",
  /** Files are damaged before a start. */
  "damage",
  /** Processes end in an orderly way. */
  "order",
] as const;
export type Fault = (typeof FAULTS)[number];

export interface Plan {
  readonly seed: number;
  /** More events, seats and commands than most. */
  readonly isBig: boolean;
  /** State and model are compared after every operation. */
  readonly isThorough: boolean;
  /** Processes, one after the other. */
  readonly lives: number;
  readonly clients: number;
  /** The most requests of a process. */
  readonly requestsMax: number;
  readonly segmentBytes: number;
  /** Bytes of log between snapshots; null for no snapshots. */
  readonly snapshotBytes: number | null;
  readonly groups: readonly Group[];
  readonly faults: ReadonlySet<Fault>;
}

const BIG_ONCE = 20;
const THOROUGH_ONCE = 10;
/** The share of seeds with each fault. */
const FAULT_PERCENT = 45;
const GROUP_PERCENT = 70;
const SNAPSHOTS_PERCENT = 15;
const KIB = 1_024;

export function planOf(seed: number): Plan {
  const random = Random.stream(seed, "plan");
  const isBig = random.once(BIG_ONCE);
  const groups = GROUPS.filter((group) => {
    if (LATER_GROUPS.includes(group)) return false;
    return group === "booking" || random.below(100) < GROUP_PERCENT;
  });
  const faults = FAULTS.filter(() => random.below(100) < FAULT_PERCENT);
  const hasSnapshots = random.below(100) < SNAPSHOTS_PERCENT;
  const sizes = {
    isThorough: !isBig && random.once(THOROUGH_ONCE),
    lives: 8 + random.below(9),
    clients: 1 + random.below(8),
    requestsMax: (isBig ? 120 : 20) + random.below(40),
    segmentBytes: random.pick([8, 12, 16, 32]) * KIB,
    snapshotBytes: hasSnapshots ? random.pick([8, 24, 64]) * KIB : null,
  };
  for (const group of LATER_GROUPS) if (random.below(100) < GROUP_PERCENT) groups.push(group);
  return { seed, isBig, ...sizes, groups, faults: new Set(faults) };
}
