/** Rules for every frame: durability, credit, keys, idempotency, the end of connections. */
import { expect, test, vi } from "vitest";
import type { CommandClient } from "./client.ts";
import { type ProblemBody } from "../../support/answers/exchange.ts";
import { MANAGEMENT, V2 } from "../../support/server.ts";
import { until } from "../wire/connection.ts";
import { CommandStage } from "./stage.ts";

const JSON_TRUE = (n: number) => ({ n, status: 200, body: true });
const codesOf = (answers: readonly { readonly body: unknown }[]) =>
  answers.map(({ body }) => (typeof body === "boolean" ? body : (body as ProblemBody).errorCode));

/** Waits until the server has read the client's frames. */
async function isRead(stage: CommandStage, isTrue: () => boolean): Promise<void> {
  await until(isTrue);
  await stage.listening.settled();
}

test("answers wait for the log, and leave in one message for each of its batches", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const before = server.engine.sequence;
  server.journal.withholds = true;
  client.send([stage.command(1, "lock", "ann", "A1"), stage.command(2, "lock", "bob", "A1")]);
  client.send([stage.command(3, "lock", "bob", "A2")]);
  await isRead(stage, () => server.engine.sequence === before + 2);
  expect(client.messages).toEqual([]);
  server.journal.sync();
  const [message] = await client.received(1);
  const answers = JSON.parse(String(message)) as { n: number; body: unknown }[];
  expect(answers.map(({ n }) => n)).toEqual([1, 2, 3]);
  expect(codesOf(answers)).toEqual([true, "INVENTORY_NOT_AVAILABLE", true]);
});

test("a frame with more than 64 commands closes with 4009, and none of it is decided", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  client.send(Array.from({ length: 65 }, (_, n) => stage.command(n, "block", "ann", "A1")));
  expect((await client.closed).code).toBe(4009);
  expect(await stage.server.states("A1")).toEqual(["ACTIVE"]);
});

test("a frame of more than 64 KiB closes with 4009, and one of 64 KiB is decided", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  const text = JSON.stringify([stage.command(1, "block", "ann", "A1")]);
  client.send(text.padEnd(65_536));
  expect(await client.answers(1)).toEqual([JSON_TRUE(1)]);
  client.send(JSON.stringify([stage.command(2, "unblock", "ann", "A1")]).padEnd(65_537));
  expect((await client.closed).code).toBe(4009);
  expect(await stage.server.states("A1")).toEqual(["BLOCKED"]);
});

test("more than 1,024 commands without an answer close with 4009", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  server.journal.withholds = true;
  const frame = Array.from({ length: 64 }, (_, n) => stage.command(n, "unlock", "ann", "A1"));
  client.send([stage.command(1, "lock", "ann", "A1")]);
  for (let i = 0; i < 15; i++) client.send(frame);
  client.send(frame.slice(1));
  await isRead(stage, () => server.services.commands.traffic.count === 1_024);
  client.send([stage.command(1, "lock", "ann", "A2")]);
  await stage.listening.settled();
  server.journal.sync();
  expect(await client.answers(1_024)).toHaveLength(1_024);
  expect((await client.closed).code).toBe(4009);
  expect(await server.states("A1", "A2")).toEqual(["ACTIVE", "ACTIVE"]);
});

test("after the end of its key, commands are refused and the connection closes", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  await server.post(`${V2}/keys/rotate`, {});
  const answers = await client.ask(
    stage.command(1, "lock", "ann", "A1"),
    stage.command(2, "lock", "ann", "A2"),
  );
  expect(codesOf(answers)).toEqual(["ACCESS_DENIED", "ACCESS_DENIED"]);
  expect((await client.closed).code).toBe(4001);
  expect(await server.seats({ ...server.a, key: await newKey(stage) })).toMatchObject({});
});

async function newKey({ server }: CommandStage): Promise<string> {
  const { catalog } = server.engine.state;
  return server.services.keys.organizationKey(catalog.organizations.get(server.a.id)!);
}

test("an idle connection ends with its key, and not during the grace time", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  await server.post(`${V2}/keys/rotate`, { graceSeconds: 60 });
  expect(codesOf(await client.ask(stage.command(1, "lock", "ann", "A1")))).toEqual([true]);
  server.world.clock.timeMs += 61_000;
  expect((await client.closed).code).toBe(4001);
});

test("the settings of the organization hold: rates, limits of holds, booking", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const change = (body: object) =>
    server.put(`${MANAGEMENT}/organizations/${server.a.id}/settings`, body, {
      key: server.tenantToken,
      headers: { "x-organization-id": String(server.a.id) },
    });
  expect((await change({ heldPerSession: 1 })).status).toBe(200);
  const lock = (n: number, label: string) => stage.command(n, "lock", "ann", label);
  expect(codesOf(await client.ask(lock(1, "A1"), lock(2, "A2")))).toEqual([
    true,
    "INVENTORY_NOT_AVAILABLE",
  ]);
  await change({ heldPerSession: 0, bookingsPerSecond: 1 });
  expect(codesOf(await client.ask(lock(1, "A2"), lock(2, "A3")))).toEqual([true, "RATE_LIMITED"]);
  await change({ bookingsPerSecond: 0, requestsPerSecond: 1 });
  expect(codesOf(await client.ask(lock(1, "A3"), lock(2, "A4")))).toEqual([true, "RATE_LIMITED"]);
  await change({ requestsPerSecond: 0, bookingEnabled: false });
  expect(codesOf(await client.ask(lock(1, "A4")))).toEqual(["ORGANIZATION_DISABLED"]);
});

test("a repetition has the first answer, whichever way each came", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const keyed = (n: number, key: string, label: string) => ({
    ...stage.command(n, "lock", "ann", label),
    idempotencyKey: key,
  });
  const overHttp = (key: string, label: string) =>
    server.post(server.bookingPath("lock"), server.selection("ann", label), {
      key: server.a.key,
      headers: { "idempotency-key": key },
    });
  const answers = await client.ask(keyed(1, "k", "A1"), keyed(2, "k", "A1"), keyed(3, "k", "A2"));
  expect(codesOf(answers)).toEqual([true, true, "IDEMPOTENCY_KEY_REUSED"]);
  expect((await overHttp("k", "A1")).text).toBe("true");
  expect((await overHttp("h", "A2")).text).toBe("true");
  expect(codesOf(await client.ask(keyed(1, "h", "A2"), keyed(2, "h", "A1")))).toEqual([
    true,
    "IDEMPOTENCY_KEY_REUSED",
  ]);
  expect((await overHttp("refused", "A1")).status).toBe(400);
  const [again] = await client.ask(keyed(1, "refused", "A1"));
  expect(again!.body).toEqual((await overHttp("refused", "A1")).body);
});

test("a repetition waits for the first while that is in flight", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const [client, other] = [await stage.open(), await stage.open()];
  server.journal.withholds = true;
  const before = server.engine.sequence;
  const command = { ...stage.command(1, "lock", "ann", "A1"), idempotencyKey: "k" };
  client.send([command]);
  await isRead(stage, () => server.engine.sequence > before);
  other.send([command]);
  client.send([command]);
  await stage.listening.settled();
  expect([...client.messages, ...other.messages]).toEqual([]);
  server.journal.sync();
  expect(await client.answers(2)).toEqual([JSON_TRUE(1), JSON_TRUE(1)]);
  expect(await other.answers(1)).toEqual([JSON_TRUE(1)]);
});

test("another frame while an answer is read from disk → each counts for its call", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const [client, other] = [await stage.open(), await stage.open()];
  await server.book("lock", "bob", "A1");
  const command = { ...stage.command(1, "lock", "ann", "A1"), idempotencyKey: "k" };
  await client.ask(command);
  server.services.replies.add("other", "x".repeat(20 * 1_024 * 1_024));
  const ask = server.trail.ask.bind(server.trail);
  let read = () => {};
  vi.spyOn(server.trail, "ask").mockImplementationOnce(async (question) => {
    await new Promise<void>((resolve) => (read = resolve));
    return ask(question);
  });
  client.send([command]);
  await stage.listening.settled();
  await other.ask(stage.command(1, "block", "ann", "A2"));
  read();
  await client.answers(1);
  const text = server.services.commands.traffic.text();
  expect(text).toContain('call="lock",status="400"} 2\n');
  expect(text).toContain('call="block",status="200"} 1\n');
});

test("an answer that is read from disk keeps its place, and later frames wait for it", async () => {
  const stage = await CommandStage.start();
  const { server } = stage;
  const client = await stage.open();
  const ask = (n: number, label: string, idempotencyKey: string | null) => ({
    ...stage.command(n, "lock", "ann", label),
    idempotencyKey,
  });
  await server.book("lock", "bob", "A1");
  const [first] = await client.ask(ask(1, "A1", "k"));
  server.services.replies.add("other", "x".repeat(20 * 1_024 * 1_024));
  client.send([ask(2, "A2", null), ask(3, "A1", "k"), ask(4, "A3", null)]);
  client.send([ask(5, "A4", null)]);
  const answers = await client.answers(4);
  expect(answers.map(({ n }) => n)).toEqual([2, 3, 4, 5]);
  expect(answers[1]!.body).toEqual(first!.body);
  expect(codesOf(answers)).toEqual([true, "INVENTORY_NOT_AVAILABLE", true, true]);
  expect(server.services.commands.traffic.count).toBe(5);
});

test("a server that stops answers what was decided, and closes with 1012", async () => {
  const stage = await CommandStage.start();
  const { server, listening } = stage;
  const [client, idle] = [await stage.open(), await stage.open()];
  server.journal.withholds = true;
  const before = server.engine.sequence;
  client.send([stage.command(1, "lock", "ann", "A1")]);
  await isRead(stage, () => server.engine.sequence > before);
  let hasDrained = false;
  const drained = listening.http.drain().then(() => (hasDrained = true));
  expect((await idle.closed).code).toBe(1012);
  expect(hasDrained).toBe(false);
  server.journal.sync();
  expect(await client.answers(1)).toEqual([JSON_TRUE(1)]);
  expect((await client.closed).code).toBe(1012);
  await drained;
});

test("a connection counts with all others, and is given back when it ends", async () => {
  const stage = await CommandStage.start({ connectionsMax: 3 });
  const { stats } = stage.listening.http;
  const clients: CommandClient[] = [await stage.open(), await stage.open(), await stage.open()];
  expect([stats.connections, stats.sockets.count]).toEqual([3, 3]);
  const refused = await stage.listening.connection();
  await until(() => refused.socket.closed);
  clients[0]!.socket.close();
  await clients[0]!.closed;
  await until(() => stats.connections === 2);
  expect((await (await stage.open()).ask(stage.command(1, "lock", "ann", "A1")))[0]!.body).toBe(
    true,
  );
  for (const client of clients) client.socket.close();
  await until(() => stats.sockets.count === 1);
});
