/** The binary subprotocol on real connections. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { FIELDS, REASONS, RESULT_CODES } from "../../../server/commands/binary-protocol.ts";
import { COMMANDS_FRAME } from "../../../server/commands/command.ts";
import { REPLIES } from "../../../server/http/answers.ts";
import { commandEntry, openEntry, readAnswers } from "../../support/commands/binary-layout.ts";
import type { CommandClient } from "./client.ts";
import { CommandStage } from "./stage.ts";

const [FALSE, TRUE] = [0, 1];
const [EVENT, ANN, BOB] = [1, 1, 2];

async function started() {
  const stage = await CommandStage.start();
  const client = await stage.openBinary();
  const { a } = stage.server;
  client.send(
    Buffer.concat([
      openEntry("event", EVENT, a.eventId),
      openEntry("session", ANN, "ann"),
      openEntry("session", BOB, "bob"),
    ]),
  );
  return { stage, client, idOf: (label: string) => a.labels.idOf(label) };
}

async function ask(client: CommandClient, ...entries: readonly Buffer[]) {
  client.send(Buffer.concat(entries));
  const [message] = await client.received(1);
  return readAnswers(message as Buffer);
}

const done = (n: number, result = TRUE) => ({
  n,
  status: 200,
  result,
  retrySeconds: 0,
  errors: [],
});
const command = (n: number, call: string, seats: readonly number[], session = ANN) => ({
  n,
  call,
  event: EVENT,
  session,
  seats,
});

test("commands are answered in their order, with results and refused positions", async () => {
  const { stage, client, idOf } = await started();
  const [first, second] = [idOf("A1"), idOf("A2")];
  const lock = commandEntry(command(1, "lock", [first, second]));
  expect(lock.length).toBe(24);
  const answers = await ask(
    client,
    lock,
    commandEntry(command(2 ** 32 - 1, "lock", [idOf("A3"), second], BOB)),
    commandEntry({ ...command(3, "lock", []), areas: [[idOf("Pit"), 101]] }),
    commandEntry({ ...command(4, "sale", [first, second]), isLong: true }),
    commandEntry({ ...command(5, "directsale", [first]), session: 0 }),
  );
  const refused = { status: 400, result: RESULT_CODES.indexOf("INVENTORY_NOT_AVAILABLE") };
  const seat = [FIELDS.indexOf("seats[].id"), REASONS.indexOf("LOCKED"), 1];
  const area = FIELDS.indexOf("groupOfSeats[].capacity");
  expect(answers).toEqual([
    done(1),
    { n: 2 ** 32 - 1, ...refused, retrySeconds: 0, errors: [seat] },
    {
      n: 3,
      ...refused,
      retrySeconds: 0,
      errors: [[area, REASONS.indexOf("INSUFFICIENT_CAPACITY"), 0]],
    },
    done(4),
    done(5, FALSE),
  ]);
  expect(await stage.server.states("A1", "A2", "A3")).toEqual(["SOLD", "SOLD", "ACTIVE"]);
});

test("a lock names no channel: a kept seat is refused with its own reason", async () => {
  const { stage, client, idOf } = await started();
  const { a, world } = stage.server;
  const body = { name: "Agency", seats: [idOf("A1")] };
  world.must("putChannel", a.caller, { eventId: a.eventId, key: "agency", body });
  const [refused, sold] = await ask(
    client,
    commandEntry(command(1, "lock", [idOf("A2"), idOf("A1")])),
    commandEntry({ ...command(2, "directsale", [idOf("A1")]), session: 0 }),
  );
  const field = FIELDS.indexOf("seats[].id");
  expect(refused).toMatchObject({ status: 400, errors: [[field, REASONS.indexOf("CHANNEL"), 1]] });
  expect(sold).toEqual(done(2, FALSE));
});

test("a handle that is opened again means the new text from there on", async () => {
  const { stage, client, idOf } = await started();
  const answers = await ask(
    client,
    commandEntry(command(1, "lock", [idOf("A1")])),
    openEntry("session", ANN, "Zoë"),
    commandEntry(command(2, "lock", [idOf("A2")])),
    commandEntry(command(3, "unlock", [idOf("A1")])),
    openEntry("session", ANN, ""),
    commandEntry(command(4, "unlock", [idOf("A2")])),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 400, 400]);
  const unknown = [FIELDS.indexOf("sessionId"), REASONS.indexOf("UNKNOWN"), 0];
  expect(answers[3]!.errors).toEqual([unknown]);
  expect((await stage.server.book("unlock", "Zoë", "A2")).text).toBe("true");
});

test("a repetition of a request that preferred a representation is done", async () => {
  const { stage, client, idOf } = await started();
  const { server } = stage;
  const headers = { prefer: "return=representation", "idempotency-key": "k" };
  const by = { key: server.a.key, headers };
  const body = server.selection("ann", "A1");
  const first = await server.post(server.bookingPath("lock"), body, by);
  expect(first.text).toContain('"fence"');
  const again = { ...command(1, "lock", [idOf("A1")]), key: "k" };
  expect(await ask(client, commandEntry(again))).toEqual([done(1)]);
  const json = await stage.open();
  const repeated = { ...stage.command(1, "lock", "ann", "A1"), idempotencyKey: "k" };
  expect(await json.ask(repeated)).toEqual([{ n: 1, status: 200, body: first.body }]);
});

test("a JSON command may have fences", async () => {
  const { stage, idOf } = await started();
  const client = await stage.open();
  const [locked] = await client.ask(stage.command(1, "lock", "ann", "A1"));
  expect(locked!.status).toBe(200);
  const fence = stage.server.engine.sequence;
  const sale = (n: number, given: number) => ({
    ...stage.command(n, "sale", "ann", "A1"),
    fences: { [idOf("A1")]: given },
  });
  const answers = await client.ask(sale(2, fence - 1), sale(3, fence));
  expect(answers.map(({ status }) => status)).toEqual([400, 200]);
});

test("hold types, idempotency keys and ids that do not exist are judged as over HTTP", async () => {
  const { stage, client, idOf } = await started();
  const key = "an order";
  const locked = { ...command(1, "lock", [idOf("A1")]), holdType: 9, key };
  const answers = await ask(
    client,
    openEntry("hold type", 9, "RESERVED"),
    openEntry("hold type", 10, "NONE"),
    openEntry("event", 2, "00000000-0000-4000-8000-000000000000"),
    commandEntry(locked),
    commandEntry(locked),
    commandEntry({ ...locked, holdType: 0 }),
    commandEntry({ ...command(4, "lock", [idOf("A2")]), holdType: 10 }),
    commandEntry(command(5, "lock", [0])),
    commandEntry(command(6, "lock", [4_000_000_000])),
    commandEntry({ ...command(7, "lock", [idOf("A2")]), event: 2 }),
    commandEntry({ ...command(8, "lock", [idOf("A2")]), event: 3 }),
    commandEntry(command(9, "lock", [])),
  );
  expect(answers.map(({ result }) => RESULT_CODES[result] || result)).toEqual([
    TRUE,
    TRUE,
    "IDEMPOTENCY_KEY_REUSED",
    "VALIDATION_FAILED",
    "VALIDATION_FAILED",
    "INVENTORY_NOT_AVAILABLE",
    "EVENT_ACCESS_DENIED",
    "VALIDATION_FAILED",
    "VALIDATION_FAILED",
  ]);
  const body = { ...stage.server.selection("ann", "A1"), holdType: "RESERVED" };
  const by = { key: stage.server.a.key, headers: { "idempotency-key": key } };
  expect((await stage.server.post(stage.server.bookingPath("lock"), body, by)).text).toBe("true");
});

const lock = commandEntry({ n: 1, call: "lock", event: EVENT, seats: [1] });
const withByte = (entry: Buffer, at: number, value: number) => {
  const changed = Buffer.from(entry);
  changed[at] = value;
  return changed;
};

test.each([
  ["a text message", "[]"],
  ["less than an entry", Buffer.alloc(4)],
  ["a call that does not exist", withByte(lock, 4, 8)],
  ["a kind of handle that does not exist", withByte(lock, 4, 131)],
  ["unknown flags", withByte(lock, 5, 2)],
  ["more seats than the frame has", withByte(lock, 12, 200)],
  ["a key that the frame does not have", withByte(lock, 11, 200)],
  ["an event that is no UUID", openEntry("event", 1, "00")],
  ["a session that is not UTF-8", withByte(openEntry("session", 1, "abcd"), 8, 0xff)],
])("%s closes the connection with 1007, and nothing of its frame is decided", async (_, entry) => {
  const { stage, client, idOf } = await started();
  const valid = commandEntry(command(1, "lock", [idOf("A1")]));
  const isBinary = typeof entry !== "string";
  client.send(isBinary ? Buffer.concat([valid, entry]) : entry);
  expect((await client.closed).code).toBe(1007);
  expect(await stage.server.states("A1")).toEqual(["ACTIVE"]);
});

test("the memory of handles is given back when they are opened again, and at the end", async () => {
  const { stage, client } = await started();
  const { bodyBudget } = stage.listening.http.stats;
  const lockOf = commandEntry(command(1, "unlock", [1]));
  for (let round = 0; round < 3; round++) {
    await ask(client, openEntry("session", 5, "x".repeat(100 + round)), lockOf);
  }
  expect(bodyBudget.bytes).toBe(4 * 64 + 36 + 3 + 3 + 102);
  client.socket.close();
  await client.closed;
  await stage.listening.settled();
  expect(bodyBudget.bytes).toBe(0);
});

test("beyond the memory for handles the connection closes", async () => {
  const stage = await CommandStage.start({ bodyLimits: { organization: 64 * 1_024 } });
  const client = await stage.openBinary();
  const { bodyBudget } = stage.listening.http.stats;
  for (let handle = 1; handle <= 40; handle++) {
    client.send(openEntry("session", handle, "x".repeat(2_000)));
  }
  expect((await client.closed).code).toBe(1013);
  await stage.listening.settled();
  expect([bodyBudget.bytes, bodyBudget.refused]).toEqual([0, 1]);
});

test("the guide names every member of a command", () => {
  const page = readFileSync("server/docs/guide/commands.md", "utf8");
  const [, table = ""] = /\| member \| meaning \|\n([^]*?)\n\n/.exec(page) ?? [];
  const named = new Set([...table.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  const { items } = COMMANDS_FRAME as {
    readonly items: { readonly anyOf: readonly { readonly properties: object }[] };
  };
  const members = items.anyOf.flatMap(({ properties }) => Object.keys(properties));
  expect(members).toContain("items");
  expect(members.filter((name) => !named.has(name))).toEqual([]);
});

test("the guide has every number, and every refusal of a booking has one", () => {
  const page = readFileSync("server/docs/guide/commands.md", "utf8");
  for (const names of [RESULT_CODES, FIELDS, REASONS]) {
    for (const [number, name] of names.entries()) {
      if (name !== "") expect(page).toContain(`| ${number} | \`${name}\` |`);
    }
  }
  const codes = new Set(Object.values(REPLIES).map(({ errorCode }) => errorCode));
  for (const code of RESULT_CODES) expect(code === "" || codes.has(code)).toBe(true);
});

test("handles that a frame opens later do not change its commands that wait", async () => {
  const { stage, client, idOf } = await started();
  const { server } = stage;
  await server.book("lock", "bob", "A1");
  const keyed = (n: number) => ({ ...command(n, "lock", [idOf("A1")]), key: "k" });
  await ask(client, commandEntry(keyed(1)));
  // The answer to the key has to be read from disk now.
  server.services.replies.add("other", "x".repeat(20 * 1_024 * 1_024));
  client.send(
    Buffer.concat([
      commandEntry(keyed(2)),
      commandEntry(command(3, "lock", [idOf("A2")])),
      openEntry("session", ANN, "cleo"),
      commandEntry(command(4, "lock", [idOf("A3")])),
    ]),
  );
  const answers = [];
  while (answers.length < 3) answers.push(...readAnswers((await client.received(1))[0] as Buffer));
  expect(answers.map(({ status }) => status)).toEqual([400, 200, 200]);
  const unlock = (session: string, label: string) => server.book("unlock", session, label);
  expect((await unlock("ann", "A2")).status).toBe(200);
  expect((await unlock("cleo", "A3")).status).toBe(200);
});
