/** Very many followers reconnect together, as after a restart. */
import { expect, test } from "vitest";
import { AuditGap } from "../../../engine/queries/history.ts";
import { TenantQuota } from "../../../engine/bounds.ts";
import { ASKER_MAX, WAITING_MAX } from "../../../persistence/history/thread.ts";
import { type AuditTrail, TenantSemaphore } from "../../../server/live/changes.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";
import { StreamClient } from "./stream-client.ts";

/** More than may ask the trail at a time. */
const CLIENTS = 3 * ASKER_MAX;

/** A server with changes in the trail only, and the bounds of the real one. */
async function start() {
  const waiting = new TenantQuota<string>(ASKER_MAX, WAITING_MAX);
  const audit: AuditTrail = {
    ask: async (question, asker) => {
      if (!waiting.take(asker)) return { gap: AuditGap.BUSY, extent: null };
      await new Promise(setImmediate);
      const outcome = await server.trail.ask(question);
      waiting.giveBack(asker);
      return outcome;
    },
  };
  const server = new TestServer({ recentBytes: 1_000, audit });
  const { a, engine } = server;
  const since = engine.state.sequenceOf(engine.state.catalog.events.get(a.eventId)!);
  for (let i = 0; i < 20; i++) {
    server.world.book(i % 2 === 0 ? "lock" : "unlock", server.selection("ann", "A1"));
    server.journal.sync();
  }
  return { listening: await Listening.start({}, server), server, waiting, since };
}

test("streams that come again together after a restart all get what they missed", async () => {
  const { listening, server, waiting, since } = await start();
  const { a, engine } = server;
  const base = listening.base.replace("http", "ws");
  const url = `${base}${V2}/events/${a.eventId}/stream?since=${since}`;
  const opened = Array.from({ length: CLIENTS }, () => StreamClient.open(url, a.key));
  const clients = await Promise.all(opened);
  await Promise.all(clients.map((client) => client.until(engine.sequence)));
  for (const { messages } of clients) {
    expect(messages.flatMap(({ changes = [] }) => changes)).toHaveLength(20);
  }
  expect(waiting).toMatchObject({ refused: 0, used: 0 });
});

test("server-sent events that come again together are all answered", async () => {
  const { listening, server, waiting, since } = await start();
  const headers = [
    "Accept: text/event-stream",
    `Last-Event-ID: ${since}`,
    `X-API-Key: ${server.a.key}`,
  ];
  const connections = await Promise.all(
    Array.from({ length: CLIENTS }, () => listening.connection()),
  );
  const path = `${V2}/events/${server.a.eventId}/changes/`;
  for (const connection of connections) connection.get(path, ...headers);
  const last = `id: ${server.engine.sequence}\n`;
  const lacks = () => connections.filter(({ text }) => !text.includes(last)).length;
  await expect.poll(lacks, { timeout: 10_000 }).toBe(0);
  expect(waiting).toMatchObject({ refused: 0, used: 0 });
  expect(server.services.waiting.count).toBe(0);
});

test("a client that goes before its turn loses its place in the line", async () => {
  const turns = new TenantSemaphore(1, null);
  let end = () => {};
  const first = turns.run(1, () => new Promise<void>((resolve) => (end = resolve)));
  const gone = { onGone: null as (() => void) | null };
  const begun: string[] = [];
  const work = (name: string) => () => Promise.resolve(begun.push(name));
  const second = turns.run(1, work("gone"), gone);
  const third = turns.run(1, work("third"));
  gone.onGone!();
  expect(await second).toBeNull();
  end();
  await first;
  await third;
  expect(begun).toEqual(["third"]);
});
