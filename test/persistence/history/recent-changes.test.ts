/** Changes from memory, from the audit trail, and the state itself, for the same records. */
import { expect, onTestFinished, test, vi } from "vitest";
import { apply, noteSequence } from "../../../engine/apply.ts";
import type { EventRow } from "../../../engine/catalog.ts";
import { SeatState } from "../../../engine/inventory/states.ts";
import { keyOfChannel } from "../../../engine/queries/access.ts";
import type { EventChange } from "../../../engine/queries/history.ts";
import { areaFacts, isOnSale, listedEvent, seatFacts } from "../../../engine/queries/seats.ts";
import { State } from "../../../engine/state.ts";
import { RecentChanges } from "../../../persistence/history/recent-changes.ts";
import { type KeptRecord, World } from "../../support/engine.ts";
import { layoutOf, section } from "../../support/layout.ts";
import { keepBatch } from "../../support/store.ts";
import { Random } from "../../sim/workload/random.ts";
import { Workload } from "../../sim/workload/workload.ts";
import type { Book } from "../../support/audit.ts";
import { ask, openBook } from "./history-fixture.ts";

const SEEDS = [1, 2, 3, 4];
const STEPS = 1_500;

/** A state with its recent changes, following the given records. */
class Follower {
  readonly state = new State();
  readonly recent: RecentChanges;
  #batch: KeptRecord[] = [];

  constructor(bytesMax?: number) {
    this.recent = new RecentChanges(bytesMax);
    this.recent.begin(this.state, 0);
  }

  follow(kept: KeptRecord): void {
    const { sequence, timeMs, record } = kept;
    this.recent.beforeApply(sequence, timeMs, record);
    noteSequence(this.state, sequence, record);
    apply(this.state, record, timeMs, sequence);
    this.#batch.push(kept);
  }

  sync(): void {
    const last = this.#batch.at(-1);
    if (last === undefined) return;
    keepBatch(this.recent, this.#batch);
    this.#batch = [];
    this.recent.durable(last.sequence);
  }
}

function recordsOf(seed: number): readonly KeptRecord[] {
  const workload = new Workload(seed, { hasGuards: true });
  for (let step = 0; step < STEPS; step++) workload.step();
  return workload.bench.journal.kept;
}

/** Every change of an event after `since`, from the trail. */
function trailed(book: Book, eventId: string, since: number): readonly EventChange[] {
  const all: EventChange[] = [];
  for (let position = since; ;) {
    const page = ask(book, { about: "changes", eventId, since: position, limit: 7 });
    all.push(...page.changes);
    if (!page.hasMore) return all;
    position = page.changes.at(-1)!.sequence;
  }
}

/** The same from memory; null when memory does not reach back. */
function recalled(recent: RecentChanges, event: EventRow, since: number) {
  const all: EventChange[] = [];
  for (let position = since; ;) {
    const page = recent.page(event, position, 7);
    if (page === null) return null;
    all.push(...page.changes);
    if (!page.hasMore) return all;
    position = page.changes.at(-1)!.sequence;
  }
}

/** The same from memory in blocks; null when memory does not reach back. */
function recalledInBlocks(recent: RecentChanges, event: EventRow, since: number) {
  const all: EventChange[] = [];
  const until = recent.lastOf(event.partition);
  for (let position = since; position < until;) {
    const changes = recent.block(event, position, until);
    if (changes === null) return null;
    all.push(...changes);
    position = changes.at(-1)!.sequence;
  }
  return all;
}

/** Seats and areas as the changes leave them. */
function folded(changes: readonly EventChange[]) {
  const seats = new Map<number, unknown>();
  /** Keys by seat, null for none: a change that leaves it as it is does not say it. */
  const channels = new Map<number, string | null>();
  const areas = new Map<number, unknown>();
  let [status, bookable]: unknown[] = [null, null];
  for (const change of changes) {
    for (const { channel, ...seat } of change.seats) {
      seats.set(seat.id, seat);
      if (channel !== undefined) channels.set(seat.id, channel);
    }
    for (const area of change.areas) areas.set(area.id, area);
    status = change.status ?? status;
    bookable = change.bookable ?? bookable;
  }
  return { seats, channels, areas, status, bookable };
}

/** Compares the state with what the changes since its creation leave. */
function expectFold(state: State, event: EventRow, changes: readonly EventChange[]): void {
  const { seats, channels, areas, status, bookable } = folded(changes);
  expect({ status, bookable }).toEqual({ status: event.status, bookable: isOnSale(state, event) });
  const listed = listedEvent(state, event);
  const { partition, prices } = listed;
  for (const seat of partition.layout.seatIds.keys()) {
    const { seatId: id, state: found, priceId } = seatFacts(listed, seat);
    const hold = found === SeatState.LOCKED ? partition.holds.get(partition.holdOf(seat)) : null;
    const known = seats.get(id);
    const slot = partition.channelOf(seat);
    expect(channels.get(id) ?? null).toBe(slot === 0 ? null : keyOfChannel(event, slot));
    // Seats of the first layout were not in a change before they had a price.
    if (known === undefined) expect(found).toBe(SeatState.UNPRICED);
    else {
      expect(known).toEqual({
        id,
        state: found < SeatState.ACTIVE ? null : found,
        priceId,
        expiresAtMs: hold?.expiresAtMs || null,
      });
    }
  }
  for (const area of partition.layout.areas.keys()) {
    const { areaId: id, active, locked, sold, blocked } = areaFacts(partition, prices, area);
    const none = { id, active: 0, locked: 0, sold: 0, blocked: 0 };
    expect(areas.get(id) ?? none).toEqual({ id, active, locked, sold, blocked });
  }
}

const calls = new Set<string>();

test.each(SEEDS)(
  "memory and trail make the same changes, and they lead to the state, seed %d",
  (seed) => {
    const kept = recordsOf(seed);
    const random = new Random(seed);
    const book = openBook();
    const follower = new Follower();
    const { state, recent } = follower;
    for (const [i, record] of kept.entries()) {
      follower.follow(record);
      if (!random.once(20)) continue;
      follower.sync();
      if (!random.once(2)) continue;
      book.feed(kept.slice(0, i + 1));
      for (const event of state.catalog.events.values()) {
        const since = random.once(2) ? 0 : random.below(i + 1);
        const expected = trailed(book, event.id, since);
        expect(recalled(recent, event, since)).toEqual(expected);
        expect(recalledInBlocks(recent, event, since)).toEqual(expected);
        for (const { call } of expected) calls.add(call);
        const last = expected.at(-1)?.sequence;
        if (last !== undefined) expect(state.sequenceOf(event)).toBe(last);
        if (since === 0) expectFold(state, event, expected);
      }
    }
  },
);

test("the seeds above have every kind of change", () => {
  const moves = "lock extend unlock sale revertsale directsale block unblock expire";
  const others = "prices deleteprice channels layout event cart";
  expect([...calls].sort()).toEqual(`${moves} ${others}`.split(" ").sort());
});

test("recent changes stay within their memory, and older ones are refused", () => {
  const bytesMax = 20_000;
  const kept = recordsOf(5);
  const { state, recent } = followed(kept, bytesMax);
  expect(recent.bytes).toBeLessThan(2 * bytesMax);
  expect(recent.oldestMs).toBeGreaterThan(0);
  const events = [...state.catalog.events.values()];
  const isOld = (event: EventRow) => state.sequenceOf(event) > recent.since;
  expect(events.filter(isOld).map((event) => recent.page(event, 0, 1_000))).toContain(null);
  expect(events.filter(isOld).map((event) => recent.block(event, 0, kept.length))).toContain(null);
  const book = openBook();
  book.feed(kept);
  for (const event of events) {
    const last = state.sequenceOf(event);
    expect(recent.page(event, last, 1_000)).toEqual({ changes: [], hasMore: false });
    expect(recent.block(event, last, last)).toEqual([]);
    // The first one left names its dropped predecessor.
    expect(recalled(recent, event, recent.since)).toEqual(trailed(book, event.id, recent.since));
  }
});

test("those who watch an event are called when its changes are on disk", () => {
  const kept = recordsOf(6);
  const follower = new Follower();
  const called: number[] = [];
  const half = Math.floor(kept.length / 2);
  for (const record of kept.slice(0, half)) follower.follow(record);
  follower.sync();
  const { state, recent } = follower;
  const watched = [...state.catalog.events.values()].map((event) => {
    recent.watch(event.partition, () => called.push(event.partition));
    return event.partition;
  });
  for (const record of kept.slice(half)) follower.follow(record);
  expect(called).toEqual([]);
  follower.sync();
  expect(called.length).toBe(new Set(called).size);
  expect(watched).toEqual(expect.arrayContaining(called));
  expect(called.length).toBeGreaterThan(0);
});

test("who begins to watch while a change is being written is called when it is on disk", () => {
  const follower = new Follower();
  const { state, recent } = follower;
  for (const record of recordsOf(6)) follower.follow(record);
  let called = 0;
  const events = [...state.catalog.events.values()];
  for (const { partition } of events) {
    expect(recent.lastOf(partition)).toBe(0);
    recent.watch(partition, () => (called += 1));
  }
  follower.sync();
  expect(called).toBe(events.length);
});

test("those who watch an event are not called for the records of others", () => {
  const kept = recordsOf(6);
  const follower = new Follower();
  const watched = kept.find(({ record }) => "partition" in record)!.record;
  const partition = (watched as { readonly partition: number }).partition;
  const { recent } = follower;
  let called = 0;
  let known = 0;
  recent.watch(partition, () => {
    called += 1;
    expect(recent.lastOf(partition)).toBeGreaterThan(known);
    known = recent.lastOf(partition);
  });
  // The record after each batch is applied before the batch is on disk.
  for (const record of kept) {
    const { sequence } = record;
    follower.follow(record);
    recent.durable(sequence - 1);
  }
  expect(called).toBeGreaterThan(5);
});

test("a layout that many events follow copies the prices of none, which are as they were", () => {
  const parts = (name: string) => [section("Stalls", { [name]: "1 2 3" })];
  const world = new World(parts("A"));
  const event = world.engine.state.catalog.events.get(world.eventId)!;
  world.book("lock", world.selection("ann", "A1"));
  const before = world.engine.sequence;
  world.putLayout(layoutOf(...parts("B")), true);
  const follower = new Follower();
  const { kept } = world.journal;
  for (const record of kept.slice(0, before)) follower.follow(record);
  const copied = vi.spyOn(Object.getPrototypeOf(Uint16Array.prototype) as Uint16Array, "slice");
  onTestFinished(() => copied.mockRestore());
  for (const record of kept.slice(before)) follower.follow(record);
  follower.sync();
  expect(copied).not.toHaveBeenCalled();
  const { changes } = follower.recent.page(event, before - 1, 1)!;
  expect(changes).toMatchObject([{ call: "lock", seats: [{ priceId: world.priceId }] }]);
});

/** Follows all records, in batches of ten. */
function followed(kept: readonly KeptRecord[], bytesMax: number): Follower {
  const follower = new Follower(bytesMax);
  for (const [i, record] of kept.entries()) {
    follower.follow(record);
    if (i % 10 === 9) follower.sync();
  }
  follower.sync();
  return follower;
}
