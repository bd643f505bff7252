/** `frontrow repair`. */
import path from "node:path";
import { realDisk } from "../../persistence/disk/disk.ts";
import type { Lost } from "../../persistence/rescue/later-frames.ts";
import type { LogRestart } from "../../persistence/rescue/repair-from-snapshot.ts";
import type { RepairPlan } from "../../persistence/rescue/repair-plan.ts";
import { previewRepair, repairFolder } from "../../persistence/rescue/repair.ts";
import { textOf } from "../../persistence/rescue/survey.ts";
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
    say(`nothing was changed; to do this, run: frontrow repair ${given}${flag} --yes`);
    return Exit.DAMAGED;
  }
  const { plan, aside, verified } = withProgress((onWork) => repairFolder({ ...options, onWork }));
  describePlan(plan);
  for (const one of aside) say(`kept: ${one}`);
  for (const finding of verified.findings) say(`still damaged: ${textOf(finding)}`);
  describe(verified);
  return verified.findings.length === 0 ? Exit.DONE : Exit.DAMAGED;
}

function isEmpty({ findings, snapshots, segments, cut, restart }: RepairPlan): boolean {
  const isUntouched = cut === null && restart === null;
  return findings.length + snapshots.length + segments.length === 0 && isUntouched;
}

function describePlan(plan: RepairPlan): void {
  if (isEmpty(plan)) return say("nothing to repair");
  const { findings, sequence, snapshots, segments, cut, restart, lost } = plan;
  for (const finding of findings) say(`damaged: ${textOf(finding)}`);
  for (const name of snapshots) say(`set aside: snapshot ${name}`);
  for (const name of segments) say(`set aside: segment ${name}`);
  if (cut !== null) say(`cut: segment ${cut.name} after byte ${cut.bytes}`);
  if (restart !== null) describeRestart(restart, sequence);
  else say(`keep: all records up to ${sequence}`);
  say(...describeLost(lost));
}

function describeRestart({ base, mark, isRewritten, segment }: LogRestart, sequence: number): void {
  if (isRewritten) say(`rewrite: snapshot ${base}, as of record ${mark.sequence}`);
  const log = segment === null ? "remaining segments" : "new segment";
  say(
    `keep: the content of snapshot ${base}`,
    `the log continues after record ${mark.sequence}, in the ${log}, up to record ${sequence}`,
  );
}

function describeLost(lost: Lost): string[] {
  const { range } = lost;
  if (range === null) return ["lose: no known record"];
  const parts = [...lost.byEvent].map(([event, number]) => `${number} of event ${event}`);
  if (lost.catalog > 0) parts.push(`${lost.catalog} of the catalog`);
  if (lost.unreadable > 0) parts.push(`${lost.unreadable} unreadable`);
  const numbers = `in the range ${range.from} to ${range.to}`;
  return [
    `lose: at least ${count(lost.total, "record")}, ${numbers}`,
    ...parts.map((part) => `  ${part}`),
  ];
}
