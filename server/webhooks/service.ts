/** The work of the thread of the webhooks: handles its messages, and makes turns. */
import type { Courier } from "./courier.ts";
import type { DeliveryPage } from "../routing/services.ts";
import type { FromWebhooks, ToWebhooks } from "./messages.ts";

/** Between two turns, so that several results share a transaction. */
const TURN_MS = 50;
/** Lanes whose time has come are looked for this often. */
const IDLE_TURN_MS = 1_000;
/** After a failure of the disk. */
const FAILED_TURN_MS = 5_000;
const COUNTS_EVERY_MS = 1_000;
const PRUNE_EVERY_MS = 3_600_000;
/** How long deliveries that have ended are listed. */
const LISTED_MS = 30 * 86_400_000;
/** Deliveries of a webhook that are listed, whatever their age. */
export const LISTED_MAX = 100_000;

interface Port {
  on(event: "message", listener: (message: ToWebhooks) => void): unknown;
  send(message: FromWebhooks): void;
  close(): void;
}

/** What was sent, wherever it is kept. */
interface Deliveries {
  list(webhookId: number, offset: number, limit: number): DeliveryPage;
  prune(beforeMs: number, newest: number): void;
}

export class WebhookService {
  readonly #port: Port;
  readonly #courier: Courier;
  readonly #deliveries: Deliveries;
  #timer: NodeJS.Timeout | null = null;
  #dueMs = Infinity;
  #failure = "";
  #countedMs = -Infinity;
  #prunedMs = -Infinity;
  #hasEnded = false;

  constructor(port: Port, courier: Courier, deliveries: Deliveries) {
    this.#port = port;
    this.#courier = courier;
    this.#deliveries = deliveries;
    port.on("message", (message) => this.#hear(message));
    this.wake(0);
  }

  /** Makes a turn after that time, or earlier. */
  wake(inMs = TURN_MS): void {
    const dueMs = performance.now() + inMs;
    if (this.#hasEnded || dueMs >= this.#dueMs) return;
    clearTimeout(this.#timer ?? undefined);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => this.#turn(), inMs);
  }

  #turn(): void {
    this.#dueMs = Infinity;
    let hasMore = false;
    const isDone = this.#attempt(() => (hasMore = this.#courier.turn()));
    this.wake(!isDone ? FAILED_TURN_MS : hasMore ? TURN_MS : IDLE_TURN_MS);
    const nowMs = performance.now();
    if (nowMs - this.#countedMs < COUNTS_EVERY_MS || !isDone) return;
    this.#countedMs = nowMs;
    if (nowMs - this.#prunedMs >= PRUNE_EVERY_MS) {
      this.#prunedMs = nowMs;
      this.#attempt(() => this.#deliveries.prune(Date.now() - LISTED_MS, LISTED_MAX));
    }
    this.#attempt(() => this.#send({ kind: "counts", counts: this.#courier.counts }));
  }

  #send(message: FromWebhooks): void {
    this.#port.send(message);
  }

  /** Reports a failure once, however often it happens. @returns Whether there was none. */
  #attempt(act: () => void): boolean {
    try {
      act();
      this.#failure = "";
      return true;
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      if (message !== this.#failure) this.#send({ kind: "report", message });
      this.#failure = message;
      return false;
    }
  }

  #hear(message: ToWebhooks): void {
    switch (message.kind) {
      case "put":
        this.#attempt(() => this.#courier.put(message.webhook));
        return this.wake();
      case "remove":
        return void this.#attempt(() => this.#courier.remove(message.webhookId));
      case "follow":
        this.#attempt(() => this.#courier.follow(message.sequence));
        this.#send({ kind: "followed" });
        return this.wake(0);
      case "list": {
        const { id, webhookId, offset, limit } = message;
        let page: DeliveryPage | null = null;
        this.#attempt(() => (page = this.#deliveries.list(webhookId, offset, limit)));
        return this.#send({ kind: "listed", id, page });
      }
      case "end":
        this.#hasEnded = true;
        clearTimeout(this.#timer ?? undefined);
        this.#attempt(() => this.#courier.close());
        return this.#port.close();
    }
    return message satisfies never;
  }
}
