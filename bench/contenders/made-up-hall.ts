/** Halls of the contenders that have no layouts: ids are made up, as long as Frontrow's. */
import { randomUUID } from "node:crypto";
import type { Hall } from "../load/plan.ts";

/** The key that the alternatives look up; as long as Frontrow's secret keys. */
export const KEY = "b".repeat(48);
const FIRST_SEAT_ID = 1_001;

export function madeUpHall(seatCount: number): Hall {
  const seatIds = Array.from({ length: seatCount }, (_, i) => FIRST_SEAT_ID + i);
  return { key: KEY, eventId: randomUUID(), seatIds };
}
