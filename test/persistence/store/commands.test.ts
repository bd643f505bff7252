/** Every command of a library caller is checked whole: nothing of another shape reaches the log. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandKind, type CommandOf, COMMANDS } from "../../../engine/commands.ts";
import { Result } from "../../../engine/results.ts";
import type { Caller } from "../../../engine/shapes/caller.ts";
import { openEngine, type Store } from "../../../persistence/store/open-engine.ts";
import { commandErrors } from "../../../persistence/store/shape-check.ts";
import { changesOf, OPEN_KINDS, sampleCommand } from "../../support/samples.ts";

const folder = mkdtempSync(path.join(tmpdir(), "frontrow-commands-"));
let store: Store;
let caller: Caller;

beforeAll(async () => {
  store = await openEngine({ folder });
  caller = await store.callerFor("Box office");
});

afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

/** A command as a caller without types may give it. */
async function give(command: object) {
  const before = store.engine.sequence;
  const outcome = await store.execute(command as unknown as CommandOf<CommandKind>);
  return { outcome, written: store.engine.sequence - before };
}

test.each(OPEN_KINDS)(
  "%s with a member missing or wrong is refused, and names it",
  async (kind) => {
    const sample = sampleCommand(kind, caller);
    expect(commandErrors(sample)).toEqual([]);
    const changes = changesOf(kind, sample);
    expect(changes.length).toBeGreaterThan(10);
    for (const { field, what, command, isValid } of changes) {
      const label = `${what}: ${field} in ${JSON.stringify(command)}`;
      const fields = commandErrors(command as never).map((error) => error.field);
      expect(fields, label).toEqual(isValid ? [] : [field]);
      if (isValid) continue;
      const { outcome, written } = await give(command);
      const errors = [{ field }];
      expect(outcome, label).toMatchObject({ refused: Result.VALIDATION_FAILED, errors });
      expect(written, label).toBe(0);
    }
  },
);

test("an event without an id is refused, and its row is not written", async () => {
  const { eventId: _, ...command } = sampleCommand("createEvent", caller);
  const { outcome, written } = await give(command);
  const errors = [{ field: "eventId", code: "NOT_NULL", message: "must be given, and not null" }];
  expect(outcome).toMatchObject({ refused: Result.VALIDATION_FAILED, errors });
  expect(written).toBe(0);
});

const INTERNAL = (Object.keys(COMMANDS) as CommandKind[]).filter(
  (kind) => !OPEN_KINDS.includes(kind),
);

test.each(INTERNAL)("%s is known to the front alone, and refused", async (kind) => {
  const { outcome, written } = await give(sampleCommand(kind, caller));
  const errors = [{ field: "kind", code: "UNKNOWN" }];
  expect(outcome).toMatchObject({ refused: Result.VALIDATION_FAILED, errors });
  expect(written).toBe(0);
});

test("the commands of the front are those of logins and replies", () => {
  expect(INTERNAL).toEqual(["openLogin", "renewLogin", "closeLogin", "rememberReply"]);
});

test.each(OPEN_KINDS)("%s needs a caller that acts for somebody that exists", async (kind) => {
  const { tenantId } = caller;
  const isPlatform = COMMANDS[kind].scope === "platform";
  const strangers: Caller[] = [
    { ...caller, organizationId: 99 },
    { ...caller, tenantId: 99 },
    ...(isPlatform ? [] : [{ ...caller, tenantId: 99, organizationId: 0 }]),
    ...(COMMANDS[kind].scope === undefined ? [{ ...caller, tenantId, organizationId: 0 }] : []),
  ];
  for (const stranger of strangers) {
    const { outcome, written } = await give(sampleCommand(kind, stranger));
    expect(outcome.refused, JSON.stringify(stranger)).toBe(Result.ACCESS_DENIED);
    expect(written).toBe(0);
  }
});
