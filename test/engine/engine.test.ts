/** The engine itself: order, time, the journal's admission, and when an outcome may be told. */
import { expect, test } from "vitest";
import { Broken } from "../../engine/assert.ts";
import { Engine } from "../../engine/engine.ts";
import { Admission } from "../../engine/ports.ts";
import { RecordType } from "../../engine/records.ts";
import { Result } from "../../engine/results.ts";
import { checkState } from "../../engine/verify/check.ts";
import { digest } from "../../engine/verify/digest.ts";
import { ManualClock, MemoryJournal, replayed, START_MS, World } from "../support/engine.ts";
import { area, layoutOf, section } from "../support/layout.ts";
import { checkMore } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4" }), area("Pit", 10)];

test("records are numbered one by one, and their time never steps back", () => {
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

test("a refusal and a command that changes nothing write nothing", () => {
  const world = new World(HALL);
  world.book("directsale", world.selection(null, "A1"));
  const { sequence } = world.engine;
  world.book("lock", world.selection("A", "A1"));
  world.book("directsale", world.selection(null, "A1"));
  world.book("unlock", world.selection("A", "A2"));
  expect(world.engine.sequence).toBe(sequence);
});

test("while the journal takes nothing, every command is refused and nothing happens", () => {
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

test("a record for which the journal has no room changes nothing, and may come again", () => {
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

test("what comes along is refused by itself when it finds no room", () => {
  const world = new World(HALL);
  const { engine, journal, caller } = world;
  journal.takes = (_, isFollowUp) => (isFollowUp ? Admission.OVERLOADED : Admission.OPEN);
  world.must("createVenue", caller, { body: { name: "First" } });
  const before = digest(engine.state);
  const reply = { id: "1:k", fingerprint: "f", status: 200, body: "true" };
  const outcome = engine.submitFollowUp({ kind: "rememberReply", caller, reply });
  expect(outcome.refused).toBe(Result.OVERLOADED);
  expect(digest(engine.state)).toBe(before);
});

test("a command whose holds cannot end for want of room is refused, each hold being whole", () => {
  const world = new World(HALL);
  const { engine, journal } = world;
  checkMore(world, `lock  A  A1 A2 Pit:2  ok\nlock  B  A3 Pit:3  ok`);
  world.clock.timeMs += 900_000;
  const { sequence } = engine;
  let room = 1;
  let asked = 0;
  journal.takes = () => {
    asked += 1;
    return room-- > 0 ? Admission.OPEN : Admission.UNAVAILABLE;
  };
  const lock = () => world.book("lock", world.selection("C", "A4"));
  expect(lock().refused).toBe(Result.LOG_UNAVAILABLE);
  expect([engine.sequence, world.partition.holds.count]).toEqual([sequence + 1, 1]);
  const states = () =>
    ["A1", "A2", "A3", "A4"].map((seat) => world.partition.state[world.seat(seat)]);
  expect(states()).toEqual([2, 2, 3, 2]);
  asked = 0;
  engine.expireAll();
  engine.expire(world.event);
  expect(asked).toBe(2);
  expect(states()).toEqual([2, 2, 3, 2]);
  checkState(engine.state);
  journal.takes = () => Admission.OPEN;
  expect(lock().refused).toBe(Result.OK);
  expect([engine.sequence, world.partition.holds.count]).toEqual([sequence + 3, 1]);
  expect(digest(replayed(journal))).toBe(digest(engine.state));
});

test("an outcome may be told once everything before it is on disk", () => {
  const world = new World(HALL);
  world.journal.sync();
  const told: string[] = [];
  const submit = (name: string, session: string, seat: string) => {
    world.book("lock", world.selection(session, seat));
    world.engine.afterDurable(() => told.push(name));
  };
  world.engine.afterDurable(() => told.push("at once"));
  expect(told).toEqual(["at once"]);
  submit("granted", "A", "A1");
  submit("refused", "B", "A1");
  world.engine.afterDurable(() => told.push("read"));
  const mark = world.engine.sequence;
  submit("later", "B", "A2");
  expect(told).toEqual(["at once"]);
  world.journal.sync(mark);
  expect(told).toEqual(["at once", "granted", "refused", "read"]);
  world.journal.sync();
  expect(told.at(-1)).toBe("later");
});

test("an engine goes on where a log ended, its clock too", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1 Pit:3  ok`);
  const last = world.journal.kept.at(-1)!;
  const journal = new MemoryJournal();
  const clock = new ManualClock();
  clock.timeMs = START_MS - 60_000;
  const position = { sequence: last.sequence, timeMs: last.timeMs };
  const engine = new Engine(replayed(world.journal), position, { clock, journal });
  let told = false;
  engine.afterDurable(() => (told = true));
  expect(told).toBe(true);
  expect(engine.nowMs()).toBe(last.timeMs);
  const body = world.selection("A", "A1", "Pit:3");
  const { caller, eventId } = world;
  expect(engine.submit({ kind: "sale", caller, eventId, body })).toMatchObject({ value: true });
  expect(journal.kept).toMatchObject([{ sequence: last.sequence + 1, timeMs: last.timeMs }]);
  checkState(engine.state);
});

test("holds of an event end before a command to it, whoever sends it, and before a read", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1  ok`);
  world.clock.timeMs += 900_000;
  const state = () => world.partition.state[world.seat("A1")];
  world.submit("createVenue", world.caller, { body: { name: "X" } });
  expect(state()).toBe(3);
  world.engine.expire(world.event);
  expect(state()).toBe(2);
});

test("an engine whose journal could not take a record decides nothing any more", () => {
  const world = new World(HALL);
  checkMore(world, `lock  A  A1  ok`);
  const { journal, engine, caller } = world;
  const { sequence } = engine;
  journal.append = () => {
    throw new RangeError("out of memory");
  };
  const submit = () => engine.submit({ kind: "createVenue", caller, body: { name: "V" } });
  expect(submit).toThrow(Broken);
  expect(engine.sequence).toBe(sequence);
  journal.append = () => Admission.OPEN;
  expect(submit).toThrow(Broken);
  expect(() => engine.expireAll()).toThrow(Broken);
});

test("a broken promise of the journal comes out as it is", () => {
  const { journal, engine, caller } = new World(HALL);
  const promise = new Broken("a record fits a frame");
  journal.append = () => {
    throw promise;
  };
  const submit = () => engine.submit({ kind: "createVenue", caller, body: { name: "V" } });
  expect(submit).toThrow(promise);
  expect(engine.isHalted).toBe(true);
});
