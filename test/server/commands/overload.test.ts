/** Bounds of waiting commands, frames, answers and buffers. */
import { expect, onTestFinished, test } from "vitest";
import { inSlices, LONG_BODIES_MAX } from "../../../server/api/overload.ts";
import { AnswerBuffers, IDLE_BUFFERS_MAX } from "../../../server/commands/answer-buffer.ts";
import { RecentTexts, TEXTS_MAX } from "../../../server/commands/command.ts";
import { commandEntry, openEntry, readAnswers } from "../../support/commands/binary-layout.ts";
import { until } from "../wire/connection.ts";
import { bareSocket, largeFrame, masked } from "./bare-socket.ts";
import type { CommandClient } from "./client.ts";
import { CommandStage } from "./stage.ts";

const COMMANDS = 1_024;
const IN_FRAME = 64;
const LOCKS_MAX = 32_000;
const EVENT = 1;
const SESSION = 1;
const MEBIBYTE = 1_024 * 1_024;

/** Connections with handles for the event and a session. */
async function opened(stage: CommandStage, count: number): Promise<CommandClient[]> {
  const clients: CommandClient[] = [];
  for (let i = 0; i < count; i++) {
    const client = await stage.openBinary();
    const { eventId } = stage.server.a;
    client.send(
      Buffer.concat([openEntry("event", EVENT, eventId), openEntry("session", SESSION, "ann")]),
    );
    clients.push(client);
  }
  return clients;
}

/** Each connection sends as many commands as it may have without an answer. */
async function flood(stage: CommandStage, clients: readonly CommandClient[]): Promise<void> {
  const { a, services } = stage.server;
  const seats = [a.labels.idOf("A1")];
  const entry = { call: "unlock", event: EVENT, session: SESSION, seats };
  const entries = Array.from({ length: IN_FRAME }, (_, n) => commandEntry({ n, ...entry }));
  const frame = Buffer.concat(entries);
  const before = services.commands.traffic.count;
  for (const client of clients) {
    for (let sent = 0; sent < COMMANDS; sent += IN_FRAME) client.send(frame);
  }
  await until(() => services.commands.traffic.count >= before + clients.length * COMMANDS);
}

test("above the bound locks are refused, and twice as many other calls are taken", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const [locking, ending] = [await stage.open(), await stage.open()];
  expect(await locking.ask(stage.command(1, "lock", "bob", "B1"))).toMatchObject([{ body: true }]);
  const each = Math.ceil(LOCKS_MAX / COMMANDS);
  const [first, second] = [await opened(stage, each), await opened(stage, each - 1)];
  server.journal.withholds = true;
  locking.send([stage.command(2, "lock", "bob", "B2")]);
  await flood(stage, first);
  locking.send([stage.command(3, "lock", "bob", "A2")]);
  ending.send([stage.command(4, "sale", "bob", "B1")]);
  await flood(stage, second);
  ending.send([stage.command(5, "unlock", "bob", "B2")]);
  await stage.listening.settled();
  // Requests over HTTP have a bound of their own.
  const overHttp = server.book("lock", "ann", "A3");
  server.journal.withholds = false;
  server.journal.sync();
  expect((await overHttp).text).toBe("true");
  const refused = { status: 429, body: { errorCode: "RATE_LIMITED" } };
  expect(await locking.answers(2)).toMatchObject([{ body: true }, refused]);
  expect(await ending.answers(2)).toMatchObject([{ body: true }, { n: 5, ...refused }]);
  for (const client of [...first, ...second]) {
    let left = COMMANDS;
    while (left > 0) left -= readAnswers((await client.received(1))[0] as Buffer).length;
    expect(left).toBe(0);
  }
  const again = await locking.ask(stage.command(6, "lock", "bob", "A2"));
  expect(again).toMatchObject([{ body: true }]);
});

test("frames wait while the answers of their connection take a mebibyte", async () => {
  const stage = await CommandStage.start();
  const { journal, services } = stage.server;
  const { bodyBudget } = stage.listening.http.stats;
  const connection = await bareSocket(stage);
  journal.withholds = true;
  const frame = masked(largeFrame(stage));
  const locked = masked(JSON.stringify([stage.command(0, "lock", "ann", "A1")]));
  connection.socket.write(Buffer.concat([locked, ...Array.from({ length: 8 }, () => frame)]));
  await until(() => bodyBudget.bytes > 0);
  for (let i = 0; i < 3; i++) await stage.listening.settled();
  const decided = services.commands.traffic.count;
  expect(decided).toBeLessThan(25);
  const prepared = services.commands.answerBytes;
  expect(prepared).toBeGreaterThan(MEBIBYTE);
  expect(prepared).toBeLessThan(2 * MEBIBYTE);
  journal.withholds = false;
  journal.sync();
  await until(() => services.commands.traffic.count === 25);
  await until(() => bodyBudget.bytes === 0);
  expect(services.commands.answerBytes).toBe(0);
});

test("a request over HTTP is decided between two frames of a connection", async () => {
  const stage = await CommandStage.start();
  const { engine, journal } = stage.server;
  const [busy, http] = [await bareSocket(stage), await stage.listening.connection()];
  journal.withholds = true;
  const before = engine.sequence;
  const frameOf = (call: string) => masked(JSON.stringify([stage.command(1, call, "ann", "A1")]));
  const frames = Array.from({ length: 40 }, (_, i) => frameOf(i % 2 === 0 ? "lock" : "unlock"));
  busy.socket.write(Buffer.concat(frames));
  http.socket.write(stage.listening.lockRequest("B1"));
  await until(() => engine.sequence === before + 41);
  const moves = journal.kept.slice(-41).map(({ record }) => record);
  const place = moves.findIndex((record) => "session" in record && record.session === "s");
  expect(place).toBeLessThan(40);
  journal.sync();
});

test("closed connections are counted by the code of their close", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  client.send("soap");
  expect((await client.closed).code).toBe(1007);
  expect(stage.server.services.commands.traffic.text()).toMatch(
    /^frontrow_command_connections_closed_total\{code="1007"\} 1$/m,
  );
});

test("while answers are not read, nothing more of the connection is decided", async () => {
  const stage = await CommandStage.start();
  const { stats } = stage.listening.http;
  const { traffic } = stage.server.services.commands;
  const connection = await bareSocket(stage);
  connection.socket.pause();
  const frame = masked(largeFrame(stage));
  const frames = 300;
  for (let i = 0; i < frames; i++) connection.socket.write(frame);
  await until(() => stats.answers.count === 1 && stats.bodyBudget.bytes > 0);
  for (let i = 0; i < 5; i++) await stage.listening.settled();
  const decided = traffic.count;
  await stage.listening.settled();
  expect(traffic.count).toBe(decided);
  expect(decided).toBeLessThan(3 * frames);
  const other = await stage.open();
  expect(await other.ask(stage.command(1, "lock", "ann", "A1"))).toMatchObject([{ body: true }]);
  connection.socket.resume();
  await until(() => traffic.count === 3 * frames + 1);
  await until(() => stats.bodyBudget.bytes === 0 && stats.answers.count === 0);
});

test("beyond the memory for waiting frames the connection closes", async () => {
  const stage = await CommandStage.start({ bodyLimits: { organization: 256 * 1_024 } });
  const { stats } = stage.listening.http;
  const connection = await bareSocket(stage);
  connection.socket.pause();
  const frame = masked(largeFrame(stage));
  for (let i = 0; i < 300; i++) connection.socket.write(frame);
  await until(() => stats.bodyBudget.refused === 1);
  connection.socket.resume();
  await until(() => connection.socket.closed);
  expect(stats.bodyBudget.bytes).toBe(0);
});

test("frames of one connection are decided between the frames of another", async () => {
  const stage = await CommandStage.start();
  const [busy, calm] = [await bareSocket(stage), await bareSocket(stage)];
  const { engine, journal } = stage.server;
  journal.withholds = true;
  const before = engine.sequence;
  const frameOf = (call: string, session: string, label: string) =>
    masked(JSON.stringify([stage.command(1, call, session, label)]));
  const frames = Array.from({ length: 40 }, (_, i) =>
    frameOf(i % 2 === 0 ? "lock" : "unlock", "ann", "A1"),
  );
  // All arrive in one turn of the loop: those of the first connection before the others.
  busy.socket.write(Buffer.concat(frames));
  calm.socket.write(Buffer.concat(["B1", "B2", "B3"].map((seat) => frameOf("lock", "bob", seat))));
  await until(() => engine.sequence === before + 43);
  const moves = journal.kept.slice(-43).map(({ record }) => record);
  const last = moves.findLastIndex((record) => "session" in record && record.session === "bob");
  expect(last).toBeLessThan(10);
  journal.sync();
});

test("buffers are kept for others up to a bound, and large ones are not", () => {
  const buffers = new AnswerBuffers();
  const large = buffers.take();
  large.reserve(16 * 1_024 + 1);
  buffers.giveBack(large);
  expect(buffers.take()).not.toBe(large);
  const taken = Array.from({ length: IDLE_BUFFERS_MAX + 1 }, () => buffers.take());
  for (const buffer of taken) buffers.giveBack(buffer);
  const again = new Set(taken.map(() => buffers.take()));
  expect(taken.filter((buffer) => again.has(buffer))).toHaveLength(IDLE_BUFFERS_MAX);
});

test("of ten thousand texts, as many as there are places are remembered", () => {
  const texts = new RecentTexts();
  const find = (i: number) => texts.find(Buffer.from(`session-${i}`), 0, `session-${i}`.length);
  for (let i = 0; i < 10_000; i++) expect(find(i)).toBe(`session-${i}`);
  expect(texts.count).toBeLessThanOrEqual(TEXTS_MAX);
  expect(texts.count).toBeGreaterThan(TEXTS_MAX / 2);
});

test("long commands wait for their turn among the long bodies of their organization, and no more of them", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const { organizationId } = server.a.caller;
  const { longBodies } = server.services.waiting;
  const long = (n: number, label: string) => ({
    ...stage.command(n, "lock", "ann", label),
    ignored: "x".repeat(40 * 1_024),
  });
  const turns = { isReleased: false };
  function* work(): Generator<void, void> {
    while (!turns.isReleased) yield;
  }
  void inSlices(work(), organizationId);
  onTestFinished(() => void (turns.isReleased = true));
  const [first, second] = [await stage.open(), await stage.open()];
  first.send([long(1, "A1")]);
  await until(() => longBodies.used === 1);
  expect(longBodies.take(organizationId, LONG_BODIES_MAX - 1)).toBe(true);
  const refused = { n: 2, status: 429, body: { errorCode: "RATE_LIMITED" } };
  expect(await second.ask(long(2, "A2"))).toMatchObject([refused]);
  turns.isReleased = true;
  expect(await first.answers(1)).toMatchObject([{ n: 1, body: true }]);
  expect(longBodies.used).toBe(LONG_BODIES_MAX - 1);
});
