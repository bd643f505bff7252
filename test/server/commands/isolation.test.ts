/** No connection sees or changes anything of another organization, whatever its credentials. */
import { expect, test } from "vitest";
import { BOOKING_KINDS } from "../../support/engine.ts";
import { commandEntry, openEntry, readAnswers } from "../../support/commands/binary-layout.ts";
import { CREDENTIALS, headersOf } from "../../support/answers/credentials.ts";
import type { ProblemBody } from "../../support/answers/exchange.ts";
import type { House } from "../../support/server.ts";
import { CommandClient, JSON_PROTOCOL, SOCKET_PATH } from "./client.ts";
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { CommandStage } from "./stage.ts";

const NOWHERE = "00000000-0000-4000-8000-000000000000";
const EVENT_ACCESS_DENIED = 7;

test.each(CREDENTIALS)("%s opens a connection for A or is refused", async (_, shown, areOfA) => {
  const stage = await CommandStage.start();
  const connection = await stage.listening.connection();
  const headers = Object.entries(headersOf(shown(stage.server)));
  connection.get(SOCKET_PATH, ...HANDSHAKE, ...headers.map((pair) => pair.join(": ")));
  expect(await connection.answer()).toMatch(areOfA ? /^HTTP\/1\.1 101 / : /^HTTP\/1\.1 403 /);
});

/** A document without the differences between unlike events. */
function plain(body: unknown, eventId: string): string {
  return JSON.stringify({ ...(body as ProblemBody), timestamp: "" }).replaceAll(eventId, "EVENT");
}

function seatsOf({ labels }: House) {
  return [{ id: labels.idOf("A1") }];
}

const OF_A = CREDENTIALS.filter(([, , areOfA]) => areOfA);

test.each(OF_A)("%s books only in events of A", async (_, shown) => {
  const stage = await CommandStage.start();
  const { a, b, c } = stage.server;
  const { base } = stage.listening;
  const client = await CommandClient.open({
    base,
    key: "",
    protocol: JSON_PROTOCOL,
    headers: headersOf(shown(stage.server)),
  });
  const before = stage.server.digest;
  for (const call of BOOKING_KINDS) {
    const commands = [b, c].map((house, n) => {
      const { eventId } = house;
      return { n, call, eventId, sessionId: "ann", seats: seatsOf(house) };
    });
    const nowhere = { ...commands[0]!, n: 2, eventId: NOWHERE };
    const answers = await client.ask(...commands, nowhere);
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403]);
    const words = answers.map(({ body }, i) => plain(body, [b.eventId, c.eventId, NOWHERE][i]!));
    expect(new Set(words).size).toBe(1);
    // Seats of others do not exist in an event of A.
    const [strange] = await client.ask({ ...commands[0]!, eventId: a.eventId });
    expect(strange!.body).toMatchObject({ errors: [{ code: "NOT_FOUND" }] });
  }
  expect(stage.server.digest).toBe(before);
});

test("handles of one connection mean nothing on another, in either organization", async () => {
  const stage = await CommandStage.start();
  const { a, b } = stage.server;
  const [own, beside, foreign] = [
    await stage.openBinary(),
    await stage.openBinary(),
    await stage.openBinary(b.key),
  ];
  const lock = commandEntry({
    n: 1,
    call: "lock",
    event: 1,
    session: 1,
    seats: seatsOf(a).map(({ id }) => id),
  });
  const opened = [openEntry("event", 1, a.eventId), openEntry("session", 1, "ann")];
  own.send(Buffer.concat(opened));
  for (const client of [beside, foreign]) {
    client.send(lock);
    const [answer] = readAnswers((await client.received(1))[0] as Buffer);
    expect(answer).toMatchObject({ status: 400 });
  }
  foreign.send(Buffer.concat([...opened, lock]));
  const [denied] = readAnswers((await foreign.received(1))[0] as Buffer);
  expect(denied).toMatchObject({ status: 403, result: EVENT_ACCESS_DENIED });
  own.send(lock);
  expect(readAnswers((await own.received(1))[0] as Buffer)).toMatchObject([{ result: 1 }]);
});

test("the same idempotency key of two organizations is two keys", async () => {
  const stage = await CommandStage.start();
  const { a, b } = stage.server;
  const command = (house: House) => {
    const { eventId } = house;
    const seats = seatsOf(house);
    return { n: 1, call: "lock", eventId, sessionId: "ann", seats, idempotencyKey: "k" };
  };
  const [first, second] = [await stage.open(), await stage.open(b.key)];
  expect(await first.ask(command(a))).toMatchObject([{ body: true }]);
  expect(await second.ask(command(b))).toMatchObject([{ body: true }]);
});
