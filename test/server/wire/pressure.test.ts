/** More connections than may be open, and answers that nobody reads. */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { page } from "../../../server/http/answers.ts";
import { type Exchange, StartingFront } from "../../../server/http/front.ts";
import { Transfers } from "../../../server/http/limits.ts";
import { Connection, Listening, until } from "./connection.ts";

const MIB = 1_024 * 1_024;
/** The largest file that is served to everyone, more than a socket takes at once. */
const LARGE = "/docs/reference.js";

const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** A connection that reads nothing. */
async function unread(listening: Listening): Promise<Connection> {
  const connection = await listening.connection();
  connection.socket.pause();
  return connection;
}

test("a connection above the limit is closed at once, and counted", async () => {
  const listening = await Listening.start({ connectionsMax: 3 });
  const { stats } = listening.http;
  const open = [await listening.connection(), await listening.connection()];
  open.push(await listening.connection());
  const refused = await listening.connection();
  refused.get("/healthz");
  await until(() => refused.socket.closed);
  expect(refused.text).toBe("");
  expect(stats).toMatchObject({ connections: 3, connectionsMax: 3, connectionsRefused: 1 });
  open[0]!.get("/healthz");
  expect(await open[0]!.answer()).toMatch(/^HTTP\/1\.1 200 /);
  open[1]!.socket.destroy();
  await until(() => stats.connections === 2);
  const next = await listening.connection();
  next.get("/healthz");
  expect(await next.answer()).toMatch(/^HTTP\/1\.1 200 /);
  expect(stats.connectionsRefused).toBe(1);
});

/** Opens connections from an address of this machine. @returns Those that stay open. */
async function openFrom(
  address: string,
  { port }: Listening,
  count: number,
): Promise<Connection[]> {
  const opening = Array.from({ length: count }, async () => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: address });
    socket.setEncoding("latin1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, "connect");
    return new Connection(socket);
  });
  return Promise.all(opening);
}

const stillOpen = (connections: readonly Connection[]) =>
  connections.filter(({ socket }) => !socket.closed);

test.each([
  "127.0.0.1",
  // The addresses of clients are then those of IPv4 in IPv6.
  ...(existsSync("/proc/self/net/if_inet6") ? ["::"] : []),
])("at %s an address has a share, and who has most makes room", async (host) => {
  const trustedProxies = ["127.0.0.9"];
  const listening = await Listening.start({ host, connectionsMax: 400, trustedProxies });
  const { stats } = listening.http;
  const greedy = await openFrom("127.0.0.2", listening, 200);
  // The system is asked who has them.
  await until(async () => {
    greedy.push(...(await openFrom("127.0.0.2", listening, 5)));
    return stats.connectionsRefused > 20;
  });
  await until(() => stillOpen(greedy).length === stats.connections);
  // Half of all, and its share before the system has answered.
  expect(stats.connections).toBeLessThanOrEqual(300);
  const proxied = await openFrom("127.0.0.9", listening, 400 - stats.connections - 5);
  const others = await openFrom("127.0.0.3", listening, 5);
  others[0]!.get("/healthz");
  expect(await others[0]!.answer()).toMatch(/^HTTP\/1\.1 200 /);
  expect(stillOpen(proxied)).toEqual(proxied);
  const refused = stats.connectionsRefused;
  const [late] = await openFrom("127.0.0.4", listening, 1);
  await until(() => late!.socket.closed);
  expect(stats).toMatchObject({ connections: 400, connectionsRefused: refused + 1 });
  for (const connection of [others[1]!, proxied[0]!]) {
    connection.get("/healthz");
    expect(await connection.answer()).toMatch(/^HTTP\/1\.1 200 .*keep-alive: /is);
  }
  const [shed] = stillOpen(greedy);
  await until(async () => {
    if (stats.connectionsShed > 0) return true;
    const [next] = stillOpen(greedy);
    next!.get("/healthz");
    await next!.answer();
    return false;
  });
  expect(stats).toMatchObject({ connectionsShed: 1 });
  await until(() => stats.connections === 399);
  const [newcomer] = await openFrom("127.0.0.4", listening, 1);
  newcomer!.get("/healthz");
  expect(await newcomer!.answer()).toMatch(/^HTTP\/1\.1 200 /);
  expect(listening.broken).toEqual([]);
  expect(shed!.text).toMatch(/^HTTP\/1\.1 200 .*connection: close/is);
});

test("a client that leaves before its answer is reported once, and no other is", async () => {
  const listening = await Listening.start();
  const held: Exchange[] = [];
  const gone: string[] = [];
  class HoldingFront extends StartingFront {
    override handle(exchange: Exchange): void {
      const { path } = exchange;
      exchange.onGone = () => void gone.push(path);
      held.push(exchange);
    }
  }
  listening.http.front = new HoldingFront();
  const [leaving, staying] = [await listening.connection(), await listening.connection()];
  leaving.get("/leaving");
  staying.get("/staying");
  await until(() => held.length === 2);
  leaving.socket.destroy();
  await until(() => gone.length > 0);
  for (const exchange of held) exchange.respond(page("text/plain", "answer"));
  expect(await staying.answer()).toMatch(/answer$/);
  staying.socket.destroy();
  await until(() => listening.http.stats.connections === 0);
  expect([gone, listening.broken]).toEqual([["/leaving"], []]);
});

test("exchanges are kept for later requests up to a bound", async () => {
  const listening = await Listening.start({ idleMax: 2 });
  const { server, http } = listening;
  server.journal.withholds = true;
  const locks = ["A1", "A2", "A3"].map((label) => listening.lock(label));
  await until(() => server.services.waiting.count === locks.length);
  server.journal.sync();
  expect((await Promise.all(locks)).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(http.stats.exchanges.idle).toBe(2);
});

/** More than the buffers of both sockets take. */
const HUGE = Buffer.alloc(48 * MIB, "0123456789");

class HugeFront extends StartingFront {
  override handle(exchange: Exchange): void {
    exchange.respond(page("text/plain", HUGE));
  }
}

/** A connection with an answer that waits, because nobody reads it. */
async function waiting(listening: Listening, address = ""): Promise<Connection> {
  listening.http.front = new HugeFront();
  const connection = await unread(listening);
  connection.socket.write(`GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`);
  const { answers } = listening.http.stats;
  const known = answers.count + answers.abandoned;
  await until(() => answers.count + answers.abandoned > known);
  return connection;
}

test("an answer that its client does not read at once arrives complete later", async () => {
  const listening = await Listening.start();
  const { answers } = listening.http.stats;
  const slow = await waiting(listening);
  expect(answers).toMatchObject({ count: 1, heldBytes: HUGE.length, abandoned: 0 });
  slow.socket.resume();
  await until(() => slow.text.length > HUGE.length);
  expect(slow.answers).toEqual(["HTTP/1.1 200 OK"]);
  expect(slow.text.slice(slow.text.indexOf("\r\n\r\n") + 4)).toBe(HUGE.toString("latin1"));
  expect(answers).toMatchObject({ count: 0, heldBytes: 0, abandoned: 0 });
  listening.http.front = new StartingFront();
  slow.text = "";
  slow.get("/healthz");
  await until(() => slow.text.endsWith('{"status":"ok"}'));
});

test("a request that follows an answer which waits ends the connection", async () => {
  const listening = await Listening.start();
  const slow = await waiting(listening);
  slow.get("/");
  await until(() => listening.http.stats.connections === 0);
  expect(listening.http.stats.answers).toMatchObject({ count: 0, heldBytes: 0, abandoned: 1 });
});

test("two thousand large answers asked for at once hold one, and end the connection", async () => {
  const listening = await Listening.start();
  const { answers } = listening.http.stats;
  const before = process.memoryUsage.rss();
  const slow = await unread(listening);
  const other = await unread(listening);
  other.socket.write(request(LARGE));
  slow.socket.write(request(LARGE).repeat(2_000));
  await until(() => listening.http.stats.connections === 1);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * MIB);
  expect(answers.count).toBeLessThanOrEqual(1);
  slow.socket.resume();
  await until(() => slow.socket.closed);
  expect(slow.answers.length).toBeLessThan(100);
  expect(listening.broken).toEqual([]);
});

test.each(["/healthz", "/nothing"])("answers of %s that nobody reads are bounded", async (path) => {
  const listening = await Listening.start();
  const slow = await unread(listening);
  const many = request(path).repeat(200);
  // Far more than the buffers of both sockets take.
  for (let i = 0; listening.http.stats.connections > 0; i++) {
    expect(i).toBeLessThan(2_000);
    slow.socket.write(many);
    await new Promise(setImmediate);
  }
  expect(listening.http.stats.answers.count).toBe(0);
  expect(listening.broken).toEqual([]);
});

test.each([
  ["HEAD", "/healthz"],
  ["GET", "/"],
])("a flood of %s %s, whose answers have no body, ends its connection", async (method, path) => {
  const listening = await Listening.start();
  const flood = await listening.connection();
  const one = `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;
  // It reads all answers: only their number ends it.
  while (!flood.socket.closed) {
    flood.socket.write(one.repeat(100));
    await new Promise(setImmediate);
  }
  expect(flood.answers.length).toBeGreaterThan(500);
  expect(listening.http.stats.exchanges.unmeasuredRefused).toBe(1);
  expect(listening.broken).toEqual([]);
});

test("beside a flood of HEAD, other addresses and checks of health are answered", async () => {
  const listening = await Listening.start({ trustedProxies: ["127.0.0.1"] });
  const head = (path: string, address: string) =>
    `HEAD ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: ${address}\r\n\r\n`;
  const count = () => listening.http.stats.exchanges.unmeasuredBuckets;
  expect(count()).toBe(0);
  const [flood, same, other] = await Promise.all([1, 2, 3].map(() => listening.connection()));
  while (!flood!.socket.closed) {
    flood!.socket.write(head("/docs", "192.0.2.1").repeat(100));
    await new Promise(setImmediate);
  }
  for (const path of ["/healthz", "/readyz", "/healthz/"]) {
    expect(await same!.statusOf(head(path, "192.0.2.1"))).toBe(200);
  }
  for (const path of ["/docs", "/healthz"]) {
    expect(await other!.statusOf(head(path, "192.0.2.2"))).toBe(200);
  }
  expect(listening.http.stats.exchanges.unmeasuredRefused).toBe(1);
  // Of both addresses, and of the checks of health of both.
  expect(count()).toBe(4);
});

test("a client of IPv6 takes other addresses of its /64 → its flood of HEAD ends all the same", async () => {
  const listening = await Listening.start({ trustedProxies: ["127.0.0.1"] });
  const flood = await listening.connection();
  const head = (host: number) =>
    `HEAD /docs HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 2001:db8::${host.toString(16)}\r\n\r\n`;
  for (let i = 0; !flood.socket.closed; i += 100) {
    expect(i).toBeLessThan(100_000);
    flood.socket.write(Array.from({ length: 100 }, (_, n) => head(i + n)).join(""));
    await new Promise(setImmediate);
  }
  const other = await listening.connection();
  const elsewhere = "HEAD /docs HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 2001:db8:0:1::1\r\n\r\n";
  expect(await other.statusOf(elsewhere)).toBe(200);
  expect(listening.http.stats.exchanges).toMatchObject({
    unmeasuredRefused: 1,
    unmeasuredBuckets: 2,
  });
});

test("waiting answers hold too much → the address that holds most loses one, of equals the oldest", async () => {
  const proxy = { trustedProxies: ["127.0.0.1"] };
  const listening = await Listening.start({ answerBytesMax: 2.5 * HUGE.length, ...proxy });
  const { answers } = listening.http.stats;
  const patient = await waiting(listening, "192.0.2.1");
  const greedy = await waiting(listening, "192.0.2.2");
  expect(answers).toMatchObject({ count: 2, abandoned: 0 });
  const later = await waiting(listening, "192.0.2.2");
  expect(answers).toMatchObject({ count: 2, heldBytes: 2 * HUGE.length, abandoned: 1 });
  for (const { socket } of [patient, greedy, later]) socket.resume();
  await until(() => greedy.socket.closed);
  await until(() => [patient, later].every(({ text }) => text.length > HUGE.length));
  expect(greedy.text.length).toBeLessThan(HUGE.length);
  expect(answers).toMatchObject({ count: 0, heldBytes: 0, abandoned: 1 });
});

test("answers to addresses of one /64 wait → they count together", async () => {
  const proxy = { trustedProxies: ["127.0.0.1"] };
  const listening = await Listening.start({ answerBytesMax: 2.5 * HUGE.length, ...proxy });
  const { answers } = listening.http.stats;
  const patient = await waiting(listening, "2001:db8:0:1::1");
  const greedy = await waiting(listening, "2001:db8::1");
  await waiting(listening, "2001:db8::2");
  expect(answers).toMatchObject({ count: 2, abandoned: 1 });
  patient.socket.resume();
  await until(() => patient.text.length > HUGE.length);
  greedy.socket.resume();
  await until(() => greedy.socket.closed);
  expect(greedy.text.length).toBeLessThan(HUGE.length);
});

test("the largest answer of a client is cut off before its older ones", () => {
  const transfers = new Transfers(() => 0);
  const abandoned: string[] = [];
  const begin = (name: string, holder: string, heldBytes: number) => {
    const abandon = () => void abandoned.push(name);
    const transfer = { heldBytes, holder, deadlineMs: 0, abandon };
    transfers.begin(transfer, heldBytes);
    return transfer;
  };
  begin("small", "a", 10);
  const growing = begin("growing", "a", 20);
  begin("other", "b", 45);
  transfers.shrinkTo(75);
  expect(abandoned).toEqual([]);
  transfers.hold(growing, 30);
  transfers.shrinkTo(75);
  expect(abandoned).toEqual(["growing"]);
  transfers.shrinkTo(0);
  expect([abandoned, transfers.heldBytes, transfers.count]).toEqual([
    ["growing", "other", "small"],
    0,
    0,
  ]);
});

test("a client that reads nothing is disconnected", async () => {
  const listening = await Listening.start();
  await waiting(listening);
  await until(() => listening.http.stats.connections === 0);
  expect(listening.http.stats.answers).toMatchObject({ count: 0, heldBytes: 0, abandoned: 1 });
});

test("a transfer below the lowest rate is abandoned, and a faster one is not", async () => {
  let nowMs = 0;
  const transfers = new Transfers(() => nowMs);
  const abandoned: string[] = [];
  const transferOf = (name: string) => {
    const abandon = () => void abandoned.push(name);
    return { heldBytes: 1_000, holder: "", deadlineMs: 0, abandon };
  };
  const [small, large] = [transferOf("small"), transferOf("large")];
  transfers.begin(small, 64);
  transfers.begin(large, 6_400_000);
  nowMs = 20_000;
  transfers.sweep();
  expect(abandoned).toEqual([]);
  nowMs = 20_001;
  transfers.sweep();
  expect(abandoned).toEqual(["small"]);
  transfers.hold(large, 500);
  expect(transfers).toMatchObject({ count: 1, heldBytes: 1_500, abandoned: 1 });
  nowMs = 119_999;
  transfers.sweep();
  expect(abandoned).toEqual(["small"]);
  nowMs = 120_000;
  // The sweep also runs by itself.
  await pause(1_100);
  expect(abandoned).toEqual(["small", "large"]);
  expect(transfers).toMatchObject({ count: 0, heldBytes: 0, abandoned: 2 });
});
