/** The program of the webhooks' thread: handles its messages, and makes turns. */
import { workerData } from "node:worker_threads";
import { openDeliveries } from "../../persistence/deliveries.ts";
import { messageOf } from "../../persistence/disk/faults.ts";
import { emitterOf, LATER, portOfThisThread, serve } from "../../persistence/disk/worker.ts";
import { AuditGap } from "../../engine/queries/history.ts";
import { asking, type AskHistory } from "../../persistence/history/thread.ts";
import { attempt } from "./attempt.ts";
import { Courier, LISTED_MAX } from "./courier.ts";
import type { DeliveryPage, WebhookProgram, WebhookThreadData } from "./messages.ts";

/** Between two turns, so that several results share a transaction. */
const TURN_MS = 50;
/** Due lanes are looked for this often. */
const IDLE_TURN_MS = 1_000;
/** After a failure of the disk. */
const FAILED_TURN_MS = 5_000;
const COUNTS_EVERY_MS = 1_000;
const PRUNE_EVERY_MS = 3_600_000;
/** Retention of ended deliveries. */
const LISTED_MS = 30 * 86_400_000;

const { folder, storeId, allowsPrivate, sequence, webhooks } = workerData as WebhookThreadData;
const port = portOfThisThread();
const emit = emitterOf<WebhookProgram>(port);
const report = (message: string) => emit("report", message);
const file = openDeliveries({ folder, storeId, sequence, report });
let ask: AskHistory = () => Promise.resolve({ gap: AuditGap.UNAVAILABLE, extent: null });
const ports = {
  file,
  ask: ((question) => ask(question)) as AskHistory,
  attempt,
  allowsPrivate,
  nowMs: () => Date.now(),
  random: Math.random,
  emit,
  wake: () => wake(TURN_MS),
};
const courier = new Courier(ports, webhooks);
let timer: NodeJS.Timeout | undefined;
let dueMs = Infinity;
/** By action: the last reported failure. */
const failures = new Map<string, string>();
let countedMs = -Infinity;
let prunedMs = -Infinity;

/** Makes a turn after that time, or earlier. */
function wake(inMs: number): void {
  const atMs = performance.now() + inMs;
  if (atMs >= dueMs) return;
  clearTimeout(timer);
  dueMs = atMs;
  timer = setTimeout(turn, inMs);
}

function turn(): void {
  dueMs = Infinity;
  let hasMore = false;
  const isDone = tryTo("turn", () => (hasMore = courier.turn()));
  wake(!isDone ? FAILED_TURN_MS : hasMore ? TURN_MS : IDLE_TURN_MS);
  const nowMs = performance.now();
  if (nowMs - countedMs < COUNTS_EVERY_MS || !isDone) return;
  countedMs = nowMs;
  if (nowMs - prunedMs >= PRUNE_EVERY_MS) {
    prunedMs = nowMs;
    tryTo("prune", () => file.prune(Date.now() - LISTED_MS, LISTED_MAX));
  }
  tryTo("count", () => emit("counts", courier.counts));
}

/** Reports a failure of an action once, until it succeeds. @returns Whether it did. */
function tryTo(action: string, act: () => void): boolean {
  try {
    act();
    failures.delete(action);
    return true;
  } catch (error) {
    return failed(action, error);
  }
}

function failed(action: string, error: unknown): false {
  const message = messageOf(error);
  if (message !== failures.get(action)) report(message);
  failures.set(action, message);
  return false;
}

wake(0);
serve<WebhookProgram>(port, {
  put(webhook) {
    tryTo("put", () => courier.put(webhook));
    wake(TURN_MS);
  },
  remove: (webhookId) => void tryTo("remove", () => courier.remove(webhookId)),
  history: (peer) => void (ask = asking(peer)),
  follow(until, answering) {
    const following = courier.follow(until).catch((error) => failed("follow", error));
    const answer = (isDone: boolean) => {
      if (isDone) failures.delete("follow");
      wake(0);
      answering.done(isDone);
    };
    void following.then(answer);
    return LATER;
  },
  list({ webhookId, offset, limit }) {
    let page: DeliveryPage | null = null;
    tryTo("list", () => (page = file.list(webhookId, offset, limit)));
    return page;
  },
  retry(webhookId) {
    let due: number | null = null;
    tryTo("retry", () => (due = courier.retry(webhookId)));
    wake(0);
    return due;
  },
  test(webhook, answering) {
    void courier.test(webhook).then((outcome) => answering.done(outcome));
    return LATER;
  },
  end() {
    tryTo("close", () => courier.close());
    // Open connections would keep the thread alive.
    process.exit();
  },
});
