/** A fastify service in front of a database. */
import { startModule } from "../harness/processes.ts";
import { type EventOnSale, targetAt } from "../load/plan.ts";
import {
  type Contender,
  KEY,
  type RunningContender,
  type SeatCounts,
  syntheticEvent,
} from "./contender.ts";
import type { StoreName } from "./store.ts";

export interface DatabaseServer extends Pick<Contender, "missing"> {
  /** @param folder - Empty, for this database only. */
  readonly start: (folder: string) => Promise<Database>;
}

/** `pids` is empty if the database runs inside the service. */
export interface Database extends Pick<RunningContender, "pids" | "stop"> {
  /** The port or path that the service connects to. */
  readonly address: string;
  readonly addSeats: (event: EventOnSale) => Promise<void>;
  readonly countSeats: (event: EventOnSale) => Promise<SeatCounts>;
}

export function fastify(name: string, store: StoreName, server: DatabaseServer): Contender {
  return {
    name,
    mixes: ["lock", "hot"],
    missing: server.missing,
    start: async (folder) => {
      const database = await server.start(folder);
      const module = new URL("./fastify-server.js", import.meta.url);
      const service = await startModule(module, [store, database.address], {
        env: { BENCH_KEY: KEY },
      });
      return {
        target: targetAt(service.url),
        pids: [...database.pids, service.pid],
        openEvent: async (seatCount) => {
          const event = syntheticEvent(seatCount);
          await database.addSeats(event);
          return event;
        },
        countSeats: database.countSeats,
        stop: async () => {
          await service.stop();
          await database.stop();
        },
      };
    },
  };
}
