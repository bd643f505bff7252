/** Changes of more than a mebibyte, on real connections. */
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { WAITING_BYTES_MAX } from "../../../server/live/feed.ts";
import type { Transfers } from "../../../server/http/limits.ts";
import type { HttpOptions } from "../../../server/http/server.ts";
import { labelsOf, layoutOf, section } from "../../support/layout.ts";
import { V2 } from "../../support/server.ts";
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { type Connection, Listening } from "../wire/connection.ts";

/** More than may be under way at a time. */
const CLIENTS = 20;
const SEATS_OF_ROW = 300;
const UNREAD_MS_MAX = 20_000;
const EVENTS = ["Accept: text/event-stream"];
const READS = { timeout: 30_000, interval: 250 };
/** The kernel's buffers are full after this time, in milliseconds. */
const FULL_MS = 100;

/** An event with one change for all seats: another price. */
class LargeEvent {
  readonly listening: Listening;
  readonly #eventId: string;
  readonly #sectionId: number;
  readonly #prices: readonly number[];
  #changes = 0;

  private constructor(listening: Listening, rowCount: number) {
    this.listening = listening;
    const { world, a } = listening.server;
    const numbers = Array.from({ length: SEATS_OF_ROW }, (_, i) => i + 1).join(" ");
    const rows = Array.from({ length: rowCount }, (_, row) => [`row ${row}-`, numbers] as const);
    const facts = { name: "Large", venueId: a.venueId };
    const { id: schemaId } = world.must("createSchema", a.caller, { body: facts });
    const body = layoutOf(section("Large", Object.fromEntries(rows)));
    const put = { schemaId, body, forceDelete: false };
    this.#sectionId = labelsOf(world.must("putLayout", a.caller, put)).idOf("Large");
    this.#eventId = world.createEvent(a.caller, schemaId);
    this.#prices = ["One", "Two"].map((name) => world.createPrice(name, this.#eventId));
  }

  static async open(rowCount: number, limits: Partial<HttpOptions> = {}): Promise<LargeEvent> {
    return new LargeEvent(await Listening.start(limits), rowCount);
  }

  /** A caught-up client. */
  async follow(path: string, headers: readonly string[], known: string): Promise<Connection> {
    const { server } = this.listening;
    const connection = await this.listening.connection();
    const target = `${V2}/events/${this.#eventId}/${path}`;
    connection.get(target, ...headers, `X-API-Key: ${server.a.key}`);
    await expect.poll(() => connection.text.includes(known), READS).toBe(true);
    return connection;
  }

  stream(): Promise<Connection> {
    return this.follow("stream", HANDSHAKE, "snapshot");
  }

  /** Changes all seats, in a message of its own. */
  async change(): Promise<void> {
    const { world, a } = this.listening.server;
    const assignmentId = this.#prices[this.#changes++ % 2]!;
    const groupOfSeats = [{ objectId: this.#sectionId, assignmentId }];
    world.must("assignPrices", a.caller, { eventId: this.#eventId, body: { groupOfSeats } });
    await this.listening.settled();
  }

  /**
   * Changes the seats until the connection of a paused client is full. The kernel makes more room a
   * few times, so waiting bytes may still leave at first.
   */
  async changeUntilWaiting(): Promise<void> {
    const { answers } = this.listening.http.stats;
    while (answers.count === 0) {
      await this.change();
      await setTimeout(FULL_MS);
    }
  }

  /** Waits until each client has the last change, with no gap. */
  async expectAll(connections: readonly Connection[]): Promise<void> {
    const { engine } = this.listening.server;
    const last = `"sequence":${engine.sequence},`;
    const lacks = () => connections.filter(({ text }) => !text.includes(last)).length;
    await expect.poll(lacks, READS).toBe(0);
    for (const { text } of connections) {
      expect(text.match(/"call":"prices"/g)).toHaveLength(this.#changes);
    }
  }
}

test("a change of more than a mebibyte closes no client that reads", async () => {
  const event = await LargeEvent.open(50);
  const opened = Array.from({ length: CLIENTS }, () => event.stream());
  const clients = await Promise.all(opened);
  clients.push(await event.follow("changes/", EVENTS, ":\n\n"));
  for (let i = 0; i < 3; i++) {
    await event.change();
  }
  await event.expectAll(clients);
  expect(clients[0]!.text.length).toBeGreaterThan(WAITING_BYTES_MAX);
  expect(event.listening.server.services.live.stats).toMatchObject({ streams: CLIENTS, slow: 0 });
});

test("a client that pauses gets all large changes when it reads again", async () => {
  const event = await LargeEvent.open(100);
  const client = await event.stream();
  client.socket.pause();
  await event.changeUntilWaiting();
  for (let i = 0; i < 5; i++) {
    await event.change();
  }
  client.socket.resume();
  await event.expectAll([client]);
  expect(event.listening.server.services.live.stats).toMatchObject({ streams: 1, slow: 0 });
});

test("a client that reads nothing of a large change is cut off", async () => {
  const clock = { timeMs: 0 };
  const event = await LargeEvent.open(100, { nowMs: () => clock.timeMs });
  const client = await event.stream();
  const { answers, sockets } = event.listening.http.stats;
  client.socket.pause();
  await event.changeUntilWaiting();
  const { heldBytes } = answers;
  await event.change();
  expect(answers.heldBytes).toBe(heldBytes);
  clock.timeMs += UNREAD_MS_MAX + heldBytes / 64 + 1;
  (answers as Transfers).sweep();
  await expect.poll(() => sockets.count).toBe(0);
  expect([answers.abandoned, answers.heldBytes]).toEqual([1, 0]);
});
