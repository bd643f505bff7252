/** The short form of `npm run fuzz:http`, which also plays the cases that it found before. */
import { randomInt } from "node:crypto";
import path from "node:path";
import { expect, test } from "vitest";
import { collect, exitOf, ROOT, spawnNode } from "../support/server-process.ts";

const COMMAND = path.join(ROOT, "dist/test/fuzz/command.js");
const REQUESTS = 4_000;
const SEED_MAX = 1_000_000;
/** Generous, because the machine may be busy. */
const MS_MAX = 300_000;

const seed = Number(process.env["FRONTROW_FUZZ_SEED"] ?? randomInt(SEED_MAX));

test(
  `seed ${seed}: no request of ${REQUESTS} gets a 500, hangs, or changes anything when refused`,
  async () => {
    const args = ["--requests", String(REQUESTS), "--seed", String(seed), "--jobs", "1"];
    const child = spawnNode(COMMAND, { args });
    const output = collect(child);
    expect(await exitOf(child), output.stdout + output.stderr).toEqual({ code: 0, signal: null });
    expect(output.stdout).toMatch(/requests: nothing found\n$/);
    // A run without these has not looked.
    for (const label of [
      "valid",
      "nearly valid",
      "hostile",
      "bytes",
      "again",
      "socket",
      "200",
      "400",
    ]) {
      const count = new RegExp(`^ *([\\d,]+)  ${label}$`, "m").exec(output.stdout)?.[1];
      expect(Number(count?.replace(",", "")), label).toBeGreaterThan(40);
    }
  },
  MS_MAX,
);
