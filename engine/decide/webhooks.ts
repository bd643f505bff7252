/** Webhooks: where changes of an organization's events are sent. */
import { assert } from "../assert.ts";
import type { EarlierFilter, WebhookFilter, WebhookRow } from "../catalog.ts";
import { EARLIER_FILTERS_MAX, SECRET_GRACE_SECONDS, WEBHOOKS_MAX } from "../constants.ts";
import { ownEvent, ownRow, refuseEvent } from "../queries/access.ts";
import { type Decision, grant, isRefused, refuseInvalid } from "../results.ts";
import type { RotationBody, WebhookBody, WebhookChange } from "../shapes/bodies.ts";
import type { Caller, CommandWith } from "../shapes/caller.ts";
import type { State } from "../state.ts";
import { grantChange } from "./catalog-record.ts";
import { retire } from "./keys.ts";

export function createWebhook(
  state: State,
  { caller, body }: CommandWith<{ body: WebhookBody }>,
): Decision<WebhookRow> {
  const { webhooks, nextId: id } = state.catalog;
  const { organizationId } = caller;
  const own = [...webhooks.values()].filter((row) => row.organizationId === organizationId);
  if (own.length >= WEBHOOKS_MAX) {
    const message = `an organization has at most ${WEBHOOKS_MAX} webhooks`;
    return refuseInvalid([{ field: "", code: "SIZE", message, rejectedValue: own.length + 1 }]);
  }
  if (hasForeignEvent(state, caller, body)) return refuseEvent();
  const row: WebhookRow = {
    id,
    organizationId,
    ...membersOf(body),
    disabledReason: null,
    activeSince: state.sequence,
    keyVersion: 1,
    retiredKey: null,
  };
  return grantChange(state, caller, { newIds: 1, puts: [{ table: "webhooks", row }] }, row);
}

/**
 * One that becomes active again is sent what happens from now on. What happened before, and may not
 * have been sent yet, keeps the filter of its time.
 */
export function updateWebhook(
  state: State,
  { caller, body }: CommandWith<{ body: WebhookChange }>,
): Decision<WebhookRow> {
  const own = ownRow(state.catalog.webhooks.get(body.id), caller, "webhook");
  if (isRefused(own)) return own;
  if (hasForeignEvent(state, caller, body, own)) return refuseEvent();
  const members = membersOf(body);
  const activeSince = own.active ? own.activeSince : state.sequence;
  const { earlier: _, ...kept } = own;
  const earlier = own.active && members.active ? earlierFilters(own, members, state.sequence) : [];
  const row: WebhookRow = {
    ...kept,
    ...members,
    disabledReason: null,
    activeSince,
    ...(earlier.length > 0 && { earlier }),
  };
  return grantChange(state, caller, { puts: [{ table: "webhooks", row }] }, row);
}

export function deleteWebhook(
  state: State,
  { caller, webhookId }: CommandWith<{ webhookId: number }>,
): Decision<null> {
  const own = ownRow(state.catalog.webhooks.get(webhookId), caller, "webhook");
  if (isRefused(own)) return own;
  return grantChange(state, caller, { removes: [{ table: "webhooks", key: webhookId }] }, null);
}

/** Both secrets sign until the grace time of the old one ends. */
export function rotateWebhookSecret(
  state: State,
  { caller, webhookId, body }: CommandWith<{ webhookId: number; body: RotationBody }>,
  timeMs: number,
): Decision<WebhookRow> {
  const own = ownRow(state.catalog.webhooks.get(webhookId), caller, "webhook");
  if (isRefused(own)) return own;
  const { keyVersion } = own;
  const graceSeconds = body.graceSeconds ?? SECRET_GRACE_SECONDS;
  const retiredKey = retire({ keyVersion, tokenSha256: null }, graceSeconds, timeMs);
  const row: WebhookRow = { ...own, keyVersion: keyVersion + 1, retiredKey };
  return grantChange(state, caller, { puts: [{ table: "webhooks", row }] }, row);
}

/** The server gives up a webhook, unless it was deleted or made inactive meanwhile. */
export function disableWebhook(
  state: State,
  { caller, webhookId, reason }: CommandWith<{ webhookId: number; reason: string }>,
): Decision<null> {
  assert(reason !== "", "the owner is told why");
  const found = state.catalog.webhooks.get(webhookId);
  if (found?.active !== true) return grant(null, null);
  const row: WebhookRow = { ...found, active: false, disabledReason: reason };
  return grantChange(state, caller, { puts: [{ table: "webhooks", row }] }, null);
}

/** Of more than are kept, the oldest changes go by the filter after their own. */
function earlierFilters(
  { earlier = [], types, eventIds }: WebhookRow,
  next: WebhookFilter,
  until: number,
): readonly EarlierFilter[] {
  if (isSame(types, next.types) && isSame(eventIds, next.eventIds)) return earlier;
  return [...earlier, { until, types, eventIds }].slice(-EARLIER_FILTERS_MAX);
}

function isSame(texts: readonly string[], others: readonly string[]): boolean {
  return texts.length === others.length && texts.every((text) => others.includes(text));
}

/** The members that the caller gives. */
function membersOf({ url, events, eventIds, active }: WebhookBody | WebhookChange) {
  return {
    url,
    types: [...new Set(events)],
    eventIds: [...lowerCased(eventIds)],
    active: active ?? true,
  };
}

function lowerCased(eventIds: readonly string[] | null | undefined): ReadonlySet<string> {
  return new Set((eventIds ?? []).map((id) => id.toLowerCase()));
}

/** @param before - Its events may be named again, even if they were deleted since. */
function hasForeignEvent(
  state: State,
  caller: Caller,
  { eventIds }: WebhookBody | WebhookChange,
  before?: WebhookRow,
): boolean {
  const known = new Set(before?.eventIds);
  for (const id of lowerCased(eventIds)) {
    if (!known.has(id) && ownEvent(state, caller, id) === null) return true;
  }
  return false;
}
