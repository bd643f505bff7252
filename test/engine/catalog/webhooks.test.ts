/** Webhooks: whose events they name, from when on they are sent something, and their secrets. */
import { expect, test } from "vitest";
import type { WebhookRow } from "../../../engine/catalog.ts";
import {
  EARLIER_FILTERS_MAX,
  SECRET_GRACE_SECONDS,
  WEBHOOK_EVENTS_MAX,
  WEBHOOKS_MAX,
} from "../../../engine/constants.ts";
import { Result } from "../../../engine/results.ts";
import type { WebhookBody } from "../../../engine/bodies.ts";
import { NO_EVENT, START_MS, World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { expectConsistent } from "../../support/table.ts";

const BODY: WebhookBody = { url: "https://odeon.example/hook", events: ["change"] };

class Wired extends World {
  constructor() {
    super([section("Stalls", { A: "1 2" })]);
  }

  create(members: Partial<WebhookBody> = {}): WebhookRow {
    return this.must("createWebhook", this.caller, { body: { ...BODY, ...members } });
  }

  update({ id }: WebhookRow, members: Partial<WebhookBody> = {}): WebhookRow {
    return this.must("updateWebhook", this.caller, { body: { ...BODY, ...members, id } });
  }

  disable({ id: webhookId }: WebhookRow): void {
    this.must("disableWebhook", this.caller, { webhookId, reason: "gone" });
  }

  rowOf({ id }: WebhookRow): WebhookRow | undefined {
    return this.engine.state.catalog.webhooks.get(id);
  }
}

test("a new webhook is active and is sent what follows the last record before it", () => {
  const world = new Wired();
  const { sequence } = world.engine;
  const created = world.create({ events: ["status", "change", "status"] });
  expect(created).toMatchObject({
    types: ["status", "change"],
    eventIds: [],
    active: true,
    disabledReason: null,
    activeSince: sequence,
    keyVersion: 1,
    retiredKey: null,
  });
  expect(world.engine.sequence).toBe(sequence + 1);
  expectConsistent(world);
});

test("a webhook names events of its organization alone, in any letter case, each once", () => {
  const world = new Wired();
  const { eventId } = world;
  const eventIds = [eventId.toUpperCase(), eventId];
  expect(world.create({ eventIds }).eventIds).toEqual([eventId]);
  const other = world.createOrganization(world.tenant, "Other");
  for (const [by, id] of [
    [other, eventId],
    [world.caller, NO_EVENT],
  ] as const) {
    const refused = world.submit("createWebhook", by, { body: { ...BODY, eventIds: [id] } });
    expect(refused.refused).toBe(Result.EVENT_ACCESS_DENIED);
  }
});

test("an update may keep an event that was deleted since, but not add one", () => {
  const world = new Wired();
  const { eventId, caller } = world;
  const named = world.create({ eventIds: [eventId] });
  const others = world.create();
  world.must("deleteEvent", caller, { eventId });
  expect(world.update(named, { eventIds: [eventId] }).eventIds).toEqual([eventId]);
  const body = { ...BODY, id: others.id, eventIds: [eventId] };
  const added = world.submit("updateWebhook", caller, { body });
  expect(added.refused).toBe(Result.EVENT_ACCESS_DENIED);
});

test("a change of an active webhook does not move from when on it is sent something", () => {
  const world = new Wired();
  const created = world.create();
  const changed = world.update(created, { url: "https://odeon.example/other" });
  expect(changed).toEqual({ ...created, url: "https://odeon.example/other" });
});

test("another filter → the earlier one is kept up to the last record before it", () => {
  const world = new Wired();
  const created = world.create({ events: ["change", "status"] });
  expect(world.update(created, { events: ["status", "change"] })).not.toHaveProperty("earlier");
  const { sequence: first } = world.engine;
  world.update(created, { events: ["status"] });
  const { sequence: second } = world.engine;
  const changed = world.update(created, { events: ["status"], eventIds: [world.eventId] });
  expect(changed.earlier).toEqual([
    { until: first, types: ["status", "change"], eventIds: [] },
    { until: second, types: ["status"], eventIds: [] },
  ]);
  expectConsistent(world);
});

test("very many filters → the last eight before the present one are kept", () => {
  const world = new Wired();
  const created = world.create();
  for (let i = 0; i < 5; i++) {
    world.update(created, { events: ["status"] });
    world.update(created, { events: ["change"] });
  }
  const { earlier } = world.rowOf(created)!;
  expect(earlier).toHaveLength(EARLIER_FILTERS_MAX);
  expect(earlier!.at(-1)!.until).toBe(world.engine.sequence - 1);
});

test("filters with many events → those that are kept name a thousand in all", () => {
  const world = new Wired();
  const created = world.create();
  // Events deleted since may be named again.
  const row = world.rowOf(created)!;
  const ids = Array.from({ length: WEBHOOK_EVENTS_MAX }, (_, i) => `deleted ${i}`);
  const named = (until: number, count: number) => {
    return { until, types: row.types, eventIds: ids.slice(0, count) };
  };
  for (const [counts, kept] of [
    [[1, 300, 400], 4],
    [[1, 300, 700], 2],
    [[1_000, 999], 2],
    [[1_000, 1_000], 1],
    [[0, 1_000, 0], 2],
  ] as const) {
    const earlier = counts.map((count, i) => named(i, count));
    world.engine.state.catalog.webhooks.set(row.id, { ...row, earlier, eventIds: ["deleted"] });
    const changed = world.update(created, { events: ["status"] });
    expect(changed.earlier).toHaveLength(kept);
    const all = changed.earlier!.flatMap(({ eventIds }) => eventIds);
    expect(all.length).toBeLessThanOrEqual(WEBHOOK_EVENTS_MAX);
    expect(changed.earlier!.at(-1)!.eventIds).toEqual(["deleted"]);
  }
});

test.each(["before", "with"])("inactive %s another filter → no earlier one is kept", (when) => {
  const world = new Wired();
  const created = world.create();
  world.update(created, { events: ["status"] });
  world.update(created, { events: [when === "with" ? "change" : "status"], active: false });
  expect(world.rowOf(created)).not.toHaveProperty("earlier");
  expect(world.update(created, { events: ["change", "status"] })).not.toHaveProperty("earlier");
});

test("what happened while a webhook was inactive is before it became active again", () => {
  const world = new Wired();
  const created = world.create();
  expect(world.update(created, { active: false })).toEqual({ ...created, active: false });
  world.must("lock", world.caller, { eventId: world.eventId, body: world.selection("A", "A1") });
  const { sequence } = world.engine;
  expect(world.update(created)).toEqual({ ...created, activeSince: sequence });
});

test("the reason why a webhook was disabled stays until its owner changes it", () => {
  const world = new Wired();
  const created = world.create();
  world.disable(created);
  expect(world.rowOf(created)).toEqual({ ...created, active: false, disabledReason: "gone" });
  const { sequence } = world.engine;
  world.disable(created);
  expect(world.engine.sequence).toBe(sequence);
  expect(world.update(created)).toMatchObject({ active: true, disabledReason: null });
  world.must("deleteWebhook", world.caller, { webhookId: created.id });
  world.disable(created);
  expect(world.rowOf(created)).toBeUndefined();
  expectConsistent(world);
});

test("a rotated secret signs for a day beside the new one, or as long as is asked for", () => {
  const world = new Wired();
  const { id: webhookId } = world.create();
  const rotate = (graceSeconds?: number) =>
    world.must("rotateWebhookSecret", world.caller, { webhookId, body: { graceSeconds } });
  const until = (seconds: number) => ({ validUntilMs: START_MS + seconds * 1_000 });
  expect(rotate()).toMatchObject({
    keyVersion: 2,
    retiredKey: { keyVersion: 1, ...until(SECRET_GRACE_SECONDS) },
  });
  expect(rotate(60)).toMatchObject({ keyVersion: 3, retiredKey: { keyVersion: 2, ...until(60) } });
  expect(rotate(0)).toMatchObject({ keyVersion: 4, retiredKey: null });
});

test("an organization has a limited number of webhooks, whatever others have", () => {
  const world = new Wired();
  const other = world.createOrganization(world.tenant, "Other");
  world.must("createWebhook", other, { body: BODY });
  const made = Array.from({ length: WEBHOOKS_MAX }, () => world.create());
  const refused = world.submit("createWebhook", world.caller, { body: BODY });
  expect(refused).toMatchObject({ refused: Result.VALIDATION_FAILED, errors: [{ code: "SIZE" }] });
  world.must("deleteWebhook", world.caller, { webhookId: made[0]!.id });
  world.create();
});

test("the memory of a webhook is counted until it is deleted", () => {
  const world = new Wired();
  const { catalog } = world.engine.state;
  const before = catalog.bytes;
  const created = world.create({ url: `https://odeon.example/${"a".repeat(1_000)}` });
  expect(catalog.bytes).toBeGreaterThan(before + 2_000);
  world.update(created, { url: "https://odeon.example/" });
  expect(catalog.bytes).toBeLessThan(before + 2_000);
  world.must("deleteWebhook", world.caller, { webhookId: created.id });
  expect(catalog.bytes).toBe(before);
});
