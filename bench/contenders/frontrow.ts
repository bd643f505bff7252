/** Frontrow itself: `frontrow serve` on an empty data folder. */
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { type Server, startModule } from "../harness/processes.ts";
import { MIXES, targetAt } from "../load/plan.ts";
import type { Contender, RunningContender } from "./contender.ts";
import { countStates, createVenue, openEvent, type Venue } from "./venue.ts";

const SNAPSHOT_MS_MAX = 10_000;
const TRAIL_MS_MAX = 60_000;
const POLL_MS = 50;
export const TENANT_TOKEN = "bench-tenant-token";
/** States of the interface by the names that every contender uses. */
const STATES: Readonly<Record<string, string>> = { ACTIVE: "free", SOLD: "sold" };

/** @param args - Further arguments of `frontrow serve`. */
export function startServer(folder: string, args: readonly string[] = []): Promise<Server> {
  const program = new URL("../../server/cli.js", import.meta.url);
  const data = path.join(folder, "data");
  return startModule(program, ["serve", "--port", "0", "--data", data, ...args], {
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
    start: async (folder) => runningAt(await startServer(folder, args)),
  };
}

/** The same server, which starts the next snapshot as soon as the last one is complete. */
export function frontrowSnapshotting(name: string, args: readonly string[]): Contender {
  return {
    name,
    mixes: ["wide"],
    missing: () => null,
    start: async (folder) => {
      const server = await startServer(folder, [...args, "--snapshot-every", "0.001"]);
      const running = runningAt(server);
      const snapshots = async () =>
        (await metricOf(server.url, 'frontrow_snapshots_total{result="made"}')) ?? 0;
      let before = await snapshots();
      return {
        ...running,
        countSeats: async (event) => {
          const isMade = async () => (await snapshots()) > before;
          await waitUntil("the server has made a snapshot", isMade, SNAPSHOT_MS_MAX);
          before = await snapshots();
          return running.countSeats!(event);
        },
      };
    },
  };
}

/** Waits until the audit trail has every record: catching up costs processor time later. */
export async function trailCaughtUp(url: URL): Promise<void> {
  const isCaughtUp = async () => (await metricOf(url, "frontrow_audit_lag_records")) === 0;
  await waitUntil("the audit trail has caught up", isCaughtUp, TRAIL_MS_MAX);
}

async function waitUntil(
  what: string,
  isTrue: () => Promise<boolean>,
  waitMsMax: number,
): Promise<void> {
  for (let waitedMs = 0; !(await isTrue()); waitedMs += POLL_MS) {
    if (waitedMs >= waitMsMax) throw new Error(`waited ${waitMsMax} ms until ${what}`);
    await setTimeout(POLL_MS);
  }
}

/** @param series - With its labels. @returns null when there is no such series. */
export async function metricOf(url: URL, series: string): Promise<number | null> {
  const metrics = await (await fetch(new URL("/metrics", url))).text();
  const line = metrics.split("\n").find((one) => one.startsWith(`${series} `));
  return line === undefined ? null : Number(line.slice(series.length));
}

function runningAt({ url, pid, stop }: Server): RunningContender {
  const venues = new Map<number, Venue>();
  return {
    target: targetAt(url),
    pids: [pid],
    openEvent: async (seatCount) => {
      const venue = venues.get(seatCount) ?? (await createVenue(url, TENANT_TOKEN, seatCount));
      venues.set(seatCount, venue);
      return openEvent(venue);
    },
    countSeats: async (event) => {
      const counts = await countStates(url, event);
      return new Map([...counts].map(([state, count]) => [STATES[state] ?? state, count]));
    },
    settle: () => trailCaughtUp(url),
    stop,
  };
}
