/** The page of limits: its bounds are those of the code, and its metrics and tests exist. */
import fs from "node:fs";
import path from "node:path";
import { Command } from "commander";
import { expect, test } from "vitest";
import { clusterLines } from "../../server/cluster/host.ts";
import { addServeOptions } from "../../server/config.ts";
import { STANDBY_STATUS } from "../support/cluster-status.ts";
import { startWithGateway } from "../support/gateway/processes.ts";
import { CLI, ROOT } from "../support/server-process.ts";

const FOLDER = path.join(ROOT, "server");
const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  KiB: 1_024,
  MiB: 1_024 ** 2,
  GiB: 1_024 ** 3,
};
/** `100 logins ([`CHECKS_MAX`](auth/passwords.ts))`: number, unit, name, file. */
const CONSTANT = /(\d[\d,]*)(?: ([KMG]iB))?[^()\d]*\(\[`([\w.]+)`\]\(([^)]+)\)\)/g;
/** `512 MiB (`--reply-memory`)` or `half of the heap (`--catalog-memory`)`. */
const OPTION = /((?:[^();,]|,(?=\d))+) \(`(--[a-z-]+)`\)/g;
const TEST = /\[[\w.-]+\]\(([^)]+)\): ((?:"[^"]+"(?:, )?)+)/g;

interface Limit {
  readonly what: string;
  readonly bound: string;
  readonly metrics: string;
  readonly tests: string;
}

const LIMITS: readonly Limit[] = fs
  .readFileSync(path.join(FOLDER, "LIMITS.md"), "utf8")
  .split("\n")
  .filter((line) => line.startsWith("| ") && !line.startsWith("| what grows"))
  .map((line) => {
    const [, what = "", bound = "", , metrics = "", tests = "", end] = line.split("|");
    expect([line, end]).toEqual([line, ""]);
    return { what: what.trim(), bound, metrics, tests };
  });
const named = LIMITS.map((limit) => [limit.what, limit] as const);

function numberOf(digits: string, unit = ""): number {
  return Number(digits.replaceAll(",", "")) * UNITS[unit]!;
}

/** @param name - Such as `BODY_LIMITS.all`. */
async function constantOf(file: string, name: string): Promise<unknown> {
  const module = (await import(path.join(FOLDER, file))) as Record<string, unknown>;
  const [first = "", member] = name.split(".");
  const value = module[first];
  return member === undefined ? value : (value as Record<string, unknown>)[member];
}

test("the page has every limit once", () => {
  expect(LIMITS.length).toBeGreaterThan(40);
  expect(new Set(LIMITS.map(({ what }) => what)).size).toBe(LIMITS.length);
});

test.each(named)("the bound of %s is that of the code", async (_, { bound }) => {
  const constants = [...bound.matchAll(CONSTANT)];
  const options = [...bound.matchAll(OPTION)];
  for (const [text, digits = "", unit, name = "", file = ""] of constants) {
    expect([text, await constantOf(file, name)]).toEqual([text, numberOf(digits, unit)]);
  }
  const known = addServeOptions(new Command()).options;
  for (const [, stated = "", flag] of options) {
    const { defaultValue, defaultValueDescription } = known.find(({ long }) => long === flag)!;
    const isNumber = typeof defaultValue === "number";
    const wanted = isNumber ? `${defaultValue.toLocaleString("en")} MiB` : defaultValueDescription;
    expect(stated.trim()).toBe(wanted);
  }
  // No number without its name in the code.
  expect(bound.match(/\(\[?`/g)?.length ?? 0).toBe(constants.length + options.length);
  const rest = bound.replaceAll(CONSTANT, "").replaceAll(OPTION, "");
  expect(rest).not.toMatch(/\d/);
});

test.each(named)("the tests of %s exist", (_, { tests }) => {
  const found = [...tests.matchAll(TEST)];
  expect(found.map(([text]) => text).join("; ")).toBe(tests.trim());
  for (const [, file = "", titles = ""] of found) {
    const text = fs.readFileSync(path.join(FOLDER, file), "utf8");
    for (const [title] of titles.matchAll(/"[^"]+"/g)) {
      expect([title, text.includes(`(${title}`)]).toEqual([title, true]);
    }
  }
});

test("a server, a gateway or a host of a cluster has the metrics of all limits", async () => {
  expect(fs.existsSync(CLI)).toBe(true);
  const { engine: server, gateway } = await startWithGateway({ args: ["--demo"] });
  await fetch(`${server.url}/healthz`);
  const texts = [server, gateway].map(async ({ url }) => (await fetch(`${url}/metrics`)).text());
  const cluster = clusterLines(STANDBY_STATUS);
  const text = [...(await Promise.all(texts)), ...cluster].join("\n");
  const known = new Set([...text.matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name));
  for (const { what, metrics } of LIMITS) {
    const names = [...metrics.matchAll(/`(\w+)`/g)].map(([, name]) => name!);
    expect([what, names.length > 0]).toEqual([what, true]);
    for (const name of names) {
      const full = name.startsWith("process_") ? name : `frontrow_${name}`;
      expect([what, full, known.has(full)]).toEqual([what, full, true]);
    }
  }
  await server.kill("SIGTERM");
});
