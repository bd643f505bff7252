/** The socket: requests in pieces, closed connections, and answers that wait for the disk. */
import { request as httpRequest } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { assert, Broken } from "../../../engine/assert.ts";
import { HEALTHY } from "../../../server/http/answers.ts";
import { type Exchange, StartingFront } from "../../../server/http/front.ts";
import { listen } from "../../../server/http/server.ts";
import { guidOf } from "../../support/layout.ts";
import { V2 } from "../../support/server.ts";
import { Listening, until } from "./connection.ts";

const KIB = 1_024;
const MIB = 1_024 * KIB;
const JSON_BODY = { "Content-Type": "application/json" };

test("a second server cannot listen on the port of the first", async () => {
  const { server, http } = await Listening.start();
  await http.drain();
  // Only a server that names its port could share it.
  const options = { host: "127.0.0.1", port: http.port, onBroken: () => {} };
  const first = await listen(server.dispatch, options);
  onTestFinished(() => first.close());
  await expect(listen(server.dispatch, options)).rejects.toThrow("the port is in use");
});

test("a large body in many pieces arrives complete", async () => {
  const listening = await Listening.start();
  const { server } = listening;
  const shapes = [{ id: guidOf("x"), points: "é".repeat(1_500_000) }];
  const body = Buffer.from(JSON.stringify({ shapes }));
  const path = `${V2}/schemas/${server.a.schemaId}/layout`;
  const length = { "Content-Length": String(body.length) };
  const headers = { "X-API-Key": server.a.key, ...JSON_BODY, ...length };
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const request = httpRequest(listening.base + path, { method: "PUT", headers }, (reply) => {
      reply.resume();
      resolve(reply.statusCode);
    });
    request.on("error", reject);
    // Pieces of an odd size, so that characters are cut in two.
    for (let at = 0; at < body.length; at += 99_999) request.write(body.subarray(at, at + 99_999));
    request.end();
  });
  expect(status).toBe(200);
  const stored = server.engine.state.catalog.layouts.get(server.a.schemaId)!.document.shapes;
  expect(stored).toEqual(shapes);
});

test("a body beyond the limit gets 413 at once, and the connection is closed", async () => {
  const listening = await Listening.start();
  const { server } = listening;
  const before = server.digest;
  const connection = await listening.connection();
  let isClosed = false;
  connection.socket.on("close", () => (isClosed = true));
  const head = [
    `POST ${server.bookingPath("lock")} HTTP/1.1`,
    "Host: x",
    `X-API-Key: ${server.a.key}`,
    "Content-Type: application/json",
    `Content-Length: ${64 * MIB}`,
    "",
    "",
  ];
  connection.socket.write(head.join("\r\n"));
  const piece = "x".repeat(64 * 1_024);
  for (let sent = 0; sent <= MIB; sent += piece.length) connection.socket.write(piece);
  await until(() => isClosed);
  expect(connection.answers).toEqual(["HTTP/1.1 413 Payload Too Large"]);
  expect(connection.text).toContain('"errorCode":"PAYLOAD_TOO_LARGE"');
  expect(connection.text).toMatch(/content-type: application\/problem\+json/i);
  expect(server.digest).toBe(before);
  expect(listening.broken).toEqual([]);
});

test("a booking of 128 KiB is accepted, and one byte more is not", async () => {
  const listening = await Listening.start();
  const path = listening.server.bookingPath("lock");
  const padded = (length: number) => listening.lockBody("A1").padEnd(length, " ");
  expect((await listening.post(path, padded(128 * KIB))).status).toBe(200);
  const large = await listening.post(path, padded(128 * KIB + 1)).catch(() => null);
  // The connection is closed while the rest is being sent, so a client may see either.
  expect(large === null || large.status === 413).toBe(true);
});

test("a large body without a key is not kept, and is refused when it has ended", async () => {
  const listening = await Listening.start();
  const before = process.memoryUsage().arrayBuffers;
  const connections = await Promise.all(Array.from({ length: 8 }, () => listening.connection()));
  const piece = "x".repeat(MIB);
  const pieces = 16;
  for (const { socket } of connections) {
    const head = [
      `PUT ${V2}/schemas/1/layout HTTP/1.1`,
      "Host: x",
      "Content-Type: application/json",
      `Content-Length: ${pieces * piece.length}`,
      "",
      "",
    ];
    socket.write(head.join("\r\n"));
    for (let i = 1; i < pieces; i++) socket.write(piece);
  }
  await until(() => connections.every(({ socket }) => socket.writableLength === 0));
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * piece.length);
  for (const { socket } of connections) socket.write(piece);
  await until(() => connections.every(({ answers }) => answers.length > 0));
  for (const { answers } of connections) expect(answers).toEqual(["HTTP/1.1 403 Forbidden"]);
});

test("a 204 has no body, no length and no type, and the connection is kept", async () => {
  const listening = await Listening.start();
  const { world, a } = listening.server;
  const { id } = world.must("createVenue", a.caller, { body: { name: "Barn" } });
  const connection = await listening.connection();
  const request = [`DELETE ${V2}/venues/${id} HTTP/1.1`, "Host: x", `X-API-Key: ${a.key}`, "", ""];
  connection.socket.write(request.join("\r\n"));
  await until(() => connection.answers.length === 1);
  expect(connection.text).toMatch(/^HTTP\/1\.1 204 No Content\r\n[\s\S]*\r\n\r\n$/);
  expect(connection.text).not.toMatch(/^(content-length|content-type|transfer-encoding):/im);
  connection.get("/healthz");
  await until(() => connection.answers.length === 2);
});

test("HEAD has no body, whatever its status, and the connection is kept", async () => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  for (const [i, path] of ["/healthz", "/nothing", `${V2}/events/`].entries()) {
    connection.socket.write([`HEAD ${path} HTTP/1.1`, "Host: x", "", ""].join("\r\n"));
    await until(() => connection.answers.length === i + 1);
  }
  connection.get("/healthz");
  await until(() => connection.text.endsWith('{"status":"ok"}'));
  expect(connection.text.match(/[{}]/g)).toEqual(["{", "}"]);
  expect(connection.answers).toEqual([
    "HTTP/1.1 200 OK",
    "HTTP/1.1 404 Not Found",
    "HTTP/1.1 403 Forbidden",
    "HTTP/1.1 200 OK",
  ]);
  expect(connection.text).toMatch(/^HTTP\/1\.1 200 OK\r\n(?:[^\r]+\r\n)*Content-Length: 15\r\n/);
});

test("HEAD has the length of the body in bytes, not in characters", async () => {
  const { base, server } = await Listening.start();
  const { world, a } = server;
  world.must("createVenue", a.caller, { body: { name: "Théâtre 劇場" } });
  const headers = { "X-API-Key": a.key };
  const target = `${base}${V2}/venues/`;
  const { byteLength } = await (await fetch(target, { headers })).arrayBuffer();
  const head = await fetch(target, { method: "HEAD", headers });
  expect(head.headers.get("Content-Length")).toBe(String(byteLength));
});

test("a client that leaves in the middle of its body changes nothing", async () => {
  const listening = await Listening.start();
  const before = listening.server.digest;
  const { socket } = await listening.connection();
  socket.write(listening.lockRequest("A1").slice(0, -5));
  await listening.settled();
  socket.destroy();
  await listening.settled();
  expect(listening.server.digest).toBe(before);
  expect((await listening.lock("A1")).status).toBe(200);
  expect(listening.broken).toEqual([]);
});

test("a client that leaves before its answer does not stop the answers of others", async () => {
  const listening = await Listening.start();
  const { journal, world } = listening.server;
  journal.withholds = true;
  const { socket } = await listening.connection();
  socket.write(listening.lockRequest("A1"));
  await until(() => world.partition.state[0] === 3);
  socket.destroy();
  const other = listening.lock("A2");
  await until(() => world.partition.state[1] === 3);
  await listening.settled();
  journal.withholds = false;
  journal.sync();
  expect(await (await other).text()).toBe("true");
  expect(listening.broken).toEqual([]);
});

test("no answer leaves before its record is on disk, not even a refusal or a read", async () => {
  const listening = await Listening.start();
  const { journal, a } = listening.server;
  journal.withholds = true;
  const answered: string[] = [];
  const send = (name: string, reply: Promise<Response>) =>
    reply.then(({ status }) => void answered.push(`${name} ${status}`));
  const { length } = journal.kept;
  const calls = [send("lock", listening.lock("A1"))];
  await until(() => journal.kept.length > length);
  calls.push(send("refused", listening.lock("A1")));
  const list = `${listening.base}${V2}/events/${a.eventId}/seats/`;
  calls.push(send("seats", fetch(list, { headers: { "X-API-Key": a.key } })));
  await listening.settled();
  expect(answered).toEqual([]);
  journal.sync();
  await Promise.all(calls);
  expect([...answered].sort()).toEqual(["lock 200", "refused 400", "seats 200"]);
});

test("a sync releases the answers of the records that it covers, and no others", async () => {
  const listening = await Listening.start();
  const { journal } = listening.server;
  journal.withholds = true;
  const answered: string[] = [];
  const calls: Promise<void>[] = [];
  const sequences: number[] = [];
  for (const label of ["A1", "A2", "A3", "A4"]) {
    const { length } = journal.kept;
    calls.push(listening.lock(label).then(() => void answered.push(label)));
    await until(() => journal.kept.length > length);
    sequences.push(journal.kept.at(-1)!.sequence);
  }
  expect(answered).toEqual([]);
  journal.sync(sequences[1]);
  await until(() => answered.length === 2);
  await listening.settled();
  expect(answered.sort()).toEqual(["A1", "A2"]);
  journal.sync(sequences[3]);
  await Promise.all(calls);
  expect(answered.sort()).toEqual(["A1", "A2", "A3", "A4"]);
});

test("fifty connections at once sell each seat once", async () => {
  const listening = await Listening.start();
  const path = listening.server.bookingPath("directsale");
  const labels = ["A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2", "B3", "B4"];
  const replies = await Promise.all(
    Array.from({ length: 50 }, async (_, i) => {
      const reply = await listening.post(path, listening.lockBody(labels[i % 10]!));
      return `${reply.status} ${await reply.text()}`;
    }),
  );
  expect(replies.filter((reply) => reply === "200 true").length).toBe(10);
  expect(replies.filter((reply) => reply === "200 false").length).toBe(40);
  expect(listening.broken).toEqual([]);
});

test("headers that identify the caller are read on every path, in any case", async () => {
  const { server, base } = await Listening.start();
  const { a, tenantToken } = server;
  const body = JSON.stringify(server.selection("s", "A1"));
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
  const unlock = server.bookingPath("unlock");
  for (const [headers, status] of cases) {
    const statusOf = async (target: string, init: RequestInit = {}) =>
      (await fetch(base + target, { headers: { ...headers, ...JSON_BODY }, ...init })).status;
    const statuses = [
      await statusOf(`${V2}/events/`),
      await statusOf(unlock, { method: "POST", body }),
      await statusOf(unlock.replace("?", "/?"), { method: "POST", body }),
    ];
    expect([headers, statuses]).toEqual([headers, [status, status, status]]);
  }
});

const MALFORMED: readonly (readonly [string, readonly string[]])[] = [
  ["a line that is not HTTP", ["hello", "", ""]],
  ["a negative length", ["POST / HTTP/1.1", "Host: x", "Content-Length: -1", "", ""]],
  [
    "a length and chunks",
    ["POST / HTTP/1.1", "Host: x", "Content-Length: 4", "Transfer-Encoding: chunked", "", ""],
  ],
  ["a path with a line break", ["GET /a%0d%0aX-Evil:1 HTTP/1.1", "Host: x", "", ""]],
  ["a huge header", ["GET / HTTP/1.1", "Host: x", `X-Big: ${"x".repeat(300_000)}`, "", ""]],
];

test.each(MALFORMED)("%s is refused, and the server goes on", async (_, lines) => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  let isClosed = false;
  connection.socket.on("close", () => (isClosed = true));
  connection.socket.write(lines.join("\r\n"));
  await until(() => isClosed || connection.answers.length > 0);
  expect(connection.text).not.toMatch(/^X-Evil/im);
  expect(connection.answers.every((line) => / [345]\d\d /.test(line))).toBe(true);
  await listening.settled();
  expect(listening.broken).toEqual([]);
});

test("a second server on the same port is refused with the port in its message", async () => {
  const { http, server } = await Listening.start();
  const options = { host: "127.0.0.1", port: http.port, onBroken: () => {} };
  await expect(listen(server.dispatch, options)).rejects.toThrow(String(http.port));
});

test("a draining server answers the requests in flight and takes no new ones", async () => {
  const listening = await Listening.start();
  const { journal } = listening.server;
  journal.withholds = true;
  const { length } = journal.kept;
  const reply = listening.lock("A1");
  await until(() => journal.kept.length > length);
  let isDrained = false;
  const drained = listening.http.drain().then(() => (isDrained = true));
  const refused = fetch(`${listening.base}/healthz`, { headers: { Connection: "close" } });
  await expect(refused).rejects.toThrow(/fetch failed/);
  expect(isDrained).toBe(false);
  journal.sync();
  expect(await (await reply).text()).toBe("true");
  await drained;
});

test("an unexpected error gets a 500 that does not contain its message", async () => {
  const listening = await Listening.start();
  const { server } = listening;
  const isRight = () => Promise.reject(new Error("an inner secret"));
  Object.defineProperty(server.services.passwords, "isRight", { value: isRight });
  const later = await listening.post("/api/auth/login", '{"username":"x","password":"y"}');
  expect([later.status, await later.json()]).toEqual([
    500,
    { success: false, error: "An unexpected error occurred." },
  ]);
  const submit = () => {
    throw new TypeError("an inner secret");
  };
  Object.defineProperty(server.engine, "submit", { value: submit });
  const atOnce = await listening.lock("A1");
  const text = await atOnce.text();
  expect([atOnce.status, text.includes('"errorCode":"INTERNAL_ERROR"')]).toEqual([500, true]);
  expect(text).not.toMatch(/secret|TypeError|\.ts|node:/);
  expect(server.logged.filter((line) => line.includes("an inner secret")).length).toBe(2);
  expect(listening.broken).toEqual([]);
});

test("a failed assertion before the body is read ends the process", async () => {
  const listening = await Listening.start();
  const find = () => assert(false, "this never happens");
  Object.defineProperty(listening.server.dispatch, "find", { value: find });
  const connection = await listening.connection();
  connection.socket.write(listening.lockRequest("A1"));
  await until(() => listening.broken.length === 1);
  expect(listening.broken[0]).toBeInstanceOf(Broken);
});

test("a header whose value has a line break is left out", async () => {
  const listening = await Listening.start();
  class UnsafeFront extends StartingFront {
    override handle(exchange: Exchange): void {
      exchange.respond({ ...HEALTHY, headers: [["X-Note", "a\r\nX-Evil: 1"]] });
    }
  }
  listening.http.front = new UnsafeFront();
  const connection = await listening.connection();
  connection.get("/healthz");
  expect(await connection.answer()).toMatch(/^HTTP\/1\.1 200 OK(?!.*X-(Note|Evil))/s);
});

test("a failed assertion ends the process, and the request gets no answer", async () => {
  const listening = await Listening.start();
  const submit = () => assert(false, "this never happens");
  Object.defineProperty(listening.server.engine, "submit", { value: submit });
  const connection = await listening.connection();
  connection.socket.write(listening.lockRequest("A1"));
  await until(() => listening.broken.length === 1);
  expect(listening.broken[0]).toBeInstanceOf(Broken);
  await listening.settled();
  expect(connection.answers).toEqual([]);
});
