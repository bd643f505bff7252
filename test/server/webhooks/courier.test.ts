/** Deliveries: in order for each event, at least once, and given up when a receiver is gone. */
import { expect, test } from "vitest";
import type { WebhookBody } from "../../../engine/bodies.ts";
import type { AttemptResult } from "../../../server/webhooks/attempt.ts";
import {
  DRAFT_PLACES_MAX,
  OF_ORGANIZATION_MAX,
  OF_WEBHOOK_MAX,
  WAITING_BYTES_MAX,
} from "../../../server/webhooks/courier.ts";
import { area, section } from "../../support/layout.ts";
import { failed, Sending } from "./sending.ts";

const OTHER = "https://odeon.example/other";
const HALL = [section("Stalls", { A: "1 2 3 4 5 6" })];
const SECOND_MS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Creates another event of the same organization. */
function addEvent({ world }: Sending, n: number): string {
  const eventId = `00000000-0000-4000-8000-0000000001${String(n).padStart(2, "0")}`;
  const { name, start, endDate, schemaId } = world.event;
  world.must("createEvent", world.caller, { eventId, body: { name, start, endDate, schemaId } });
  return eventId;
}

test("a webhook is sent what happens after its creation, each change once", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.book("lock", world.selection("A", "A1"));
  sending.create();
  const first = sending.book("lock", world.selection("A", "A2"));
  const second = sending.book("unlock", world.selection("A", "A1"));
  await sending.run();
  expect(sending.sent.map(({ sequences }) => sequences)).toEqual([[first, second]]);
  await sending.run();
  expect([sending.sent.length, sending.file.laneCount]).toEqual([1, 0]);
});

test("a webhook that was inactive is not sent what waited or happened meanwhile", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  const { id, url } = sending.create();
  const body = { id, url, events: ["change" as const] };
  const update = (active: boolean) => {
    const row = world.must("updateWebhook", world.caller, { body: { ...body, active } });
    sending.courier.put(sending.shown(row));
  };
  sending.answer = () => failed(500);
  sending.book("lock", world.selection("A", "A1"));
  await sending.run();
  update(false);
  sending.book("lock", world.selection("A", "A2"));
  await sending.run();
  update(true);
  const later = sending.book("lock", world.selection("A", "A3"));
  sending.nowMs += DAY_MS;
  await sending.run();
  expect(sending.sent.length).toBe(2);
  expect(sending.sent[1]!.sequences).toEqual([later]);
  expect(sending.file.list(id, 0, 9).rows.map(({ status }) => status)).toEqual([
    "PENDING",
    "DISCARDED",
  ]);
});

test("a webhook is not sent what another one is sent from before its creation", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create({ url: "https://odeon.example/first" });
  const before = sending.book("lock", world.selection("A", "A1"));
  const { url } = sending.create({ url: "https://odeon.example/second" });
  const after = sending.book("lock", world.selection("A", "A2"));
  await sending.run();
  const bySecond = sending.sent.filter((sent) => sent.url === url);
  expect(bySecond.flatMap(({ sequences }) => sequences)).toEqual([after]);
  expect(sending.sent.flatMap(({ sequences }) => sequences)).toContain(before);
});

/** Each books, changes the webhook, and books again; a change is delivered as type `change`. */
const FILTERS: readonly (readonly [string, Filter, Filter, before: boolean, after: boolean])[] = [
  ["types without changes", () => ({}), () => ({ events: ["status"] }), true, false],
  ["types with changes", () => ({ events: ["status"] }), () => ({}), false, true],
  ["other events", () => ({}), (other) => ({ eventIds: [other] }), true, false],
  ["its event", (other) => ({ eventIds: [other] }), () => ({ eventIds: [] }), false, true],
];
type Filter = (other: string) => Partial<WebhookBody>;

test.each(FILTERS)("PUT to %s → counts for later changes alone", async (...filter) => {
  const [, first, second, isBefore, isAfter] = filter;
  for (const isRestarted of [false, true]) {
    const sending = new Sending(HALL);
    const { world } = sending;
    const other = addEvent(sending, 1);
    const row = sending.create(first(other));
    const before = sending.book("lock", world.selection("A", "A1"));
    sending.update(row, second(other));
    const after = sending.book("lock", world.selection("A", "A2"));
    if (isRestarted) sending.restart();
    await sending.run();
    const expected = [...(isBefore ? [before] : []), ...(isAfter ? [after] : [])];
    expect(sending.sent.flatMap(({ sequences }) => sequences)).toEqual(expected);
  }
});

test("several PUTs while deliveries fail → each change by the filter of its time", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  let row = sending.create();
  sending.answer = () => failed(500);
  const wanted = [sending.book("lock", world.selection("A", "A1"))];
  await sending.run();
  for (const label of ["A2", "A3"]) {
    row = sending.update(row, { events: ["status"] });
    sending.book("lock", world.selection("A", label));
    row = sending.update(row, {});
    wanted.push(sending.book("unlock", world.selection("A", label)));
  }
  await sending.run();
  sending.answer = () => ({ status: 200, askedMs: 0, failure: "" });
  sending.nowMs += DAY_MS;
  await sending.run();
  expect(sending.sent.slice(1).flatMap(({ sequences }) => sequences)).toEqual(wanted);
});

test("changes after a PUT or a POST the courier has not heard of → wait until it has", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  const row = sending.create({ events: ["status"] });
  const heard = world.engine.sequence;
  const changed = sending.update(row, {}, false);
  const body: WebhookBody = { url: OTHER, events: ["change"] };
  const made = world.must("createWebhook", world.caller, { body });
  const locked = sending.book("lock", world.selection("A", "A1"));
  await sending.run(heard);
  expect(sending.sent).toEqual([]);
  sending.courier.put(sending.shown(changed));
  sending.courier.put(sending.shown(made));
  await sending.run();
  expect(sending.sent.map(({ url, sequences }) => [url, sequences])).toEqual([
    [row.url, [locked]],
    [OTHER, [locked]],
  ]);
});

test("a webhook that becomes active follows the records from then on", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  const { id, url } = sending.create();
  await sending.run();
  for (const active of [false, true]) {
    sending.book("lock", world.selection("A", active ? "A2" : "A1"));
    const body = { id, url, events: ["change" as const], active };
    sending.courier.put(sending.shown(world.must("updateWebhook", world.caller, { body })));
  }
  expect(sending.file.followed).toBe(world.engine.sequence - 1);
});

test("a failed delivery is sent again; only later ones of its event wait", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create({ events: ["change", "status"] });
  sending.answer = ({ eventId }) =>
    eventId === world.eventId ? failed(500) : { status: 200, askedMs: 0, failure: "" };
  const first = sending.book("lock", world.selection("A", "A1"));
  await sending.run();
  const second = sending.book("lock", world.selection("A", "A2"));
  const other = addEvent(sending, 1);
  await sending.run();
  expect(sending.sent.map(({ eventId }) => eventId)).toEqual([world.eventId, other]);
  sending.answer = () => ({ status: 200, askedMs: 0, failure: "" });
  sending.nowMs += SECOND_MS;
  await sending.run();
  expect(sending.sent.length).toBe(2);
  sending.nowMs += 2 * SECOND_MS;
  await sending.run();
  expect(sending.sent.slice(2).map(({ sequences }) => sequences)).toEqual([[first], [second]]);
  expect(sending.sent[2]!.id).toBe(sending.sent[0]!.id);
});

test("a kill during a try repeats the try with the same id, and loses nothing", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create();
  sending.answer = () => null;
  const first = sending.book("lock", world.selection("A", "A1"));
  await sending.run();
  const second = sending.book("lock", world.selection("A", "A2"));
  sending.answer = () => ({ status: 200, askedMs: 0, failure: "" });
  sending.restart();
  await sending.run();
  expect(sending.sent.map(({ sequences }) => sequences)).toEqual([[first], [first], [second]]);
  expect(sending.sent[1]!.id).toBe(sending.sent[0]!.id);
  sending.restart();
  await sending.run();
  expect(sending.sent.length).toBe(3);
});

test("an event that was deleted while the server was down is told to its end", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create({ events: ["change", "status"] });
  const locked = sending.book("lock", world.selection("A", "A1"));
  world.must("deleteEvent", world.caller, { eventId: world.eventId });
  sending.restart();
  await sending.run();
  const deleted = world.engine.sequence;
  expect(sending.sent.map(({ type, sequences }) => [type, sequences])).toEqual([
    ["change", [locked]],
    ["status", [deleted]],
  ]);
});

test("changes that reach the trail while deliveries are formed are sent once", async () => {
  const sending = new Sending(HALL);
  sending.create();
  const first = sending.book("lock", sending.world.selection("A", "A1"));
  await sending.follow();
  const second = sending.book("lock", sending.world.selection("A", "A2"));
  sending.feed();
  sending.courier.turn();
  await sending.run();
  expect(sending.sent.map(({ sequences }) => sequences)).toEqual([[first], [second]]);
});

test("changes that are followed while a lane is read → are sent in their turn", async () => {
  const sending = new Sending(HALL);
  sending.create();
  const first = sending.book("lock", sending.world.selection("A", "A1"));
  await sending.follow();
  while (sending.sent.length === 0) {
    sending.courier.turn();
    await new Promise(setImmediate);
  }
  // The delivery has ended, so the lane is read again, up to the record that was followed.
  for (let turns = 0; turns < 2; turns++) sending.courier.turn();
  const second = sending.book("lock", sending.world.selection("A", "A2"));
  await sending.run();
  expect(sending.sent.map(({ sequences }) => sequences)).toEqual([[first], [second]]);
});

test("a webhook for some events is not sent what happens in others", async () => {
  const sending = new Sending(HALL);
  const other = addEvent(sending, 1);
  sending.create({ eventIds: [other] });
  sending.book("lock", sending.world.selection("A", "A1"));
  await sending.run();
  expect([sending.sent.length, sending.file.laneCount]).toEqual([0, 0]);
});

test("the sale of the last seat or place is told once, and again after a return", async () => {
  const sending = new Sending([section("Stalls", { A: "1 2" }), area("Pit", 3)]);
  const { world } = sending;
  sending.create({ events: ["soldout"] });
  sending.book("directsale", world.selection(null, "A1", "A2", "Pit:2"));
  const last = sending.book("directsale", world.selection(null, "Pit:1"));
  await sending.run();
  const { caller, eventId } = world;
  world.must("revertsale", caller, { eventId, body: world.selection(null, "A1") });
  sending.book("lock", world.selection("A", "A1"));
  const again = sending.book("sale", world.selection("A", "A1"));
  await sending.run();
  expect(sending.sent.map(({ sequences }) => sequences)).toEqual([[last], [again]]);
});

test("a success makes what waits at the same webhook due at once, and nothing else", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create({ events: ["change", "status"] });
  let isDown = true;
  sending.answer = () => (isDown ? failed(500) : { status: 200, askedMs: 0, failure: "" });
  const locked = sending.book("lock", world.selection("A", "A1"));
  for (let tries = 0; tries < 7; tries++) {
    await sending.run();
    sending.nowMs += 2 * 60_000;
  }
  const before = sending.sent.length;
  isDown = false;
  addEvent(sending, 1);
  await sending.run();
  const sent = sending.sent.slice(before);
  expect(sent.map(({ type }) => type)).toEqual(["status", "change"]);
  expect(sent.at(-1)!.sequences).toEqual([locked]);
});

test("a success elsewhere → a delivery with Retry-After waits to its end, others go", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  const { id } = sending.create({ events: ["change", "status"] });
  const other = addEvent(sending, 1);
  sending.answer = ({ eventId }) => failed(503, eventId === world.eventId ? 600 * SECOND_MS : 0);
  const locked = sending.book("lock", world.selection("A", "A1"));
  await sending.run();
  const startMs = sending.nowMs;
  expect(sending.sent.map(({ eventId }) => eventId).sort()).toEqual([other, world.eventId].sort());
  sending.answer = () => ({ status: 200, askedMs: 0, failure: "" });
  // A kill in between: the lane remembers.
  sending.restart();
  sending.nowMs += 60 * SECOND_MS;
  await sending.run();
  addEvent(sending, 2);
  await sending.run();
  expect(sending.sent.slice(2).map(({ type }) => type)).toEqual(["status", "status"]);
  const waiting = sending.file.list(id, 0, 9).rows.find(({ status }) => status === "PENDING");
  expect(waiting!.nextAtMs).toBe(startMs + 600 * SECOND_MS);
  sending.nowMs = startMs + 600 * SECOND_MS - 1;
  await sending.run();
  expect(sending.sent.length).toBe(4);
  sending.nowMs += 1;
  await sending.run();
  expect(sending.sent.slice(4).map(({ sequences }) => sequences)).toEqual([[locked]]);
});

test("Retry-After shorter than the schedule → the success of another event ends the wait", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create({ events: ["change", "status"] });
  sending.answer = () => failed(503, 10 * SECOND_MS);
  sending.book("lock", world.selection("A", "A1"));
  for (let tries = 0; tries < 7; tries++) {
    await sending.run();
    sending.nowMs += 2 * 60_000;
  }
  // The next try would come after five minutes.
  const before = sending.sent.length;
  sending.answer = () => ({ status: 200, askedMs: 0, failure: "" });
  addEvent(sending, 1);
  await sending.run();
  expect(sending.sent.slice(before).map(({ type }) => type)).toEqual(["status", "change"]);
});

test("a retry by hand → all that waits is tried now, each event in its order", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  const { id } = sending.create();
  const other = sending.create({ url: OTHER });
  sending.answer = () => failed(503, 3_600 * SECOND_MS);
  const first = sending.book("lock", world.selection("A", "A1"));
  world.clock.timeMs += 2 * SECOND_MS;
  const second = sending.book("lock", world.selection("A", "A2"));
  await sending.run();
  const later = sending.book("lock", world.selection("A", "A3"));
  await sending.run();
  expect(sending.sent.length).toBe(2);
  sending.answer = () => ({ status: 200, askedMs: 0, failure: "" });
  // Two were formed; the last one joins its lane when they have been sent.
  expect(sending.courier.retry(id)).toBe(2);
  await sending.run();
  const sent = sending.sent.slice(2);
  expect(sent.map(({ sequences }) => sequences)).toEqual([[first], [second], [later]]);
  expect(sent[0]!.id).toBe(sending.sent.find(({ url }) => url !== OTHER)!.id);
  expect(sent.every(({ url }) => url !== OTHER)).toBe(true);
  expect([sending.courier.retry(id), sending.courier.retry(other.id)]).toEqual([0, 2]);
});

test("a retry while a delivery is tried → counts those behind it alone", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  const row = sending.create();
  sending.answer = () => null;
  sending.book("lock", world.selection("A", "A1"));
  world.clock.timeMs += 2 * SECOND_MS;
  sending.book("lock", world.selection("A", "A2"));
  await sending.run();
  expect([sending.courier.retry(row.id), sending.sent.length]).toEqual([1, 1]);
  await sending.run();
  expect(sending.sent.length).toBe(1);
  sending.update(row, { active: false });
  expect(sending.courier.retry(row.id)).toBe(0);
});

test("a retry right after a failure → tries that delivery again, too", async () => {
  const sending = new Sending(HALL);
  const { id } = sending.create();
  let fail: (result: AttemptResult) => void = () => {};
  sending.answer = () => new Promise((resolve) => (fail = resolve));
  sending.book("lock", sending.world.selection("A", "A1"));
  await sending.run();
  fail(failed(503, 3_600 * SECOND_MS));
  await new Promise(setImmediate);
  // No turn has recorded the failure.
  expect(sending.courier.retry(id)).toBe(1);
  await sending.run();
  expect(sending.sent.length).toBe(2);
});

test("a receiver that answers 410 is given up at once", async () => {
  const sending = new Sending(HALL);
  const { id } = sending.create();
  sending.answer = () => failed(410);
  sending.book("lock", sending.world.selection("A", "A1"));
  await sending.run();
  sending.nowMs += DAY_MS;
  sending.book("lock", sending.world.selection("A", "A2"));
  await sending.run();
  expect(sending.disabled).toEqual([[id, "The receiver answered 410 Gone."]]);
  expect(sending.sent.length).toBe(1);
});

/** Deliveries of the first event fail, those of others succeed; one has failed. */
async function failingFirstEvent() {
  const sending = new Sending(HALL);
  const { world } = sending;
  const { id } = sending.create({ events: ["change", "status"] });
  sending.answer = ({ eventId }) =>
    eventId === world.eventId ? failed(500) : { status: 200, askedMs: 0, failure: "" };
  sending.book("lock", world.selection("A", "A1"));
  await sending.run();
  return { sending, world, id };
}

test("three days without a success end a webhook; each success begins them again", async () => {
  const { sending, world, id } = await failingFirstEvent();
  sending.nowMs += 2 * DAY_MS;
  addEvent(sending, 1);
  await sending.run();
  sending.answer = () => failed(null);
  for (let hours = 0; hours < 71; hours += 12) {
    sending.nowMs += 12 * HOUR_MS;
    await sending.run();
    expect(sending.disabled).toEqual([]);
  }
  sending.book("lock", world.selection("A", "A2"));
  sending.nowMs += 13 * HOUR_MS;
  await sending.run();
  sending.nowMs += 13 * HOUR_MS;
  await sending.run();
  expect(sending.disabled).toEqual([[id, expect.stringContaining("Three days without success")]]);
});

test("a delivery that fails for three days is given up, and those after it are sent", async () => {
  const { sending, world, id } = await failingFirstEvent();
  for (let n = 1; n <= 7; n++) {
    sending.nowMs += 12 * HOUR_MS;
    addEvent(sending, n);
    await sending.run();
  }
  expect(sending.disabled).toEqual([]);
  const last = sending.book("lock", world.selection("A", "A2"));
  await sending.run();
  expect(sending.sent.at(-1)!.sequences).toEqual([last]);
  const { rows } = sending.file.list(id, 0, 20);
  expect(rows.filter(({ status }) => status === "FAILED")).toHaveLength(1);
});

test("Retry-After moves the next try", async () => {
  const sending = new Sending(HALL);
  const { id } = sending.create();
  sending.answer = () => failed(503, 60 * SECOND_MS);
  sending.book("lock", sending.world.selection("A", "A1"));
  await sending.run();
  const [row] = sending.file.list(id, 0, 1).rows;
  expect(row).toMatchObject({ attempts: 1, lastStatus: 503, nextAtMs: sending.nowMs + 60_000 });
});

test("a webhook has four tries under way at most, and another one goes on beside it", async () => {
  const sending = new Sending(HALL);
  const slow = sending.create({ events: ["status"] });
  sending.create({ events: ["status"], url: "https://odeon.example/quick" });
  sending.answer = ({ url }) =>
    url === slow.url ? null : { status: 200, askedMs: 0, failure: "" };
  for (let n = 1; n <= 9; n++) addEvent(sending, n);
  await sending.run();
  const ofSlow = sending.sent.filter(({ url }) => url === slow.url);
  expect([ofSlow.length, sending.sent.length - ofSlow.length]).toEqual([OF_WEBHOOK_MAX, 9]);
});

test("receivers time out → each keeps one place, and a quarter is left for those that answer", async () => {
  const late: AttemptResult = { ...failed(null), isTimeout: true };
  for (const [before, places] of [
    [late, 4],
    [failed(500), OF_ORGANIZATION_MAX * 0.75],
  ] as const) {
    const sending = new Sending(HALL);
    const slow = [1, 2, 3, 4].map((n) => {
      return sending.create({ events: ["status"], url: `https://odeon.example/slow-${n}` });
    });
    const quick = sending.create({ events: ["status"], url: "https://odeon.example/quick" });
    const isQuick = ({ url }: { readonly url: string }) => url === quick.url;
    sending.answer = (sent) => (isQuick(sent) ? { status: 200, askedMs: 0, failure: "" } : before);
    addEvent(sending, 1);
    await sending.run();
    const known = sending.sent.length;
    expect(known).toBe(slow.length + 1);
    // From now on the slow ones do not answer at all.
    sending.answer = (sent) => (isQuick(sent) ? { status: 200, askedMs: 0, failure: "" } : null);
    for (let n = 2; n <= 9; n++) addEvent(sending, n);
    sending.nowMs += DAY_MS;
    await sending.run();
    const later = sending.sent.slice(known);
    const ofQuick = later.filter(isQuick).length;
    expect([ofQuick, later.length - ofQuick]).toEqual([8, places]);
  }
});

test("a webhook whose deliveries take too much room gets the next ones later", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  const { id: webhookId } = sending.create({ events: ["change", "status"] });
  sending.answer = () => null;
  const lane = { webhookId, partition: 999, since: 0 };
  // Random text, so compression does not make it small.
  const random = Array.from({ length: WAITING_BYTES_MAX / 2 }, () => Math.random().toString(36)[3]);
  const body = JSON.stringify({ type: "x", data: { changes: [] }, random: random.join("") });
  const big = { id: "msg_big", type: "change", sequence: 1, body: body + body };
  sending.file.addLane(lane, sending.nowMs + DAY_MS);
  sending.file.form(lane, [big, { ...big, id: "msg_more" }], sending.nowMs + DAY_MS);
  sending.restart();
  const locked = sending.book("lock", world.selection("A", "A1"));
  await sending.run();
  expect(sending.sent).toEqual([]);
  sending.file.end(1, "DELIVERED", 200);
  sending.file.end(2, "DELIVERED", 200);
  sending.nowMs += 10 * SECOND_MS;
  await sending.run();
  expect(sending.sent.map(({ sequences }) => sequences)).toEqual([[locked]]);
});

test("changes of many places → few are in memory at a time, and all are sent", async () => {
  const seats = 25_000;
  const names = Array.from({ length: seats }, (_, i) => String(i)).join(" ");
  const sending = new Sending([section("Stalls", { A: names })]);
  const { world } = sending;
  sending.create();
  for (let n = 0; n < 8; n++) {
    const eventId = addEvent(sending, n);
    const assignmentId = world.createPrice("Full", eventId);
    const { labels } = world;
    const all = labels.seats.map((name) => ({ objectId: labels.idOf(name), assignmentId }));
    const body = { seats: all, groupOfSeats: [] };
    world.must("assignPrices", world.caller, { eventId, body });
  }
  await sending.follow();
  let peak = 0;
  for (let i = 0; i < 20; i++) {
    sending.courier.turn();
    // oxlint-disable-next-line no-await-in-loop -- turns follow one another
    await new Promise(setImmediate);
    peak = Math.max(peak, sending.courier.draftPlaces);
  }
  // Two were being read when the others had as many as are allowed.
  expect(peak).toBeGreaterThanOrEqual(DRAFT_PLACES_MAX);
  expect(peak).toBeLessThan(DRAFT_PLACES_MAX + 2 * (seats + 10));
  expect(sending.courier.draftPlaces).toBe(0);
  expect(new Set(sending.sent.map(({ eventId }) => eventId)).size).toBe(8);
});

test("a lane whose event the trail has lost is removed, and others are sent", async () => {
  const sending = new Sending(HALL);
  const { id: webhookId } = sending.create();
  await sending.run();
  sending.file.addLane({ webhookId, partition: 12_345, since: 1 }, 0);
  sending.book("lock", sending.world.selection("A", "A1"));
  await sending.run();
  expect([sending.sent.length, sending.file.laneCount]).toEqual([1, 0]);
  const report = expect.stringMatching(/number 12345: it was deleted, and the retention/);
  expect(sending.reports).toEqual([report]);
});

test("changes are followed while the answer says damaged → they are sent", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create();
  sending.book("lock", world.selection("A", "A1"));
  await sending.follow();
  sending.damage(world.eventId);
  sending.courier.turn();
  await new Promise(setImmediate);
  sending.damage(world.eventId, -1);
  const second = sending.book("lock", world.selection("A", "A2"));
  await sending.run();
  expect(sending.sent.map(({ sequences }) => sequences)).toEqual([[second]]);
  expect([sending.reports.length, sending.file.laneCount]).toEqual([1, 0]);
});

test("the count of open places is damaged → the changes are sent, and the next count tells", async () => {
  const sending = new Sending([section("Stalls", { A: "1 2 3" })]);
  const { world } = sending;
  sending.create({ events: ["change", "soldout"] });
  const first = sending.book("directsale", world.selection(null, "A1"));
  const second = sending.book("directsale", world.selection(null, "A2"));
  await sending.follow();
  sending.courier.turn();
  await new Promise(setImmediate);
  // Changes are in memory then, and a count reads the archive.
  sending.damage(world.eventId);
  await sending.run();
  sending.damage(world.eventId, -1);
  const last = sending.book("directsale", world.selection(null, "A3"));
  await sending.run();
  expect(sending.sent.map(({ type, sequences }) => [type, sequences])).toEqual([
    ["change", [first, second]],
    ["change", [last]],
    ["soldout", [last]],
  ]);
  expect(sending.reports).toEqual(
    [first, second].map((sequence) => expect.stringContaining(`whether record ${sequence} sold`)),
  );
});

test("the past of an event is damaged → its changes are missed, and others are sent", async () => {
  const sending = new Sending(HALL);
  const { world } = sending;
  sending.create();
  const other = addEvent(sending, 1);
  const assignmentId = world.createPrice("Late", other);
  const seats = [{ objectId: world.labels.idOf("A2"), assignmentId }];
  sending.book("lock", world.selection("A", "A1"));
  const body = { seats, groupOfSeats: [] };
  world.must("assignPrices", world.caller, { eventId: other, body });
  await sending.follow();
  sending.damage(world.eventId);
  await sending.run();
  expect(sending.sent.map(({ eventId }) => eventId)).toEqual([other]);
  expect(sending.reports).toEqual([expect.stringContaining("the trail is damaged there")]);
  expect(sending.file.laneCount).toBe(0);
});
