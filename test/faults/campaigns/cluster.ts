/**
 * Three hosts of a cluster under load, whose leader is killed, paused or cut off, or loses power.
 * After each fault the folders of the hosts are compared with the answers that the clients got.
 */
import { Random } from "../../../server/onsale/random.ts";
import { missingPrograms } from "../../support/programs.ts";
import { type Campaign, type Outcome, type Run, spreadMs } from "../campaign.ts";
import { Cell, type Fault, FAULTS, Tally } from "../support/cluster/cell.ts";
import { missingIsolation } from "../support/cluster/sites.ts";
import { type Scope, scoped } from "../support/scope.ts";

/** Of each kind, in the short and in the long form. A hand-over is no fault. */
const COUNTS: Readonly<Record<Fault, readonly [short: number, long: number]>> = {
  kill: [1, 50],
  pause: [1, 50],
  "both leaders": [1, 50],
  partition: [1, 50],
  "power cut of one": [1, 50],
  "power cut of all": [1, 10],
  "hand over": [1, 10],
};
/** They need networks and disks of their own. */
const ISOLATED: ReadonlySet<Fault> = new Set(["partition", "power cut of one", "power cut of all"]);
/** One host is lost, and another one takes over. */
const LOSSES = FAULTS.filter((fault) => fault !== "power cut of all" && fault !== "hand over");
/** In the short form: so many of the kinds, drawn by the seed. */
const SHORT_FAULTS = 4;
/** The holds of a store must not expire before its last check. */
const FAULTS_PER_STORE = 20;

export const cluster: Campaign = {
  name: "cluster",
  shows: "the leader of three hosts is lost under load: no answered change is lost or doubled",
  missing: () => missingPrograms("etcd"),
  leavesOut: () => {
    const missing = missingIsolation();
    return missing === null ? null : `partitions and power cuts: ${missing}`;
  },
  run,
};

async function run({ isLong, seed, tell }: Run): Promise<Outcome> {
  const random = new Random(seed);
  const order = planOf(isLong, random);
  const tally = new Tally();
  let done = 0;
  for (let from = 0; from < order.length; from += FAULTS_PER_STORE) {
    const faults = order.slice(from, from + FAULTS_PER_STORE);
    const live = async (scope: Scope) => {
      const cell = await Cell.open(scope, seed + from, tally);
      for (const fault of faults) {
        await cell.cycle(fault, random);
        done += 1;
        tell(`${done} of ${order.length} faults`);
      }
      await cell.finish();
    };
    try {
      await scoped(live);
    } catch (error) {
      tally.violations.push(`seed ${seed + from}: ${String(error)}`);
    }
  }
  return { figures: figuresOf(tally), violations: tally.violations };
}

/** The faults in the order of their execution. */
function planOf(isLong: boolean, random: Random): Fault[] {
  const isIsolated = missingIsolation() === null;
  const possible = FAULTS.filter((fault) => isIsolated || !ISOLATED.has(fault));
  const plan = possible.flatMap((fault) => {
    return Array.from({ length: COUNTS[fault][Number(isLong)]! }, () => fault);
  });
  const order = plan.map((fault) => ({ fault, at: random.below(1_000_000) }));
  order.sort((a, b) => a.at - b.at);
  return order.slice(0, isLong ? undefined : SHORT_FAULTS).map(({ fault }) => fault);
}

function figuresOf({ gapMs, acknowledged, seatCalls, violations }: Tally): Outcome["figures"] {
  const gapsOf = (faults: readonly Fault[]) => faults.flatMap((fault) => gapMs.get(fault)!);
  const rowOf = (label: string, gaps: readonly number[]) => [
    `${label}: times, then until a host answers`,
    `${gaps.length}, ${spreadMs(gaps)}`,
  ];
  const done = FAULTS.filter((fault) => gapMs.get(fault)!.length > 0);
  const rows = [
    ...done.map((fault) => rowOf(fault, gapsOf([fault]))),
    rowOf("one host lost", gapsOf(LOSSES)),
  ];
  return {
    ...(Object.fromEntries(rows) as Record<string, string>),
    "operations acknowledged": acknowledged,
    "calls on single seats whose order was checked": seatCalls,
    "lost, doubled or reordered": violations.length,
  };
}
