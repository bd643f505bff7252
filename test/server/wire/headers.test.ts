/** Headers that the socket answers to: lengths, encodings, repetitions, and kept connections. */
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { V2 } from "../../support/server.ts";
import { type Connection, Listening, until } from "./connection.ts";

const SAFE = ["X-Content-Type-Options: nosniff\r", "Cache-Control: no-store\r"];
const KEEP_ALIVE = /^keep-alive: timeout=8\r$/im;

/** A request to a path, without a body. */
function requestOf(path: string, ...headers: readonly string[]): string {
  return [`GET ${path} HTTP/1.1`, "Host: x", ...headers, "", ""].join("\r\n");
}

function watchClose({ socket }: Connection): { isClosed: boolean } {
  const state = { isClosed: false };
  socket.on("close", () => (state.isClosed = true));
  return state;
}

test("every answer on a connection that stays open says how long it may be idle", async () => {
  const listening = await Listening.start();
  const { world, a } = listening.server;
  const { id } = world.must("createVenue", a.caller, { body: { name: "Barn" } });
  const connection = await listening.connection();
  const key = `X-API-Key: ${a.key}`;
  const requests = [
    requestOf("/healthz"),
    requestOf("/"),
    requestOf("/docs"),
    requestOf("/nothing"),
    requestOf(`${V2}/events/`),
    requestOf(`${V2}/events/`, key),
    requestOf(`${V2}/events/`, key).replace("GET", "HEAD"),
    requestOf(`${V2}/venues/${id}`, key).replace("GET", "DELETE"),
    listening.lockRequest("A1"),
    listening.lockRequest("A1"),
  ];
  const statuses: number[] = [];
  for (const request of requests) {
    connection.socket.write(request);
    const answer = await connection.answer();
    statuses.push(Number(answer.split(" ")[1]));
    expect(answer).toMatch(KEEP_ALIVE);
  }
  expect(statuses).toEqual([200, 302, 200, 404, 403, 200, 200, 204, 200, 400]);
});

test.each(["keep-alive", "close"])("every answer with Connection: %s is safe", async (value) => {
  const listening = await Listening.start();
  const { a } = listening.server;
  const headers = [`X-API-Key: ${a.key}`, `Connection: ${value}`];
  const requests = [
    listening.lockRequest("A1", `Connection: ${value}`),
    listening.lockRequest("A1", `Connection: ${value}`),
    requestOf(`${V2}/events/`, ...headers),
    requestOf(`${V2}/events/`, ...headers).replace("GET", "HEAD"),
    requestOf(`${V2}/events/${a.eventId}`, ...headers).replace("GET", "DELETE"),
    requestOf("/", ...headers),
  ];
  const statuses: number[] = [];
  for (const request of requests) {
    const connection = await listening.connection();
    statuses.push(await connection.statusOf(request));
    const found = connection.text.match(/^(x-content-type-options|cache-control): .*\r$/gim);
    expect(new Set(found)).toEqual(new Set(SAFE));
    expect(found).toHaveLength(SAFE.length);
  }
  expect(statuses).toEqual([200, 400, 200, 200, 204, 302]);
});

test("an answer after which the connection is closed says so once, and not Keep-Alive", async () => {
  const listening = await Listening.start();
  const close = "Connection: close";
  const large = "Content-Length: 1048577";
  const requests = [
    requestOf("/healthz", close),
    requestOf("/", close),
    listening.lockRequest("A1", close),
    requestOf(listening.server.bookingPath("lock"), large).replace("GET", "POST"),
  ];
  for (const request of requests) {
    const connection = await listening.connection();
    const state = watchClose(connection);
    connection.socket.write(request);
    await until(() => state.isClosed);
    expect(connection.answers).toHaveLength(1);
    expect(connection.text).not.toMatch(/keep-alive/i);
    expect(connection.text.match(/^connection: .*\r$/gim)).toEqual(["Connection: close\r"]);
  }
});

test("a connection may be idle for the time that its answers say", async () => {
  const listening = await Listening.start();
  const idleMs: number[] = [];
  // The library looks at its connections every four seconds: these begin at different moments.
  for (let i = 0; i < 5; i++) {
    const connection = await listening.connection();
    connection.get("/healthz");
    await connection.answer();
    const sinceMs = performance.now();
    connection.socket.on("close", () => idleMs.push(performance.now() - sinceMs));
    await pause(900);
  }
  await until(() => idleMs.length === 5);
  expect(Math.min(...idleMs)).toBeGreaterThan(8_000);
});

test("a body that is announced too large is refused before any of it is sent", async () => {
  const listening = await Listening.start();
  const lock = listening.server.bookingPath("lock");
  const layout = `${V2}/schemas/${listening.server.a.schemaId}/layout`;
  const limits = [
    [lock, 128 * 1_024],
    [`${V2}/venues/`, 64 * 1_024],
    [layout, 64 * 1_024 * 1_024],
    ["/api/auth/login", 4 * 1_024],
    ["/api/auth/refresh", 4 * 1_024],
    ["/api/auth/logout", 4 * 1_024],
  ] as const;
  for (const [path, limit] of limits) {
    const connection = await listening.connection();
    const state = watchClose(connection);
    const length = `Content-Length: ${limit + 1}`;
    const method = path === layout ? "PUT" : "POST";
    connection.socket.write(requestOf(path, length).replace("GET", method));
    await until(() => state.isClosed);
    expect(connection.answers).toEqual(["HTTP/1.1 413 Payload Too Large"]);
    expect(connection.text).toMatch(/^connection: close\r$/im);
  }
  const login = JSON.stringify({ username: "x", password: "y" }).padEnd(4 * 1_024);
  expect((await listening.post("/api/auth/login", login)).status).toBe(401);
});

test("a compressed body is 415, before the key is looked at", async () => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  const lock = (...headers: string[]) =>
    connection.statusOf(listening.lockRequest("A1", ...headers));
  expect(await lock("Content-Encoding: gzip")).toBe(415);
  expect(await lock("Content-Encoding: gzip", "X-Organization-ID: 999")).toBe(415);
  expect(await lock("Content-Encoding: identity, gzip")).toBe(415);
  expect(await lock("Content-Encoding: Identity")).toBe(200);
});

test("a header of the caller that comes twice, also empty, is a malformed request", async () => {
  const listening = await Listening.start();
  const { a } = listening.server;
  const connection = await listening.connection();
  const repeated = ["X-API-Key", "Authorization", "X-Organization-ID", "Idempotency-Key"];
  const pairs = [
    [a.key, a.key],
    ["", a.key],
    [a.key, ""],
    ["", ""],
  ];
  for (const name of repeated) {
    const others = name === "X-API-Key" ? [] : [`X-API-Key: ${a.key}`];
    for (const [first, second] of pairs) {
      const headers = [`${name}: ${first}`, `${name.toLowerCase()}: ${second}`, ...others];
      connection.socket.write(requestOf(`${V2}/events/`, ...headers));
      const answer = await connection.answer();
      expect(answer).toMatch(/^HTTP\/1\.1 400 .*"errorCode":"MALFORMED_REQUEST"/s);
      expect(answer).toContain(name.toLowerCase());
    }
  }
  expect(await connection.statusOf(listening.lockRequest("A1", `X-API-Key: ${a.key}`))).toBe(400);
  expect(await connection.statusOf(requestOf(`${V2}/events/`, `X-API-Key: ${a.key}`))).toBe(200);
});

test("an empty Idempotency-Key is not valid, and one on a read is not looked at", async () => {
  const listening = await Listening.start();
  const connection = await listening.connection();
  connection.socket.write(listening.lockRequest("A1", "Idempotency-Key:"));
  const answer = await connection.answer();
  expect(answer).toMatch(/^HTTP\/1\.1 400 .*"errorCode":"VALIDATION_FAILED"/s);
  expect(answer).toContain('"field":"Idempotency-Key"');
  expect(await connection.statusOf(listening.lockRequest("A1", "Idempotency-Key: 1"))).toBe(200);
  const key = `X-API-Key: ${listening.server.a.key}`;
  const read = requestOf(`${V2}/events/`, key, "Idempotency-Key:");
  expect(await connection.statusOf(read)).toBe(200);
});
