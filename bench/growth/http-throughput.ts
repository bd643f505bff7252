/** Durable locks per second over HTTP, on a server with many events or seats. */
import { metricOf, startServer, trailCaughtUp } from "../contenders/frontrow.ts";
import { createVenue, openEvent } from "../contenders/venue.ts";
import { isTrial } from "../harness/command.ts";
import type { Generator } from "../load/generator-process.ts";
import { type EventOnSale, targetAt } from "../load/plan.ts";

const CONNECTIONS = isTrial ? 4 : 256;
const DURATION_MS = isTrial ? 50 : 2_000;
const EVENTS_OPENED_AT_ONCE = 16;

export interface ServedEvents {
  readonly measure: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

/** @param folder - Empty, for this server only. @param seats - Of each event. */
export async function serveEvents(
  generator: Generator,
  folder: string,
  { events: count, seats }: { readonly events: number; readonly seats: number },
): Promise<ServedEvents> {
  const { url, stop } = await startServer(folder);
  const venue = await createVenue(url, seats);
  const events: EventOnSale[] = [];
  while (events.length < count) {
    const length = Math.min(EVENTS_OPENED_AT_ONCE, count - events.length);
    events.push(...(await Promise.all(Array.from({ length }, () => openEvent(venue)))));
  }
  const target = targetAt(url);
  const load = { connections: CONNECTIONS, durationMs: DURATION_MS, events, seed: 1 };
  return {
    measure: async () => {
      const measured = await generator.drive({ ...load, mix: "wide", target });
      const holds = await metricOf(url, "frontrow_holds");
      if (measured.refused > 0 || holds > 0) {
        throw new Error(`${measured.refused} requests were refused, ${holds} holds are left`);
      }
      await trailCaughtUp(url);
      return measured.requestsPerSecond;
    },
    stop,
  };
}
