/** RESP, the protocol of Redis: `EVALSHA` of the scripts in `redis-scripts.ts`, answered 1 or 0. */
import type { EventOnSale } from "./plan.ts";
import { SCRIPTS } from "./redis-scripts.ts";
import { type AnswerReader, type BookingKind, Outcome, type Wire } from "./wire.ts";

const COLON = 58;
const DIGIT_1 = 49;
const LINE_FEED = 10;

export class RespWire implements Wire {
  readonly #event: EventOnSale;

  constructor(event: EventOnSale) {
    this.#event = event;
  }

  booking(kind: BookingKind, pair: number, session: string): Buffer {
    const { eventId, seatIds } = this.#event;
    const script = SCRIPTS[kind];
    const seats = [seatIds[pair * 2]!, seatIds[pair * 2 + 1]!].map(String);
    const words = ["EVALSHA", script.sha, "1", `seats:${eventId}`, session, ...seats];
    const bulks = words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`);
    return Buffer.from(`*${words.length}\r\n${bulks.join("")}`);
  }

  page(): Buffer {
    throw new Error("RESP has no seats listing");
  }

  reader(): AnswerReader {
    return new RespReader();
  }
}

/** `:1` or `:0`; anything else is an error. */
class RespReader implements AnswerReader {
  #kind = 0;
  #value = 0;
  #seen = 0;

  read(buffer: Buffer, length: number): Outcome {
    for (let at = 0; at < length; at++, this.#seen++) {
      if (this.#seen === 0) this.#kind = buffer[at]!;
      if (this.#seen === 1) this.#value = buffer[at]!;
    }
    if (buffer[length - 1] !== LINE_FEED) return Outcome.PENDING;
    this.#seen = 0;
    if (this.#kind !== COLON) return Outcome.FAILED;
    return this.#value === DIGIT_1 ? Outcome.DONE : Outcome.REFUSED;
  }
}
