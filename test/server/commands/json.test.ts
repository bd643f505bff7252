/** The JSON subprotocol against a server that listens on a socket. */
import { expect, test } from "vitest";
import type { JsonAnswer } from "./client.ts";
import type { ProblemBody } from "../../support/answers/exchange.ts";
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

test("every call of a booking is taken, and a direct sale may be answered with false", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  const answers = await client.ask(
    stage.command(1, "lock", "ann", "A1", "Pit:3"),
    stage.command(2, "unlock", "ann", "Pit:3"),
    stage.command(3, "sale", "ann", "A1"),
    stage.command(4, "revertsale", "ann", "A1"),
    stage.command(5, "directsale", "ann", "A1"),
    stage.command(6, "directsale", "ann", "A1"),
    stage.command(7, "block", "ann", "A2"),
    stage.command(8, "unblock", "ann", "A2"),
  );
  expect(codesOf(answers)).toEqual([true, true, true, true, true, false, true, true]);
});

test("a refusal has the document of the HTTP call, except for its time", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  await server.book("lock", "bob", "A1");
  const [answer] = await client.ask(stage.command(1, "lock", "ann", "A1", "A2"));
  const reply = await server.book("lock", "ann", "A1", "A2");
  const { timestamp: _, ...document } = answer!.body as ProblemBody;
  expect(reply.body).toMatchObject(document);
  expect(document.instance).toBe("/api/private/v2.0/booking/lock");
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
