/**
 * A stream ends with the credential that opened it, and with no other. The objects of requests are
 * used again, so every test first uses tickets of others.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type House, TestServer, V2 } from "../../support/server.ts";
import { Random } from "../../sim/workload/random.ts";
import { HANDSHAKE } from "../commands/bare-socket.ts";
import { type Connection, Listening, until } from "../wire/connection.ts";

/** Longer than a round in which the keys of all streams are judged. */
const ROUND_MS = 1_000;
/** On a busy machine: how soon a stream ends has a test of its own, with a clock. */
const ENDED_MS_MAX = 10_000;
/** A close frame with its code, and the last chunk. */
const ENDED = {
  WebSocket: "\x0f\xa1the key is no longer valid",
  EventSource: "\r\n0\r\n\r\n",
};
const BEGUN = { WebSocket: '"type":"snapshot"', EventSource: ":\n\n" };
type Way = keyof typeof ENDED;
const WAYS: readonly Way[] = ["WebSocket", "EventSource"];

/** A key, or the token of a tenant that acts for an organization. */
interface Credential {
  readonly key: string;
  /** By the service clock. */
  endsMs: number;
}

interface Stream {
  readonly credential: Credential;
  readonly connection: Connection;
  readonly hasEnded: () => boolean;
}

class Streams {
  readonly server: TestServer;
  readonly #listening: Listening;

  private constructor(listening: Listening) {
    this.#listening = listening;
    this.server = listening.server;
  }

  static async start(): Promise<Streams> {
    return new Streams(await Listening.start());
  }

  /** Follows the event of a house. @param ticket - Sent in place of the credential. */
  async open(house: House, credential: Credential, way: Way, ticket = ""): Promise<Stream> {
    const connection = await this.#listening.connection();
    const isSocket = way === "WebSocket";
    const path = `${V2}/events/${house.eventId}/${isSocket ? "stream" : "changes/"}`;
    const headers = isSocket ? HANDSHAKE : ["Accept: text/event-stream"];
    if (ticket === "") connection.get(path, ...headers, ...namesOf(house, credential));
    else connection.get(`${path}?ticket=${ticket}`, ...headers);
    await until(() => connection.text.includes(BEGUN[way]));
    return { credential, connection, hasEnded: () => connection.text.includes(ENDED[way]) };
  }

  async ticketOf(house: House, credential: Credential): Promise<string> {
    const path = `/events/${house.eventId}/stream-tickets`;
    const { ticket } = await this.#post<{ ticket: string }>(path, namesOf(house, credential));
    return ticket;
  }

  /** Reads the map with tickets, all at a time. */
  async useTickets(house: House, credential: Credential, count: number): Promise<void> {
    const uses = Array.from({ length: count }, async () => {
      const ticket = await this.ticketOf(house, credential);
      const url = `${this.#listening.base}${V2}/events/${house.eventId}/map/?ticket=${ticket}`;
      expect((await fetch(url)).status).toBe(200);
    });
    await Promise.all(uses);
  }

  /** @returns The new key. */
  async rotate({ key }: Credential, graceSeconds: number): Promise<string> {
    const body = JSON.stringify({ graceSeconds });
    const headers = [`X-API-Key: ${key}`, "Content-Type: application/json"];
    return (await this.#post<{ secretKey: string }>("/keys/rotate", headers, body)).secretKey;
  }

  async #post<Body>(path: string, headers: readonly string[], body = ""): Promise<Body> {
    const pairs = headers.map((header) => header.split(": ") as [string, string]);
    const url = this.#listening.base + V2 + path;
    const response = await fetch(url, { method: "POST", headers: pairs, body });
    expect(response.ok).toBe(true);
    return (await response.json()) as Body;
  }
}

function namesOf(house: House, { key }: Credential): string[] {
  return [`X-API-Key: ${key}`, `X-Organization-ID: ${house.id}`];
}

function validKey(key: string): Credential {
  return { key, endsMs: Infinity };
}

/** A has used tickets, and B follows its event with its key. */
async function startBoth(way: Way) {
  const streams = await Streams.start();
  const { a, b } = streams.server;
  const keyOfA = validKey(a.key);
  const keyOfB = validKey(b.key);
  await streams.useTickets(a, keyOfA, 20);
  const opened: Stream[] = [];
  for (let i = 0; i < 10; i++) {
    // oxlint-disable-next-line no-await-in-loop -- each uses the object of the one before
    opened.push(await streams.open(b, keyOfB, way));
  }
  const ended = () => opened.filter(({ hasEnded }) => hasEnded()).length;
  return { streams, keyOfA, keyOfB, ended };
}

test.each(WAYS)("rotated key after foreign tickets → each %s of it ends", async (way) => {
  const { streams, keyOfB, ended } = await startBoth(way);
  await streams.rotate(keyOfB, 0);
  await expect.poll(ended, { timeout: ENDED_MS_MAX }).toBe(10);
});

test.each(WAYS)("end of a foreign ticket's key → no %s of a valid key ends", async (way) => {
  const { streams, keyOfA, ended } = await startBoth(way);
  await streams.rotate(keyOfA, 0);
  await delay(ROUND_MS);
  expect(ended()).toBe(0);
});

/** An organization and its keys, one after the other. */
class Holder {
  readonly house: House;
  current: Credential;
  /** Rotated, perhaps in its grace time. */
  #retired: Credential | null = null;

  constructor(house: House) {
    this.house = house;
    this.current = validKey(house.key);
  }

  rotated(key: string, nowMs: number, graceMs: number): void {
    // One grace time at most: another rotation ends it.
    if (this.#retired !== null) this.#retired.endsMs = Math.min(this.#retired.endsMs, nowMs);
    this.#retired = this.current;
    this.#retired.endsMs = nowMs + graceMs;
    this.current = validKey(key);
  }

  /** @returns A key that is valid at that time. */
  pick(random: Random, nowMs: number): Credential {
    const retired = this.#retired;
    const isValid = retired !== null && retired.endsMs > nowMs;
    return isValid && random.once(2) ? retired : this.current;
  }
}

const ORGANIZATIONS = 10;
const STREAMS = 200;
const CHECKED_EVERY = 50;
const SEED = 34;
const GRACE_SECONDS_MAX = 20;
/** No whole number of seconds, so that no grace time ends just now. */
const TIME_STEP_MS = 5_001;

/** Tickets, keys, tokens, rotations and clients that leave, drawn from a seed. */
class Crowd {
  readonly #streams: Streams;
  readonly #random = new Random(SEED);
  readonly #holders: readonly Holder[];
  readonly #token: Credential;
  /** Those whose client has not left. */
  #open: Stream[] = [];
  /** How many were opened with each kind of credential, and how many keys were rotated. */
  readonly counts = { ticket: 0, key: 0, rotated: 0 };

  constructor(streams: Streams) {
    this.#streams = streams;
    const { a, b, c, world } = streams.server;
    const others = Array.from({ length: ORGANIZATIONS - 3 }, (_, i) =>
      streams.server.createHouse(world.tenant, `House ${i}`),
    );
    this.#holders = [a, b, c, ...others].map((house) => new Holder(house));
    this.#token = validKey(streams.server.tenantToken);
  }

  get #clock() {
    return this.#streams.server.world.clock;
  }

  get ended(): readonly boolean[] {
    return this.#open.map(({ hasEnded }) => hasEnded());
  }

  get expected(): readonly boolean[] {
    return this.#open.map(({ credential }) => credential.endsMs <= this.#clock.timeMs);
  }

  async step(): Promise<void> {
    const random = this.#random;
    const holder = random.pick(this.#holders);
    const { house } = holder;
    const mayBeTenant = house !== this.#streams.server.c;
    const isTenant = mayBeTenant && random.once(5);
    const credential = isTenant ? this.#token : holder.pick(random, this.#clock.timeMs);
    const hasTicket = random.once(2);
    const ticket = hasTicket ? await this.#streams.ticketOf(house, credential) : "";
    this.counts[hasTicket ? "ticket" : "key"] += 1;
    this.#open.push(await this.#streams.open(house, credential, random.pick(WAYS), ticket));
    if (random.once(3)) await this.#streams.useTickets(house, credential, 1 + random.below(4));
    if (random.once(8)) await this.#rotate(holder);
    if (random.once(8)) this.#clock.timeMs += TIME_STEP_MS;
    if (random.once(10)) this.#leave(random.pick(this.#open));
  }

  async #rotate(holder: Holder): Promise<void> {
    const graceSeconds = this.#random.once(2) ? 0 : this.#random.below(GRACE_SECONDS_MAX);
    const key = await this.#streams.rotate(holder.current, graceSeconds);
    holder.rotated(key, this.#clock.timeMs, graceSeconds * 1_000);
    this.counts.rotated += 1;
  }

  #leave(stream: Stream): void {
    stream.connection.socket.destroy();
    this.#open = this.#open.filter((other) => other !== stream);
  }
}

test("200 streams with random tickets, keys and rotations → each ends with its own", async () => {
  const crowd = new Crowd(await Streams.start());
  for (let count = 1; count <= STREAMS; count++) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await crowd.step();
    if (count % CHECKED_EVERY > 0) continue;
    // oxlint-disable-next-line no-await-in-loop -- those opened later find other credentials
    await expect.poll(() => crowd.ended, { timeout: ENDED_MS_MAX }).toEqual(crowd.expected);
  }
  await delay(ROUND_MS);
  expect(crowd.ended).toEqual(crowd.expected);
  const { ticket, key, rotated } = crowd.counts;
  expect(Math.min(ticket, key, rotated)).toBeGreaterThan(15);
  const ends = crowd.ended.filter(Boolean).length;
  expect(ends).toBeGreaterThan(50);
  expect(ends).toBeLessThan(150);
});
