/** `@frontrow/client`: following an event on a real server. */
import { readFileSync } from "node:fs";
import { type MessageEvent, WebSocket } from "undici";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  type Change,
  type EventMap,
  StreamClient,
  type StreamClientOptions,
} from "../../../server/client/client.ts";
import { V2 } from "../../support/server.ts";
import { fillUnread, listed, sequenceOf } from "../live/stream-client.ts";
import { Listening, until } from "../wire/connection.ts";
import { Proxy } from "../../support/proxy.ts";

class Told {
  readonly maps: EventMap[] = [];
  readonly changes: Change[] = [];
  readonly connections: boolean[] = [];
  /** By seat id: a letter, as in the map. */
  readonly states = new Map<number, string>();

  readonly listeners = {
    onSnapshot: (map: EventMap) => {
      this.maps.push(map);
      this.states.clear();
      for (const [i, id] of map.columns.ids.entries()) this.states.set(id, map.columns.states[i]!);
    },
    onChanges: (changes: readonly Change[]) => {
      this.changes.push(...changes);
      for (const { id, state } of changes.flatMap(({ seats }) => seats)) {
        this.states.set(id, state?.[0] ?? "-");
      }
    },
    onConnection: (isOpen: boolean) => void this.connections.push(isOpen),
  };
}

async function started(options: Partial<StreamClientOptions> = {}) {
  const listening = await Listening.start();
  const { server } = listening;
  const proxy = await Proxy.start(listening.http.port);
  const told = new Told();
  const { a } = server;
  const own = { url: proxy.url, eventId: a.eventId, key: a.key };
  const client = new StreamClient({ ...own, ...told.listeners, ...options });
  onTestFinished(() => client.close());
  const caughtUp = () => until(() => client.sequence === sequenceOf(server));
  return { listening, server, proxy, told, client, caughtUp };
}

/** Each change follows the one before it. */
function expectNoGap(changes: readonly Change[], first: number): void {
  const previous = changes.map((change) => change.previous);
  expect(previous).toEqual([first, ...changes.slice(0, -1).map(({ sequence }) => sequence)]);
}

test("a client has a snapshot and every change, and so the states of the listing", async () => {
  const { server, told, client, caughtUp } = await started();
  await caughtUp();
  expect(told.maps).toHaveLength(1);
  await server.book("lock", "ann", "A1", "A2");
  await server.book("sale", "ann", "A1");
  await caughtUp();
  expect(told.states).toEqual(await listed(server));
  expect(told.changes).toMatchObject([{ call: "lock", sessionId: "ann" }, { call: "sale" }]);
  client.close();
  expect(await client.ended).toEqual({ reason: "closed", error: null });
  expect(told.connections).toEqual([true, false]);
});

test("after a break a client goes on where it was, without a gap or a snapshot", async () => {
  const { server, proxy, told, caughtUp } = await started();
  await caughtUp();
  const first = sequenceOf(server);
  for (const label of ["A1", "A2", "A3"]) {
    proxy.losesAnswers = true;
    await server.book("lock", "ann", label);
    proxy.cut();
    await server.book("sale", "ann", label);
    proxy.losesAnswers = false;
    await caughtUp();
  }
  expect(told.maps).toHaveLength(1);
  expect(told.changes).toHaveLength(6);
  expectNoGap(told.changes, first);
  expect(told.connections.slice(0, 3)).toEqual([true, false, true]);
});

test("a client that was too slow comes back with its last sequence", async () => {
  const { listening, server, proxy, told, caughtUp } = await started();
  await caughtUp();
  const first = sequenceOf(server);
  const { live } = server.services;
  await fillUnread(listening, proxy, () => live.stats.slow > 0);
  await until(() => proxy.connections === 2);
  await server.book("lock", "bob", "B1");
  await caughtUp();
  expect(live.stats.slow).toBe(1);
  expect(told.maps).toHaveLength(1);
  expectNoGap(told.changes, first);
});

test("a change that does not follow the one before is asked for again", async () => {
  let hasLost = false;
  /** Loses the first change. */
  class Lossy {
    readonly #socket: WebSocket;

    constructor(url: string, protocol: string) {
      const headers = { "X-API-Key": key };
      this.#socket = new WebSocket(url, { protocols: [protocol], headers });
    }

    addEventListener(type: "message", listener: (event: MessageEvent) => void): void {
      this.#socket.addEventListener(type, (event) => {
        const isChange = String(event.data).includes('"type":"changes"');
        if (isChange && !hasLost) hasLost = true;
        else listener(event);
      });
    }

    close(): void {
      this.#socket.close();
    }
  }
  let key = "";
  const { server, proxy, told, caughtUp } = await started({ webSocket: Lossy });
  key = server.a.key;
  await caughtUp();
  const first = sequenceOf(server);
  await server.book("lock", "ann", "A1");
  await until(() => hasLost);
  await server.book("lock", "ann", "A2");
  await caughtUp();
  expectNoGap(told.changes, first);
  expect(told.changes).toHaveLength(2);
  expect(proxy.connections).toBe(2);
});

test("a connection that says nothing for 45 seconds is replaced", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "Date"] });
  onTestFinished(() => void vi.useRealTimers());
  const { server, proxy, told, caughtUp } = await started();
  await caughtUp();
  proxy.losesAnswers = true;
  await server.book("lock", "ann", "A1");
  vi.advanceTimersByTime(44_000);
  expect(told.connections).toEqual([true]);
  vi.advanceTimersByTime(16_000);
  proxy.losesAnswers = false;
  await caughtUp();
  expect(told.connections).toEqual([true, false, true]);
  expect(proxy.connections).toBe(2);
});

test("the end of the key and the deletion of the event are ends of their own", async () => {
  const { server, client, caughtUp } = await started();
  await caughtUp();
  await server.post(`${V2}/keys/rotate`, {});
  expect((await client.ended).reason).toBe("key ended");
  const other = await started();
  await other.caughtUp();
  const { world, a } = other.server;
  world.must("deleteEvent", a.caller, { eventId: a.eventId });
  expect((await other.client.ended).reason).toBe("event deleted");
  expect(other.told.changes.at(-1)!.call).toBe("deleteevent");
});

test("a server that stops ends the stream, unless it shall outlive that", async () => {
  const { server, client, caughtUp } = await started();
  await caughtUp();
  server.services.live.stop();
  expect((await client.ended).reason).toBe("server stopping");
  const other = await started({ outlivesRestarts: true });
  await other.caughtUp();
  other.server.services.live.stop();
  await until(() => other.proxy.connections > 1);
});

test.each([
  ["a wrong key", { key: "wrong" }, 403],
  ["an event that does not exist", { eventId: "00000000-0000-4000-8000-000000000000" }, 404],
])("%s is refused, and not tried again", async (_, options, code) => {
  const { client } = await started(options);
  const end = await client.ended;
  expect(end).toMatchObject({ reason: "refused", error: { name: "ConnectionRefused", code } });
});

test("an address that is none is refused", async () => {
  const { client } = await started({ url: "nowhere" });
  expect((await client.ended).reason).toBe("refused");
});

test("each connection has a ticket of its own, until there is none", async () => {
  let answer: () => Promise<string | null> = () => Promise.reject(new Error("not yet"));
  let asked = 0;
  const ticket = () => {
    asked += 1;
    return answer();
  };
  const { server, proxy, told, client, caughtUp } = await started({ key: "", ticket });
  await until(() => asked === 2);
  answer = async () => {
    const path = `${V2}/events/${server.a.eventId}/stream-tickets`;
    return (await server.post<{ ticket: string }>(path)).body.ticket;
  };
  await caughtUp();
  proxy.cut();
  await server.book("lock", "ann", "A1");
  await caughtUp();
  expect(told.changes).toMatchObject([{ call: "lock" }]);
  expect(told.changes[0]!.sessionId).toBeUndefined();
  answer = () => Promise.resolve(null);
  proxy.cut();
  expect((await client.ended).reason).toBe("refused");
});

test("the guide's client shows the states of the listing", async () => {
  const page = readFileSync("server/docs/guide/live.md", "utf8");
  const [, code = ""] =
    /<!-- test: the guide's client [^>]*-->\n```js\n([^]*?)```/.exec(page) ?? [];
  const { server, proxy } = await started();
  const body = code
    .replace(/^import .*\n/, "")
    .replace("https://tickets.example", proxy.url)
    .concat("return { states, stream };");
  // oxlint-disable-next-line no-new-func, typescript/no-implied-eval -- the code of the guide
  const run = new Function("StreamClient", "eventId", "key", body) as (...values: unknown[]) => {
    readonly states: Map<number, string>;
    readonly stream: StreamClient;
  };
  const { states, stream } = run(StreamClient, server.a.eventId, server.a.key);
  await server.book("lock", "ann", "A1");
  await until(() => stream.sequence === sequenceOf(server));
  expect(states).toEqual(await listed(server));
  stream.close();
});
