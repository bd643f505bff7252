/** Server-sent events, and the signs of life of every kind of stream, on real connections. */
import { readFileSync } from "node:fs";
import { EventSource } from "undici";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { SILENCE_MS } from "../../../server/live/feed.ts";
import { V2 } from "../../support/server.ts";
import { Listening } from "../wire/connection.ts";
import { type StreamChange, StreamClient } from "./stream-client.ts";

/** Server-sent events, read as text. */
class EventReader {
  text = "";
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;

  private constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.#reader = reader;
  }

  static async open(listening: Listening, query: string, headers = {}): Promise<EventReader> {
    const { a } = listening.server;
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const response = await fetch(`${listening.base}${V2}/events/${a.eventId}/changes/${query}`, {
      headers: { "X-API-Key": a.key, Accept: "text/event-stream", ...headers },
      signal: stop.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    return new EventReader(response.body!.getReader());
  }

  /** Reads until there is this text. */
  async until(wanted: string): Promise<void> {
    const decoder = new TextDecoder();
    while (!this.text.includes(wanted)) {
      this.text += decoder.decode((await this.#reader.read()).value);
    }
  }

  get ids(): readonly number[] {
    return [...this.text.matchAll(/^id: (\d+)\nevent: change$/gm)].map(([, id]) => Number(id));
  }

  get changes(): readonly StreamChange[] {
    const data = [...this.text.matchAll(/^data: (.*)$/gm)];
    return data.map(([, json]) => JSON.parse(json!) as StreamChange);
  }
}

let listening: Listening;

beforeEach(async () => {
  listening = await Listening.start();
});

/** Books, and returns the sequences of the records. */
async function bookThrice(): Promise<readonly number[]> {
  const { server } = listening;
  const sequences: number[] = [];
  for (const label of ["A1", "A2", "A3"]) {
    await server.book("lock", "ann", label);
    sequences.push(server.engine.sequence);
  }
  return sequences;
}

test("Last-Event-ID counts more than since, and without both only later changes come", async () => {
  const [first, second, third] = await bookThrice();
  const since = await EventReader.open(listening, `?since=${first}`);
  const both = await EventReader.open(listening, `?since=${first}`, {
    "Last-Event-ID": String(second),
  });
  const neither = await EventReader.open(listening, "");
  await listening.server.book("lock", "ann", "B1");
  const last = listening.server.engine.sequence;
  for (const reader of [since, both, neither]) await reader.until(`id: ${last}\n`);
  expect(since.ids).toEqual([second, third, last]);
  expect(since.changes.map(({ call, previous }) => [call, previous])).toEqual([
    ["lock", first],
    ["lock", second],
    ["lock", third],
  ]);
  expect(both.ids).toEqual([third, last]);
  expect(neither.ids).toEqual([last]);
});

test("an answer of events begins at once, even if nothing changes", async () => {
  const reader = await EventReader.open(listening, "");
  await reader.until(":\n\n");
  expect(reader.text).toBe(":\n\n");
});

test("after 15 seconds of silence each client hears something", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + aheadMs);
  onTestFinished(() => {
    clock.mockRestore();
    vi.useRealTimers();
  });
  const pass = (ms: number) => {
    aheadMs += ms;
    vi.advanceTimersByTime(1_000);
  };
  const { server, base } = listening;
  const url = `${base.replace("http", "ws")}${V2}/events/${server.a.eventId}/stream`;
  const open = (format: string) =>
    StreamClient.open(url, server.a.key, [`frontrow.stream.v1+${format}`]);
  const clients = [await open("json"), await open("msgpack")];
  const reader = await EventReader.open(listening, "");
  const sequence = server.engine.state.sequenceOf(
    server.engine.state.catalog.events.get(server.a.eventId)!,
  );
  for (const client of clients) await client.until(sequence);
  await listening.settled();
  pass(10_000);
  await listening.settled();
  for (const { messages } of clients) expect(messages).toHaveLength(1);
  pass(SILENCE_MS - 10_000);
  for (const { messages } of clients) {
    await expect.poll(() => messages.at(-1)).toEqual({ type: "heartbeat", sequence });
    expect(messages).toHaveLength(2);
  }
  await reader.until(":\n\n:\n\n");
  expect(reader.text).toBe(":\n\n:\n\n");
});

test("EventSource with a ticket follows on after a lost connection, and misses nothing", async () => {
  const { server, base } = listening;
  const path = `${V2}/events/${server.a.eventId}`;
  const { ticket } = (await server.post<{ ticket: string }>(`${path}/stream-tickets`)).body;
  const url = `${base}${path}/changes/?ticket=${ticket}`;
  const headers = { Accept: "text/event-stream" };
  const first = new AbortController();
  await fetch(url, { headers, signal: first.signal });
  expect((await fetch(url, { headers })).status).toBe(403);
  const before = server.services.engine.sequence;
  first.abort();
  await server.book("lock", "ann", "A1");
  const again = { ...headers, "Last-Event-ID": String(before) };
  const reply = await vi.waitFor(async () => {
    const given = await fetch(url, { headers: again });
    expect(given.status).toBe(200);
    return given;
  });
  const reader = reply.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes('"LOCKED"')) text += (await reader.read()).value ?? "";
  await reader.cancel();
});

test("the guide's EventSource shows a change", async () => {
  const page = readFileSync("server/docs/guide/live.md", "utf8");
  const [, code = ""] =
    /<!-- test: the guide's EventSource [^>]*-->\n```js\n([^]*?)```/.exec(page) ?? [];
  const { server, base } = listening;
  const path = `${V2}/events/${server.a.eventId}`;
  const { ticket } = (await server.post<{ ticket: string }>(`${path}/stream-tickets`)).body;
  const { sequence } = server.services.engine;
  const body = `${code.replace("https://tickets.example", base)}return source;`;
  const names = ["EventSource", "eventId", "sequence", "ticket", "show"];
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- the code of the guide
  const run = new Function(...names, body) as (...values: unknown[]) => EventSource;
  const shown = new Promise((resolve) => {
    const source = run(EventSource, server.a.eventId, sequence, ticket, resolve);
    onTestFinished(() => source.close());
  });
  await server.book("lock", "ann", "A1");
  expect(await shown).toMatchObject({ sequence: sequence + 1, call: "lock" });
});

test("a stream that a ticket opened ends with the key that made the ticket", async () => {
  const { server, base } = listening;
  const path = `${V2}/events/${server.a.eventId}`;
  const issue = async () =>
    (await server.post<{ ticket: string }>(`${path}/stream-tickets`)).body.ticket;
  const url = `${base.replace("http", "ws")}${path}/stream?ticket=`;
  const client = await StreamClient.open(url + (await issue()), "");
  const unused = await issue();
  await server.post(`${V2}/keys/rotate`);
  expect((await client.closed).code).toBe(4001);
  expect((await server.get(`${path}/map/?ticket=${unused}`, {})).status).toBe(403);
});
