/**
 * Every sale and every lock that was answered outlives kill -9, and the sale goes on to its end.
 *
 * The short form plays a small theatre. The long form plays any layout, and prints its figures:
 *
 *     FRONTROW_KILLS_LAYOUT=arena.json.gz npx vitest run test/faults/onsale-kills.test.ts
 *
 * More variables, each with its default: FRONTROW_KILLS_BUYERS=3000, FRONTROW_KILLS_COUNT=5,
 * FRONTROW_KILLS_THINK_MS=50, FRONTROW_KILLS_SEED (drawn, and printed), FRONTROW_KILLS_ORPHANS=off
 * (or on), FRONTROW_KILLS_SECONDS=600.
 */
import { randomInt } from "node:crypto";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { guidOf } from "../support/layout.ts";
import { temporaryFolder } from "../support/server-process.ts";
import {
  type Checked,
  type Kill,
  type KillPlan,
  type Outcome,
  playWithKills,
} from "./campaigns/onsale-kills.ts";

const SEED_LIMIT = 2 ** 32;
const SHORT_BUYERS = 40;
const SHORT_KILLS = 2;
/** A limit for a busy machine. */
const SHORT_SECONDS = 150;
const LONG_MS_MAX = 1_200_000;
const ROWS = 30;
const SEATS_PER_ROW = 40;

const {
  FRONTROW_KILLS_LAYOUT: givenLayout,
  FRONTROW_KILLS_BUYERS: buyers = "3000",
  FRONTROW_KILLS_COUNT: kills = "5",
  FRONTROW_KILLS_THINK_MS: thinkMs = "50",
  FRONTROW_KILLS_SEED: seed = String(randomInt(SEED_LIMIT)),
  FRONTROW_KILLS_ORPHANS: orphans = "off",
  FRONTROW_KILLS_SECONDS: seconds = "600",
} = process.env;

test.runIf(givenLayout === undefined)(
  `a theatre sells out over ${SHORT_KILLS} kills with nothing lost (seed ${seed})`,
  async () => {
    const layout = path.join(temporaryFolder(), "theatre.json");
    writeFileSync(layout, JSON.stringify(theatre()));
    expectKept(
      await playWithKills({
        layout,
        buyers: SHORT_BUYERS,
        thinkMs: Number(thinkMs),
        kills: SHORT_KILLS,
        seed: Number(seed),
        preventsOrphans: Number(seed) % 2 === 1,
        seconds: SHORT_SECONDS,
      }),
    );
  },
  (SHORT_SECONDS + 30) * 1_000,
);

test.runIf(givenLayout !== undefined)(
  "the given house sells out over the kills with nothing lost",
  async () => {
    const plan: KillPlan = {
      layout: givenLayout!,
      buyers: Number(buyers),
      thinkMs: Number(thinkMs),
      kills: Number(kills),
      seed: Number(seed),
      preventsOrphans: orphans === "on",
      seconds: Number(seconds),
    };
    process.stdout.write(`${JSON.stringify({ ...plan, layout: path.basename(plan.layout) })}\n`);
    const outcome = await playWithKills(plan);
    process.stdout.write(`${figuresOf(outcome)}\n`);
    expectKept(outcome);
  },
  LONG_MS_MAX,
);

function expectKept({ kills: killed, final, stopped, exitCode, report, capacity }: Outcome): void {
  const found = [...killed.map(({ checked }) => checked), final];
  expect(found.flatMap(({ deviations }) => deviations)).toEqual([]);
  expect(killed.every(({ checked }) => checked.acknowledged > 0)).toBe(true);
  expect(report.checks.filter(({ passed }) => !passed)).toEqual([]);
  expect({ exitCode, soldOut: report.soldOut }).toEqual({ exitCode: 0, soldOut: true });
  expect(final.soldSeats + final.soldPlaces).toBe(capacity);
  expect(final).toMatchObject({ held: 0, unknown: 0 });
  expect(stopped).toEqual({ code: 0, signal: null });
}

function figuresOf({ kills: killed, final, exitCode, report }: Outcome): string {
  const lost = [...killed.map(({ checked }) => checked), final];
  const slowest = Math.max(...killed.map(({ restartSeconds }) => restartSeconds));
  const { sold, requestsPerSecond, unknownOutcomes, outages, latency } = report;
  return [
    ...killed.map(killLine),
    `end: ${checkedText(final)}`,
    `on-sale: exit ${exitCode}, ${report.seconds.toFixed(1)} s with all kills,` +
      ` ${sold.seats} seats and ${sold.places} places sold,` +
      ` ${requestsPerSecond} requests a second`,
    `on-sale: ${outages} outages, ${unknownOutcomes} unknown outcomes settled,` +
      ` lock p50 ${latency.lock.p50Ms} ms p99 ${latency.lock.p99Ms} ms`,
    ...report.checks.map(
      ({ name, passed }) => `on-sale check: ${passed ? "ok  " : "FAIL"} ${name}`,
    ),
    `kills ${killed.length}, acknowledged operations checked ${final.acknowledged},` +
      ` slowest restart ${slowest.toFixed(2)} s,` +
      ` lost = ${lost.reduce((sum, { deviations }) => sum + deviations.length, 0)}`,
  ].join("\n");
}

function killLine({ share, delayMs, checked, restartSeconds, recovered }: Kill, i: number): string {
  const { records, seconds: recoverySeconds, tornBytes } = recovered;
  return [
    `kill ${i + 1} at ${(share * 100).toFixed(1)} % sold + ${delayMs} ms:`,
    `${checkedText(checked)};`,
    `ready again in ${restartSeconds.toFixed(2)} s, of which recovery ${String(recoverySeconds)} s`,
    `for ${String(records)} records, ${String(tornBytes)} torn bytes`,
  ].join(" ");
}

function checkedText(checked: Checked): string {
  const { acknowledged, soldSeats, soldPlaces, held, unknown, deviations } = checked;
  const lost = deviations.length === 0 ? "lost 0" : `LOST ${deviations.length}:`;
  return [
    `${acknowledged} acknowledged, ${soldSeats} seats and ${soldPlaces} places sold,`,
    `${held} baskets held, ${unknown} unknown, ${lost}`,
    ...deviations.slice(0, 10),
  ].join(" ");
}

/** Rows with an aisle in the middle, and two areas. */
function theatre(): object {
  const rows = Array.from({ length: ROWS }, (_, row) => `row ${row + 1}`);
  const numbers = Array.from({ length: SEATS_PER_ROW }, (_, index) => index);
  return {
    sectors: [
      { guid: guidOf("stalls"), name: "Stalls", ga: false },
      { guid: guidOf("pit"), name: "Pit", ga: true, gaCapacity: 200 },
      { guid: guidOf("lawn"), name: "Lawn", ga: true, gaCapacity: 200 },
    ],
    rows: rows.map((row) => ({
      guid: guidOf(row),
      sectorGuid: guidOf("stalls"),
      name: "Row",
      rowNumber: row,
    })),
    seats: rows.flatMap((row) =>
      numbers.map((index) => ({
        guid: guidOf(`${row}/${index + 1}`),
        rowGuid: guidOf(row),
        name: String(index + 1),
        ax: index * 10 + (index < SEATS_PER_ROW / 2 ? 0 : 20),
        ay: 0,
      })),
    ),
  };
}
