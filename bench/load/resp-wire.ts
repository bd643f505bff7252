/** RESP, the protocol of Redis: `EVALSHA` of the scripts in `redis-scripts.ts`, answered 1 or 0. */
import type { EventOnSale } from "./plan.ts";
import { SCRIPTS } from "./redis-scripts.ts";
import { type BookingKind, Outcome, type Wire } from "./wire.ts";

export class RespWire implements Wire {
  readonly #event: EventOnSale;

  constructor(event: EventOnSale) {
    this.#event = event;
  }

  booking(kind: BookingKind, pair: number, session: string): Buffer {
    const { eventId, seatIds } = this.#event;
    const seats = seatIds.slice(pair * 2, pair * 2 + 2).map(String);
    const words = ["EVALSHA", SCRIPTS[kind].sha, "1", `seats:${eventId}`, session, ...seats];
    const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    return Buffer.from(`*${words.length}\r\n${bulks.join("")}`);
  }

  page(): Buffer {
    throw new Error("RESP has no seats listing");
  }

  read(answer: string): Outcome {
    if (!answer.endsWith("\n")) return Outcome.PENDING;
    if (answer === ":1\r\n") return Outcome.DONE;
    if (answer === ":0\r\n") return Outcome.REFUSED;
    throw new Error(answer);
  }
}
