/** Interface of a compared server, and an event for servers without layouts. */
import { randomUUID } from "node:crypto";
import type { EventOnSale, Mix, Target } from "../load/plan.ts";

export interface Contender {
  readonly name: string;
  readonly mixes: readonly Mix[];
  /** @returns The command to install a missing program on this machine; null when nothing is. */
  readonly missing: () => string | null;
  /** @param folder - Empty, for this contender only. */
  readonly start: (folder: string) => Promise<RunningContender>;
}

export interface RunningContender {
  readonly target: Target;
  /** The processes that were started; their children are added. */
  readonly pids: readonly number[];
  /** A new event with every seat free. @param seatCount - A multiple of 100. */
  readonly openEvent: (seatCount: number) => Promise<EventOnSale>;
  /** Checks every seat. Absent for handlers that keep no state. */
  readonly countSeats?: (event: EventOnSale) => Promise<SeatCounts>;
  readonly stop: () => Promise<void>;
}

/** Number of seats by state: `free`, `locked` or `sold`. States without seats are absent. */
export type SeatCounts = ReadonlyMap<string, number>;

/** The API key that the alternatives look up; as long as Frontrow's secret keys. */
export const KEY = "b".repeat(48);
const FIRST_SEAT_ID = 1_001;

/** An event for contenders without layouts: invented ids of the same length as Frontrow's. */
export function syntheticEvent(seatCount: number): EventOnSale {
  const seatIds = Array.from({ length: seatCount }, (_, i) => FIRST_SEAT_ID + i);
  return { key: KEY, eventId: randomUUID(), seatIds };
}
