/** The web origins that may use tickets, and what their browsers are told. */
import { type Answer, varying } from "../wire/answers.ts";
import type { RequestHead } from "../wire/front.ts";

export class Origins {
  readonly #allowed: ReadonlySet<string>;

  constructor(allowed: readonly string[]) {
    this.#allowed = new Set(allowed.map((origin) => origin.toLowerCase()));
  }

  /** Whether a request with a ticket may come from there: from no web page, too. */
  allows({ origin = "", host = "" }: RequestHead): boolean {
    const from = origin.toLowerCase();
    return from === "" || this.#allowed.has(from) || isOwn(from, host.toLowerCase());
  }

  /** Lets pages of an allowed origin read the answer. */
  show(answer: Answer, { origin = "" }: RequestHead): Answer {
    if (this.#allowed.size === 0) return answer;
    const varied = varying(answer, "Origin");
    if (!this.#allowed.has(origin.toLowerCase())) return varied;
    const headers = [
      ...varied.headers,
      ["Access-Control-Allow-Origin", origin],
      ["Access-Control-Expose-Headers", "X-Sequence"],
    ] as const;
    return { ...varied, headers };
  }
}

function isOwn(origin: string, host: string): boolean {
  return host !== "" && (origin === `https://${host}` || origin === `http://${host}`);
}
