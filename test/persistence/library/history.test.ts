/** Subscriptions: every change once, in order, from any position that is kept. */
import { expect, test } from "vitest";
import { apply, noteSequence } from "../../../engine/apply.ts";
import type { EventRow } from "../../../engine/catalog.ts";
import { State } from "../../../engine/state.ts";
import { RecentChanges } from "../../../persistence/history/recent-changes.ts";
import { follow, refusePosition } from "../../../persistence/library/history.ts";
import { type Change, Refused, valueOf } from "../../../persistence/library/library.ts";
import { BoxOffice } from "../../support/box-office.ts";
import { World } from "../../support/engine.ts";
import { area, layoutOf, section } from "../../support/layout.ts";
import { keepBatch } from "../../support/store.ts";

interface Reader {
  /** Arrived so far. */
  readonly changes: Change[];
  /** Settles when the iteration ends. */
  readonly ended: Promise<void>;
}

/** Reads changes as they come. */
async function read(office: BoxOffice, since: number, signal?: AbortSignal): Promise<Reader> {
  const options = signal === undefined ? {} : { signal };
  const subscribed = await office.frontrow.subscribe(office.eventId, since, options);
  const changes: Change[] = [];
  const ended = (async () => {
    for await (const change of valueOf(subscribed)) changes.push(change);
  })();
  return { changes, ended };
}

const sequenceOf = async ({ frontrow, eventId }: BoxOffice) =>
  valueOf(await frontrow.seats(eventId)).sequence;

/** Waits until so many changes have arrived. */
const arrived = ({ changes }: Reader, count: number) =>
  expect.poll(() => changes.length, { timeout: 20_000 }).toBe(count);

/** Ends the event, so that all its subscriptions end too. */
const finish = async ({ frontrow, eventId }: BoxOffice, { ended }: Reader) => {
  valueOf(await frontrow.events.delete(eventId));
  await ended;
};

test("a change names its call, its hold and the new states; the last is the deletion", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId, labels, priceId } = office;
  const since = await sequenceOf(office);
  const reader = await read(office, since);
  await frontrow.lock(eventId, { ...office.selection("ann", ["A1"], 2), holdType: "CART" });
  await frontrow.sell(eventId, office.selection("ann", ["A1"]));
  await frontrow.prices.unassign(eventId, { seats: [{ objectId: labels.idOf("A3") }] });
  await frontrow.events.changeStatus(eventId, "ARCHIVED");
  await finish(office, reader);
  const [locked, sold, unpriced, deleted] = reader.changes;
  const pit = {
    id: labels.idOf("Pit"),
    capacity: 10,
    active: 8,
    locked: 2,
    sold: 0,
    blocked: 0,
  };
  const first = { id: labels.idOf("A1"), priceId };
  expect(locked).toEqual({
    sequence: since + 1,
    timeMs: expect.any(Number),
    call: "lock",
    sessionId: "ann",
    holdType: "CART",
    seats: [{ ...first, state: "LOCKED", expiresAtMs: locked!.timeMs + 15 * 60_000 }],
    areas: [pit],
  });
  expect(sold).toMatchObject({
    sequence: since + 2,
    call: "sale",
    seats: [{ ...first, state: "SOLD", expiresAtMs: null }],
    areas: [],
  });
  const third = { id: labels.idOf("A3"), state: null, priceId: null, expiresAtMs: null };
  expect(unpriced).toMatchObject({ call: "prices", sessionId: null, seats: [third] });
  expect(deleted).toMatchObject({ call: "deleteevent", seats: [], areas: [] });
  expect(reader.changes).toHaveLength(4);
});

test("a hold that ends by itself is a change", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId } = office;
  valueOf(await frontrow.organizations.replaceHoldTypes([{ name: "BLINK", ttlSeconds: 1 }]));
  const reader = await read(office, await sequenceOf(office));
  await frontrow.lock(eventId, { ...office.selection("ann", ["A1"], 1), holdType: "BLINK" });
  await arrived(reader, 2);
  expect(reader.changes[1]).toMatchObject({
    call: "expire",
    sessionId: "ann",
    holdType: "BLINK",
    seats: [{ state: "ACTIVE", expiresAtMs: null }],
    areas: [{ active: 10, locked: 0 }],
  });
});

test("a price that is deleted takes its seats and areas from the listing", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId, priceId } = office;
  const reader = await read(office, await sequenceOf(office));
  valueOf(await frontrow.prices.delete(eventId, priceId));
  await finish(office, reader);
  const [change] = reader.changes;
  expect(change).toMatchObject({ call: "deleteprice", areas: [{ capacity: 0, active: 0 }] });
  expect(change!.seats).toHaveLength(3);
  for (const seat of change!.seats) expect(seat).toMatchObject({ state: null, priceId: null });
});

test("a new layout changes the seats and areas that it adds and removes", async () => {
  const office = await BoxOffice.open();
  const { frontrow, schemaId, labels } = office;
  const reader = await read(office, await sequenceOf(office));
  const stored = valueOf(await frontrow.layouts.get(schemaId));
  const [removedSeat] = stored.seats;
  const removedArea = stored.sectors.find(({ ga }) => ga)!;
  const added = layoutOf(section("Balcony", { B: "1" }), area("Terrace", 5));
  const put = await frontrow.layouts.put(schemaId, {
    sectors: [{ ...removedArea, toRemove: true }, ...added.sectors!],
    rows: added.rows!,
    seats: [{ ...removedSeat!, toRemove: true }, ...added.seats!],
  });
  const newSeat = valueOf(put).seats.at(-1)!;
  await finish(office, reader);
  const [change] = reader.changes;
  const nothing = { state: null, priceId: null, expiresAtMs: null };
  expect(change!.call).toBe("layout");
  expect(change!.seats).toEqual([
    { id: labels.idOf("A1"), ...nothing },
    { id: newSeat.id, ...nothing },
  ]);
  expect(change!.areas).toMatchObject([
    { id: removedArea.id, capacity: 0, active: 0, sold: 0 },
    { capacity: 0 },
  ]);
});

test("an event that moves to another schema loses its seats and areas", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId } = office;
  const reader = await read(office, await sequenceOf(office));
  const [venue] = valueOf(await frontrow.venues.list());
  const other = valueOf(await frontrow.schemas.create({ name: "Foyer", venueId: venue!.id }));
  const { name, start, endDate } = valueOf(await frontrow.events.get(eventId));
  const moved = { name, start, endDate, schemaId: other.id };
  valueOf(await frontrow.events.update(eventId, moved, { force: true }));
  await finish(office, reader);
  const [change] = reader.changes;
  expect(change).toMatchObject({ call: "event", areas: [{ capacity: 0 }] });
  expect(change!.seats.map(({ state }) => state)).toEqual([null, null, null]);
});

test("changes since a sequence come first, and changes of other events never", async () => {
  const office = await BoxOffice.open();
  const { frontrow } = office;
  const first = office.eventId;
  const since = await sequenceOf(office);
  await frontrow.lock(first, office.selection("ann", ["A1"]));
  const second = await office.putOnSale();
  await frontrow.lock(second, office.selection("ben", ["A2"]));
  office.eventId = first;
  const reader = await read(office, since);
  await frontrow.lock(second, office.selection("ben", ["A3"]));
  await frontrow.lock(first, office.selection("cem", ["A3"]));
  await finish(office, reader);
  expect(reader.changes.map(({ sessionId }) => sessionId)).toEqual(["ann", "cem", null]);
  const sequences = reader.changes.map(({ sequence }) => sequence);
  expect(sequences).toEqual([...sequences].sort((a, b) => a - b));
});

/** Recent changes of the world's records, of which none is reported as durable. */
function recentOf({ journal }: World, bytesMax?: number): RecentChanges {
  const recent = new RecentChanges(bytesMax);
  const state = new State();
  recent.begin(state, 0);
  for (const kept of journal.kept) {
    const { sequence, timeMs, record } = kept;
    recent.beforeApply(sequence, timeMs, record);
    noteSequence(state, sequence, record);
    apply(state, record, timeMs, sequence);
    keepBatch(recent, [kept]);
  }
  return recent;
}

/** Memory of a few batches. */
const BYTES_OF_FEW = 3_000;

function eventOf({ engine, eventId }: World): EventRow {
  return engine.state.catalog.events.get(eventId)!;
}

/** Never aborted. */
const { signal: SIGNAL } = new AbortController();

test("a new status and an unused price are no changes for a subscriber", async () => {
  const world = new World([area("Pit", 10)]);
  world.book("lock", world.selection("ann", "Pit:2"));
  const { caller, eventId } = world;
  world.must("changeEventStatus", caller, { eventId, body: { status: "ARCHIVED" } });
  world.clock.timeMs += 1;
  const [unused] = world.must("createPrices", caller, { eventId, body: [{ name: "B", eventId }] });
  world.must("deletePrice", caller, { eventId, priceId: unused!.id });
  const event = eventOf(world);
  world.must("deleteEvent", caller, { eventId });
  const recent = recentOf(world);
  recent.durable(world.engine.sequence);
  const calls: string[] = [];
  for await (const { call } of follow(recent, event, 0, SIGNAL)) calls.push(call);
  expect(calls).toEqual(["prices", "lock", "deleteevent"]);
});

test("a change is delivered only once it is on disk", async () => {
  const world = new World([section("Stalls", { A: "1 2 3" })]);
  for (const label of ["A1", "A2", "A3"]) world.book("lock", world.selection("ann", label));
  const recent = recentOf(world);
  const changes = follow(recent, eventOf(world), 0, SIGNAL);
  const last = world.engine.sequence;
  const delivered: Change[] = [];
  const readThree = async () => {
    for await (const change of changes) if (delivered.push(change) === 3) return;
  };
  const reading = readThree();
  recent.durable(last - 3);
  await new Promise(setImmediate);
  expect(delivered.map(({ call }) => call)).toEqual(["prices"]);
  recent.durable(last - 1);
  await reading;
  expect(delivered.map(({ sequence }) => sequence).slice(1)).toEqual([last - 2, last - 1]);
});

test("a position outside what is kept is refused with the range", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId } = office;
  const last = await sequenceOf(office);
  expect(await frontrow.subscribe(eventId, last + 1)).toMatchObject({
    ok: false,
    code: "HISTORY_GONE",
    errors: [{ field: "since", code: "RANGE", message: `must be from 0 to ${last}` }],
  });
  const unknown = crypto.randomUUID();
  expect(await frontrow.subscribe(unknown, last)).toMatchObject({ code: "ENTITY_NOT_FOUND" });
});

test.each([-1, 1.5, NaN, undefined, "1"])("%s is no position", async (since) => {
  const { frontrow, eventId } = await BoxOffice.open();
  expect(await frontrow.subscribe(eventId, since as number)).toMatchObject({
    code: "VALIDATION_FAILED",
    errors: [{ field: "since", code: "TYPE" }],
  });
});

test("an aborted signal and a closed store end the iteration", async () => {
  const office = await BoxOffice.open();
  const stop = new AbortController();
  const since = await sequenceOf(office);
  const stopped = await read(office, since, stop.signal);
  const open = await read(office, since);
  const never = await read(office, since, AbortSignal.abort());
  await never.ended;
  stop.abort();
  await stopped.ended;
  await office.frontrow.lock(office.eventId, office.selection("ann", ["A1"]));
  await arrived(open, 1);
  await office.frontrow.close();
  await open.ended;
  expect([stopped.changes, never.changes]).toEqual([[], []]);
});

test("a reader behind what is kept is refused; one that has kept up goes on", async () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5 6 7 8" })]);
  const event = eventOf(world);
  for (let i = 1; i <= 7; i++) world.book("lock", world.selection("ann", `A${i}`));
  const first = world.engine.sequence;
  const recent = recentOf(world, BYTES_OF_FEW);
  const last = world.engine.sequence;
  recent.durable(last - 1);
  const keptUp = follow(recent, event, last - 1, SIGNAL);
  const next = keptUp.next();
  recent.durable(last);
  expect((await next).value).toMatchObject({ sequence: first });
  const behind = follow(recent, event, 1, SIGNAL);
  await expect(behind.next()).rejects.toThrow(Refused);
  expect(refusePosition(recent, 1)).toMatchObject({ code: "HISTORY_GONE" });
});

test("the newest change is kept, however many seats it has", async () => {
  const seats = Array.from({ length: 1_000 }, (_, i) => i + 1).join(" ");
  const world = new World([section("Stalls", { A: seats })], { unpriced: true });
  const { caller, eventId, labels } = world;
  const assignmentId = world.createPrice("Half");
  world.priceAll();
  const groupOfSeats = [{ objectId: labels.idOf("Stalls"), assignmentId }];
  world.must("assignPrices", caller, { eventId, body: { groupOfSeats } });
  const recent = recentOf(world, 1);
  const last = world.engine.sequence;
  recent.durable(last);
  const { value } = await follow(recent, eventOf(world), last - 1, SIGNAL).next();
  expect(value).toMatchObject({ sequence: last, call: "prices" });
  expect(refusePosition(recent, last - 2)).toMatchObject({ code: "HISTORY_GONE" });
});

test("an event whose deletion is no longer kept → its reader is refused", async () => {
  const world = new World([section("Stalls", { A: "1 2 3" })]);
  const event = eventOf(world);
  world.must("deleteEvent", world.caller, { eventId: world.eventId });
  for (let i = 0; i < 20; i++) world.must("createVenue", world.caller, { body: { name: "Hall" } });
  const recent = recentOf(world, 1);
  recent.durable(world.engine.sequence);
  await expect(follow(recent, event, 1, SIGNAL).next()).rejects.toThrow(Refused);
});
