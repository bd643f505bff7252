/**
 * Writes the contract table: for each row of the interface, a test that produced each documented
 * status. A run of all tests of the server fails when a documented status or error code was never
 * produced.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";
import { CONTRACT } from "../../contract.ts";
import { LISTED_FILE, makeWitnessFolder, type Witnessed } from "./witness-folder.ts";

const TABLE_FILE = "coverage/contract.md";

export class ContractReporter implements Reporter {
  #vitest: Vitest | undefined;
  #folder = "";

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    // Each project makes a reporter of its own, of which this is never called.
    this.#folder = makeWitnessFolder();
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    const files = new Set(modules.map(({ moduleId }) => moduleId));
    const seen = readSeen(this.#folder);
    const listed = readListed(this.#folder);
    rmSync(this.#folder, { recursive: true });
    if (this.#vitest === undefined || !isWholeSuite(files)) return;
    const failed = new Set(
      modules.flatMap((module) =>
        [...module.children.allTests("failed")].map(({ fullName }) => fullName),
      ),
    );
    const testOf = new Map<string, string>();
    for (const { row, status, test } of seen) testOf.set(`${row} ${status}`, test);
    const lines = ["| row | status | a test that produces it | result |", "|---|---|---|---|"];
    const missing: string[] = [];
    for (const { row, statuses } of CONTRACT) {
      for (const status of statuses) {
        const test = testOf.get(`${row} ${status}`);
        if (test === undefined) missing.push(`${row} → ${status}`);
        const result = test === undefined ? "missing" : failed.has(test) ? "failed" : "passed";
        lines.push(`| ${row} | ${status} | ${test ?? ""} | ${result} |`);
      }
    }
    mkdirSync(path.dirname(TABLE_FILE), { recursive: true });
    writeFileSync(TABLE_FILE, `${lines.join("\n")}\n`);
    const count = lines.length - 2;
    this.#vitest.logger.log(
      `contract: ${CONTRACT.length} rows, ${count - missing.length} of ${count} documented ` +
        `statuses produced; the table is ${TABLE_FILE}`,
    );
    const produced = new Set(seen.flatMap(({ codes }) => codes));
    const unseen = listed.filter((code) => !produced.has(code));
    const codes = `${listed.length - unseen.length} of ${listed.length} documented error codes`;
    this.#vitest.logger.log(`contract: ${codes} produced`);
    missing.push(...unseen);
    if (missing.length === 0) return;
    this.#vitest.logger.error(`contract: never produced:\n  ${missing.join("\n  ")}`);
    process.exitCode = 1;
  }
}

/** False when a file with tests of the server's routes did not take part. */
function isWholeSuite(files: ReadonlySet<string>): boolean {
  const folder = path.resolve(import.meta.dirname, "../../server");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const tests = names.filter((name) => /^(?!process|onsale).*\.test\.ts$/.test(name));
  return tests.every((name) => files.has(path.join(folder, name)));
}

function readListed(folder: string): readonly string[] {
  const file = path.join(folder, LISTED_FILE);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as string[]) : [];
}

function readSeen(folder: string): Witnessed[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".jsonl"));
  return names.flatMap((name) =>
    readFileSync(path.join(folder, name), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Witnessed),
  );
}
