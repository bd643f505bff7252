/**
 * Webhooks on the server's thread. A thread of their own, started with the first webhook, forms and
 * sends the deliveries. The server's thread tells it of webhooks and of new records in the trail,
 * and does no work for a change of an event.
 */
import type { WebhookRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import { ActorKind } from "../../engine/records.ts";
import { AuditGap } from "../../engine/queries/history.ts";
import { type StartWorker, WorkerClient, workerThread } from "../../persistence/disk/worker.ts";
import type {
  DeliveryPage,
  GivenUp,
  SigningSecret,
  Webhook,
  WebhookCounts,
  WebhookProgram,
} from "./messages.ts";
import type { AuditTrail } from "../live/changes.ts";

/** Changes of an event are followed this often, so those of half a second travel together. */
const FOLLOW_EVERY_MS = 500;
/** Lists of deliveries waiting for the thread. */
export const LISTS_MAX = 100;
const RESTART_MS = 10_000;
const END_MS_MAX = 2_000;
const ASKER = "webhooks";
const NOTHING: DeliveryPage = { rows: [], total: 0 };
const NO_COUNTS: WebhookCounts = {
  lanes: 0,
  inFlight: 0,
  waitingBytes: 0,
  succeeded: 0,
  failed: 0,
  followed: 0,
};

export interface WebhookOptions {
  readonly engine: Engine;
  readonly audit: AuditTrail;
  readonly keys: { webhookSecrets(webhook: WebhookRow): readonly SigningSecret[] };
  readonly folder: string;
  readonly storeId: string;
  readonly allowsPrivate: boolean;
  readonly report: (message: string) => void;
}

export type StartWebhookThread = StartWorker<WebhookProgram>;

const startReal: StartWebhookThread = workerThread(
  new URL("worker.js", import.meta.url),
  "frontrow webhooks",
);

/** As it was sent to the thread. */
interface Sent {
  readonly row: WebhookRow;
  readonly version: number;
}

export class Webhooks {
  readonly #options: WebhookOptions;
  readonly #worker: WorkerClient<WebhookProgram>;
  /** As of the start of the thread. */
  #webhooks: readonly Webhook[] = [];
  /** The last record when the server started. */
  readonly #startSequence: number;
  #timer: NodeJS.Timeout | null = null;
  #startedMs = -Infinity;
  /** By id. */
  readonly #sent = new Map<number, Sent>();
  #versions = 0;
  /** The last record the thread was told to follow. */
  #followed = -1;
  #isFollowing = false;
  /** Lists of deliveries waiting for the thread. */
  #lists = 0;
  #counts = NO_COUNTS;
  /** Counts of ended threads. */
  readonly #before = { succeeded: 0, failed: 0 };
  disabled = 0;

  constructor(options: WebhookOptions, start = startReal) {
    this.#options = options;
    this.#startSequence = options.engine.sequence;
    const { folder, storeId, allowsPrivate, report } = options;
    this.#worker = new WorkerClient({
      start,
      data: () => ({
        folder,
        storeId,
        allowsPrivate,
        sequence: this.#startSequence,
        webhooks: this.#webhooks,
      }),
      on: {
        counts: (counts) => (this.#counts = counts),
        disable: (givenUp) => this.#disable(givenUp),
        report,
      },
      onError: ({ message }) => report(message),
      onExit: () => this.#ended(),
    });
  }

  get allowsPrivate(): boolean {
    return this.#options.allowsPrivate;
  }

  /** Begins to send. */
  begin(): void {
    this.#timer = setInterval(() => this.#tick(), FOLLOW_EVERY_MS);
    this.#timer.unref();
    this.#tick();
  }

  get counts(): WebhookCounts {
    const { succeeded, failed } = this.#before;
    const counts = this.#counts;
    return { ...counts, succeeded: counts.succeeded + succeeded, failed: counts.failed + failed };
  }

  /** Records on disk, and not followed yet, while there are active webhooks. */
  get lagRecords(): number {
    const { engine } = this.#options;
    if (!this.#worker.isRunning || this.#counts.followed === 0) return 0;
    if (!hasActive(engine.state.catalog.webhooks.values())) return 0;
    return Math.max(0, engine.sequence - this.#counts.followed);
  }

  /** @returns Null when the deliveries cannot be read now. */
  list(webhookId: number, offset: number, limit: number): Promise<DeliveryPage | null> {
    if (!this.#worker.isRunning || this.#lists >= LISTS_MAX) {
      // A webhook no thread was told of has no deliveries.
      return Promise.resolve(this.#sent.has(webhookId) ? null : NOTHING);
    }
    this.#lists += 1;
    return new Promise((resolve) => {
      this.#worker.ask("list", { webhookId, offset, limit }, (reply) => {
        this.#lists -= 1;
        resolve(reply.failure === null ? reply.result : null);
      });
    });
  }

  /** Ends the thread. Tries under way are made again after the next start. */
  async close(): Promise<void> {
    clearInterval(this.#timer ?? undefined);
    this.#timer = null;
    if (!this.#worker.isRunning) return;
    const { ended } = this.#worker;
    this.#worker.tell("end", null);
    const timer = setTimeout(() => void this.#worker.terminate(), END_MS_MAX);
    await ended;
    clearTimeout(timer);
  }

  /** Sends the changes to the thread, once they are on disk. */
  #tick(): void {
    const { engine } = this.#options;
    const { webhooks } = engine.state.catalog;
    if (!this.#worker.isRunning && webhooks.size === 0) return;
    if (this.#isFollowing || engine.sequence === this.#followed) return;
    this.#isFollowing = true;
    const rows = [...webhooks.values()];
    const { sequence } = engine;
    engine.afterDurable(() => void this.#tell(rows, sequence));
  }

  async #tell(rows: readonly WebhookRow[], sequence: number): Promise<void> {
    if (this.#timer === null) return;
    const isNew = !this.#worker.isRunning;
    if (isNew && performance.now() - this.#startedMs < RESTART_MS) {
      this.#isFollowing = false;
      return;
    }
    const changed = rows
      .filter((row) => this.#sent.get(row.id)?.row !== row)
      .map((row) => this.#note(row));
    if (isNew) {
      this.#startedMs = performance.now();
      this.#webhooks = rows.map((row) => this.#shown(row));
      this.#worker.start();
    } else for (const webhook of changed) this.#worker.tell("put", webhook);
    const ids = new Set(rows.map(({ id }) => id));
    for (const webhookId of this.#sent.keys()) {
      if (ids.has(webhookId)) continue;
      this.#sent.delete(webhookId);
      this.#worker.tell("remove", webhookId);
    }
    // Without active webhooks the trail need not have the records yet.
    if (hasActive(rows)) await this.#follow(sequence);
    else this.#followed = sequence;
    this.#isFollowing = false;
  }

  async #follow(sequence: number): Promise<void> {
    // The trail answers when it has all records on disk.
    const { gap } = await this.#options.audit.ask({ about: "owner", eventId: "" }, ASKER);
    const isRead = gap !== AuditGap.BUSY && gap !== AuditGap.UNAVAILABLE;
    if (!this.#worker.isRunning || !isRead) return;
    await new Promise<void>((resolve) => {
      this.#worker.ask("follow", sequence, (reply) => {
        // Otherwise the next tick asks again: there may be no further record for a long time.
        if (reply.failure === null && reply.result) this.#followed = sequence;
        resolve();
      });
    });
  }

  #note(row: WebhookRow): Webhook {
    this.#sent.set(row.id, { row, version: (this.#versions += 1) });
    return this.#shown(row);
  }

  #shown(row: WebhookRow): Webhook {
    const { keyVersion: _keyVersion, retiredKey: _retiredKey, ...members } = row;
    const secrets = this.#options.keys.webhookSecrets(row);
    return { ...members, secrets, version: this.#sent.get(row.id)!.version };
  }

  /** Another thread takes over. It finds the work of this one in the file. */
  #ended(): void {
    this.#followed = -1;
    this.#before.succeeded += this.#counts.succeeded;
    this.#before.failed += this.#counts.failed;
    this.#counts = NO_COUNTS;
    this.#isFollowing = false;
  }

  /** A changed webhook is not disabled: the thread is about to hear of the change. */
  #disable({ webhookId, version, reason }: GivenUp): void {
    const { engine } = this.#options;
    const sent = this.#sent.get(webhookId);
    const row = engine.state.catalog.webhooks.get(webhookId);
    if (row === undefined || sent?.row !== row || sent.version !== version) return;
    const { organizationId } = row;
    const { tenantId } = engine.state.catalog.organizations.get(organizationId)!;
    const caller = { actor: { kind: ActorKind.SYSTEM, id: 0 }, tenantId, organizationId };
    const { refused } = engine.submit({ kind: "disableWebhook", caller, webhookId, reason });
    if (refused === 0) this.disabled += 1;
    // Then the webhook is tried again, and given up again.
    else this.#sent.delete(webhookId);
  }
}

function hasActive(rows: Iterable<WebhookRow>): boolean {
  for (const { active } of rows) if (active) return true;
  return false;
}
