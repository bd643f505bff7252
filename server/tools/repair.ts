/** `frontrow repair`. */
import path from "node:path";
import { realDisk } from "../../persistence/disk.ts";
import type { Lost } from "../../persistence/frames-behind.ts";
import { previewRepair, repairFolder } from "../../persistence/repair.ts";
import type { RepairPlan } from "../../persistence/repair-plan.ts";
import { textOf } from "../../persistence/survey.ts";
import { count, Exit, say, withProgress } from "./say.ts";
import { describe } from "./verify.ts";

export interface RepairFlags {
  readonly yes?: boolean;
  readonly cutAfter?: number;
}

/** @returns The exit code. @throws StoreFault. */
export function repair(given: string, { yes, cutAfter }: RepairFlags): number {
  const options = { disk: realDisk, folder: path.resolve(given), cutAfter };
  if (yes !== true) {
    const plan = withProgress((onWork) => previewRepair({ ...options, onWork }));
    describePlan(plan);
    if (isEmpty(plan)) return Exit.DONE;
    const flag = cutAfter === undefined ? "" : ` --cut-after ${cutAfter}`;
    say(`nothing was changed: frontrow repair ${given}${flag} --yes does this`);
    return Exit.DAMAGED;
  }
  const { plan, aside, verified } = withProgress((onWork) => repairFolder({ ...options, onWork }));
  describePlan(plan);
  for (const one of aside) say(`kept: ${one}`);
  for (const finding of verified.findings) say(`still damaged: ${textOf(finding)}`);
  describe(verified);
  return verified.findings.length === 0 ? Exit.DONE : Exit.DAMAGED;
}

function isEmpty({ findings, snapshots, segments, cut }: RepairPlan): boolean {
  return findings.length + snapshots.length + segments.length === 0 && cut === null;
}

function describePlan(plan: RepairPlan): void {
  if (isEmpty(plan)) return say("there is nothing to repair");
  const { findings, sequence, snapshots, segments, cut, lost } = plan;
  for (const finding of findings) say(`damaged: ${textOf(finding)}`);
  for (const name of snapshots) say(`to be set aside: snapshot ${name}`);
  for (const name of segments) say(`to be set aside: segment ${name}`);
  if (cut !== null) say(`to be cut: segment ${cut.name} behind byte ${cut.bytes}`);
  say(`to be kept: all records up to ${sequence}`, ...describeLost(lost));
}

function describeLost(lost: Lost): string[] {
  if (lost.total === 0) return ["to be lost: no record that is known of"];
  const parts = [...lost.byEvent].map(([event, number]) => `${number} of event ${event}`);
  if (lost.catalog > 0) parts.push(`${lost.catalog} of the catalog`);
  if (lost.unreadable > 0) parts.push(`${lost.unreadable} that cannot be read`);
  return [
    `to be lost: at least ${count(lost.total, "record")}`,
    ...parts.map((part) => `  ${part}`),
  ];
}
