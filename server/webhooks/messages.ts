/** The program of the webhooks' thread, as its starter sees it, and the signatures of deliveries. */
import { createHmac } from "node:crypto";
import type { MessagePort } from "node:worker_threads";
import type { WebhookRow } from "../../engine/catalog.ts";
import type { DeliveryPage, PendingDelivery } from "../../persistence/deliveries.ts";

export type { DeliveryPage, DeliveryRow } from "../../persistence/deliveries.ts";

/** A webhook with its secrets, which only memory has. */
export interface Webhook extends Omit<WebhookRow, "keyVersion" | "retiredKey"> {
  readonly secrets: readonly SigningSecret[];
  /** Tells the versions of a webhook apart. */
  readonly version: number;
}

export interface WebhookThreadData {
  readonly folder: string;
  readonly storeId: string;
  readonly allowsPrivate: boolean;
  /** The last record of the log: a repair may have cut later ones. */
  readonly sequence: number;
  readonly webhooks: readonly Webhook[];
}

export interface WebhookCounts {
  /** Pairs of webhook and event with something to send. */
  readonly lanes: number;
  /** Attempts under way. */
  readonly inFlight: number;
  /** Compressed bytes of pending deliveries. */
  readonly waitingBytes: number;
  /** Seats and areas of changes in memory, about to become deliveries. */
  readonly draftPlaces: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The follow watermark. */
  readonly followed: number;
}

export interface ListQuery {
  readonly webhookId: number;
  readonly offset: number;
  readonly limit: number;
}

/** The receiver's answer to a delivery of type `test`. */
export interface TestOutcome {
  /** Null when there was none. */
  readonly status: number | null;
  /** From the look-up of the name to the status of the answer, or to the failure. */
  readonly milliseconds: number;
  /** A sentence; null when there was an answer. */
  readonly error: string | null;
}

/** A webhook to disable, as it was when its attempts were given up. */
export interface GivenUp {
  readonly webhookId: number;
  readonly version: number;
  readonly reason: string;
}

export interface WebhookProgram {
  readonly data: WebhookThreadData;
  readonly requests: {
    readonly put: (webhook: Webhook) => void;
    readonly remove: (webhookId: number) => void;
    /** Comes first. As by `HistoryThread.connect`. */
    readonly history: (port: MessagePort) => void;
    /**
     * Follows the new records of the trail as far as it can be read; up to this one, all webhooks
     * are told.
     *
     * @returns False when the file cannot be written, or the trail not be read; then it is to be
     * asked again.
     */
    readonly follow: (sequence: number) => boolean;
    /** @returns Null when the file cannot be read. */
    readonly list: (query: ListQuery) => DeliveryPage | null;
    /** @returns The deliveries that waited and are now due; null when the file cannot be written. */
    readonly retry: (webhookId: number) => number | null;
    /** Sends a delivery of type `test` once, also to an inactive webhook. Ends within 15 s. */
    readonly test: (webhook: Pick<Webhook, "url" | "secrets">) => TestOutcome;
    readonly end: (argument: null) => void;
  };
  readonly events: {
    readonly counts: WebhookCounts;
    readonly disable: GivenUp;
    /** A message for the operator. */
    readonly report: string;
  };
}

// Signatures of deliveries, as Standard Webhooks describes them.

const PREFIX = "whsec_";

/** A signing secret. */
export interface SigningSecret {
  /** `whsec_` and the bytes in Base64. */
  readonly secret: string;
  /** Milliseconds since 1970; Infinity for the present one. */
  readonly validUntilMs: number;
}

/** Headers of an attempt, signed with every valid secret. */
export function signedHeaders(
  { id, body }: Pick<PendingDelivery, "id" | "body">,
  secrets: readonly SigningSecret[],
  nowMs: number,
): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signatures = secrets
    .filter(({ validUntilMs }) => nowMs < validUntilMs)
    .map(({ secret }) => {
      const key = Buffer.from(secret.slice(PREFIX.length), "base64");
      const hmac = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`);
      return `v1,${hmac.digest("base64")}`;
    });
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": signatures.join(" "),
  };
}
