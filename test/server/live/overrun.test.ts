/** An event that changes faster than its changes can be sent to all who follow it. */
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { type TestServer, V2 } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";
import { StreamClient } from "./stream-client.ts";

/** With two changes each: more than one message has. */
const LOCKS_OF_TURN = 600;

/** A client of server-sent events that counts the changes. */
class EventCounter {
  count = 0;
  last = 0;

  static async open(url: string, key: string): Promise<EventCounter> {
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const headers = { "X-API-Key": key, Accept: "text/event-stream" };
    const { body } = await fetch(url, { headers, signal: stop.signal });
    const counter = new EventCounter();
    void counter.#read(body!).catch(() => null);
    return counter;
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let line = "";
    for await (const bytes of body) {
      const lines = (line + decoder.decode(bytes)).split("\n");
      line = lines.pop()!;
      const ids = lines.filter((text) => text.startsWith("id: "));
      this.count += ids.length;
      if (ids.length > 0) this.last = Number(ids.at(-1)!.slice(4));
    }
  }
}

/** Changes a seat until all who follow the event get a snapshot. @returns How many changes. */
async function rush(server: TestServer): Promise<number> {
  const { world, services } = server;
  const selection = server.selection("ann", "A1");
  let count = 0;
  while (services.live.stats.rounds === 0) {
    for (let i = 0; i < LOCKS_OF_TURN; i++) {
      world.book("lock", selection);
      world.book("unlock", selection);
    }
    count += 2 * LOCKS_OF_TURN;
    // oxlint-disable-next-line no-await-in-loop -- the feed sends in turns of the event loop
    await turn();
  }
  return count;
}

test("streams get snapshots in place of too many changes; events get every change", async () => {
  const listening = await Listening.start();
  const { server, base } = listening;
  const { a, engine, services } = server;
  const path = `${V2}/events/${a.eventId}`;
  const open = (protocol: string) =>
    StreamClient.open(`${base.replace("http", "ws")}${path}/stream`, a.key, [protocol]);
  const clients = [
    await open("frontrow.stream.v1+json"),
    await open("frontrow.stream.v1+msgpack"),
  ];
  for (const client of clients) await client.until(engine.sequence);
  const events = await EventCounter.open(`${base}${path}/changes/`, a.key);
  const count = await rush(server);
  const late = await StreamClient.open(
    `${base.replace("http", "ws")}${path}/stream?since=${clients[0]!.sequence}`,
    a.key,
  );
  for (const client of [...clients, late]) await client.until(engine.sequence);
  await server.book("lock", "bob", "B1");
  const seats = await server.seats();
  const states = new Map(seats.map(({ seatId, state }) => [seatId, state?.[0] ?? "-"]));
  for (const client of [...clients, late]) {
    await client.until(engine.sequence);
    expect(client.states).toEqual(states);
    expect(client.messages.at(-1)).toMatchObject({ type: "changes" });
  }
  for (const { messages } of clients) {
    const snapshots = messages.filter(({ type }) => type === "snapshot");
    expect(snapshots.length).toBeGreaterThan(1);
    const received = messages.flatMap(({ changes = [] }) => changes).length;
    expect(received).toBeLessThan(count);
  }
  await expect.poll(() => events.last, { timeout: 20_000 }).toBe(engine.sequence);
  expect(events.count).toBe(count + 1);
  expect(services.live.stats).toMatchObject({ slow: 0, streams: 3, eventStreams: 1 });
});
