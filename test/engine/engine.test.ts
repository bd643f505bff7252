/** The engine itself: order, time, the journal's admission, and when an outcome may be told. */
import { Broken } from "../../engine/assert.ts";
import { expect, test } from "vitest";
import { checkState } from "../../engine/check.ts";
import { digest } from "../../engine/digest.ts";
import { Engine } from "../../engine/engine.ts";
import { Admission } from "../../engine/ports.ts";
import { Result } from "../../engine/results.ts";
import { ManualClock, MemoryJournal, replayed, START_MS, World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
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
  journal.append = () => {};
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
