/**
 * `npm run bench:stalls`: how long each operation holds the event loop of a server with a large
 * layout and many events. The longest stall is measured in the server's process.
 */
import { setTimeout } from "node:timers/promises";
import { startServer } from "./contenders/frontrow.ts";
import {
  folder,
  inTemporaryFolder,
  isTrial,
  number,
  parseOptions,
  wordsOf,
} from "./harness/command.ts";
import { print, progress, report, table, verdict } from "./harness/results.ts";
import { allOperations, carryOut, type Operation } from "./stalls/operations.ts";
import { AT_ONCE, invalidRequests, locksBeside } from "./stalls/invalid.ts";
import type { Stall } from "./stalls/monitor.ts";
import { Stage } from "./stalls/stage.ts";

const STALL_MS_MAX = 50;
const BESIDE_MS_MAX = 100;
/** Deferred work after an answer: the sweep of the store does it in slices. */
const AFTERMATH_MS = isTrial ? 700 : 1_500;
/** The monitor notices a stall after it. */
const NOTICE_MS = 5;

const options = parseOptions(
  "bench:stalls",
  "Measures the longest stall of the event loop during every operation.",
  {
    seats: number(200_000, "seats of the large layout"),
    events: number(150, "events on the large layout"),
    listed: number(30_000, "events of the organization whose events are listed"),
    only: {
      placeholder: "text",
      initial: "",
      shown: "all",
      help: "operations with one of these texts, separated by |",
      parse: (text: string) => text,
    },
    folder,
  },
);

const { seats, events, listed } = options;
const measures = await inTemporaryFolder(options.folder, measure);
const all = [...measures.invalid, ...measures.stalls];
const rows = all.map(({ name, processorMs, wallMs, answerMs }) => [
  name,
  processorMs.toFixed(1),
  wallMs.toFixed(1),
  answerMs.toFixed(0),
]);
print(table(["operation", "processor ms", "wall ms", "answer ms"], rows));
const longest = Math.max(...all.map(({ processorMs }) => processorMs));
const verdicts = [
  verdict("longest stall of any operation, processor ms", { atMost: STALL_MS_MAX }, longest),
  verdict(
    "p99 of another organization's locks beside 64 connections of invalid bodies, ms",
    { atMost: BESIDE_MS_MAX },
    measures.locksMs,
  ),
];
await report("stalls", options.folder, { verdicts, seats, events, listed, ...measures });

async function measure(data: string) {
  const monitor = new URL("stalls/monitor.js", import.meta.url);
  const server = await startServer(data, [], monitor);
  const stage = new Stage(server.url, { seats, events, listed });
  const buildMs = performance.now();
  await stage.build();
  progress(`built in ${((performance.now() - buildMs) / 1_000).toFixed(0)} s`);
  const wanted = wordsOf(options.only, "|");
  const isWanted = (name: string) =>
    wanted.length === 0 || wanted.some((word) => name.includes(word));
  const stalled: (Measured & { readonly name: string })[] = [];
  const invalid: typeof stalled = [];
  // First: the last operations delete the organization.
  for (const { name, send } of invalidRequests(stage)) {
    for (const times of isTrial ? [1] : [1, AT_ONCE]) {
      const row = `${name} invalid, ${times} at once`;
      if (!isWanted(row)) continue;
      await server.ask();
      const startMs = performance.now();
      await send(times);
      const answerMs = performance.now() - startMs;
      const measured = { ...((await server.ask()) as Stall), answerMs };
      progress(`${measured.processorMs.toFixed(1).padStart(9)} ms  ${row}`);
      invalid.push({ name: row, ...measured });
    }
  }
  const seconds = isTrial ? 1 : 10;
  const locksMs = await locksBeside(server.url, invalidRequests(stage), seconds);
  for (const operation of allOperations()) {
    const name = `${operation.route} ${operation.variant}`.trim();
    // The others still run, because later ones need what they leave.
    const measured = await measureOne(stage, operation, server.ask);
    if (!isWanted(name)) continue;
    progress(`${measured.processorMs.toFixed(1).padStart(9)} ms  ${name}`);
    stalled.push({ name, ...measured });
  }
  await server.stop();
  return { stalls: stalled, invalid, locksMs };
}

interface Measured extends Stall {
  readonly answerMs: number;
}

async function measureOne(
  stage: Stage,
  operation: Operation,
  ask: () => Promise<unknown>,
): Promise<Measured> {
  await operation.prepare?.(stage);
  await ask();
  const startMs = performance.now();
  await carryOut(stage, operation);
  const answerMs = performance.now() - startMs;
  await setTimeout(operation.hasAftermath === true ? AFTERMATH_MS : NOTICE_MS);
  return { ...((await ask()) as Stall), answerMs };
}
