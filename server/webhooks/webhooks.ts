/**
 * Webhooks on the server's thread. A thread of their own, started with the first webhook, forms and
 * sends the deliveries. The server's thread tells it of webhooks and of new records in the trail,
 * and does no work for a change of an event.
 */
import type { WebhookRow } from "../../engine/catalog.ts";
import type { Engine } from "../../engine/engine.ts";
import { ActorKind } from "../../engine/records.ts";
import { Result } from "../../engine/results.ts";
import { AuditGap } from "../../engine/queries/history.ts";
import { type StartWorker, WorkerClient, workerThread } from "../../persistence/disk/worker.ts";
import { Throttle } from "../auth/limits.ts";
import { FrontResult, type Problem } from "../http/answers.ts";
import type {
  DeliveryPage,
  GivenUp,
  SigningSecret,
  TestOutcome,
  Webhook,
  WebhookCounts,
  WebhookProgram,
} from "./messages.ts";
import type { AuditTrail } from "../live/changes.ts";

/** Changes of an event are followed this often, so those of half a second travel together. */
const FOLLOW_EVERY_MS = 500;
/** Lists and retries waiting for the thread. */
export const QUESTIONS_MAX = 100;
/** Tests under way, of one organization and in all: each takes up to 15 s. */
export const TESTS_OF_ORGANIZATION_MAX = 8;
export const TESTS_MAX = 64;
/** Of one webhook. */
export const TESTS_PER_MINUTE = 6;
const RESTART_MS = 10_000;
const END_MS_MAX = 2_000;
const ASKER = "webhooks";
const NOTHING: DeliveryPage = { rows: [], total: 0 };
const NO_COUNTS: WebhookCounts = {
  lanes: 0,
  inFlight: 0,
  waitingBytes: 0,
  draftPlaces: 0,
  succeeded: 0,
  failed: 0,
  followed: 0,
};

const TOO_MANY_TESTS: Problem = {
  refused: Result.OVERLOADED,
  detail: "Too many tests of webhooks are under way; try again when they have ended.",
};

const NOT_TESTED: Problem = {
  refused: Result.OVERLOADED,
  detail: "Webhooks cannot be tested at present; try again in a few seconds.",
};

function tooManyOf(waitMs: number): Problem {
  const seconds = String(Math.ceil(waitMs / 1_000));
  return {
    refused: FrontResult.RATE_LIMITED,
    detail: `A webhook may be tested ${TESTS_PER_MINUTE} times a minute; try again in ${seconds} s.`,
    headers: [["Retry-After", seconds]],
  };
}

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

type Question<K extends keyof WebhookProgram["requests"]> = Parameters<
  WebhookProgram["requests"][K]
>[0];

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
  /** Lists and retries waiting for the thread. */
  #questions = 0;
  /** Tests under way. */
  readonly #tests = new Set<{ readonly organizationId: number }>();
  /** By id of the webhook. */
  readonly #tested = new Throttle(TESTS_PER_MINUTE);
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
    // A webhook no thread was told of has no deliveries.
    const isKnown = this.#worker.isRunning || this.#sent.has(webhookId);
    if (!isKnown) return Promise.resolve(NOTHING);
    return this.#question("list", { webhookId, offset, limit });
  }

  /** Makes the backlog due. @returns How many deliveries waited; null when it cannot be done now. */
  retry(webhookId: number): Promise<number | null> {
    return this.#question("retry", webhookId);
  }

  /** Sends a delivery of type `test`; the row may be of an inactive webhook. Takes up to 15 s. */
  async test(row: WebhookRow): Promise<TestOutcome | Problem> {
    const { engine, keys } = this.#options;
    const { id, url, organizationId } = row;
    const own = [...this.#tests].filter((test) => test.organizationId === organizationId);
    const isFull = this.#tests.size >= TESTS_MAX || own.length >= TESTS_OF_ORGANIZATION_MAX;
    if (isFull) return TOO_MANY_TESTS;
    const waitMs = this.#tested.take(String(id), engine.nowMs());
    if (waitMs > 0) return tooManyOf(waitMs);
    const test = { organizationId };
    this.#tests.add(test);
    const outcome = await this.#ask("test", { url, secrets: keys.webhookSecrets(row) });
    this.#tests.delete(test);
    return outcome ?? NOT_TESTED;
  }

  async #question<K extends "list" | "retry">(name: K, argument: Question<K>) {
    if (this.#questions >= QUESTIONS_MAX) return null;
    this.#questions += 1;
    const result = await this.#ask(name, argument);
    this.#questions -= 1;
    return result;
  }

  /** @returns Null when the thread does not run, or has failed. */
  async #ask<K extends keyof WebhookProgram["requests"]>(
    name: K,
    argument: Question<K>,
  ): Promise<ReturnType<WebhookProgram["requests"][K]> | null> {
    const { engine } = this.#options;
    const rows = [...engine.state.catalog.webhooks.values()];
    // Nothing of a change that a crash could undo reaches a receiver.
    await new Promise<void>((resolve) => {
      engine.afterDurable(resolve);
    });
    if (this.#timer === null || !this.#start(rows)) return null;
    return new Promise((resolve) => {
      this.#worker.ask(name, argument, (reply) => {
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
    if (!this.#start(rows)) {
      this.#isFollowing = false;
      return;
    }
    for (const row of rows) {
      if (this.#sent.get(row.id)?.row !== row) this.#worker.tell("put", this.#noted(row));
    }
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

  /** @param rows - On disk. @returns Whether the thread runs: it rests after its end. */
  #start(rows: readonly WebhookRow[]): boolean {
    if (this.#worker.isRunning) return true;
    if (performance.now() - this.#startedMs < RESTART_MS) return false;
    this.#startedMs = performance.now();
    this.#webhooks = rows.map((row) => this.#noted(row));
    this.#worker.start();
    const port = this.#options.audit.connect?.();
    if (port !== undefined) this.#worker.tell("history", port, [port]);
    return true;
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

  /** The row as the thread gets it now. */
  #noted(row: WebhookRow): Webhook {
    const version = (this.#versions += 1);
    this.#sent.set(row.id, { row, version });
    const { keyVersion: _keyVersion, retiredKey: _retiredKey, ...members } = row;
    return { ...members, secrets: this.#options.keys.webhookSecrets(row), version };
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
