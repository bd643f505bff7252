/** The metrics of webhooks and their deliveries. */
import type { Row } from "./live-metrics.ts";

/** As the sender counts them. */
export interface WebhookCounters {
  readonly lagRecords: number;
  readonly disabled: number;
  readonly counts: Readonly<
    Record<"lanes" | "inFlight" | "waitingBytes" | "succeeded" | "failed", number>
  >;
}

export function webhookRows(webhooks: WebhookCounters): {
  readonly gauges: readonly Row[];
  readonly counters: readonly Row[];
} {
  const lanes = "Pairs of webhook and event with something to send.";
  const tries = "Tries of deliveries under way.";
  const bytes = "Compressed bytes of the deliveries that wait.";
  const lag = "Durable records that were not looked at for webhooks yet.";
  return {
    gauges: [
      ["webhook_lanes", lanes, () => webhooks.counts.lanes],
      ["webhook_tries_in_flight", tries, () => webhooks.counts.inFlight],
      ["webhook_waiting_bytes", bytes, () => webhooks.counts.waitingBytes],
      ["webhook_lag_records", lag, () => webhooks.lagRecords],
    ],
    counters: [
      ["webhook_successes_total", "Tries that succeeded.", () => webhooks.counts.succeeded],
      ["webhook_failures_total", "Tries that failed.", () => webhooks.counts.failed],
      ["webhooks_disabled_total", "Webhooks that were given up.", () => webhooks.disabled],
    ],
  };
}
