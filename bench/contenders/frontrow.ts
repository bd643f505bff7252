/** Frontrow itself: `frontrow serve` on an empty data folder. */
import path from "node:path";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Server, startModule } from "../harness/processes.ts";
import { MIXES, targetAt } from "../load/plan.ts";
import type { Contender, RunningContender } from "./contender.ts";
import { countSeats, createVenue, openEvent, TENANT_TOKEN, type Venue } from "./venue.ts";

/** The compiled program. */
export const CLI = fileURLToPath(new URL("../../server/cli.js", import.meta.url));
const POLL_MS = 50;
const POLLS_MAX = 1_200;

/**
 * @param args - Further arguments of `frontrow serve`.
 * @param preload - A module to load into its process first.
 */
export function startServer(
  folder: string,
  args: readonly string[] = [],
  preload?: URL,
): Promise<Server> {
  const data = path.join(folder, "data");
  const env = {
    FRONTROW_TENANT_TOKEN: TENANT_TOKEN,
    FRONTROW_ADMIN_EMAIL: "admin@example.org",
    FRONTROW_ADMIN_PASSWORD: "bench-password",
    FRONTROW_LOG_LEVEL: process.env["FRONTROW_LOG_LEVEL"] ?? "error",
  };
  const serve = ["serve", "--port", "0", "--data", data, ...args];
  return startModule(pathToFileURL(CLI), serve, { env, preload });
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
      const snapshots = () => metricOf(server.url, 'frontrow_snapshots_total{result="made"}');
      let before = await snapshots();
      return {
        ...runningAt(server),
        countSeats: async (event) => {
          await waitUntil("a snapshot is made", async () => (await snapshots()) > before);
          before = await snapshots();
          return countSeats(server.url, event);
        },
      };
    },
  };
}

export function runningAt({ url, pid, stop }: Server): RunningContender {
  const venues = new Map<number, Venue>();
  return {
    target: targetAt(url),
    pids: [pid],
    openEvent: async (seatCount) => {
      const venue = venues.get(seatCount) ?? (await createVenue(url, seatCount));
      venues.set(seatCount, venue);
      return openEvent(venue);
    },
    countSeats: (event) => countSeats(url, event),
    stop,
  };
}

async function waitUntil(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  for (let polls = 0; !(await isTrue()); polls++) {
    if (polls === POLLS_MAX) throw new Error(`gave up waiting until ${what}`);
    await setTimeout(POLL_MS);
  }
}

export async function metricsOf(url: URL): Promise<string> {
  return (await fetch(new URL("/metrics", url))).text();
}

/** @param series - With its labels. */
export async function metricOf(url: URL, series: string): Promise<number> {
  const metrics = await metricsOf(url);
  const line = metrics.split("\n").find((one) => one.startsWith(`${series} `));
  if (line === undefined) throw new Error(`the server has no metric ${series}`);
  return Number(line.slice(series.length));
}
