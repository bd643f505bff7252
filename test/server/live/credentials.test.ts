/**
 * A stream ends with its own credential. Request objects are reused, so every test first uses
 * tickets of others.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import { type House, TestServer, V2 } from "../../support/server.ts";
import { HANDSHAKE } from "../../support/gateway/raw.ts";
import { type Connection, Listening, until } from "../wire/connection.ts";

/** Longer than a round of key revalidation. */
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

/** A key, or a tenant token acting for an organization. */
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
