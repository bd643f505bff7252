/** The program of the thread of the webhooks. */
import { workerData } from "node:worker_threads";
import { emitterOf, portOfThisThread, serve } from "../../persistence/disk/worker.ts";
import { realDisk } from "../../persistence/disk/disk.ts";
import { openDeliveries } from "../../persistence/deliveries.ts";
import { FollowedHistory } from "../../persistence/history/followed.ts";
import { attempt } from "./attempt.ts";
import { Courier, WebhookService } from "./courier.ts";
import type { WebhookProgram, WebhookThreadData } from "./messages.ts";

const { folder, storeId, allowsPrivate, sequence, webhooks } = workerData as WebhookThreadData;
const port = portOfThisThread();
const emit = emitterOf<WebhookProgram>(port);
const report = (message: string) => emit("report", message);
const file = openDeliveries({ folder, storeId, sequence, report });
const ports = {
  file,
  openHistory: () => new FollowedHistory({ disk: realDisk, folder, storeId }),
  attempt,
  allowsPrivate,
  nowMs: () => Date.now(),
  random: Math.random,
  disable: ({ id: webhookId, version }: { id: number; version: number }, reason: string) =>
    emit("disable", { webhookId, version, reason }),
  report,
  wake: () => service.wake(),
};
// Connections that are open would keep the thread alive.
const surroundings = { emit, close: () => process.exit() };
const service: WebhookService = new WebhookService(
  surroundings,
  new Courier(ports, webhooks),
  file,
);
serve<WebhookProgram>(port, service.handlers);
