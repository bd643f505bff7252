/** The JSON subprotocol on real connections. */
import {
  array,
  assert,
  constant,
  constantFrom,
  oneof,
  property,
  shuffledSubarray,
  tuple,
} from "fast-check";
import { expect, test } from "vitest";
import { Command, Handles, UNREADABLE } from "../../../server/commands/command.ts";
import { JsonProtocol } from "../../../server/commands/json-protocol.ts";
import type { ProblemBody } from "../../support/answers/exchange.ts";
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { CommandClient, type JsonAnswer, SOCKET_PATH } from "./client.ts";
import { CommandStage } from "./stage.ts";

const codesOf = (answers: readonly JsonAnswer[]) =>
  answers.map(({ status, body }) =>
    typeof body === "boolean" ? body : [status, (body as ProblemBody).errorCode],
  );

test("the first message says what a client may send", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  expect(JSON.parse(client.credit!)).toEqual({
    type: "credit",
    commands: 1_024,
    commandsInFrame: 64,
    bytesInFrame: 65_536,
  });
  expect(client.socket.protocol).toBe("frontrow.commands.v1+json");
});

test("commands are answered in their order, with the number that they carry", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  const answers = await client.ask(
    stage.command(7, "lock", "ann", "A1", "A2"),
    stage.command(-8, "lock", "bob", "A2"),
    stage.command(2 ** 53 - 1, "sale", "ann", "A1", "A2"),
  );
  expect(answers.map(({ n }) => n)).toEqual([7, -8, 2 ** 53 - 1]);
  expect(codesOf(answers)).toEqual([true, [400, "INVENTORY_NOT_AVAILABLE"], true]);
  expect(await stage.server.states("A1", "A2")).toEqual(["SOLD", "SOLD"]);
});

test("a command with invalid members is refused, and the others are carried out", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const valid = stage.command(1, "lock", "ann", "A1");
  const answers = await client.ask(
    { ...valid, call: "steal" },
    { ...valid, call: undefined },
    { ...valid, eventId: undefined },
    { ...valid, eventId: "x" },
    { ...valid, eventId: 5 },
    { ...valid, seats: [{ id: "1" }] },
    { ...valid, seats: [] },
    { ...valid, sessionId: "s".repeat(256) },
    { ...valid, holdType: "NONE" },
    { ...valid, idempotencyKey: 5 },
    { ...valid, idempotencyKey: "" },
    { ...valid, idempotencyKey: "é" },
    valid,
  );
  const fields = answers.map(({ body }) => (body as ProblemBody).errors?.[0]);
  expect(fields.map((error) => error && `${error.field} ${error.code}`)).toEqual([
    "call ENUM",
    "call NOT_NULL",
    "eventId NOT_NULL",
    "eventId FORMAT",
    "eventId FORMAT",
    "seats[0].id TYPE",
    "seats NOT_NULL",
    "sessionId SIZE",
    "holdType UNKNOWN",
    "idempotencyKey TYPE",
    "Idempotency-Key SIZE",
    "Idempotency-Key SIZE",
    undefined,
  ]);
  expect((answers[0]!.body as ProblemBody).path).toBe("/api/private/v2.0/booking/socket");
  expect(await server.states("A1")).toEqual(["LOCKED"]);
});

test("an extension among other commands → their order, and one key with HTTP", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const { eventId } = server.a;
  const extend = {
    n: 2,
    call: "extend",
    eventId,
    sessionId: "ann",
    seconds: 60,
    idempotencyKey: "k",
  };
  const answers = await client.ask(
    stage.command(1, "lock", "ann", "A1", "A2"),
    extend,
    stage.command(3, "unlock", "ann", "A1"),
    { ...extend, n: 4, idempotencyKey: "other", sessionId: "bob" },
    { ...extend, n: 5 },
  );
  expect(answers.map(({ n, status }) => [n, status])).toEqual([
    [1, 200],
    [2, 200],
    [3, 200],
    [4, 400],
    [5, 200],
  ]);
  expect(answers[1]!.body).toMatchObject({ seats: [{ state: "LOCKED" }, { state: "LOCKED" }] });
  expect(answers[4]!.body).toEqual(answers[1]!.body);
  const problem = answers[3]!.body as ProblemBody;
  expect([problem.path, problem.errors[0]!.code]).toEqual([
    "/api/private/v2.0/booking/extend",
    "NOT_FOUND",
  ]);
  const headers = { "idempotency-key": "k" };
  const path = `/api/private/v2.0/booking/extend?eventId=${eventId}`;
  const { sessionId, seconds } = extend;
  const over = await server.post(path, { seconds, sessionId }, { ...server.a, headers });
  expect(over.body).toEqual(answers[1]!.body);
});

test("a lock without the token of a door → its key may come again with one", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const admission = `/api/private/v2.0/events/${server.a.eventId}/admission`;
  const call = async (method: string, path: string, body: object = {}) =>
    (await server.call<Record<string, string>>(method, path, { ...server.a, body })).body;
  await call("PUT", admission, { opensAt: "2026-03-19T09:00:00", draw: false, perMinute: 6_000 });
  const { visitor } = await call("POST", `${admission}/visitors`);
  const inside = await call("POST", `${admission}/visitors/${visitor}/enter`);
  const lock = { ...stage.command(1, "lock", "ann", "A1"), idempotencyKey: "k" };
  const [refused] = await client.ask(lock);
  expect(refused).toMatchObject({ status: 403, body: { errorCode: "ADMISSION_REQUIRED" } });
  const [granted] = await client.ask({ ...lock, n: 2, admission: inside["admission"] });
  expect(granted).toMatchObject({ status: 200, body: true });
});

test("texts in any form are read, and unknown members are ignored", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const { eventId } = server.a;
  const id = server.a.labels.idOf("A1");
  client.send(
    ` [ { "n" : 1, "call":"l\\u006fck", "eventId":"${eventId.toUpperCase()}", "cartSeatIds":[],` +
      ` "sessionId":"Zoë ]}", "seats":[ {"id":${id}} ] } ,\n` +
      `{"sessionId":"Zoë ]}","seats":[{"capacity":null,"id":${id}}],` +
      `"n":2,"eventId":"${eventId}","call":"sale"}]`,
  );
  expect(codesOf(await client.answers(2))).toEqual([true, true]);
});

test("a handshake with handling=strict → unknown members are refused, those of a command are known", async () => {
  const stage = await CommandStage.start();
  const { base } = stage.listening;
  const headers = { Prefer: "handling=strict" };
  const client = await CommandClient.open({ base, key: stage.server.a.key, headers });
  const { sessionId, ...rest } = stage.command(1, "lock", "ann", "A1");
  const answers = await client.ask(
    { ...rest, n: 1, sesionId: sessionId, seats: [{ ...rest.seats![0], colour: "red" }] },
    { ...rest, n: 2, seats: [{ id: 0.5 }], idempotencyKey: "k", m: 5 },
    { ...rest, n: 3, fences: null, priceIds: {}, idempotencyKey: "k", cartSeatIds: undefined },
  );
  const found = answers.map(({ body }) =>
    typeof body === "boolean"
      ? body
      : (body as ProblemBody).errors.map(({ field, code }) => `${field} ${code}`),
  );
  expect(found).toEqual([
    ["seats[0].colour UNKNOWN", "sesionId UNKNOWN"],
    ["seats[0].id TYPE", "m UNKNOWN"],
    true,
  ]);
  const connection = await stage.listening.connection();
  const key = `X-API-Key: ${stage.server.a.key}`;
  connection.get(SOCKET_PATH, ...HANDSHAKE, key, "Prefer: handling=strict");
  expect(await connection.answer()).toMatch(/^Preference-Applied: handling=strict\r$/m);
});

test.each([
  ["no JSON", "[{"],
  ["no list", '{"n":1}'],
  ["an element that is no object", "[1]"],
  ["more after the list", "[] x"],
  ["a command without a number", '[{"call":"lock"}]'],
  ["a number that is a text", '[{"n":"1"}]'],
  ["a number that is not whole", '[{"n":1.5}]'],
  ["a binary message", Buffer.from("[]")],
])("%s closes the connection with 1007, and nothing of its frame is decided", async (_, frame) => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  const valid = stage.command(1, "lock", "ann", "A1");
  const isText = typeof frame === "string" && frame.startsWith("[{");
  client.send(isText ? `[${JSON.stringify(valid)},${frame.slice(1)}` : frame);
  expect((await client.closed).code).toBe(1007);
  expect(await stage.server.states("A1")).toEqual(["ACTIVE"]);
});

const EVENTS = ["6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f", "00000000-0000-4000-8000-000000000001"];
const VALUES: Readonly<Record<string, readonly string[]>> = {
  n: ["1", "2", "33", "0", '"x"'],
  call: ['"lock"', '"unlock"', '"steal"'],
  eventId: EVENTS.map((id) => JSON.stringify(id)),
  sessionId: ['"ann"', '"bob"', '"annabel"', '""', "null", '"Zoë"'],
  holdType: ['"CART"', "null"],
  seats: ['[{"id":1}]', '[{"id":1},{"id":22}]', "[]", '[{"id":1,"capacity":2}]', '[{ "id":7}]'],
  groupOfSeats: ['[{"id":5,"capacity":2}]', "null"],
  idempotencyKey: ['"k"', "null"],
};
const MEMBERS = Object.keys(VALUES);
const USUAL = ["n", "call", "eventId", "sessionId", "seats"];

/** Index of the value of each member; the first is frequent. */
const CHOICES = tuple(
  ...MEMBERS.map((name) => constantFrom(0, 0, 0, 0, 0, ...VALUES[name]!.keys())),
);

function textOf(names: readonly string[], choices: readonly number[], blank: string): string {
  const valueOf = (name: string) => VALUES[name]![choices[MEMBERS.indexOf(name)]!]!;
  return `{${names.map((name) => `"${name}":${blank}${valueOf(name)}`).join(",")}}`;
}

/** Members in any order, some of them twice. */
const ANY = tuple(
  shuffledSubarray(MEMBERS),
  shuffledSubarray(MEMBERS, { maxLength: 1 }),
  CHOICES,
  constantFrom("", " "),
).map(([any, twice, choices, blank]) => textOf([...any, ...twice], choices, blank));

/** The usual members in one order for all commands, now and then without one of them. */
const ALIKE = tuple(
  oneof(constant(USUAL), shuffledSubarray(USUAL, { minLength: USUAL.length })),
  array(tuple(constantFrom(-1, -1, 0, 1, 2), CHOICES), { minLength: 1, maxLength: 5 }),
).map(([order, commands]) =>
  commands.map(([left, choices]) => {
    return textOf(
      order.filter((_, i) => i !== left),
      choices,
      "",
    );
  }),
);
const FRAME = oneof(
  { arbitrary: ALIKE, weight: 4 },
  array(ANY, { minLength: 1, maxLength: 5 }),
  tuple(ALIKE, ANY, ALIKE).map(([before, one, after]) => [...before, one, ...after]),
);

const handles = new Handles({ keep: () => true, release: () => {} });

/** The commands as values; null for an unreadable frame. */
function read(protocol: JsonProtocol, texts: readonly string[]): readonly unknown[] | null {
  const bytes = Uint8Array.from(Buffer.from(`[${texts.join(",")}]`));
  const commands = texts.map(() => new Command());
  const count = protocol.readFrame(bytes.buffer, handles, commands);
  if (count === UNREADABLE) return null;
  expect(count).toBe(texts.length);
  return commands.map((command) => {
    const { number, call, eventId, isUsual, body, json, invalid, idempotencyKey } = command;
    const text = json === null ? null : json.toString();
    const selection = structuredClone(body);
    return { number, call, eventId, isUsual, selection, text, invalid, idempotencyKey };
  });
}

test("a command is read alike, whatever commands come before it in the frame", () => {
  const protocol = new JsonProtocol();
  const alone = new JsonProtocol();
  let repeated = 0;
  assert(
    property(FRAME, (texts) => {
      const each = texts.map((text) => read(alone, [text]));
      const expected = each.includes(null) ? null : each.flatMap((one) => one!);
      expect(read(protocol, texts)).toEqual(expected);
      if (expected !== null && expected.length > 1) repeated += 1;
    }),
    { numRuns: 5_000 },
  );
  expect(repeated).toBeGreaterThan(200);
});
