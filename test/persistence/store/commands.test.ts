/** A command of a library caller is checked completely before it reaches the log. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CommandKind, type CommandOf, COMMANDS } from "../../../engine/commands.ts";
import { Result } from "../../../engine/results.ts";
import type { Caller } from "../../../engine/bodies.ts";
import { openEngine, type Store } from "../../../persistence/store/open-engine.ts";
import { commandErrors } from "../../../persistence/store/shape-check.ts";
import { changesOf, INTERNAL_KINDS, OPEN_KINDS, sampleCommand } from "../../support/samples.ts";

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

/** Expects a command to be refused and to write nothing. */
async function expectRefused(command: unknown, refusal: object): Promise<void> {
  const { sequence } = store.engine;
  const outcome = await store.execute(command as CommandOf<CommandKind>);
  expect(outcome, JSON.stringify(command)).toMatchObject(refusal);
  expect(store.engine.sequence).toBe(sequence);
}

const invalid = (field: string, code?: string) => ({
  refused: Result.VALIDATION_FAILED,
  errors: [code === undefined ? { field } : { field, code }],
});

test.each(OPEN_KINDS)(
  "%s with a member missing or wrong is refused, and names it",
  async (kind) => {
    const sample = sampleCommand(kind, caller);
    expect(commandErrors(sample)).toEqual([]);
    const changes = changesOf(kind, sample);
    expect(changes.length).toBeGreaterThan(15);
    for (const { field, value, isValid } of changes) {
      if (isValid) expect(commandErrors(value as never), JSON.stringify(value)).toEqual([]);
      else await expectRefused(value, invalid(field.replace(/^body\.?(?=.)/, "")));
    }
  },
);

test("createEvent without an id is refused, and no row is written", async () => {
  const { eventId: _, ...command } = sampleCommand("createEvent", caller);
  await expectRefused(command, invalid("eventId", "NOT_NULL"));
});

test("commands that only the front gives are refused to library callers", async () => {
  const replies = ["rememberReply", "forgetReplies"];
  const logins = ["openLogin", "renewLogin", "closeLogin"];
  const layouts = ["installLayout", "installClone"];
  const webhooks = ["create", "update", "delete"].map((act) => `${act}Webhook`);
  webhooks.push("rotateWebhookSecret", "disableWebhook");
  const moves = ["moveOrganization", "beginArrival", "arrive", "clearOrganization"];
  const doors = [
    "putAdmission",
    "deleteAdmission",
    "openDoor",
    "joinDoor",
    "enterDoor",
    "leaveDoor",
  ];
  const inOrder = [...moves, ...logins, ...replies, ...layouts, ...webhooks, ...doors];
  expect(INTERNAL_KINDS).toEqual(inOrder);
  for (const kind of INTERNAL_KINDS) {
    await expectRefused(sampleCommand(kind, caller), invalid("kind", "UNKNOWN"));
  }
  await expectRefused({ kind: "toString", caller }, invalid("kind", "UNKNOWN"));
});

test.each(OPEN_KINDS)(
  "%s is refused for a caller whose tenant or organization does not exist",
  async (kind) => {
    const { scope } = COMMANDS[kind];
    const strangers: object[] = [{ organizationId: 99 }, { tenantId: 99 }];
    if (scope !== "platform") strangers.push({ tenantId: 99, organizationId: 0 });
    if (scope === undefined) strangers.push({ organizationId: 0 });
    for (const stranger of strangers) {
      const command = sampleCommand(kind, { ...caller, ...stranger });
      await expectRefused(command, { refused: Result.ACCESS_DENIED });
    }
  },
);
