/** The relay of a gateway: every other path, chunked bodies, streams and sockets. */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { AnswerRoom } from "../../../server/gateway/passing.ts";
import { headOf } from "../../support/gateway/raw.ts";
import { GatewayStage, sendTo, until } from "../../support/gateway/stage.ts";
import { V2 } from "../../support/server.ts";
import { BINARY_PROTOCOL, CommandClient, JSON_PROTOCOL, SOCKET_PATH } from "../commands/client.ts";
import { byCore } from "../wire/shapes.ts";

test.each([
  ["GET", "/openapi.json"],
  ["GET", "/docs/"],
  ["GET", "/"],
  ["HEAD", "/openapi.json"],
  ["GET", `${V2}/events/`],
  ["GET", `${V2}/events/?size=x`],
  ["GET", "/nowhere"],
  ["DELETE", "/openapi.json"],
  ["OPTIONS", `${V2}/events/`],
])("%s %s has the same answer as without a gateway", async (method, target) => {
  const stage = await GatewayStage.start();
  const sent = { method, target, headers: { "x-api-key": stage.server.a.key } };
  const [straight, through] = [await sendTo(stage.engine.port, sent), await stage.send(sent)];
  const plain = ({ raw, body, ...answer }: typeof straight) => {
    const { date: _, "x-request-id": id, ...headers } = raw;
    const text = String(body).replace(/"timestamp":"[^"]+"/, "");
    return { ...answer, headers, text, hasId: id !== undefined };
  };
  expect(plain(through)).toEqual(plain(straight));
});

/** Later cores of the library end at 4 KiB, in the gateway as in the engine. */
test("a HEAD that is too long for the engine alone gets the engine's answer", async () => {
  const stage = await GatewayStage.start();
  const target = `${V2}/events/?name=${"x".repeat(135_000)}`;
  for (const method of ["GET", "HEAD"]) {
    expect((await stage.send({ method, target })).status).toBe(byCore(505, 431));
  }
});

test("the id of a request goes to the engine, and comes back from there", async () => {
  const stage = await GatewayStage.start();
  const headers = { "x-api-key": stage.server.a.key, "x-request-id": "mine-1" };
  for (const target of [`${V2}/events/`, `${V2}/nowhere`]) {
    const { raw } = await stage.send({ method: "GET", target, headers });
    expect(raw["x-request-id"]).toBe("mine-1");
  }
  expect((await stage.lock("s", ["A1"], headers)).raw["x-request-id"]).toBe("mine-1");
  const { raw } = await stage.send({ method: "GET", target: `${V2}/nowhere` });
  expect(raw["x-request-id"]).toMatch(/^[\w-]{8}-\w+$/);
});

test("the engine slows down an address that tries keys, not its gateway", async () => {
  const stage = await GatewayStage.start({ trustedProxies: ["127.0.0.1"] });
  const { services } = stage.server;
  const headers = { "x-api-key": "wrong", "x-forwarded-for": "192.0.2.7" };
  await stage.send({ method: "GET", target: `${V2}/events/`, headers });
  await stage.lock("s", ["A1"], headers);
  expect(services.badKeys.count).toBe(1);
  await stage.lock("s", ["A1"], { ...headers, "x-forwarded-for": "192.0.2.8" });
  expect(services.badKeys.count).toBe(2);
});

test("a header that comes twice is refused as without a gateway", async () => {
  const stage = await GatewayStage.start();
  const { key } = stage.server.a;
  const request = (path: string, length: string) =>
    `${path} HTTP/1.1\r\nHost: x\r\nX-API-Key: ${key}\r\nX-API-Key: ${key}\r\n${length}\r\n`;
  for (const sent of [
    request(`GET ${V2}/events/`, ""),
    `${request(`POST ${stage.server.bookingPath("lock")}`, "Content-Length: 2\r\n")}{}`,
  ]) {
    const socket = connect(stage.port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(sent);
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(String(answer)).toMatch(/^HTTP\/1\.1 400 /);
    expect(String(answer)).toContain("The header x-api-key may come only once.");
  }
});

test("a large layout goes through, and comes back as it was", async () => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  const target = `${V2}/schemas/${server.a.schemaId}/layout/`;
  const headers = { "x-api-key": server.a.key, "content-type": "application/json" };
  const { body } = await stage.send({ method: "GET", target, headers });
  const padded = `${String(body).slice(0, -1)}${" ".repeat(6 * 1_024 * 1_024)}}`;
  const put = await stage.send({ method: "PUT", target, headers, body: padded });
  expect(put.status).toBe(200);
  const { body: after } = await stage.send({ method: "GET", target, headers });
  const inUse = ',"inUse":{"renamed":0,"moved":0}}';
  expect(String(put.body)).toBe(String(after).replace(/\}$/, inUse));
});

test("a body that is too long for the link is booked over HTTP", async () => {
  const stage = await GatewayStage.start();
  const { server, gateway } = stage;
  await stage.lock("s", ["A1"]);
  const { requests } = gateway.link;
  const headers = { "x-api-key": server.a.key, "content-type": "application/json" };
  const selection = JSON.stringify(server.selection("s", "A2"));
  const body = selection + " ".repeat(40_000);
  const target = server.bookingPath("lock");
  const { status, body: answer } = await stage.send({ method: "POST", target, headers, body });
  expect([status, String(answer), gateway.link.requests]).toEqual([200, "true", requests]);
  const socket = connect(stage.port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(`POST ${target} HTTP/1.1\r\nHost: x\r\nContent-Length: 1100000\r\n\r\n`);
  const [refused] = (await once(socket, "data")) as [Buffer];
  expect(String(refused)).toContain('"errorCode":"PAYLOAD_TOO_LARGE"');
});

test("the first request with a key, in pieces → booked", async () => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  const body = JSON.stringify(server.selection("s", "A1"));
  const socket = connect(stage.port, "127.0.0.1").setNoDelay(true);
  onTestFinished(() => void socket.destroy());
  const head = [`X-API-Key: ${server.a.key}`, `Content-Length: ${body.length}`];
  socket.write(headOf(`POST ${server.bookingPath("lock")}`, head) + body.slice(0, 10));
  await sleep(50);
  socket.write(body.slice(10));
  const [answer] = (await once(socket, "data")) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
});

test("a body in pieces without an engine → dropped, and refused after a delay", async () => {
  const stage = await GatewayStage.start();
  const { server, gateway } = stage;
  gateway.link.stop();
  await until(() => !gateway.link.isOpen);
  const socket = connect(stage.port, "127.0.0.1").setNoDelay(true);
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.on("data", (piece: Buffer) => (received += String(piece)));
  const head = [`X-API-Key: ${server.a.key}`, "Content-Length: 2"];
  socket.write(`${headOf(`POST ${server.bookingPath("lock")}`, head)}{`);
  await sleep(50);
  socket.write("}");
  await until(() => gateway.front.waiting.refusals.count === 1);
  expect(received).toBe("");
  await until(() => received !== "");
  expect(received).toMatch(/^HTTP\/1\.1 503 /);
  expect(gateway.link.requests).toBe(0);
});

test("a client that leaves before its body is whole ends the request to the engine", async () => {
  const stage = await GatewayStage.start();
  const { server, engine } = stage;
  const socket = connect(stage.port, "127.0.0.1").on("error", () => {});
  const head = `PUT ${V2}/schemas/${server.a.schemaId}/layout/ HTTP/1.1\r\nHost: x\r\n`;
  socket.write(`${head}X-API-Key: ${server.a.key}\r\nContent-Length: 1000000\r\n\r\n{`);
  await until(() => engine.stats.bodies.count === 1);
  socket.destroy();
  await until(() => engine.stats.bodies.count === 0);
  expect(stage.broken).toEqual([]);
});

test.each([JSON_PROTOCOL, BINARY_PROTOCOL])("a command socket with %s passes", async (protocol) => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  const headers = { Prefer: "handling=strict" };
  const { base } = stage;
  const client = await CommandClient.open({ base, key: server.a.key, protocol, headers });
  if (protocol === JSON_PROTOCOL) {
    const { seats } = server.selection("s", "A1");
    const { eventId } = server.a;
    const command = { call: "lock", eventId, sessionId: "s", seats };
    const [answer, strict] = await client.ask(
      { n: 7, ...command },
      { n: 8, ...command, colour: 1 },
    );
    expect(answer).toEqual({ n: 7, status: 200, body: true });
    expect(strict!.body).toMatchObject({ errors: [{ field: "colour", code: "UNKNOWN" }] });
  }
  await server.post(`${V2}/keys/rotate`, { graceSeconds: 0 });
  expect((await client.closed).code).toBe(4001);
});

test("a WebSocket that the engine refuses is refused with its problem document", async () => {
  const stage = await GatewayStage.start();
  const refused = await stage.send({
    method: "GET",
    target: SOCKET_PATH,
    headers: {
      "x-api-key": "wrong",
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
    },
  });
  expect([refused.status, refused.type]).toEqual([403, "application/problem+json; charset=utf-8"]);
});

test("server-sent events pass as they come, and end with the engine", async () => {
  const stage = await GatewayStage.start();
  const { server, engine } = stage;
  const response = await fetch(`${stage.base}${V2}/events/${server.a.eventId}/changes/`, {
    headers: { "x-api-key": server.a.key, accept: "text/event-stream" },
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const reader = response.body!.getReader();
  let text = "";
  const read = (async () => {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done) return;
      text += Buffer.from(value as Uint8Array).toString();
    }
  })();
  await stage.lock("s", ["A1"]);
  await until(() => text.includes("event: change"));
  engine.close();
  await read;
  expect(text).toContain('"call":"lock"');
});

test("answers that are being read share a bound, and one beyond it waits", () => {
  const room = new AnswerRoom(100);
  const begun: string[] = [];
  for (const [name, bytes] of [
    ["a", 60],
    ["b", 60],
    ["c", 10],
    ["d", 500],
  ] as const) {
    room.take(bytes, () => begun.push(name));
  }
  expect([begun, room.bytes, room.waiting]).toEqual([["a"], 60, 3]);
  room.giveBack(60);
  expect([begun, room.bytes, room.waiting]).toEqual([["a", "b", "c"], 70, 1]);
  room.giveBack(70);
  expect([begun, room.bytes, room.waiting]).toEqual([["a", "b", "c", "d"], 500, 0]);
});
