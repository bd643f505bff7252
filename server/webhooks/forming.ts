/**
 * Forms deliveries from changes of an event. A delivery is about one event and has one type;
 * changes of the same second travel together.
 */
import { createHash } from "node:crypto";
import type { WebhookType } from "../../engine/catalog.ts";
import type { EventChange } from "../../engine/queries/event-change.ts";
import { changeView } from "../live/change-view.ts";

/** Changes within this time may travel in one delivery. */
const TOGETHER_MS = 1_000;
const ID_BYTES = 18;
/** In the order in which deliveries with the same last change are sent. */
const ORDER: readonly WebhookType[] = ["change", "expired", "soldout", "status"];

export interface Formed {
  /**
   * `webhook-id`. Made of the webhook and the body, so a host that takes over sends what it forms
   * again with the id that it had.
   */
  readonly id: string;
  readonly type: WebhookType;
  /** Of its last change. */
  readonly sequence: number;
  readonly body: string;
}

/** What a webhook is told of an event. */
export interface Told {
  readonly webhookId: number;
  readonly eventId: string;
  /** The types that it is told of the change. */
  readonly typesOf: (change: EventChange) => readonly WebhookType[];
  /** Whether the change took the last seat or place that was ACTIVE or LOCKED. */
  readonly isLast: (change: EventChange) => boolean;
}

/** @returns The deliveries in the order of their last changes. */
export function deliveriesOf(changes: readonly EventChange[], told: Told): Formed[] {
  const deliveries: Formed[] = [];
  for (const together of windowsOf(changes)) {
    const made = ORDER.flatMap((type) => {
      const wanted = together.filter((change) => isTold(type, change, told));
      return wanted.length === 0 ? [] : [deliveryOf(type, told, wanted)];
    });
    // A sort keeps the order of equals.
    deliveries.push(...made.sort((a, b) => a.sequence - b.sequence));
  }
  return deliveries;
}

function* windowsOf(changes: readonly EventChange[]): Generator<readonly EventChange[], void> {
  let window: EventChange[] = [];
  for (const change of changes) {
    const [first] = window;
    if (first !== undefined && change.timeMs >= first.timeMs + TOGETHER_MS) {
      yield window;
      window = [];
    }
    window.push(change);
  }
  if (window.length > 0) yield window;
}

function isTold(type: WebhookType, change: EventChange, { typesOf, isLast }: Told): boolean {
  if (!typesOf(change).includes(type)) return false;
  const { call, seats, areas, status, bookable } = change;
  switch (type) {
    case "change":
      return seats.length + areas.length > 0;
    case "expired":
      return call === "expire";
    case "soldout":
      return isLast(change);
    case "status":
      return status !== null || bookable !== null || call === "deleteevent";
  }
  return type satisfies never;
}

function deliveryOf(
  type: WebhookType,
  { webhookId, eventId }: Told,
  changes: readonly EventChange[],
): Formed {
  const { sequence, timeMs } = changes.at(-1)!;
  const timestamp = new Date(timeMs).toISOString();
  const data = { eventId, sequence, changes: changes.map((change) => changeView(change, false)) };
  const body = JSON.stringify({ type, timestamp, data });
  const digest = createHash("sha256").update(`${webhookId}\n${body}`).digest();
  const id = `msg_${digest.toString("base64url", 0, ID_BYTES)}`;
  return { id, type, sequence, body };
}
