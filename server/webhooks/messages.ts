/** What the server's thread and the thread of the webhooks tell each other. */
import { createHmac } from "node:crypto";
import type { WebhookRow } from "../../engine/catalog.ts";

/** A webhook with its secrets, which are in memory alone. */
export interface Webhook extends Omit<WebhookRow, "keyVersion" | "retiredKey"> {
  readonly secrets: readonly SigningSecret[];
  /** Tells the versions of a webhook apart. */
  readonly version: number;
}

/** A delivery of a webhook. */
export interface DeliveryRow {
  /** `webhook-id`. */
  readonly id: string;
  readonly type: string;
  readonly sequence: number;
  readonly status: string;
  readonly attempts: number;
  readonly lastStatus: number | null;
  /** Milliseconds since 1970. */
  readonly nextAtMs: number | null;
}

export interface DeliveryPage {
  /** The newest first. */
  readonly rows: readonly DeliveryRow[];
  readonly total: number;
}

export interface WebhookThreadData {
  readonly folder: string;
  readonly storeId: string;
  readonly allowsPrivate: boolean;
  /** The last record of the log, from which a repair may have cut later ones. */
  readonly sequence: number;
  readonly webhooks: readonly Webhook[];
}

export type ToWebhooks =
  | { readonly kind: "put"; readonly webhook: Webhook }
  | { readonly kind: "remove"; readonly webhookId: number }
  /** The trail has new records; up to this one, all webhooks are told. */
  | { readonly kind: "follow"; readonly sequence: number }
  | {
      readonly kind: "list";
      readonly id: number;
      readonly webhookId: number;
      readonly offset: number;
      readonly limit: number;
    }
  | { readonly kind: "end" };

export interface WebhookCounts {
  /** Pairs of webhook and event with something to send. */
  readonly lanes: number;
  /** Tries under way. */
  readonly inFlight: number;
  /** Bytes of deliveries that wait, compressed. */
  readonly waitingBytes: number;
  readonly succeeded: number;
  readonly failed: number;
  /** The last record that was followed. */
  readonly followed: number;
}

export type FromWebhooks =
  /** The trail has been followed as far as it goes, or cannot be read now. */
  | { readonly kind: "followed" }
  | { readonly kind: "counts"; readonly counts: WebhookCounts }
  /** @param page - Null when the file cannot be read. */
  | { readonly kind: "listed"; readonly id: number; readonly page: DeliveryPage | null }
  | {
      readonly kind: "disable";
      readonly webhookId: number;
      readonly version: number;
      readonly reason: string;
    }
  /** Something that an operator should know. */
  | { readonly kind: "report"; readonly message: string };

// Signatures of deliveries, as Standard Webhooks describes them.

const PREFIX = "whsec_";

/** A secret that signs, until it ends. */
export interface SigningSecret {
  /** `whsec_` and the bytes in Base64. */
  readonly secret: string;
  /** Milliseconds since 1970; Infinity for the present one. */
  readonly validUntilMs: number;
}

export interface Message {
  readonly id: string;
  readonly body: string;
}

/** The headers of a try. Every secret that is valid signs. */
export function signedHeaders(
  { id, body }: Message,
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
