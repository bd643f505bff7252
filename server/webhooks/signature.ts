/** Signatures of deliveries, as Standard Webhooks describes them. */
import { createHmac } from "node:crypto";

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
