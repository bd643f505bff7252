/** The program of the thread of the webhooks. */
import { workerData } from "node:worker_threads";
import { FollowedTrail } from "../../persistence/audit/followed-trail.ts";
import { portOfThisThread } from "../../persistence/disk/worker.ts";
import { openDeliveries } from "../../persistence/deliveries.ts";
import { attempt } from "./attempt.ts";
import { Courier, WebhookService } from "./courier.ts";
import type { FromWebhooks, ToWebhooks, WebhookThreadData } from "./messages.ts";

const { folder, storeId, allowsPrivate, sequence, webhooks } = workerData as WebhookThreadData;
const port = portOfThisThread();
const send = (message: FromWebhooks) => port.postMessage(message);
const report = (message: string) => send({ kind: "report", message });
const file = openDeliveries({ folder, storeId, sequence, report });
const ports = {
  file,
  openTrail: () => new FollowedTrail(folder, storeId),
  attempt,
  allowsPrivate,
  nowMs: () => Date.now(),
  random: Math.random,
  disable: ({ id: webhookId, version }: { id: number; version: number }, reason: string) =>
    send({ kind: "disable", webhookId, version, reason }),
  report,
  wake: () => service.wake(),
};
const here = {
  on: (event: "message", listener: (message: ToWebhooks) => void) => port.on(event, listener),
  send,
  // Connections that are open would keep the thread alive.
  close: () => process.exit(),
};
const service: WebhookService = new WebhookService(here, new Courier(ports, webhooks), file);
