/** Sends bookings as commands over one WebSocket. The results are those of requests. */
import { type Call, CommandClient, ConnectionRefused } from "../../client/client.ts";
import { STATUS_OK, STATUS_SERVER_ERROR_MIN } from "../contract.ts";
import type { Statistics } from "../statistics.ts";
import { FatalError } from "./errors.ts";
import type { HttpRequest, HttpResult, ServerOptions } from "./transport.ts";

/** The body of a booking. */
interface Selection {
  readonly sessionId: string;
  readonly seats: readonly { readonly id: number }[];
  readonly groupOfSeats: readonly { readonly id: number; readonly capacity: number }[];
}

export class SocketTransport {
  readonly #client: CommandClient;
  readonly #statistics: Statistics;

  constructor({ url, key }: ServerOptions, statistics: Statistics) {
    // The buyers find out about unknown outcomes themselves.
    this.#client = new CommandClient({ url: url.map(({ href }) => href), key, repeats: false });
    this.#statistics = statistics;
  }

  /** @throws FatalError when the server refuses the connection. */
  async send({ path, body = "{}", onSend }: HttpRequest): Promise<HttpResult> {
    const [resource = "", query] = path.split("?");
    const call = resource.slice(resource.lastIndexOf("/") + 1) as Call;
    const eventId = new URLSearchParams(query).get("eventId")!;
    onSend?.();
    const sentAtMs = performance.now();
    try {
      const booking = { eventId, ...(JSON.parse(body) as Selection) };
      const result = await this.#client.send(call, booking);
      const durationMs = performance.now() - sentAtMs;
      const status = result.ok ? STATUS_OK : result.problem.status;
      this.#statistics.requests += 1;
      if (status >= STATUS_SERVER_ERROR_MIN) this.#statistics.serverErrors.increment(status);
      const answer = Buffer.from(JSON.stringify(result.ok ? result.value : result.problem));
      return { kind: "answer", status, body: answer, durationMs };
    } catch (error) {
      const { message } = error as Error;
      if (error instanceof ConnectionRefused) throw new FatalError(message);
      return { kind: "lost", wasSent: true, reason: message };
    }
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.#client.destroy();
  }
}
