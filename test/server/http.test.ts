/**
 * The socket: what arrives in pieces, what is cut off, and that no answer leaves before its record
 * is on disk.
 */
import { connect, type Socket } from "node:net";
import { request as httpRequest } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { assert, Broken } from "../../engine/assert.ts";
import { type HttpServer, listen } from "../../server/http.ts";
import { TestServer, V2 } from "../support/server.ts";

const JSON_BODY = { "Content-Type": "application/json" };

interface Open {
  readonly http: HttpServer;
  readonly server: TestServer;
  readonly base: string;
  /** Errors that would have ended the process. */
  readonly broken: unknown[];
}

async function open(server = new TestServer()): Promise<Open> {
  const broken: unknown[] = [];
  const onBroken = (error: unknown) => void broken.push(error);
  const http = await listen(server.dispatch, { host: "127.0.0.1", port: 0, onBroken });
  onTestFinished(() => http.close());
  return { http, server, base: `http://127.0.0.1:${http.port}`, broken };
}

function post({ base, server }: Open, target: string, body: string): Promise<Response> {
  const headers = { "X-API-Key": server.a.key, ...JSON_BODY };
  return fetch(base + target, { method: "POST", headers, body });
}

/** A bare connection, and all that came back on it. */
class Wire {
  readonly socket: Socket;
  text = "";
  isClosed = false;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setEncoding("latin1");
    this.socket.on("data", (text: string) => (this.text += text));
    this.socket.on("close", () => (this.isClosed = true));
    this.socket.on("error", () => {});
    onTestFinished(() => void this.socket.destroy());
  }

  send(...lines: readonly string[]): void {
    this.socket.write(lines.join("\r\n"));
  }

  get answers(): readonly string[] {
    return this.text.match(/HTTP\/1\.1 \d+ [^\r]*/g) ?? [];
  }
}

async function until(isTrue: () => boolean, limitMs = 30_000): Promise<void> {
  const endMs = Date.now() + limitMs;
  while (!isTrue()) {
    if (Date.now() > endMs) throw new Error("it did not happen");
    await pause(2);
  }
}

function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}

function lock({ server }: Open): string {
  return `${V2}/booking/lock?eventId=${server.a.eventId}`;
}

function seat({ server }: Open, label: string, ...more: string[]): string {
  const ids = [label, ...more].map((name) => ({ id: server.a.labels.idOf(name) }));
  return JSON.stringify({ sessionId: "s", seats: ids });
}

test("a large body in many pieces arrives whole", async () => {
  const opened = await open();
  const { server } = opened;
  const shapes = [{ id: "x", points: "é".repeat(1_500_000) }];
  const body = Buffer.from(JSON.stringify({ shapes }));
  const path = `${V2}/schemas/${server.a.schemaId}/layout`;
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(
      opened.base + path,
      { method: "PUT", headers: { "X-API-Key": server.a.key, "Content-Type": "application/json" } },
      (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      },
    );
    request.on("error", reject);
    // Pieces of an odd size, so that characters are cut in two.
    for (let at = 0; at < body.length; at += 99_999) request.write(body.subarray(at, at + 99_999));
    request.end();
  });
  expect(status).toBe(200);
  const stored = server.engine.state.catalog.layouts.get(server.a.schemaId)!.document.shapes;
  expect(stored).toEqual(shapes);
});

test("a body beyond the limit is answered 413 at once, and the connection is closed", async () => {
  const opened = await open();
  const before = opened.server.digest;
  const wire = new Wire(opened.http.port);
  const head = [
    `POST ${lock(opened)} HTTP/1.1`,
    "Host: x",
    `X-API-Key: ${opened.server.a.key}`,
    "Content-Type: application/json",
    `Content-Length: ${64 * 1_024 * 1_024}`,
    "",
    "",
  ];
  wire.send(...head);
  const piece = "x".repeat(64 * 1_024);
  for (let sent = 0; sent <= 1_024 * 1_024; sent += piece.length) wire.socket.write(piece);
  await until(() => wire.isClosed);
  expect(wire.answers).toEqual(["HTTP/1.1 413 Payload Too Large"]);
  expect(wire.text).toContain('"errorCode":"PAYLOAD_TOO_LARGE"');
  expect(wire.text).toMatch(/content-type: application\/problem\+json/i);
  expect(opened.server.digest).toBe(before);
  expect(opened.broken).toEqual([]);
});

test("one byte decides: 1 MiB is taken, one more is not", async () => {
  const opened = await open();
  const limit = 1_024 * 1_024;
  const padded = (length: number) => seat(opened, "A1").padEnd(length, " ");
  expect((await post(opened, lock(opened), padded(limit))).status).toBe(200);
  const large = await post(opened, lock(opened), padded(limit + 1)).catch(() => null);
  // The connection is closed while the rest is being sent; a client may see either.
  expect(large === null || large.status === 413).toBe(true);
});

test("of a large body without a key nothing is kept: it is refused when it has ended", async () => {
  const opened = await open();
  const before = process.memoryUsage().arrayBuffers;
  const wires = Array.from({ length: 8 }, () => new Wire(opened.http.port));
  const piece = "x".repeat(1_024 * 1_024);
  const pieces = 16;
  for (const wire of wires) {
    wire.send(
      `PUT ${V2}/schemas/1/layout HTTP/1.1`,
      "Host: x",
      "Content-Type: application/json",
      `Content-Length: ${pieces * piece.length}`,
      "",
      "",
    );
    for (let i = 1; i < pieces; i++) wire.socket.write(piece);
  }
  await until(() => wires.every(({ socket }) => socket.writableLength === 0));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * piece.length);
  for (const wire of wires) wire.socket.write(piece);
  await until(() => wires.every(({ answers }) => answers.length > 0));
  for (const { answers } of wires) expect(answers).toEqual(["HTTP/1.1 403 Forbidden"]);
});

test("a connection is kept for one request after the other", async () => {
  const { http } = await open();
  const wire = new Wire(http.port);
  for (let i = 1; i <= 3; i++) {
    wire.send("GET /healthz HTTP/1.1", "Host: x", "", "");
    await until(() => wire.answers.length === i);
  }
  expect(wire.isClosed).toBe(false);
  expect(wire.answers).toEqual(Array.from({ length: 3 }, () => "HTTP/1.1 200 OK"));
});

test("an answer without a body has none, and no length of one", async () => {
  const opened = await open();
  const { world, a } = opened.server;
  const { id } = world.must("createVenue", a.caller, { body: { name: "Barn" } });
  const wire = new Wire(opened.http.port);
  wire.send(`DELETE ${V2}/venues/${id} HTTP/1.1`, "Host: x", `X-API-Key: ${a.key}`, "", "");
  await until(() => wire.answers.length === 1);
  expect(wire.text).toMatch(/^HTTP\/1\.1 204 No Content\r\n[\s\S]*\r\n\r\n$/);
  expect(wire.text).not.toMatch(/content-length|content-type|transfer-encoding/i);
  wire.send("GET /healthz HTTP/1.1", "Host: x", "", "");
  await until(() => wire.answers.length === 2);
});

test("HEAD has no body, whatever its status, and the connection goes on", async () => {
  const { http } = await open();
  const wire = new Wire(http.port);
  for (const [i, path] of ["/healthz", "/nothing", `${V2}/events/`].entries()) {
    wire.send(`HEAD ${path} HTTP/1.1`, "Host: x", "", "");
    await until(() => wire.answers.length === i + 1);
  }
  wire.send("GET /healthz HTTP/1.1", "Host: x", "", "");
  await until(() => wire.text.endsWith('{"status":"ok"}'));
  expect(wire.text.match(/[{}]/g)).toEqual(["{", "}"]);
  expect(wire.answers).toEqual([
    "HTTP/1.1 200 OK",
    "HTTP/1.1 404 Not Found",
    "HTTP/1.1 403 Forbidden",
    "HTTP/1.1 200 OK",
  ]);
  expect(wire.text).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)*Content-Length: 15\r\n/);
});

test("HEAD tells the length of the body in bytes, not in characters", async () => {
  const { base, server } = await open();
  const { world, a } = server;
  world.must("createVenue", a.caller, { body: { name: "Théâtre 劇場" } });
  const headers = { "X-API-Key": a.key };
  const target = `${base}${V2}/venues/`;
  const { byteLength } = await (await fetch(target, { headers })).arrayBuffer();
  const head = await fetch(target, { method: "HEAD", headers });
  expect(head.headers.get("Content-Length")).toBe(String(byteLength));
});

test("a client that goes away in the middle of its body changes nothing", async () => {
  const opened = await open();
  const { server, http } = opened;
  const before = server.digest;
  const wire = new Wire(http.port);
  const body = seat(opened, "A1");
  wire.send(
    `POST ${lock(opened)} HTTP/1.1`,
    "Host: x",
    `X-API-Key: ${server.a.key}`,
    "Content-Type: application/json",
    `Content-Length: ${body.length}`,
    "",
    body.slice(0, -5),
  );
  await pause(20);
  wire.socket.destroy();
  await pause(20);
  expect(server.digest).toBe(before);
  expect((await post(opened, lock(opened), body)).status).toBe(200);
  expect(opened.broken).toEqual([]);
});

test("a client that goes away before its answer does not stop the others'", async () => {
  const opened = await open();
  const { server, http } = opened;
  server.journal.withholds = true;
  const wire = new Wire(http.port);
  const body = seat(opened, "A1");
  wire.send(
    `POST ${lock(opened)} HTTP/1.1`,
    "Host: x",
    `X-API-Key: ${server.a.key}`,
    `Content-Length: ${body.length}`,
    "",
    body,
  );
  const { length } = server.journal.kept;
  await until(() => server.journal.kept.length > length || server.world.partition.state[0] === 3);
  wire.socket.destroy();
  const other = post(opened, lock(opened), seat(opened, "A2"));
  await until(() => server.world.partition.state[1] === 3);
  await pause(10);
  server.journal.withholds = false;
  server.journal.sync();
  expect(await (await other).text()).toBe("true");
  expect(opened.broken).toEqual([]);
});

test("no answer leaves before its record is on disk, be it a refusal or a read", async () => {
  const opened = await open();
  const { server } = opened;
  const { journal, a } = server;
  journal.withholds = true;
  const done: string[] = [];
  const send = (name: string, reply: Promise<Response>) =>
    reply.then(async (response) => void done.push(`${name} ${response.status}`));
  const headers = { "X-API-Key": a.key };
  const calls = [send("lock", post(opened, lock(opened), seat(opened, "A1")))];
  const first = journal.kept.length + 1;
  await until(() => journal.kept.length >= first);
  calls.push(send("refused", post(opened, lock(opened), seat(opened, "A1"))));
  const list = `${opened.base}${V2}/events/${a.eventId}/seats/`;
  calls.push(send("seats", fetch(list, { headers })));
  const health = await fetch(`${opened.base}/healthz`);
  expect(health.status).toBe(200);
  await pause(50);
  expect(done).toEqual([]);
  journal.sync();
  await Promise.all(calls);
  expect([...done].sort()).toEqual(["lock 200", "refused 400", "seats 200"]);
});

test("answers leave in the order of the records, as far as the disk has come", async () => {
  const opened = await open();
  const { journal } = opened.server;
  journal.withholds = true;
  const answered: string[] = [];
  const calls: Promise<void>[] = [];
  const sequences: number[] = [];
  for (const label of ["A1", "A2", "A3", "A4"]) {
    const { length } = journal.kept;
    const reply = post(opened, lock(opened), seat(opened, label));
    calls.push(reply.then(() => void answered.push(label)));
    await until(() => journal.kept.length > length);
    sequences.push(journal.kept.at(-1)!.sequence);
  }
  expect(answered).toEqual([]);
  journal.sync(sequences[1]);
  await until(() => answered.length === 2);
  await pause(20);
  expect(answered.sort()).toEqual(["A1", "A2"]);
  journal.sync(sequences[3]);
  await Promise.all(calls);
  expect(answered.sort()).toEqual(["A1", "A2", "A3", "A4"]);
});

test("fifty connections at once sell each seat once", async () => {
  const opened = await open();
  const call = `${V2}/booking/directsale?eventId=${opened.server.a.eventId}`;
  const labels = ["A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2", "B3", "B4"];
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      const reply = await post(opened, call, seat(opened, labels[i % 10]!));
      return `${reply.status} ${await reply.text()}`;
    }),
  );
  expect(replies.filter((reply) => reply === "200 true").length).toBe(10);
  expect(replies.filter((reply) => reply === "200 false").length).toBe(40);
  expect(opened.broken).toEqual([]);
});

test("headers that say who calls are read in any case, on every path", async () => {
  const { server, base } = await open();
  const { a, tenantToken } = server;
  const body = JSON.stringify({ seats: [{ id: a.labels.idOf("A1") }] });
  const cases: [Record<string, string>, number][] = [
    [{ "x-api-key": a.key }, 200],
    [{ "X-API-KEY": a.key }, 200],
    [{ Authorization: `Bearer ${a.key}` }, 200],
    [{ "X-API-Key": a.key, Authorization: "Bearer wrong" }, 200],
    [{ "X-API-Key": "wrong", Authorization: `Bearer ${a.key}` }, 403],
    [{ "X-API-Key": tenantToken, "X-Organization-ID": String(a.id) }, 200],
    [{ "X-API-Key": tenantToken }, 403],
    [{ "X-API-Key": "\u00e9" }, 403],
    [{}, 403],
  ];
  for (const [headers, status] of cases) {
    const asked = async (target: string, init: RequestInit = {}) =>
      (await fetch(base + V2 + target, { headers: { ...headers, ...JSON_BODY }, ...init })).status;
    const unlock = { method: "POST", body };
    const statuses = [
      await asked("/events/"),
      await asked(`/booking/unlock?eventId=${a.eventId}`, unlock),
      await asked(`/booking/unlock/?eventId=${a.eventId}`, unlock),
    ];
    expect([headers, statuses]).toEqual([headers, [status, status, status]]);
  }
});

const MALFORMED: readonly (readonly [string, readonly string[]])[] = [
  ["no HTTP", ["hello", "", ""]],
  ["a negative length", ["POST / HTTP/1.1", "Host: x", "Content-Length: -1", "", ""]],
  [
    "a length and chunks",
    ["POST / HTTP/1.1", "Host: x", "Content-Length: 4", "Transfer-Encoding: chunked", "", ""],
  ],
  ["a path with a line break", ["GET /a%0d%0aX-Evil:1 HTTP/1.1", "Host: x", "", ""]],
  ["a huge header", ["GET / HTTP/1.1", "Host: x", `X-Big: ${"x".repeat(300_000)}`, "", ""]],
];

test.each(MALFORMED)("%s does no harm", async (_, lines) => {
  const opened = await open();
  const wire = new Wire(opened.http.port);
  wire.send(...lines);
  await until(() => wire.isClosed || wire.answers.length > 0);
  expect(wire.text).not.toMatch(/^X-Evil/im);
  expect(wire.answers.every((line) => / [345]\d\d /.test(line))).toBe(true);
  expect((await fetch(`${opened.base}/healthz`)).status).toBe(200);
  expect(opened.broken).toEqual([]);
});

test("a second server on the port is refused, and says on which", async () => {
  const { http, server } = await open();
  const options = { host: "127.0.0.1", port: http.port, onBroken: () => {} };
  await expect(listen(server.dispatch, options)).rejects.toThrow(String(http.port));
});

test("a drained server answers what is in flight and takes nothing new", async () => {
  const opened = await open();
  const { journal } = opened.server;
  journal.withholds = true;
  const { length } = journal.kept;
  const reply = post(opened, lock(opened), seat(opened, "A1"));
  await until(() => journal.kept.length > length);
  let isDrained = false;
  const drained = opened.http.drain().then(() => (isDrained = true));
  await pause(30);
  expect(isDrained).toBe(false);
  await expect(
    fetch(`${opened.base}/healthz`, { headers: { Connection: "close" } }),
  ).rejects.toThrow(/fetch failed/);
  journal.sync();
  expect(await (await reply).text()).toBe("true");
  await drained;
});

test("an error that nobody expected is answered 500, without a word of it", async () => {
  const opened = await open();
  const { server } = opened;
  const isRight = () => Promise.reject(new Error("an inner secret"));
  Object.defineProperty(server.services.passwords, "isRight", { value: isRight });
  const later = await post(opened, "/api/auth/login", '{"username":"x","password":"y"}');
  expect([later.status, await later.json()]).toEqual([
    500,
    { success: false, error: "An unexpected error occurred." },
  ]);
  const submit = () => {
    throw new TypeError("an inner secret");
  };
  Object.defineProperty(server.engine, "submit", { value: submit });
  const atOnce = await post(opened, lock(opened), seat(opened, "A1"));
  const text = await atOnce.text();
  expect([atOnce.status, text.includes('"errorCode":"INTERNAL_ERROR"')]).toEqual([500, true]);
  expect(text).not.toMatch(/secret|TypeError|\.ts|node:/);
  expect(server.logged.filter((line) => line.includes("an inner secret")).length).toBe(2);
  expect(opened.broken).toEqual([]);
});

test("a broken promise of ours is answered to nobody and ends the process", async () => {
  const opened = await open();
  const submit = () => assert(false, "this never happens");
  Object.defineProperty(opened.server.engine, "submit", { value: submit });
  const abort = new AbortController();
  const reply = fetch(opened.base + lock(opened), {
    method: "POST",
    headers: { "X-API-Key": opened.server.a.key },
    body: Buffer.from(seat(opened, "A1")),
    signal: abort.signal,
  });
  await until(() => opened.broken.length === 1);
  expect(opened.broken[0]).toBeInstanceOf(Broken);
  abort.abort();
  await expect(reply).rejects.toThrow(/abort/);
});
