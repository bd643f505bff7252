/** The command table: what its rows promise, and that `decide` keeps to it. */
import { expect, test } from "vitest";
import { Broken } from "../../engine/assert.ts";
import { type CommandKind, COMMANDS, decide, isCommandKind } from "../../engine/commands.ts";
import { Result } from "../../engine/results.ts";
import { World } from "../support/engine.ts";
import { section } from "../support/layout.ts";
import { OPEN_KINDS } from "../support/samples.ts";

const ROWS = Object.entries(COMMANDS);

test.each(ROWS)("the refusals of %s are in the order of their codes, each once", (_, row) => {
  const refusals: readonly number[] = row.refusals;
  expect(refusals).toEqual([...new Set(refusals)].toSorted((a, b) => a - b));
  // The journal gives these three to every command.
  expect(refusals).not.toContain(Result.LOG_UNAVAILABLE);
  expect(refusals).not.toContain(Result.OVERLOADED);
  expect(refusals).not.toContain(Result.PAYLOAD_TOO_LARGE);
});

test("a refusal that the row of its command does not list breaks an assertion", () => {
  const { engine, caller } = new World([section("Stalls", { A: "1" })]);
  const command = { kind: "deleteVenue", caller, venueId: 999 } as const;
  expect(decide(engine.state, command, 0).refused).toBe(Result.ENTITY_NOT_FOUND);
  const row = COMMANDS.deleteVenue as { refusals: readonly Result[] };
  const { refusals } = row;
  row.refusals = refusals.filter((code) => code !== Result.ENTITY_NOT_FOUND);
  try {
    expect(() => decide(engine.state, command, 0)).toThrow(Broken);
  } finally {
    row.refusals = refusals;
  }
});

test("no name but those of the table is a command", () => {
  expect(OPEN_KINDS.length).toBeGreaterThan(40);
  expect((Object.keys(COMMANDS) as CommandKind[]).every(isCommandKind)).toBe(true);
  expect(["toString", "__proto__", "", "Lock", 7, null].some(isCommandKind)).toBe(false);
});
