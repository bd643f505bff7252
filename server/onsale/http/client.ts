/** Reads and writes of the interface apart from booking: typed, and patient where that is safe. */

import {
  API_PATH,
  STATUS_CREATED,
  STATUS_OK,
  STATUS_SERVER_ERROR_MIN,
  STATUS_TOO_MANY_REQUESTS,
} from "../contract.ts";
import { HaltError } from "./halt.ts";
import type { Patience } from "./patience.ts";
import { haltOf } from "./problem.ts";
import type { Answered, Wire, WireRequest } from "./wire.ts";

export class Client {
  readonly #wire: Wire;
  readonly #patience: Patience;

  constructor(wire: Wire, patience: Patience) {
    this.#wire = wire;
    this.#patience = patience;
  }

  /**
   * Reads a resource; a read that was lost is simply sent again.
   * @throws HaltError for any answer but 200, and when patience is over.
   */
  async read<Body>(path: string): Promise<Body> {
    const request = { method: "GET", path: API_PATH + path } as const;
    for (let attempt = 0; ; attempt++) {
      const exchanged = await this.#wire.exchange(request);
      if (exchanged.kind === "lost") {
        await this.#patience.backOff(attempt);
        await this.#patience.afterLoss();
      } else if (isBusy(exchanged.status)) {
        await this.#patience.backOff(attempt);
      } else {
        return parseSuccess(request, exchanged) as Body;
      }
    }
  }

  /**
   * Creates or replaces something, in one attempt: a write of unknown outcome is not repeated.
   * @throws HaltError for any answer but 200 and 201, and for a lost connection.
   */
  async write<Body>(method: "POST" | "PUT", path: string, body: string): Promise<Body> {
    const request = { method, path: API_PATH + path, body };
    const exchanged = await this.#wire.exchange(request);
    if (exchanged.kind === "lost") {
      throw new HaltError(`${method} ${request.path}: no answer (${exchanged.reason})`);
    }
    return parseSuccess(request, exchanged) as Body;
  }
}

function isBusy(status: number): boolean {
  return status === STATUS_TOO_MANY_REQUESTS || status >= STATUS_SERVER_ERROR_MIN;
}

function parseSuccess(request: WireRequest, answered: Answered): unknown {
  if (answered.status !== STATUS_OK && answered.status !== STATUS_CREATED) {
    throw haltOf(request, answered);
  }
  return JSON.parse(answered.body.toString());
}
