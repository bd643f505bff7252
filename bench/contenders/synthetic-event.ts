/** Events for contenders without layouts: invented ids of the same length as Frontrow's. */
import { randomUUID } from "node:crypto";
import type { EventOnSale } from "../load/plan.ts";

/** The API key that the alternatives look up; as long as Frontrow's secret keys. */
export const KEY = "b".repeat(48);
const FIRST_SEAT_ID = 1_001;

export function syntheticEvent(seatCount: number): EventOnSale {
  const seatIds = Array.from({ length: seatCount }, (_, i) => FIRST_SEAT_ID + i);
  return { key: KEY, eventId: randomUUID(), seatIds };
}
