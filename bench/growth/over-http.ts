/** Durable locks a second over HTTP on a server that has much to look after. */
import { metricOf, startServer, TENANT_TOKEN, trailCaughtUp } from "../contenders/frontrow.ts";
import { buildHouse, openShow } from "../contenders/house.ts";
import type { Generator } from "../load/generator-process.ts";
import type { Hall, Target } from "../load/plan.ts";
import { isTrial } from "../rounds/trial.ts";
import type { Size } from "./series.ts";

const CONNECTIONS = isTrial ? 4 : 256;
const DURATION_MS = isTrial ? 50 : 2_000;
/** Events that are put on sale at the same time. */
const OPENED_AT_ONCE = 16;

export interface Served extends Size {
  stop(): Promise<void>;
}

/** @param folder - Empty, and the server's own. @param seats - Of each event. */
export async function serveEvents(
  generator: Generator,
  folder: string,
  { events, seats }: { readonly events: number; readonly seats: number },
): Promise<Served> {
  const server = await startServer(folder);
  const house = await buildHouse(server.url, TENANT_TOKEN, seats);
  const halls: Hall[] = [];
  while (halls.length < events) {
    const count = Math.min(OPENED_AT_ONCE, events - halls.length);
    halls.push(...(await Promise.all(Array.from({ length: count }, () => openShow(house)))));
  }
  const target: Target = {
    protocol: "http",
    host: server.url.hostname,
    port: Number(server.url.port),
  };
  const load = { connections: CONNECTIONS, durationMs: DURATION_MS, halls, seed: 1 };
  return {
    x: events * seats,
    play: async () => {
      const measured = await generator.drive({ ...load, mix: "wide", target });
      const holds = await metricOf(server.url, "frontrow_holds");
      if (measured.refused > 0 || holds !== 0)
        throw new Error(`no result: ${holds} holds are left`);
      await trailCaughtUp(server.url);
      return measured.requestsPerSecond;
    },
    stop: () => server.stop(),
  };
}
