/** Plans of runs with a former bug, kept as files with a description. */
import fs from "node:fs";
import path from "node:path";
import { FAULTS, type Plan } from "./workload/plan.ts";

const FOLDER = "test/sim/regressions";

export interface Regression {
  /** The bug in one sentence, and the commit with the fix. */
  readonly found: string;
  readonly plan: Plan;
}

/** The files in the order of their names. Must be called in the root of the project. */
export function findRegressions(): { readonly name: string; readonly regression: Regression }[] {
  const names = fs.existsSync(FOLDER) ? fs.readdirSync(FOLDER).toSorted() : [];
  return names.map((name) => {
    const text = fs.readFileSync(path.join(FOLDER, name), "utf8");
    return { name, regression: regressionFrom(text) };
  });
}

/** @returns The path of the new file. */
export function keepRegression(regression: Regression): string {
  fs.mkdirSync(FOLDER, { recursive: true });
  const file = path.join(FOLDER, `seed-${regression.plan.seed}.json`);
  fs.writeFileSync(file, regressionText(regression));
  return file;
}

export function regressionText({ found, plan }: Regression): string {
  const faults = FAULTS.filter((fault) => plan.faults.has(fault));
  return `${JSON.stringify({ found, plan: { ...plan, faults } }, null, 2)}\n`;
}

export function regressionFrom(text: string): Regression {
  const { found, plan } = JSON.parse(text) as Regression;
  return { found, plan: { ...plan, faults: new Set(plan.faults) } };
}
