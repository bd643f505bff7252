/** The part of HTTP/1.1 that the load generator needs: prebuilt requests, and reading answers. */
import type { EventOnSale } from "./plan.ts";
import { type BookingKind, Outcome, type Wire } from "./wire.ts";

const HEAD_END = "\r\n\r\n";
const LENGTH = /^content-length: (\d+)/im;
const PAGE_SIZE = 100;

export class HttpWire implements Wire {
  readonly #event: EventOnSale;
  readonly #isGet: boolean;

  /** @param isGet - Sends GET without a body, for handlers that do not read one. */
  constructor(event: EventOnSale, isGet: boolean) {
    this.#event = event;
    this.#isGet = isGet;
  }

  booking(kind: BookingKind, pair: number, session: string): Buffer {
    const { eventId, seatIds } = this.#event;
    const path = `booking/${kind}?eventId=${eventId}`;
    if (this.#isGet) return this.#request("GET", path, "");
    const seats = seatIds.slice(pair * 2, pair * 2 + 2).map((id) => ({ id }));
    const body = JSON.stringify({ sessionId: session, seats });
    const head = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
    return this.#request("POST", path, head, body);
  }

  page(turn: number): Buffer {
    const { eventId, seatIds } = this.#event;
    const number = turn % Math.ceil(seatIds.length / PAGE_SIZE);
    return this.#request("GET", `events/${eventId}/seats/?size=${PAGE_SIZE}&page=${number}`, "");
  }

  #request(method: string, path: string, head: string, body = ""): Buffer {
    const common = `Host: bench\r\nX-API-Key: ${this.#event.key}\r\n`;
    const line = `${method} /api/private/v2.0/${path} HTTP/1.1\r\n`;
    return Buffer.from(`${line}${common}${head}\r\n${body}`);
  }

  /** `false` is the refusal of a handler that sends no problem document. */
  read(answer: string): Outcome {
    const headLength = answer.indexOf(HEAD_END);
    if (headLength < 0) return Outcome.PENDING;
    const bodyAt = headLength + HEAD_END.length;
    const missing = bodyAt + Number(LENGTH.exec(answer)?.[1]) - answer.length;
    if (missing > 0) return Outcome.PENDING;
    if (missing === 0 && answer.startsWith("HTTP/1.1 4")) return Outcome.REFUSED;
    if (missing === 0 && answer.startsWith("HTTP/1.1 2")) {
      return answer[bodyAt] === "f" ? Outcome.REFUSED : Outcome.DONE;
    }
    throw new Error(answer);
  }
}
