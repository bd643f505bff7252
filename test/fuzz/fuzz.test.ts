/** The short form of `npm run fuzz:http`; it also plays the cases found before. */
import { randomInt } from "node:crypto";
import path from "node:path";
import { expect, test } from "vitest";
import { collect, exitOf, ROOT, spawnNode } from "../support/server-process.ts";

const COMMAND = path.join(ROOT, "dist/test/fuzz/command.js");
const SEED_MAX = 1_000_000;
/** Generous, because the machine may be busy. */
const MS_MAX = 300_000;

const seed = Number(process.env["FRONTROW_FUZZ_SEED"] ?? randomInt(SEED_MAX));

/** @param least - Of each kind; a run with fewer has not looked. */
async function expectNothing(args: readonly string[], least: Readonly<Record<string, number>>) {
  const options = ["--seed", String(seed), "--jobs", "1"];
  const child = spawnNode(COMMAND, { args: [...args, ...options] });
  const output = collect(child);
  expect(await exitOf(child), output.stdout + output.stderr).toEqual({ code: 0, signal: null });
  expect(output.stdout).toMatch(/requests: nothing found\n$/);
  for (const [label, number] of Object.entries(least)) {
    const count = new RegExp(`^ *([\\d,]+)  ${label}$`, "m").exec(output.stdout)?.[1];
    expect(Number(count?.replace(",", "")), label).toBeGreaterThanOrEqual(number);
  }
}

const REQUESTS = 2_000;
const KINDS = ["valid", "nearly valid", "hostile", "bytes", "again", "socket", "odd"];
const LABELS = [...KINDS, "client leaves", "200", "400"];

test(
  `seed ${seed}: no request of ${REQUESTS} gets a 500, hangs, or changes anything when refused`,
  () =>
    expectNothing(
      ["--requests", String(REQUESTS)],
      Object.fromEntries(LABELS.map((label) => [label, 10])),
    ),
  MS_MAX,
);

const GATEWAY_REQUESTS = 600;
const DISTURB_EVERY = 150;

test(
  `seed ${seed}: ${GATEWAY_REQUESTS} requests, an engine that fails → a gateway serves on`,
  () =>
    expectNothing(
      [
        "--gateway",
        "--requests",
        String(GATEWAY_REQUESTS),
        "--disturb-every",
        String(DISTURB_EVERY),
      ],
      { odd: 120, "client leaves": 40, "engine fails": 3, "200": 15, "503": 1 },
    ),
  MS_MAX,
);
