/** No operation holds the event loop for long: the short form of `npm run bench:stalls`. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { allOperations } from "../../../bench/stalls/operations.ts";
import { largeLayout } from "../../../bench/stalls/stage.ts";
import { ROUTES } from "../../support/server.ts";
import { ROOT, temporaryFolder } from "../../support/server-process.ts";

const SEATS = 20_000;
const SIZE = ["--seats", `${SEATS}`, "--events", "30", "--listed", "3000"];
/**
 * The processor time of the longest stall is that of about three readings. Before large layouts had
 * a thread, some operations took fifty times as long as reading one.
 */
const READINGS_MAX = 8;
const ATTEMPTS = 5;
const SWITCHING_PROTOCOLS = 101;

interface Result {
  readonly stalls: readonly { readonly name: string; readonly processorMs: number }[];
  /** Of the most expensive invalid bodies. */
  readonly invalid: Result["stalls"];
  /** Of another organization, beside them: 99th percentile. */
  readonly locksMs: number;
}

/** Time of this machine to read the layout as JSON without interruption. */
function readingMs(): number {
  const { text } = largeLayout(SEATS);
  const attempts = Array.from({ length: ATTEMPTS }, () => {
    const startMs = performance.now();
    JSON.parse(text);
    return performance.now() - startMs;
  });
  return Math.min(...attempts);
}

test("the list of operations has every row of the route table", () => {
  const listed = new Set(allOperations().map(({ route }) => route));
  // The other pages below /docs and the files of the console are in memory, as the first one of
  // each is. Sockets have tests of their own.
  const rows = ROUTES.filter(({ answers }) => !(SWITCHING_PROTOCOLS in answers))
    .map(({ method, path: at }) => `${method.toUpperCase()} ${at}`)
    .filter((row) => !/^GET \/(docs|console)\//.test(row));
  expect([...listed].toSorted()).toEqual(rows.toSorted());
});

test("no operation on a large layout takes much longer than reading the layout once", async () => {
  const results = temporaryFolder();
  const env = { ...process.env, BENCH_TRIAL: "1", BENCH_RESULTS: results };
  const bench = path.join(ROOT, "dist/bench/stalls.js");
  const before = readingMs();
  await promisify(execFile)(process.execPath, [bench, ...SIZE], { env });
  const limitMs = READINGS_MAX * Math.max(before, readingMs());
  const text = readFileSync(path.join(results, "stalls.json"), "utf8");
  const { stalls, invalid, locksMs } = JSON.parse(text) as Result;
  expect(stalls).toHaveLength(allOperations().length);
  expect(invalid.length).toBeGreaterThan(30);
  const slow = [...stalls, ...invalid].filter(({ processorMs }) => processorMs > limitMs);
  expect(slow).toEqual([]);
  // A lock waits for one such stall under way, and for another one before its answer.
  expect(locksMs).toBeLessThan(2 * limitMs);
}, 240_000);
