/** Following an event over a WebSocket, on real connections. */
import { expect, test, vi } from "vitest";
import { type ServerOptions, TestServer, V2 } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";
import { listed, sequenceOf, StreamClient } from "./stream-client.ts";
import type { AuditTrail } from "../../../server/live/changes.ts";

interface Stage {
  readonly server: TestServer;
  readonly settled: () => Promise<void>;
  readonly base: string;
  readonly open: (query?: string, protocols?: string[], key?: string) => Promise<StreamClient>;
}

async function start(options: ServerOptions = {}): Promise<Stage> {
  const listening = await Listening.start({}, new TestServer(options));
  const { server, base } = listening;
  const url = `${base.replace("http", "ws")}${V2}/events/${server.a.eventId}/stream`;
  const open = (query = "", protocols: string[] = [], key = server.a.key) =>
    StreamClient.open(url + query, key, protocols);
  return { server, base, open, settled: () => listening.settled() };
}

async function bookAll(server: TestServer): Promise<void> {
  await server.book("lock", "ann", "A1", "A2", "Pit:3");
  await server.book("sale", "ann", "A2");
  await server.book("lock", "bob", "B1");
  await server.book("unlock", "bob", "B1");
}

test.each(["frontrow.stream.v1+json", "frontrow.stream.v1+msgpack"])(
  "a client of %s has a snapshot, then every change, and so the states of the listing",
  async (protocol) => {
    const { server, open } = await start();
    await server.book("block", null, "B2");
    const client = await open("", [protocol]);
    await client.until(sequenceOf(server));
    expect(client.socket.protocol).toBe(protocol);
    expect(client.messages[0]).toMatchObject({ type: "snapshot", status: "PUBLISHED" });
    await bookAll(server);
    await client.until(sequenceOf(server));
    expect(client.states).toEqual(await listed(server));
    const calls = client.messages.flatMap(({ changes = [] }) => changes).map(({ call }) => call);
    expect(calls).toEqual(["lock", "sale", "lock", "unlock"]);
  },
);

test("a snapshot waits until the holds that ran out before it are on disk", async () => {
  const { server, open, settled } = await start();
  await server.book("lock", "ann", "A1");
  server.world.clock.timeMs += 86_400_000;
  server.journal.withholds = true;
  const before = sequenceOf(server);
  const client = await open();
  await expect.poll(() => sequenceOf(server)).toBeGreaterThan(before);
  const { live } = server.services;
  await expect.poll(() => live.stats.maps).toBe(1);
  await settled();
  expect(client.messages).toEqual([]);
  server.journal.sync();
  await client.until(sequenceOf(server));
  expect(client.states).toEqual(await listed(server));
});

test("a client that names its last record has the changes since, and no snapshot", async () => {
  const { server, open } = await start();
  const since = sequenceOf(server);
  await bookAll(server);
  const client = await open(`?since=${since}`);
  await client.until(sequenceOf(server));
  expect(client.messages[0]).toMatchObject({ type: "changes" });
  expect(client.messages[0]!.changes![0]!.previous).toBe(since);
  expect(client.messages.flatMap(({ changes = [] }) => changes)).toHaveLength(4);
});

test("changes that memory drops before they are sent come from the audit trail", async () => {
  const { server, open } = await start({ recentBytes: 4_000 });
  const clients = [await open(), await open()];
  for (const client of clients) await client.until(sequenceOf(server));
  const before = sequenceOf(server);
  for (let i = 0; i < 50; i++) {
    server.world.book(i % 2 === 0 ? "lock" : "unlock", server.selection("ann", "A1"));
    server.journal.sync();
  }
  await bookAll(server);
  for (const client of clients) {
    await client.until(sequenceOf(server));
    const changes = client.messages.flatMap((message) => message.changes ?? []);
    expect(changes[0]!.previous).toBe(before);
    expect(changes).toHaveLength(54);
  }
});

test("a client whose changes cannot be found gets a snapshot, and no gap", async () => {
  let hasNone = true;
  const audit: AuditTrail = {
    ask: async (question) => {
      const outcome = await trail.ask(question);
      if (question.about !== "changes" || !hasNone || outcome.gap !== null) return outcome;
      hasNone = false;
      return { ...outcome, value: { changes: [], hasMore: false } as never };
    },
  };
  const { server, open } = await start({ recentBytes: 1_000, audit });
  const { trail } = server;
  const since = sequenceOf(server);
  for (let i = 0; i < 10; i++) await bookAll(server);
  const client = await open(`?since=${since}`);
  await client.until(sequenceOf(server));
  await server.book("lock", "cleo", "B3");
  await client.until(sequenceOf(server));
  expect(client.messages.map(({ type }) => type)).toEqual(["snapshot", "changes"]);
  expect(client.states).toEqual(await listed(server));
});

test("a record that does not exist is answered with a snapshot", async () => {
  const { server, open } = await start();
  const client = await open("?since=999999");
  await client.until(sequenceOf(server));
  expect(client.messages[0]!.type).toBe("snapshot");
});

test("streams end within a second of their key, and when the server stops", async () => {
  const { server, open } = await start();
  const client = await open();
  await client.until(sequenceOf(server));
  await server.post(`${V2}/keys/rotate`);
  expect((await client.closed).code).toBe(4001);
  const organization = server.engine.state.catalog.organizations.get(server.a.id)!;
  const next = await open("", [], server.services.keys.organizationKey(organization));
  await next.until(sequenceOf(server));
  server.services.live.stop();
  expect((await next.closed).code).toBe(1012);
  expect(server.services.live.stats).toMatchObject({ streams: 0 });
});

test("what a client sends is ignored", async () => {
  const { server, open } = await start();
  const client = await open();
  await client.until(sequenceOf(server));
  client.socket.send("x".repeat(60_000));
  await bookAll(server);
  await client.until(sequenceOf(server));
  expect(client.states).toEqual(await listed(server));
});

test("a ticket opens one stream of its event at a time, without sessions", async () => {
  const { server, open } = await start();
  const path = `${V2}/events/${server.a.eventId}`;
  const issue = async () => {
    const { status, body } = await server.post<{ ticket: string }>(`${path}/stream-tickets`);
    expect(status).toBe(201);
    return body.ticket;
  };
  const ticket = await issue();
  const client = await open(`?ticket=${ticket}`, [], "");
  await client.until(sequenceOf(server));
  await bookAll(server);
  await client.until(sequenceOf(server));
  const changes = client.messages.flatMap((message) => message.changes ?? []);
  expect(changes.map(({ sessionId }) => sessionId)).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  const again = await server.get(`${path}/map/?ticket=${ticket}`, {});
  expect(again).toMatchObject({ status: 403, body: { errorCode: "ACCESS_DENIED" } });
  client.socket.close();
  const map = async () => (await server.get(`${path}/map/?ticket=${ticket}`, {})).status;
  await vi.waitFor(async () => expect(await map()).toBe(200));
  server.world.clock.timeMs += 59_999;
  expect(await map()).toBe(200);
  for (const eventId of [server.world.createEvent(), server.b.eventId]) {
    const other = `${V2}/events/${eventId}/map/?ticket=${await issue()}`;
    expect((await server.get(other, {})).status).toBe(403);
  }
  expect((await server.get(`${path}/changes/?since=0&ticket=${await issue()}`, {})).status).toBe(
    403,
  );
  const late = await issue();
  server.world.clock.timeMs += 60_000;
  expect((await server.get(`${path}/map/?ticket=${late}`, {})).status).toBe(403);
});
