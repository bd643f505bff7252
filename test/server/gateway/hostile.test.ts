/** No bytes of a client or an engine end a gateway, fill it, or answer another client. */
import { connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { NodeSocket } from "../../../server/client/node-socket.ts";
import { IDLE_TIMEOUT } from "../../../server/http/sockets.ts";
import { flood, openingOf, startDisturbed } from "../../support/gateway/disturbed-engine.ts";
import { HANDSHAKE, headOf, sendRaw } from "../../support/gateway/raw.ts";
import { GatewayStage, newGateway, until } from "../../support/gateway/stage.ts";
import { V2 } from "../../support/server.ts";
import { SOCKET_PATH } from "../commands/client.ts";

/** An empty one. */
const PING = Buffer.from([0x89, 0]);
const MIB = 1_024 * 1_024;
const STREAM = `${V2}/events/6f1c8f0e-58a5-4b0e-9a5d-0b8f3c1d2e4f/stream`;
/** UTF-8 of ā, an invalid byte, and Latin-1; uWS cuts them off at the end of a value. */
const ODD_BYTES = ["a\u00c4\u0081z", "a\u00ffz", "a\u00c3\u00a9z", "\ta\tz", "a\u007f", "\u007f"];
const HEADERS = [
  "Host",
  "Origin",
  "X-API-Key",
  "Authorization",
  "X-Organization-ID",
  "Accept",
  "Accept-Encoding",
  "Last-Event-ID",
  "Prefer",
  "Content-Type",
  "Content-Encoding",
  "Idempotency-Key",
  "X-Request-Id",
  "X-Forwarded-For",
  "Sec-WebSocket-Protocol",
];
const plain = (body: string) => body.replace(/"timestamp":"[^"]+"/, "");

test("odd bytes in any header: the engine's answer, or 400 for a control character", async () => {
  const stage = await GatewayStage.start();
  for (const name of HEADERS) {
    for (const odd of ODD_BYTES) {
      for (const [path, headers] of [
        [STREAM, HANDSHAKE],
        [SOCKET_PATH, HANDSHAKE],
        [`${V2}/events/`, []],
        [`${V2}/events/`, HANDSHAKE],
      ] as const) {
        const others = name === "Host" ? [] : ["Host: x"];
        const lines = [`GET ${path} HTTP/1.1`, ...others, ...headers, `${name}: ${odd}`, "", ""];
        const text = lines.join("\r\n");
        const [engine, gateway] = await Promise.all([
          sendRaw(stage.engine.port, text),
          sendRaw(stage.port, text),
        ]);
        const seen = [name, odd, path, gateway.status, gateway.errorCode];
        const isRefused = odd.includes("\u007f") && gateway.status === 400;
        if (isRefused) expect(seen).toEqual([name, odd, path, 400, "MALFORMED_REQUEST"]);
        else {
          expect(seen).toEqual([name, odd, path, engine.status, engine.errorCode]);
          expect(plain(gateway.body)).toBe(plain(engine.body));
        }
      }
    }
  }
  expect(stage.broken).toEqual([]);
});

test("a target beyond ASCII reaches the engine byte for byte", async () => {
  const heads: string[] = [];
  const { port, broken } = await startDisturbed((socket, head) => {
    heads.push(head);
    socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  const target = "/x\u00c4\u0081\u007f?n=\u00c3\u00a9";
  const origin = "http://\u00c4\u0081.example";
  expect((await sendRaw(port, headOf(`GET ${target}`, [`Origin: ${origin}`]))).status).toBe(404);
  expect(heads[0]).toContain(`GET ${target} HTTP/1.1\r\n`);
  expect(heads[0]).toMatch(new RegExp(`origin: ${origin}\r\n`, "i"));
  expect(broken).toEqual([]);
});

test("a handshake on a path that is no WebSocket gets the engine's answer to a GET", async () => {
  const stage = await GatewayStage.start();
  const { key, eventId } = stage.server.a;
  for (const path of [
    "/openapi.json",
    "/nowhere",
    `${V2}/events/`,
    `${V2}/events/${eventId}`,
    `${V2}/booking/lock`,
    `${V2}/events/${eventId}/changes/`,
  ]) {
    for (const extra of [[], ["Content-Length: 5"]]) {
      const text = headOf(`GET ${path}`, [...HANDSHAKE, ...extra, `X-API-Key: ${key}`]);
      const [engine, gateway] = await Promise.all([
        sendRaw(stage.engine.port, text),
        sendRaw(stage.port, text),
      ]);
      expect([path, gateway.status]).toEqual([path, engine.status]);
      expect(plain(gateway.body)).toBe(plain(engine.body));
    }
  }
  expect(stage.broken).toEqual([]);
});

test("only the two routes that are WebSockets are asked for one", async () => {
  const heads: string[] = [];
  const { port } = await startDisturbed((socket, head) => {
    heads.push(head);
    socket.end("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  });
  for (const path of ["/nowhere", "/", `${V2}/events/`, `${STREAM}/`, `${STREAM}s`, SOCKET_PATH]) {
    expect((await sendRaw(port, headOf(`GET ${path}`, HANDSHAKE))).status).toBe(404);
  }
  const asked = heads.filter((head) => /^upgrade: websocket\r$/im.test(head));
  const paths = asked.map((head) => head.split(" ")[1]);
  expect(paths).toEqual([`${STREAM}/`, SOCKET_PATH]);
});

const CHUNK = Buffer.from(`10000\r\n${"x".repeat(65_536)}\r\n`);
const OK = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";

test.each([
  ["chunks without an end", `${OK}Transfer-Encoding: chunked\r\n\r\n`, []],
  ["no length and no end", `${OK}\r\n`, []],
  ["a refused handshake without an end", `${OK}\r\n`, HANDSHAKE],
])("an answer with %s: 503, and the engine's connection is closed", async (_, start, headers) => {
  let sent = Promise.resolve(0);
  const { port, broken } = await startDisturbed((socket) => {
    socket.write(start);
    sent = flood(socket, CHUNK, 64 * MIB);
  });
  const path = headers.length === 0 ? "/openapi.json" : STREAM;
  expect((await sendRaw(port, headOf(`GET ${path}`, headers))).status).toBe(503);
  expect(await sent).toBeLessThan(32 * MIB);
  expect(broken).toEqual([]);
});

test("a frame that announces more than any message has: the tunnel closes", async () => {
  let sent = Promise.resolve(0);
  const { port, broken } = await startDisturbed((socket, head) => {
    socket.write(openingOf(head));
    // A binary frame, with its length in eight bytes.
    socket.write(Buffer.from([0x82, 127, 0, 0, 0, 0xff, 0, 0, 0, 0]));
    sent = flood(socket, CHUNK, 64 * MIB);
  });
  const { status, hasEnded } = await sendRaw(port, headOf(`GET ${STREAM}`, HANDSHAKE), true);
  expect([status, hasEnded]).toEqual([101, true]);
  expect(await sent).toBeLessThan(32 * MIB);
  expect(broken).toEqual([]);
});

test("a handshake that waits for an engine that is lost: 503", async () => {
  let asked = 0;
  const { port, broken, breakLink } = await startDisturbed(() => (asked += 1));
  const answer = sendRaw(port, headOf(`GET ${STREAM}`, HANDSHAKE));
  await until(() => asked === 1);
  breakLink();
  expect((await answer).status).toBe(503);
  expect(broken).toEqual([]);
});

test("a tunnel whose engine says nothing for longer than between pings: it closes", async () => {
  const limitSilence = Reflect.get(NodeSocket.prototype, "limitSilence");
  const limitsMs: number[] = [];
  // An hour of the engine takes a minute.
  vi.spyOn(NodeSocket.prototype, "limitSilence").mockImplementation(function limit(
    this: NodeSocket,
    ms: number,
  ) {
    limitsMs.push(ms);
    limitSilence.call(this, ms / 60);
  });
  onTestFinished(() => void vi.restoreAllMocks());
  let pings = 0;
  const { port, broken } = await startDisturbed((socket, head) => {
    socket.write(openingOf(head));
    const timer = setInterval(() => {
      pings += 1;
      if (pings < 4) socket.write(PING);
      else clearInterval(timer);
    }, 500);
    onTestFinished(() => clearInterval(timer));
  });
  const startMs = performance.now();
  const { status, hasEnded } = await sendRaw(port, headOf(`GET ${STREAM}`, HANDSHAKE), true);
  expect([status, hasEnded, pings]).toEqual([101, true, 4]);
  expect(performance.now() - startMs).toBeGreaterThan(3 * 500 + limitsMs[0]! / 60 - 100);
  expect(limitsMs[0]).toBeGreaterThan(2 * IDLE_TIMEOUT * 1_000);
  expect(broken).toEqual([]);
});

test("an answer lost while it waits for memory: 503, and its memory is free again", async () => {
  const announced = (bytes: number) => `${OK}Content-Length: ${bytes}\r\n\r\n`;
  const sockets: { readonly destroy: () => unknown }[] = [];
  const { port, broken } = await startDisturbed((socket) => {
    sockets.push(socket);
    const isThird = sockets.length === 3;
    socket.write(announced((isThird ? 2 : 127) * MIB));
    if (isThird) socket.write(Buffer.alloc(2 * MIB, " "));
  });
  const ask = () => sendRaw(port, headOf("GET /openapi.json"));
  const first = ask();
  await until(() => sockets.length === 1);
  const second = ask();
  await until(() => sockets.length === 2);
  await new Promise((resolve) => void setTimeout(resolve, 50));
  sockets[1]!.destroy();
  expect((await second).status).toBe(503);
  const third = ask();
  await until(() => sockets.length === 3);
  sockets[0]!.destroy();
  expect((await first).status).toBe(503);
  expect((await third).status).toBe(200);
  expect(broken).toEqual([]);
});

test("a body in pieces is refused once while there is no engine", async () => {
  const broken: unknown[] = [];
  const gateway = await newGateway(1, {
    secret: "1".repeat(64),
    onBroken: (error) => void broken.push(error),
  });
  onTestFinished(() => gateway.stop());
  const { port } = gateway;
  const path = (name: string) => `${V2}/schemas/${name}/layout/`;
  const socket = connect(port, "127.0.0.1").setNoDelay(true);
  onTestFinished(() => void socket.destroy());
  socket.write(headOf(`PUT ${path("1")}`, ["Content-Length: 10"]));
  for (const piece of ["12345", "67890"]) {
    await new Promise((resolve) => void setTimeout(resolve, 20));
    socket.write(piece);
  }
  let text = "";
  socket.on("data", (data) => (text += String(data)));
  await until(() => text.includes("}"));
  await new Promise((resolve) => void setTimeout(resolve, 300));
  expect(text.match(/HTTP\/1\.1 503 /g)).toHaveLength(1);
  // Each waits for its refusal: a request with a shared exchange gets none.
  const answers = await Promise.all(
    ["2", "3", "4"].map((name) => sendRaw(port, headOf(`GET ${path(name)}`))),
  );
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
  for (const [i, { body }] of answers.entries()) expect(body).toContain(path(String(i + 2)));
  expect(broken).toEqual([]);
});
