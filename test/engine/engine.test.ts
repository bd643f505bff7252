/** The engine: order, time, admission and space in the log, and when an outcome is durable. */
import { expect, test } from "vitest";
import { assert, Broken, unreachable } from "../../engine/assert.ts";
import { DurabilityQueue, Engine } from "../../engine/engine.ts";
import { Move, SeatState } from "../../engine/inventory/states.ts";
import { Admission } from "../../engine/ports.ts";
import { ActorKind, RecordType } from "../../engine/records.ts";
import { Result } from "../../engine/results.ts";
import { checkState, digest } from "../../engine/verify.ts";
import { ManualClock, MemoryJournal, replayed, ROOMY, START_MS, World } from "../support/engine.ts";
import { area, layoutOf, section } from "../support/layout.ts";
import { checkMore } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4" }), area("Pit", 10)];

test("sequence numbers rise by one and times never fall, though the clock steps back", () => {
  const world = new World(HALL);
  world.clock.timeMs += 100;
  world.book("lock", world.selection("A", "A1"));
  world.clock.timeMs -= 5_000;
  world.book("lock", world.selection("A", "A2"));
  world.clock.timeMs += 5_001;
  world.book("lock", world.selection("A", "A3"));
  const { kept } = world.journal;
  expect(kept.map(({ sequence }) => sequence)).toEqual(kept.map((_, i) => i + 1));
  const times = kept.map(({ timeMs }) => timeMs);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.slice(-3)).toEqual([START_MS + 100, START_MS + 100, START_MS + 101]);
  expect(world.engine.sequence).toBe(kept.length);
});

test("commands that are decided at one time have its time, and later ones their own", () => {
  const world = new World(HALL);
  const { engine, clock, journal } = world;
  clock.timeMs += 100;
  const decideTwo = () => {
    world.book("lock", world.selection("A", "A1"));
    clock.timeMs += 50;
    world.book("lock", world.selection("A", "A2"));
  };
  engine.atOneTime(decideTwo);
  world.book("lock", world.selection("A", "A3"));
  const times = journal.kept.slice(-3).map(({ timeMs }) => timeMs);
  expect(times).toEqual([START_MS + 100, START_MS + 100, START_MS + 150]);
  expect(() => engine.atOneTime(() => assert(false, "a failure"))).toThrow("a failure");
  clock.timeMs += 1;
  expect(engine.nowMs()).toBe(START_MS + 151);
});

test("while the journal admits nothing, every command is refused and no hold expires", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1  ok`);
  world.clock.timeMs += 900_000;
  const before = digest(world.engine.state);
  const { length } = world.journal.kept;
  for (const [admits, refused] of [
    [Admission.OVERLOADED, Result.OVERLOADED],
    [Admission.UNAVAILABLE, Result.LOG_UNAVAILABLE],
  ] as const) {
    world.journal.admits = admits;
    expect(world.engine.isWritable).toBe(false);
    expect(world.book("lock", world.selection("B", "A2")).refused).toBe(refused);
    expect(world.book("lock", {}).refused).toBe(refused);
    expect(world.submit("createVenue", world.caller, { body: { name: "X" } }).refused).toBe(
      refused,
    );
    world.engine.expire(world.event);
    world.engine.expireAll();
  }
  expect(world.journal.kept.length).toBe(length);
  expect(digest(world.engine.state)).toBe(before);
  world.journal.admits = Admission.OPEN;
  expect(world.engine.isWritable).toBe(true);
  checkMore(world, `lock  B  A1  ok`);
});

test("a record without space in the log changes nothing, and is accepted later", () => {
  const world = new World(HALL);
  const { engine, journal, caller, schemaId } = world;
  const before = { digest: digest(engine.state), sequence: engine.sequence };
  const body = layoutOf(section("Balcony", { B: "1 2" }));
  const putLayout = () => world.submit("putLayout", caller, { schemaId, body, forceDelete: false });
  for (const [admission, refused] of [
    [Admission.OVERLOADED, Result.OVERLOADED],
    [Admission.UNAVAILABLE, Result.LOG_UNAVAILABLE],
  ] as const) {
    journal.takes = (record) => (record.type === RecordType.CATALOG ? admission : Admission.OPEN);
    expect(putLayout().refused).toBe(refused);
    expect({ digest: digest(engine.state), sequence: engine.sequence }).toEqual(before);
    checkMore(world, `lock    A  A1  ok\nunlock  A  A1  ok`);
    before.digest = digest(engine.state);
    before.sequence = engine.sequence;
  }
  journal.takes = () => Admission.OPEN;
  expect(putLayout().refused).toBe(Result.OK);
  expect(engine.sequence).toBe(before.sequence + 1);
  expect(digest(replayed(journal))).toBe(digest(engine.state));
});

test("a record that is too long for the log changes nothing, and the next one is taken", () => {
  const world = new World(HALL);
  const { engine, journal, caller } = world;
  const before = { digest: digest(engine.state), sequence: engine.sequence };
  journal.takes = () => ({ recordBytes: 2_000, recordBytesMax: 1_000 });
  const outcome = world.submit("createVenue", caller, { body: { name: "Odeon" } });
  const detail =
    "The change takes 2000 bytes in the log, which keeps at most 1000 for one change; " +
    "nothing was changed.";
  expect(outcome).toEqual({ refused: Result.PAYLOAD_TOO_LARGE, detail, errors: [] });
  expect({ digest: digest(engine.state), sequence: engine.sequence }).toEqual(before);
  journal.takes = () => Admission.OPEN;
  expect(world.submit("createVenue", caller, { body: { name: "Odeon" } }).refused).toBe(Result.OK);
  expect(digest(replayed(journal))).toBe(digest(engine.state));
});

test("a follow-up without space in the log is refused, and its command stays granted", () => {
  const world = new World(HALL);
  const { engine, journal, caller } = world;
  journal.takes = (_, isFollowUp) => (isFollowUp ? Admission.OVERLOADED : Admission.OPEN);
  world.must("createVenue", caller, { body: { name: "First" } });
  const before = digest(engine.state);
  const reply = { id: "1:k", fingerprint: "f", status: 200, body: "true" };
  const outcome = engine.submitFollowUp({ kind: "rememberReply", caller, reply, budget: ROOMY });
  expect(outcome.refused).toBe(Result.OVERLOADED);
  expect(digest(engine.state)).toBe(before);
});

test("a command is refused when the log has no space to expire holds, each as a whole", () => {
  const world = new World(HALL);
  const { engine, journal } = world;
  checkMore(world, `lock  A  A1 A2 Pit:2  ok\nlock  B  A3 Pit:3  ok`);
  world.clock.timeMs += 900_000;
  const { sequence } = engine;
  let room = 1;
  let appends = 0;
  journal.takes = () => {
    appends += 1;
    return room-- > 0 ? Admission.OPEN : Admission.UNAVAILABLE;
  };
  const lock = () => world.book("lock", world.selection("C", "A4"));
  expect(lock().refused).toBe(Result.LOG_UNAVAILABLE);
  const { caller, schemaId } = world;
  const layout = { schemaId, body: layoutOf(), forceDelete: false };
  expect(world.submit("putLayout", caller, layout).refused).toBe(Result.LOG_UNAVAILABLE);
  expect([engine.sequence, world.partition.holds.count]).toEqual([sequence + 1, 1]);
  const states = () =>
    ["A1", "A2", "A3", "A4"].map((seat) => world.partition.state[world.seat(seat)]);
  expect(states()).toEqual([2, 2, 3, 2]);
  appends = 0;
  engine.expireAll();
  engine.expire(world.event);
  expect(appends).toBe(2);
  expect(states()).toEqual([2, 2, 3, 2]);
  checkState(engine.state);
  journal.takes = () => Admission.OPEN;
  expect(lock().refused).toBe(Result.OK);
  expect([engine.sequence, world.partition.holds.count]).toEqual([sequence + 3, 1]);
  expect(digest(replayed(journal))).toBe(digest(engine.state));
});

test("an outcome is durable once every record before it is on disk", () => {
  const world = new World(HALL);
  world.journal.sync();
  const reported: string[] = [];
  const submit = (name: string, session: string, seat: string) => {
    world.book("lock", world.selection(session, seat));
    world.engine.afterDurable(() => reported.push(name));
  };
  world.engine.afterDurable(() => reported.push("at once"));
  expect(reported).toEqual(["at once"]);
  submit("granted", "A", "A1");
  submit("refused", "B", "A1");
  world.engine.afterDurable(() => reported.push("read"));
  const mark = world.engine.sequence;
  submit("later", "B", "A2");
  expect(reported).toEqual(["at once"]);
  world.journal.sync(mark);
  expect(reported).toEqual(["at once", "granted", "refused", "read"]);
  world.journal.sync();
  expect(reported.at(-1)).toBe("later");
});

test("an engine continues from the sequence number and the time of a recovered log", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1 Pit:3  ok`);
  const last = world.journal.kept.at(-1)!;
  const journal = new MemoryJournal();
  const clock = new ManualClock();
  clock.timeMs = START_MS - 60_000;
  const position = { sequence: last.sequence, timeMs: last.timeMs };
  const engine = new Engine(replayed(world.journal), position, { clock, journal });
  let reported = false;
  engine.afterDurable(() => (reported = true));
  expect(reported).toBe(true);
  expect(engine.nowMs()).toBe(last.timeMs);
  const body = world.selection("A", "A1", "Pit:3");
  const { caller, eventId } = world;
  expect(engine.submit({ kind: "sale", caller, eventId, body })).toMatchObject({ value: true });
  expect(journal.kept).toMatchObject([{ sequence: last.sequence + 1, timeMs: last.timeMs }]);
  checkState(engine.state);
});

test("expired holds of an event end before a read of it, not with a command elsewhere", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1  ok`);
  world.clock.timeMs += 900_000;
  const state = () => world.partition.state[world.seat("A1")];
  world.submit("createVenue", world.caller, { body: { name: "X" } });
  expect(state()).toBe(3);
  world.engine.expire(world.event);
  expect(state()).toBe(2);
});

test.each([new RangeError("out of memory"), new Broken("a record fits a frame")])(
  "an engine is halted for good by an error in its journal: $message",
  (error) => {
    const world = new World(HALL);
    const { journal, engine, caller } = world;
    const { sequence } = engine;
    journal.append = () => {
      throw error;
    };
    const submit = () => engine.submit({ kind: "createVenue", caller, body: { name: "V" } });
    expect(submit).toThrow(error instanceof Broken ? error : Broken);
    expect([engine.sequence, engine.isHalted]).toEqual([sequence, true]);
    journal.append = () => Admission.OPEN;
    expect(submit).toThrow("a halted engine takes no commands");
    expect(() => engine.expireAll()).toThrow("a halted engine takes no commands");
  },
);

test("admission is asked once for a command, and not for a follow-up", () => {
  const world = new World(HALL);
  const { journal, engine, caller } = world;
  checkMore(world, `lock  A  A1  ok\nlock  B  A2  ok`);
  world.clock.timeMs += 900_000;
  let asked = 0;
  journal.admission = () => {
    asked += 1;
    return Admission.OPEN;
  };
  const { sequence } = engine;
  world.book("lock", world.selection("C", "A1"));
  expect([asked, engine.sequence]).toEqual([1, sequence + 3]);
  const reply = { id: "1:k", fingerprint: "f", status: 200, body: "true" };
  engine.submitFollowUp({ kind: "rememberReply", caller, reply, budget: ROOMY });
  expect([asked, engine.sequence]).toEqual([1, sequence + 4]);
});

test("a journal that calls a record durable before it was appended fails an assertion", () => {
  const { journal, engine } = new World(HALL);
  expect(() => journal.sync(engine.sequence + 1)).toThrow("only appended records become durable");
});

// Callbacks waiting for the disk run in order, once, and never too early.

test("a callback that is added while others run comes after those added before it", () => {
  const queue = new DurabilityQueue(0);
  const called: string[] = [];
  queue.add(1, () => {
    called.push("a");
    queue.add(2, () => called.push("late"));
    queue.add(3, () => called.push("later"));
  });
  queue.add(2, () => called.push("b"));
  queue.durable(2);
  expect(called).toEqual(["a", "b", "late"]);
  queue.durable(3);
  expect(called).toEqual(["a", "b", "late", "later"]);
});

test("callbacks run once, in order, at their mark, though a long queue is compacted", () => {
  const queue = new DurabilityQueue(0);
  const called: number[] = [];
  const added: number[] = [];
  for (let sequence = 1; sequence <= 5_000; sequence++) {
    for (let twice = 0; twice <= sequence % 2; twice++) {
      added.push(sequence);
      queue.add(sequence, () => called.push(sequence));
    }
    if (sequence % 7 > 0) continue;
    queue.durable(sequence - 3);
    queue.durable(sequence - 3);
    expect(called).toHaveLength(added.filter((mark) => mark <= sequence - 3).length);
  }
  queue.durable(5_000);
  expect(called).toEqual(added);
});

test("a durable mark or an entry that goes back fails an assertion", () => {
  const queue = new DurabilityQueue(4);
  queue.add(6, () => {});
  expect(() => queue.add(5, () => {})).toThrow("entries are added in order of sequence number");
  expect(() => queue.durable(3)).toThrow("the durable mark never goes back");
});

// Assertions, and codes stored in the log.

test("a failed assertion and an unhandled case throw, each with its text", () => {
  assert(true, "never thrown");
  expect(() => assert(false, "two holds have one seat")).toThrow(
    new Broken("two holds have one seat"),
  );
  expect(() => unreachable("lost" as never)).toThrow("no case for lost");
});

test("the codes that the log stores keep their numbers", () => {
  const codes = (table: object) => Object.entries(table).flat().join(" ");
  expect(codes(SeatState)).toBe("UNPRICED 0 WITHDRAWN 1 ACTIVE 2 LOCKED 3 SOLD 4 BLOCKED 5");
  expect(codes(Move)).toBe(
    "LOCK 1 UNLOCK 2 SALE 3 REVERT_SALE 4 DIRECT_SALE 5 BLOCK 6 UNBLOCK 7 EXPIRE 8 " +
      "LOCK_WITH_BLOCKED 9 DIRECT_SALE_WITH_BLOCKED 10 UNLOCK_TO_BLOCKED 11 REVERT_SALE_TO_BLOCKED 12",
  );
  expect(codes(RecordType)).toBe("CATALOG 1 MOVE 2 PRICE 3 EXTENSION 4 ARRIVAL 5 CART 6 DOOR 7");
  expect(codes(ActorKind)).toBe("SYSTEM 0 ORGANIZATION 1 TENANT 2 ACCOUNT 3");
});
