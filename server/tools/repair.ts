/** `frontrow repair`. */
import path from "node:path";
import { realDisk } from "../../persistence/disk/disk.ts";
import type { Lost } from "../../persistence/rescue/later-frames.ts";
import type { LogRestart } from "../../persistence/rescue/repair-from-snapshot.ts";
import type { KnownLoss } from "../../persistence/rescue/lost-transitions.ts";
import type { RepairPlan } from "../../persistence/rescue/repair-plan.ts";
import {
  exportPathOf,
  losesRecords,
  type Preview,
  previewRepair,
  repairFolder,
} from "../../persistence/rescue/repair.ts";
import { textOf } from "../../persistence/rescue/survey.ts";
import { count, Exit, say, withProgress } from "./say.ts";
import { describe } from "./verify.ts";

export interface RepairFlags {
  readonly yes?: boolean;
  readonly cutAfter?: number;
}

/** @returns The exit code. @throws StoreFault. */
export function repair(given: string, { yes, cutAfter }: RepairFlags): number {
  const folder = path.resolve(given);
  const options = { disk: realDisk, folder, cutAfter };
  if (yes !== true) {
    const preview = withProgress((onWork) => previewRepair({ ...options, onWork }));
    describePreview(preview);
    if (isEmpty(preview.plan)) return Exit.DONE;
    if (losesRecords(preview)) {
      say(`export: what is still known of them, to ${exportPathOf(realDisk, folder)}`);
    }
    const flag = cutAfter === undefined ? "" : ` --cut-after ${cutAfter}`;
    say(`nothing was changed; to do this, run: frontrow repair ${given}${flag} --yes`);
    return Exit.DAMAGED;
  }
  const repaired = withProgress((onWork) => repairFolder({ ...options, onWork }));
  const { exported, aside, verified } = repaired;
  describePreview(repaired);
  if (exported !== null) {
    const { transitions, records } = exported;
    const counts = `${count(transitions, "transition")}, ${count(records, "record")} of the log`;
    say(`exported: ${exported.path}: ${counts}`);
  }
  for (const one of aside) say(`kept: ${one}`);
  for (const finding of verified.findings) say(`still damaged: ${textOf(finding)}`);
  describe(verified);
  return verified.findings.length === 0 ? Exit.DONE : Exit.DAMAGED;
}

function isEmpty({ findings, snapshots, segments, cut, restart }: RepairPlan): boolean {
  const isUntouched = cut === null && restart === null;
  return findings.length + snapshots.length + segments.length === 0 && isUntouched;
}

function describePreview({ plan, known }: Preview): void {
  if (isEmpty(plan)) return say("nothing to repair");
  const { findings, sequence, snapshots, segments, cut, restart, lost } = plan;
  for (const finding of findings) say(`damaged: ${textOf(finding)}`);
  for (const name of snapshots) say(`set aside: snapshot ${name}`);
  for (const name of segments) say(`set aside: segment ${name}`);
  if (cut !== null) say(`cut: segment ${cut.name} after byte ${cut.bytes}`);
  if (restart !== null) describeRestart(restart, sequence);
  else say(`keep: all records up to ${sequence}`);
  say(...describeLost(lost), ...describeKnown(known));
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
    `lose: at least ${count(lost.total, "record")}, ${numbers}${period(lost.times)}`,
    ...parts.map((part) => `  ${part}`),
  ];
}

function describeKnown(known: KnownLoss | null): string[] {
  if (known === null) return ["the audit trail cannot be read, or there is none"];
  if (known.total === 0) return ["the audit trail has no transition after the kept records"];
  const events = [...known.byEvent].map(([event, number]) => `  ${number} of event ${event}`);
  const transitions = count(known.total, "transition");
  return [`the audit trail has ${transitions} of them${period(known.times)}`, ...events];
}

function period(times: KnownLoss["times"]): string {
  if (times === null) return "";
  const [from, to] = [times.fromMs, times.toMs].map((timeMs) => new Date(timeMs).toISOString());
  return `, from ${from} to ${to}`;
}
