/** A fastify service in front of a database. */
import { type RunningProgram, startModule } from "../harness/processes.ts";
import { type EventOnSale, targetAt } from "../load/plan.ts";
import type { Contender, SeatCounts } from "./contender.ts";
import type { StoreName } from "./store.ts";
import { KEY, syntheticEvent } from "./synthetic-event.ts";

export interface Database {
  /** The port or path that the service connects to. */
  readonly address: string;
  /** The database server; absent if the database runs inside the service. */
  readonly pids: readonly number[];
  readonly addSeats: (event: EventOnSale) => Promise<void>;
  readonly countSeats: (event: EventOnSale) => Promise<SeatCounts>;
  readonly stop: RunningProgram["stop"];
}

interface Options {
  readonly name: string;
  readonly store: StoreName;
  readonly missing: () => string | null;
  readonly startDatabase: (folder: string) => Promise<Database>;
}

export function fastify({ name, store, missing, startDatabase }: Options): Contender {
  return {
    name,
    mixes: ["lock", "hot"],
    missing,
    start: async (folder) => {
      const { address, pids, addSeats, countSeats, stop } = await startDatabase(folder);
      const module = new URL("./fastify-server.js", import.meta.url);
      const service = await startModule(module, [store, address], { BENCH_KEY: KEY });
      return {
        target: targetAt(service.url),
        pids: [...pids, service.pid],
        openEvent: async (seatCount) => {
          const event = syntheticEvent(seatCount);
          await addSeats(event);
          return event;
        },
        countSeats,
        stop: async () => {
          await service.stop();
          await stop();
        },
      };
    },
  };
}
