/** Typed reads and writes of everything except bookings. Reads are retried. */
import {
  API_PATH,
  STATUS_CREATED,
  STATUS_OK,
  STATUS_SERVER_ERROR_MIN,
  STATUS_TOO_MANY_REQUESTS,
} from "../contract.ts";
import { FatalError, unexpectedAnswer } from "./errors.ts";
import type { RetryPolicy } from "./retry-policy.ts";
import type { Answer, HttpRequest, Transport } from "./transport.ts";

export class ApiClient {
  readonly #transport: Transport;
  readonly #retryPolicy: RetryPolicy;

  constructor(transport: Transport, retryPolicy: RetryPolicy) {
    this.#transport = transport;
    this.#retryPolicy = retryPolicy;
  }

  /**
   * Reads a resource. Repeats the request while the answer is lost, 429 or 5xx.
   * @throws FatalError for any other answer than 200, and at the deadline.
   */
  async read<Body>(path: string): Promise<Body> {
    const request = { method: "GET", path: API_PATH + path } as const;
    for (let attempt = 0; ; attempt++) {
      const result = await this.#transport.send(request);
      if (result.kind === "answer" && !isTransient(result.status)) {
        return parseSuccess(request, result) as Body;
      }
      await this.#retryPolicy.waitAfter(result, attempt);
    }
  }

  /**
   * Creates or replaces something in one attempt: a write of unknown outcome is not repeated.
   * @throws FatalError for any answer except 200 and 201, and for a lost one.
   */
  async write<Body>(method: "POST" | "PUT", path: string, body: string): Promise<Body> {
    const request = { method, path: API_PATH + path, body };
    const result = await this.#transport.send(request);
    if (result.kind === "answer") return parseSuccess(request, result) as Body;
    throw new FatalError(`${method} ${request.path}: no answer (${result.reason})`);
  }
}

function isTransient(status: number): boolean {
  return status === STATUS_TOO_MANY_REQUESTS || status >= STATUS_SERVER_ERROR_MIN;
}

function parseSuccess(request: HttpRequest, answer: Answer): unknown {
  if (answer.status !== STATUS_OK && answer.status !== STATUS_CREATED) {
    throw unexpectedAnswer(request, answer);
  }
  return JSON.parse(answer.body.toString());
}
