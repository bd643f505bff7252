/** Frontrow itself: `frontrow serve` on an empty data folder. */
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { MIXES } from "../load/plan.ts";
import { type Child, startNode } from "./child.ts";
import { type Contender, countsFault, type Running } from "./contender.ts";
import { buildHouse, countStates, type House, openShow } from "./house.ts";

const SERVER = fileURLToPath(new URL("../../server/cli.js", import.meta.url));
const SNAPSHOT_MS_MAX = 10_000;
const TRAIL_MS_MAX = 60_000;
const POLL_MS = 50;
export const TENANT_TOKEN = "bench-tenant-token";

/** @param args - Further arguments of `frontrow serve`. */
export function startServer(folder: string, args: readonly string[] = []): Promise<Child> {
  const data = path.join(folder, "data");
  return startNode([SERVER, "serve", "--port", "0", "--data", data, ...args], {
    ...process.env,
    FRONTROW_TENANT_TOKEN: TENANT_TOKEN,
    FRONTROW_ADMIN_EMAIL: "admin@example.org",
    FRONTROW_ADMIN_PASSWORD: "bench-password",
    FRONTROW_LOG_LEVEL: "error",
  });
}

export function frontrow(name: string, args: readonly string[]): Contender {
  return {
    name,
    mixes: MIXES,
    missing: () => null,
    start: async (folder) => running(await startServer(folder, args)),
  };
}

/** The same, with the next snapshot begun as soon as the last is made. */
export function frontrowSnapshotting(name: string, args: readonly string[]): Contender {
  const often = [...args, "--snapshot-every", "0.001"];
  return {
    name,
    mixes: ["wide"],
    missing: () => null,
    start: async (folder) => {
      const child = await startServer(folder, often);
      const plain = running(child);
      let madeBefore = await snapshotsMade(child.url);
      return {
        ...plain,
        findFault: async (hall, expected) => {
          const made = await snapshotAfter(child.url, madeBefore);
          if (made === null) return "no snapshot was made";
          madeBefore = made;
          return plain.findFault(hall, expected);
        },
      };
    },
  };
}

/** Waits for the one that is under way. @returns How many there are; null when none came. */
async function snapshotAfter(url: URL, before: number): Promise<number | null> {
  for (let waitedMs = 0; waitedMs < SNAPSHOT_MS_MAX; waitedMs += POLL_MS) {
    const made = await snapshotsMade(url);
    if (made > before) return made;
    await setTimeout(POLL_MS);
  }
  return null;
}

async function snapshotsMade(url: URL): Promise<number> {
  return (await metricOf(url, 'frontrow_snapshots_total{result="made"}')) ?? 0;
}

/**
 * Waits until the audit trail has every record: it follows once the log has rested for a second,
 * and would burden whoever plays then.
 */
export async function trailCaughtUp(url: URL): Promise<void> {
  for (let waitedMs = 0; waitedMs < TRAIL_MS_MAX; waitedMs += POLL_MS) {
    if ((await metricOf(url, "frontrow_audit_lag_records")) === 0) return;
    await setTimeout(POLL_MS);
  }
  throw new Error(`the audit trail did not catch up in ${TRAIL_MS_MAX} ms`);
}

/** @param series - With its labels. @returns Null when there is no such series. */
export async function metricOf(url: URL, series: string): Promise<number | null> {
  const metrics = await (await fetch(new URL("/metrics", url))).text();
  const line = metrics.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length));
}

function running({ url, pid, stop }: Child): Running {
  const houses = new Map<number, House>();
  return {
    target: { protocol: "http", host: url.hostname, port: Number(url.port) },
    pids: [pid],
    openHall: async (seatCount) => {
      const house = houses.get(seatCount) ?? (await buildHouse(url, TENANT_TOKEN, seatCount));
      houses.set(seatCount, house);
      return openShow(house);
    },
    findFault: async (hall, expected) => {
      const state = expected === "free" ? "ACTIVE" : "SOLD";
      return countsFault(hall, state, await countStates(url, hall));
    },
    rest: () => trailCaughtUp(url),
    stop,
  };
}
