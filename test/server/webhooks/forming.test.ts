/** Changes of a delivery. */
import { expect, test } from "vitest";
import type { WebhookType } from "../../../engine/catalog.ts";
import type { EventChange } from "../../../engine/queries/history.ts";
import { deliveriesOf } from "../../../server/webhooks/courier.ts";

const START_MS = Date.parse("2030-05-01T20:00:00Z");
const ALL: readonly WebhookType[] = ["status", "soldout", "expired", "change"];
const SEAT = { id: 24, state: 3, priceId: 7, expiresAtMs: null } as const;

/** A lock of a seat, `atMs` after the start, unless `members` say otherwise. */
function change(sequence: number, atMs: number, members: Partial<EventChange> = {}): EventChange {
  const texts = { call: "lock", session: "A", holdType: "CART" };
  const places = { seats: [SEAT], areas: [], status: null, bookable: null };
  const at = { sequence, previous: sequence - 1, timeMs: START_MS + atMs };
  return { ...at, ...texts, ...places, ...members };
}

function form(changes: readonly EventChange[], types = ALL, last = 0, webhookId = 7) {
  const isLast = ({ sequence }: EventChange) => sequence === last;
  const told = { webhookId, eventId: "event", typesOf: () => types, isLast };
  return deliveriesOf(changes, told).map(({ body, ...facts }) => {
    const { type, timestamp, data } = JSON.parse(body) as {
      type: string;
      timestamp: string;
      data: { eventId: string; sequence: number; changes: { sequence: number }[] };
    };
    expect([type, data.eventId, data.sequence]).toEqual([facts.type, "event", facts.sequence]);
    return { ...facts, timestamp, changes: data.changes.map(({ sequence }) => sequence) };
  });
}

test("changes of the same second travel together; the first one begins the second", () => {
  const changes = [change(1, 0), change(2, 999), change(3, 1_000), change(4, 1_999)];
  const formed = form(changes);
  expect(formed.map((one) => one.changes)).toEqual([
    [1, 2],
    [3, 4],
  ]);
  expect(formed[1]!.timestamp).toBe("2030-05-01T20:00:01.999Z");
  expect(new Set(formed.map(({ id }) => id)).size).toBe(2);
  for (const { id } of formed) expect(id).toMatch(/^msg_[\w-]{24}$/);
});

test("what is formed again has the same ids, and any other delivery has another", () => {
  const changes = [change(1, 0), change(2, 1_500, { call: "expire" }), change(3, 3_000)];
  const idsOf = (...given: Parameters<typeof form>) => form(...given).map(({ id }) => id);
  const ids = idsOf(changes);
  expect(idsOf(changes)).toEqual(ids);
  // From a later change on, as after a take-over.
  expect(idsOf(changes.slice(1))).toEqual(ids.slice(1));
  const others = [
    ...idsOf(changes, ALL, 0, 8),
    ...idsOf([change(1, 0, { call: "sale" })]),
    ...idsOf([change(4, 0)]),
  ];
  expect(new Set([...ids, ...others]).size).toBe(ids.length + others.length);
});

test("each type is a delivery of its own, and they come in the order of their last changes", () => {
  const none = { seats: [], areas: [] };
  const changes = [
    change(1, 0, { call: "expire" }),
    change(2, 1, { ...none, call: "event", status: "ARCHIVED" }),
    change(3, 2, { call: "sale" }),
  ];
  const told = form(changes, ALL, 3).map((one) => [one.type, one.changes]);
  expect(told).toEqual([
    ["expired", [1]],
    ["status", [2]],
    ["change", [1, 3]],
    ["soldout", [3]],
  ]);
});

test("a webhook gets only the types that it names", () => {
  const changes = [change(1, 0), change(2, 1, { call: "expire" })];
  expect(form(changes, ["expired"]).map((one) => one.changes)).toEqual([[2]]);
  expect(form(changes, ["status", "soldout"])).toEqual([]);
});

test("the deletion of an event, and whether it can be booked, belong to its status", () => {
  const none = { seats: [], areas: [] };
  const changes = [
    change(1, 0, { ...none, call: "event", bookable: false }),
    change(2, 1, { ...none, call: "deleteevent" }),
    change(3, 2, { ...none, call: "prices" }),
  ];
  expect(form(changes).map((one) => [one.type, one.changes])).toEqual([["status", [1, 2]]]);
});
