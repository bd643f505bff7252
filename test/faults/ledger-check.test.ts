/** Every deviation of a state from a ledger is found, and nothing else. */
import { expect, test } from "vitest";
import type { LedgerLine, LedgerStep } from "../../server/onsale/books.ts";
import { World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { ledgerDeviations, LedgerFold } from "../support/ledger-check.ts";

type Op = Exclude<LedgerLine["op"], "best">;

/** A house, and a ledger that may differ from it. */
class Scene {
  readonly world = new World([section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 9)]);
  readonly fold = new LedgerFold();

  /** Books in the house. */
  done(op: Op, session: string, ...objects: readonly string[]): void {
    const outcome = this.world.book(op, this.world.selection(session, ...objects));
    expect(outcome.refused).toBe(0);
  }

  /** Enters in the ledger. */
  told(
    op: LedgerLine["op"],
    steps: readonly LedgerStep[],
    session: string,
    ...objects: readonly string[]
  ): void {
    const { seats = [], groupOfSeats = [] } = this.world.selection(session, ...objects);
    const time = new Date(0).toISOString();
    const line = { time, op, session, seats: seats!.map(({ id }) => id), areas: groupOfSeats };
    for (const step of steps) this.fold.enter(JSON.stringify({ ...line, step }));
  }

  /** Both. */
  both(op: Op, session: string, ...objects: readonly string[]): void {
    this.done(op, session, ...objects);
    this.told(op, ["asked", "answered"], session, ...objects);
  }

  /** Deviations, with labels for ids. */
  get deviations(): string[] {
    const { engine, eventId, labels } = this.world;
    const named = (text: string) =>
      text.replaceAll(
        /(seat|area) (\d+)/g,
        (_, kind, id) => `${kind} ${labels.labelOf(Number(id))}`,
      );
    return ledgerDeviations(this.fold, engine.state, eventId).map(named);
  }
}

test("a state with everything that was acknowledged has no deviation", () => {
  const scene = new Scene();
  scene.both("lock", "ann", "A1", "A2");
  scene.both("sale", "ann", "A1", "A2");
  scene.both("lock", "ben", "A3");
  scene.both("lock", "cid", "Pit:4");
  scene.both("sale", "cid", "Pit:4");
  scene.both("lock", "dan", "Pit:2");
  scene.both("lock", "eve", "A6");
  scene.both("unlock", "eve", "A6");
  scene.told("lock", ["asked", "refused"], "fay", "A1");
  expect(scene.deviations).toEqual([]);
  expect(scene.fold.acknowledged).toEqual({ lock: 5, unlock: 1, sale: 2 });
  expect(scene.fold.soldCount).toBe(6);
});

test("a request of unknown outcome may have been done or not", () => {
  for (const isDone of [true, false]) {
    const scene = new Scene();
    const unknown = (op: Op, session: string, ...objects: readonly string[]) => {
      if (isDone) scene.done(op, session, ...objects);
      scene.told(op, ["asked"], session, ...objects);
    };
    unknown("lock", "ann", "A1", "A2");
    unknown("lock", "ben", "Pit:3");
    scene.both("lock", "cid", "A3", "A4");
    unknown("sale", "cid", "A3", "A4");
    scene.both("lock", "dan", "Pit:2");
    unknown("sale", "dan", "Pit:2");
    scene.both("lock", "eve", "A6");
    unknown("unlock", "eve", "A6");
    expect(scene.deviations).toEqual([]);
  }
});

test("a lost acknowledged lock is found", () => {
  const scene = new Scene();
  scene.told("lock", ["asked", "answered"], "ann", "A1", "A2");
  scene.told("lock", ["asked", "answered"], "ben", "Pit:2");
  expect(scene.deviations).toEqual([
    "session ann must hold its basket: seat A1 ACTIVE, seat A2 ACTIVE",
    "session ben must hold its basket: area Pit 0 of 2 places held",
  ]);
});

test("a lost acknowledged sale is found", () => {
  const scene = new Scene();
  scene.both("lock", "ann", "A1");
  scene.told("sale", ["asked", "answered"], "ann", "A1");
  scene.told("lock", ["asked", "answered"], "ben", "Pit:2");
  scene.told("sale", ["asked", "answered"], "ben", "Pit:2");
  expect(scene.deviations).toEqual([
    "seat A1 was acknowledged as sold and is LOCKED by ann",
    "seat A1 is LOCKED by ann, who has no lock of it open",
    "area Pit: 0 places are SOLD, not 2 to 2",
  ]);
});

test("an undone acknowledged unlock is found", () => {
  const scene = new Scene();
  scene.both("lock", "ann", "A1");
  scene.told("unlock", ["asked", "answered"], "ann", "A1");
  scene.both("lock", "ben", "Pit:2");
  scene.told("unlock", ["asked", "answered"], "ben", "Pit:2");
  expect(scene.deviations).toEqual([
    "seat A1 is LOCKED by ann, who has no lock of it open",
    "area Pit: 2 places are LOCKED by ben, who has no lock open",
  ]);
});

test("a partially applied lock is found, even if its outcome is unknown", () => {
  const scene = new Scene();
  scene.done("lock", "ann", "A1");
  scene.told("lock", ["asked"], "ann", "A1", "A2");
  expect(scene.deviations).toEqual([
    "session ann may have all of its basket or nothing: seat A1 LOCKED by ann, seat A2 ACTIVE",
  ]);
});

test("the server chooses, and has not answered → the session may hold anything or nothing", () => {
  const scene = new Scene();
  scene.done("lock", "ann", "A1", "A2");
  scene.done("lock", "ben", "Pit:3");
  for (const session of ["ann", "ben", "cid"]) scene.told("best", ["asked"], session);
  expect(scene.deviations).toEqual([]);
  scene.told("best", ["answered"], "ann", "A1", "A2");
  scene.told("best", ["answered"], "ben", "Pit:3");
  scene.told("best", ["answered"], "cid", "A4");
  expect(scene.deviations).toEqual(["session cid must hold its basket: seat A4 ACTIVE"]);
  scene.told("best", ["asked", "refused"], "dan");
  expect(scene.fold.acknowledged.lock).toBe(3);
});

test("seats and places that nobody requested are found", () => {
  const scene = new Scene();
  scene.done("lock", "ann", "A1", "Pit:2");
  scene.done("lock", "ben", "A3", "Pit:1");
  scene.done("sale", "ben", "A3", "Pit:1");
  expect(scene.deviations).toEqual([
    "seat A1 is LOCKED by ann, who has no lock of it open",
    "seat A3 is SOLD and nobody asked to buy it",
    "area Pit: 2 places are LOCKED by ann, who has no lock open",
    "area Pit: 1 places are SOLD, not 0 to 0",
  ]);
});

test("after a refused sale its hold must exist", () => {
  const scene = new Scene();
  scene.told("lock", ["asked", "answered"], "ann", "A1");
  scene.told("sale", ["asked", "refused"], "ann", "A1");
  expect(scene.deviations).toEqual(["session ann must hold its basket: seat A1 ACTIVE"]);
});

test("a missing event is one deviation", () => {
  const { fold, world } = new Scene();
  expect(ledgerDeviations(fold, world.engine.state, "no-event")).toEqual([
    "event no-event is gone",
  ]);
});
