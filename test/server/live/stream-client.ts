/** A client of the stream: keeps the states after its messages. */
import { unpack } from "msgpackr";
import { WebSocket } from "undici";
import { expect } from "vitest";
import { WAITING_BYTES_MAX } from "../../../server/live/feed.ts";
import type { TestServer } from "../../support/server.ts";
import type { Listening } from "../wire/connection.ts";
import { WaitingSocket } from "../wire/waiting-socket.ts";

export interface StreamMessage {
  readonly type: "snapshot" | "changes" | "heartbeat";
  readonly sequence?: number;
  readonly columns?: { readonly ids: readonly number[]; readonly states: string };
  readonly changes?: readonly StreamChange[];
}

export interface StreamChange {
  readonly sequence: number;
  readonly previous: number;
  readonly call: string;
  readonly sessionId?: string;
  readonly seats: readonly { readonly id: number; readonly state: string | null }[];
}

export class StreamClient extends WaitingSocket {
  readonly messages: StreamMessage[] = [];
  /** By seat id: a letter, as in the map. */
  readonly states = new Map<number, string>();
  /** The last known record. */
  sequence = 0;

  /** @param url - Of the stream, as ws. */
  static async open(url: string, key: string, protocols: string[] = []): Promise<StreamClient> {
    const headers = key === "" ? {} : { "X-API-Key": key };
    const client = new StreamClient(new WebSocket(url, { protocols, headers }));
    await client.opened();
    return client;
  }

  /** Waits until it knows a record. @throws Error when the connection closes before. */
  async until(sequence: number): Promise<void> {
    while (this.sequence < sequence) {
      await this.next();
    }
  }

  /** @throws Error when changes are missing. */
  protected take(data: unknown): void {
    const message = (
      typeof data === "string" ? JSON.parse(data) : unpack(new Uint8Array(data as ArrayBuffer))
    ) as StreamMessage;
    this.messages.push(message);
    if (message.columns !== undefined) {
      this.states.clear();
      const { ids, states } = message.columns;
      for (const [i, id] of ids.entries()) this.states.set(id, states[i]!);
      this.sequence = message.sequence!;
    }
    for (const { sequence, previous, seats } of message.changes ?? []) {
      if (this.sequence !== 0 && previous !== this.sequence) {
        throw new Error(`the change after ${this.sequence} is missing before ${sequence}`);
      }
      this.sequence = sequence;
      for (const { id, state } of seats) this.states.set(id, state?.[0] ?? "-");
    }
  }
}

/** The feed sends a client that reads nothing no message for this long: it is catching up. */
const STALLED_MS = 1_000;

/**
 * Makes many changes, and waits until the feed has made a message of them.
 *
 * @returns False when it makes none, because its only client is catching up.
 */
async function makeMessage(server: TestServer): Promise<boolean> {
  const { live } = server.services;
  const { messages } = live.stats;
  const session = "s".repeat(200);
  for (let i = 0; i < 25; i++) {
    server.world.book("lock", server.selection(session, "A1", "A2"));
    server.world.book("unlock", server.selection(session, "A1", "A2"));
  }
  // Beside so much other work the feed rests; with several messages the client would catch up.
  const endMs = performance.now() + STALLED_MS;
  while (live.stats.messages === messages && live.stats.streams + live.stats.eventStreams > 0) {
    if (performance.now() > endMs) return false;
    await new Promise(setImmediate);
  }
  return true;
}

/**
 * Fills the buffers of the only client, which reads nothing, until the server has closed it.
 *
 * Where one message ended a block of changes and the next one filled the buffers, the client was
 * catching up, which does not count: it reads everything, and then nothing again.
 */
export async function fillUnread(
  { server, http }: Listening,
  client: { pause(): unknown; resume(): unknown },
  isClosed: () => boolean,
): Promise<void> {
  const held = () => http.stats.answers.heldBytes;
  client.pause();
  while (!isClosed()) {
    if ((await makeMessage(server)) && held() <= WAITING_BYTES_MAX) continue;
    client.resume();
    await expect.poll(held, { timeout: 10_000 }).toBe(0);
    if (!isClosed()) client.pause();
  }
  client.resume();
}

/** By seat id: the letter of the listed state. */
export async function listed(server: TestServer): Promise<Map<number, string>> {
  const seats = await server.seats();
  return new Map(seats.map(({ seatId, state }) => [seatId, state?.[0] ?? "-"]));
}

/** The last record of the event of A. */
export const sequenceOf = ({ engine, a }: TestServer) =>
  engine.state.sequenceOf(engine.state.catalog.events.get(a.eventId)!);
