/** Orphan modes, and the rules of an event that beat those of its organization. */
import { expect, test } from "vitest";
import { Result } from "../../engine/results.ts";
import { presentRules } from "../../engine/rules.ts";
import { World } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { check, checkMore, expectConsistent } from "../support/table.ts";

const ROW = [section("Stalls", { A: "1 2 3 4 5 6", B: "1 2 _ 3 4 5" }), area("Pit", 10)];

function ruled(world: World, body: object): void {
  const { caller, eventId } = world;
  world.must("changeEventRules", caller, { eventId, body });
  expectConsistent(world);
}

const rulesOf = ({ engine, eventId, caller }: World) => {
  const { organizations, events } = engine.state.catalog;
  return presentRules(organizations.get(caller.organizationId)!, events.get(eventId)!);
};

test("members of no rule, such as names of inherited ones → not stored with the event", () => {
  const world = new World(ROW);
  ruled(world, JSON.parse('{"toString":1,"__proto__":2,"constructor":3,"other":4}') as object);
  expect(Object.hasOwn(world.event, "rules")).toBe(false);
  ruled(world, { orphanMode: "strict", heldPerEvent: 0, valueOf: 1 });
  expect(world.event.rules).toEqual({ orphanMode: "strict", heldPerEvent: 0 });
});

test("strict refuses every single seat left; lenient the one that another choice would not leave", () => {
  for (const orphanMode of ["strict", "lenient"] as const) {
    const world = new World(ROW);
    ruled(world, { orphanMode });
    // Another four seats of six leave two beside each other; another five leave one, too.
    checkMore(
      world,
      `
      lock  A  A1 A2 A4 A6  orphan  A2 leaves A3  A4 leaves A3  A4 leaves A5  A6 leaves A5
      lock  A  B4           orphan  B4 leaves B3  B4 leaves B5
    `,
    );
    checkMore(
      world,
      orphanMode === "strict"
        ? `
      lock  A  A1 A2 A4 A5 A6  orphan  A2 leaves A3  A4 leaves A3
      lock  A  B1              orphan  B1 leaves B2
      lock  A  B3 B5           orphan  B3 leaves B4  B5 leaves B4
    `
        : `
      lock  A  A1 A2 A4 A5 A6  ok
      lock  A  B1              ok
      lock  A  B3 B5           ok
    `,
    );
  }
});

test("a stretch ends at what is taken, and a sale is judged as if its seats were on sale", () => {
  const world = new World(ROW);
  checkMore(
    world,
    `
    directsale  -  A4         ok
    lock        B  A5 A6      ok
  `,
  );
  ruled(world, { orphanMode: "lenient" });
  checkMore(
    world,
    `
    lock    A  A2          orphan  A2 leaves A1  A2 leaves A3
    lock    A  A1 A2       ok
    unlock  A  A1          ok
    sale    A  A2          orphan  A2 leaves A1  A2 leaves A3
    lock    A  A1          ok
    sale    A  A1 A2       ok
  `,
  );
});

test("the mode ends when as much of the event is sold as the rule says", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4", B: "1 2 3 4" })]);
  ruled(world, { orphanMode: "strict", orphanUntilSold: 25 });
  checkMore(
    world,
    `
    directsale  -  B1        ok
    block       -  B2        ok
    lock        A  A1 A3     orphan  A1 leaves A2  A3 leaves A2  A3 leaves A4
  `,
  );
  // Of seven seats that are not blocked, two are more than a quarter.
  checkMore(
    world,
    `
    directsale  -  B3        ok
    lock        A  A1 A3     ok
    unlock      A  A1 A3     ok
    revertsale  -  B3        ok
    unblock     -  B2        ok
  `,
  );
  // Exactly a quarter ends it.
  checkMore(
    world,
    `
    directsale  -  B3        ok
    lock        A  A1 A3     ok
  `,
  );
});

test("an event's own rules beat the organization's, its percent goes with its mode, and 0 is no limit", () => {
  const world = new World(ROW);
  const settings = {
    orphanMode: "strict" as const,
    orphanUntilSold: 40,
    heldPerSession: 3,
    heldPerEvent: 4,
  };
  world.change(settings);
  expect(rulesOf(world)).toEqual(settings);
  ruled(world, { orphanUntilSold: 10, heldPerEvent: null });
  expect(rulesOf(world)).toEqual(settings);
  ruled(world, { orphanMode: "lenient", heldPerSession: 1 });
  expect(rulesOf(world)).toEqual({ orphanMode: "lenient", heldPerSession: 1, heldPerEvent: 4 });
  checkMore(world, `lock  A  Pit:2  not_available  Pit:2 HELD_LIMIT`);
  ruled(world, { heldPerSession: 0, heldPerEvent: 0 });
  expect(rulesOf(world)).toEqual({ orphanMode: "strict", orphanUntilSold: 40 });
  checkMore(world, `lock  A  Pit:6  ok`);
  ruled(world, {});
  expect(rulesOf(world)).toEqual(settings);
});

test("rules are no change of the event as shown, stay with a new name, and are not copied", () => {
  const world = new World(ROW);
  const { caller, eventId, engine } = world;
  const event = () => engine.state.catalog.events.get(eventId)!;
  const before = engine.state.sequenceOf(event());
  ruled(world, { orphanMode: "strict" });
  expect(engine.state.sequenceOf(event())).toBe(before);
  const { name, start, endDate, schemaId } = event();
  const body = { id: eventId, name: `${name} 2`, start, endDate, schemaId };
  world.must("updateEvent", caller, { eventId, body, force: false });
  expect(event().rules).toEqual({ orphanMode: "strict" });
  const cloneId = "00000000-0000-4000-8000-000000000077";
  const copy = world.must("cloneEvent", caller, { eventId, cloneId, body: {} });
  expect(copy).not.toHaveProperty("rules");
  expectConsistent(world);
});

test("settings: to prevent orphans is strict unless a mode is set, and contradictions are refused", () => {
  const world = check(ROW, "");
  const { organizationId } = world.caller;
  const mode = () => rulesOf(world).orphanMode;
  const steps: [object, string][] = [
    [{ orphanPrevention: true }, "strict"],
    [{ orphanMode: "lenient" }, "lenient"],
    [{ orphanPrevention: true }, "lenient"],
    [{ salesControl: true }, "lenient"],
    [{ orphanPrevention: false }, "off"],
    [{ orphanPrevention: true }, "strict"],
    [{ orphanMode: "off" }, "off"],
    [{ orphanMode: "lenient", orphanPrevention: true }, "lenient"],
    [{ orphanMode: "off", orphanPrevention: false }, "off"],
  ];
  for (const [settings, expected] of steps) {
    world.change(settings);
    expect([settings, mode()]).toEqual([settings, expected]);
  }
  world.change({ orphanUntilSold: 50 });
  world.change({ salesControl: true });
  expect(rulesOf(world).orphanUntilSold).toBe(50);
  world.change({ orphanUntilSold: null });
  expect(rulesOf(world)).not.toHaveProperty("orphanUntilSold");
  for (const [orphanPrevention, orphanMode] of [
    [true, "off"],
    [false, "strict"],
    [false, "lenient"],
  ] as const) {
    const outcome = world.submit("changeSettings", world.tenant, {
      organizationId,
      body: { orphanPrevention, orphanMode },
    });
    expect(outcome).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "orphanMode", code: "CONFLICT", rejectedValue: orphanMode }],
    });
  }
});
