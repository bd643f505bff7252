/**
 * Requests share the objects of the socket's side, one after the other: what one leaves behind must
 * never reach the next.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { StartingFront } from "../../../server/wire/front.ts";
import { type HttpServer, listen } from "../../../server/wire/http.ts";
import { TestServer, V2 } from "../../support/server.ts";

interface Open {
  readonly http: HttpServer;
  readonly server: TestServer;
  readonly broken: unknown[];
}

/** The largest body that the route takes. */
const LARGE_BYTES = 1_024 * 1_024;
/** Room for one unfinished body of the largest size, not for two. */
const KEPT_BYTES_MAX = 1.5 * LARGE_BYTES;

async function open(): Promise<Open> {
  const server = new TestServer();
  const broken: unknown[] = [];
  const onBroken = (error: unknown) => void broken.push(error);
  const options = { host: "127.0.0.1", port: 0, onBroken, keptBytesMax: KEPT_BYTES_MAX };
  const http = await listen(server.dispatch, options);
  onTestFinished(() => http.close());
  return { http, server, broken };
}

async function wire({ http }: Open): Promise<Socket> {
  const socket = connect(http.port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

function get(path: string, ...headers: string[]): string {
  return [`GET ${path} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n");
}

function lock(opened: Open, label: string, ...headers: string[]): string {
  const { a } = opened.server;
  return post(opened, JSON.stringify({ seats: [{ id: a.labels.idOf(label) }] }), ...headers);
}

function post({ server: { a } }: Open, body: string, ...headers: string[]): string {
  const head = [`Content-Length: ${body.length}`, `X-API-Key: ${a.key}`, ...headers];
  const path = `${V2}/booking/lock?eventId=${a.eventId}`;
  return [`POST ${path} HTTP/1.1`, "Host: x", ...head, "", body].join("\r\n");
}

/** The next answer of the connection, as text. */
async function answer(socket: Socket): Promise<string> {
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return chunk.toString("latin1");
}

async function statusOf(socket: Socket, request: string): Promise<string> {
  socket.write(request);
  return /^HTTP\/1\.1 (\d+)/.exec(await answer(socket))?.[1] ?? "";
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}

test("an answer for a connection that is gone reaches nobody else", async () => {
  const opened = await open();
  const { journal } = opened.server;
  journal.withholds = true;
  const gone = await wire(opened);
  gone.write(lock(opened, "A1"));
  await pause(20);
  gone.destroy();
  await pause(20);
  // Its object is still in use: these have others, and their answers come in their order.
  const [first, second] = [await wire(opened), await wire(opened)];
  first.write(lock(opened, "A1"));
  await pause(20);
  second.write(lock(opened, "A2"));
  await pause(20);
  const answers = Promise.all([answer(first), answer(second)]);
  journal.withholds = false;
  journal.sync();
  const [refused, taken] = await answers;
  expect(refused).toMatch(/^HTTP\/1\.1 400 .*INVENTORY_NOT_AVAILABLE/s);
  expect(taken).toMatch(/^HTTP\/1\.1 200 .*true$/s);
  // And all three serve again.
  for (const label of ["A3", "A4", "B1", "B2"]) {
    expect(await statusOf(first, lock(opened, label))).toBe("200");
  }
  expect(opened.broken).toEqual([]);
});

test("a key, a type and a key of the first request are not those of the next", async () => {
  const opened = await open();
  const socket = await wire(opened);
  const { a } = opened.server;
  const path = `${V2}/events/${a.eventId}`;
  expect(await statusOf(socket, get(path, `X-API-Key: ${a.key}`))).toBe("200");
  expect(await statusOf(socket, get(path))).toBe("403");
  expect(await statusOf(socket, get(path, `Authorization: Bearer ${a.key}`))).toBe("200");
  expect(await statusOf(socket, get(path))).toBe("403");
  expect(await statusOf(socket, lock(opened, "A1", "Content-Type: text/csv"))).toBe("415");
  expect(await statusOf(socket, lock(opened, "A1", "Idempotency-Key: one"))).toBe("200");
  // With the same Idempotency-Key it would be the first answer again.
  expect(await statusOf(socket, lock(opened, "A1"))).toBe("400");
  expect(await statusOf(socket, lock(opened, "A2", "X-Organization-ID: 999"))).toBe("403");
  expect(await statusOf(socket, lock(opened, "A2"))).toBe("200");
});

test("a connection that ends while its answer is on the way takes no other with it", async () => {
  const opened = await open();
  const { journal } = opened.server;
  for (const label of ["A1", "A2", "A3", "A4"]) {
    const impatient = await wire(opened);
    impatient.pause();
    // More than a socket takes at once: answered, but not sent.
    impatient.write(get("/docs/reference.js"));
    await pause(20);
    // Its object serves this one now, which waits.
    journal.withholds = true;
    const patient = await wire(opened);
    patient.write(lock(opened, label));
    await pause(20);
    impatient.resetAndDestroy();
    await pause(20);
    const waiting = answer(patient);
    journal.withholds = false;
    journal.sync();
    expect(await waiting).toMatch(/^HTTP\/1\.1 200 .*true$/s);
  }
  await opened.http.drain();
  expect(opened.broken).toEqual([]);
});

test("a body that is cut off leaves nothing to the next one", async () => {
  const opened = await open();
  for (let round = 0; round < 5; round++) {
    const cut = await wire(opened);
    cut.write(lock(opened, "A1").slice(0, -5));
    await pause(5);
    cut.destroy();
  }
  await pause(20);
  const socket = await wire(opened);
  const [head = "", body = ""] = lock(opened, "A1").split("\r\n\r\n");
  socket.write(`${head}\r\n\r\n`);
  await pause(5);
  for (const piece of body.split(/(?=seats)/)) {
    socket.write(piece);
    await pause(5);
  }
  expect(await answer(socket)).toMatch(/^HTTP\/1\.1 200 .*true$/s);
});

test("large bodies on one connection are each whole", async () => {
  const opened = await open();
  const socket = await wire(opened);
  for (const label of ["A1", "A2", "A3"]) {
    const body = JSON.stringify({ seats: [{ id: opened.server.a.labels.idOf(label) }] });
    expect(await statusOf(socket, post(opened, body.padEnd(LARGE_BYTES)))).toBe("200");
  }
});

const ENDS_OF_A_BODY: readonly (readonly [string, (opened: Open) => Promise<void>])[] = [
  ["is answered", (opened) => sendUntil("400", opened)],
  ["is too large", (opened) => sendUntil("413", opened, blank(opened, LARGE_BYTES + 1))],
  [
    "is cut off",
    async (opened) => {
      const cut = await wire(opened);
      cut.write(blank(opened).slice(0, -1));
      await sendUntil("503", opened);
      cut.destroy();
    },
  ],
];

test.each(ENDS_OF_A_BODY)("when a body %s, its bytes make room for another", async (_, end) => {
  const opened = await open();
  await end(opened);
  await sendUntil("400", opened);
  const unfinished = await wire(opened);
  unfinished.write(blank(opened).slice(0, -1));
  await sendUntil("503", opened);
  // What was refused takes no room either.
  await sendUntil("503", opened);
  expect(await statusOf(unfinished, " ")).toBe("400");
});

/** A body of spaces, which is read to its end and is no JSON. */
function blank(opened: Open, bytes = LARGE_BYTES): string {
  return post(opened, " ".repeat(bytes));
}

/** A connection that is closed while it sends may lose its answer; then another one tries. */
async function sendUntil(status: string, opened: Open, request = blank(opened)): Promise<void> {
  const endMs = Date.now() + 10_000;
  for (let found = ""; found !== status;) {
    if (Date.now() > endMs) throw new Error(`never answered with ${status}, but ${found}`);
    const socket = await wire(opened);
    found = await Promise.race([
      statusOf(socket, request),
      once(socket, "close").then(() => ""),
    ]).catch(() => "");
  }
}

test("a body that comes when the front is ready belongs to the front of its head", async () => {
  const opened = await open();
  opened.http.front = new StartingFront();
  const socket = await wire(opened);
  const request = lock(opened, "A1");
  const bodyAt = request.indexOf("\r\n\r\n") + 4;
  socket.write(request.slice(0, bodyAt));
  await pause(50);
  opened.http.front = opened.server.dispatch;
  expect(await statusOf(socket, request.slice(bodyAt))).toBe("503");
  expect(opened.broken).toEqual([]);
});
