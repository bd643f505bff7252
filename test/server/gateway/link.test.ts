/** The link of a gateway and its engine: proof, keys, loss, order, bounds. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { NodeSocket } from "../../../server/client/node-socket.ts";
import {
  EngineState,
  Entry,
  LINK_LIMITS,
  LINK_PATH,
  makeProof,
  type Notice,
} from "../../../server/gateway/link-layout.ts";
import { type HttpServer, listen } from "../../../server/http/server.ts";
import type { ProblemBody } from "../../support/answers/exchange.ts";
import { GatewayStage, newGateway, sendTo, until } from "../../support/gateway/stage.ts";
import { quietPort } from "../../support/server-process.ts";
import { TEST_SECRET, TestServer, V2 } from "../../support/server.ts";

const problemOf = ({ body }: { readonly body: unknown }) => JSON.parse(String(body)) as ProblemBody;

/** Opens a link by hand. @returns The engine's messages, and the end. */
async function openLink(port: number, proof = makeProof(TEST_SECRET)) {
  const seen = { messages: [] as Buffer[], status: 0, code: 0, isOpen: false };
  const server = new URL(`http://127.0.0.1:${port}`);
  const protocol = "frontrow.gateway.v1";
  const headers = { Authorization: `Bearer ${proof}`, "Sec-WebSocket-Protocol": protocol };
  const socket = new NodeSocket(
    { server, path: LINK_PATH, headers },
    {
      opened: () => void (seen.isOpen = true),
      message: (payload) => void seen.messages.push(payload),
      refused: (response) => {
        seen.status = response.statusCode!;
        response.resume();
      },
      closed: (code) => void (seen.code = code),
    },
  );
  onTestFinished(() => socket.destroy());
  await until(() => seen.isOpen || seen.status > 0 || seen.code > 0);
  return { socket, seen };
}

/** Closes the port of an engine, and all its connections. */
function lose(engine: HttpServer): void {
  void engine.drain();
  engine.close();
}

/** Listens on a port again, just after its connections have closed. */
async function listenAgain(server: TestServer, port: number): Promise<void> {
  const options = { host: "127.0.0.1", port, onBroken: () => {} };
  let again = await listen(server.dispatch, options).catch(() => null);
  while (again === null) {
    await sleep(20);
    again = await listen(server.dispatch, options).catch(() => null);
  }
  onTestFinished(() => again.close());
}

test("a link needs a proof of the secret, which is good once and for a minute", async () => {
  const { engine } = await GatewayStage.start();
  const proof = makeProof(TEST_SECRET);
  const first = await openLink(engine.port, proof);
  expect(first.seen.isOpen).toBe(true);
  const others = [
    proof,
    makeProof("another secret of enough length, I think"),
    makeProof(TEST_SECRET, Date.now() - 61_000),
    makeProof(TEST_SECRET, Date.now() + 61_000),
    TEST_SECRET,
    "",
  ];
  for (const other of others) expect((await openLink(engine.port, other)).seen.status).toBe(403);
});

test("without a handshake there is no link, and no gateway passes its path on", async () => {
  const stage = await GatewayStage.start();
  const sent = { method: "GET", target: LINK_PATH };
  expect((await sendTo(stage.engine.port, sent)).status).toBe(404);
  expect((await stage.send(sent)).status).toBe(404);
});

test("many requests of the same moment go to the engine in few frames", async () => {
  const stage = await GatewayStage.start();
  const { link } = stage.gateway;
  await stage.lock("s", ["A1"]);
  const before = { frames: link.frames, requests: link.requests };
  const answers = await Promise.all(Array.from({ length: 99 }, () => stage.lock("s", ["Pit:1"])));
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(link.requests - before.requests).toBe(99);
  expect(link.frames - before.frames).toBeLessThan(80);
});

test("a rotated key without grace is refused at once, and the gateway forgets it", async () => {
  const stage = await GatewayStage.start();
  const { server, gateway } = stage;
  // The second one goes by the handle from the first.
  for (const label of ["A1", "A3"]) expect((await stage.lock("s", [label])).status).toBe(200);
  expect(gateway.link.keyCount).toBe(1);
  const rotated = await server.post(`${V2}/keys/rotate`, { graceSeconds: 0 });
  expect(rotated.status).toBe(200);
  const refused = await stage.lock("s", ["A2"]);
  expect([refused.status, problemOf(refused).errorCode]).toEqual([403, "ACCESS_DENIED"]);
  expect(gateway.link.keyCount).toBe(0);
});

test("a lost engine is 503 with Retry-After, and the gateway comes back by itself", async () => {
  const stage = await GatewayStage.start({}, new TestServer(), quietPort());
  const { server, gateway, engine } = stage;
  const { port } = engine;
  await stage.lock("s", ["A1"]);
  lose(engine);
  await until(() => !gateway.link.isOpen);
  const refusals = [
    await stage.lock("s", ["A2"]),
    await stage.send({ method: "GET", target: `${V2}/events/` }),
    await stage.send({ method: "GET", target: "/readyz" }),
  ];
  for (const refusal of refusals) {
    expect(refusal.status).toBe(503);
    expect(refusal.type).toBe("application/problem+json; charset=utf-8");
    expect(problemOf(refusal).errorCode).toBe("LOG_UNAVAILABLE");
    expect(refusal.raw["retry-after"]).toBe("1");
  }
  expect((await stage.send({ method: "GET", target: "/healthz" })).status).toBe(200);
  await listenAgain(server, port);
  await until(() => gateway.link.isReady);
  expect((await stage.send({ method: "GET", target: "/readyz" })).status).toBe(200);
  expect((await stage.lock("s", ["A2"])).status).toBe(200);
});

test("an answer that is read from disk holds up no other request of the link", async () => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  await server.book("lock", "bob", "A1");
  const keyed = { "idempotency-key": "k" };
  const first = await stage.lock("s", ["A1"], keyed);
  server.services.replies.add("other", "x".repeat(20 * 1_024 * 1_024));
  const ask = server.trail.ask.bind(server.trail);
  let read: (() => void) | null = null;
  vi.spyOn(server.trail, "ask").mockImplementationOnce(async (question) => {
    await new Promise<void>((resolve) => (read = resolve));
    return ask(question);
  });
  const repeated = stage.lock("s", ["A1"], keyed);
  await until(() => read !== null);
  expect((await stage.lock("s", ["A2"])).status).toBe(200);
  read!();
  expect(String((await repeated).body)).toBe(String(first.body));
});

test("what waits for a lost engine gets no answer, and its repetition the first", async () => {
  const stage = await GatewayStage.start();
  const { server, engine } = stage;
  await stage.lock("s", ["A1"]);
  const { journal } = server;
  journal.withholds = true;
  const { length } = journal.kept;
  const keyed = { "idempotency-key": "k" };
  const first = stage.lock("s", ["A2"], keyed).catch(() => "no answer");
  await until(() => journal.kept.length > length);
  lose(engine);
  expect(await first).toBe("no answer");
  journal.withholds = false;
  journal.sync();
  const again = await GatewayStage.start({}, server);
  const { digest } = server;
  const repeated = await again.lock("s", ["A2"], keyed);
  expect([repeated.status, String(repeated.body), server.digest]).toEqual([200, "true", digest]);
});

test("another gateway gives the answer to a request whose gateway was lost", async () => {
  const stage = await GatewayStage.start();
  const { server, engine } = stage;
  const other = await newGateway(engine.port);
  onTestFinished(() => other.stop());
  const { journal } = server;
  journal.withholds = true;
  const { length } = journal.kept;
  const headers = { "x-api-key": server.a.key, "idempotency-key": "k" };
  const body = JSON.stringify(server.selection("s", "A1"));
  const sent = { method: "POST", target: server.bookingPath("lock"), headers, body };
  const first = sendTo(other.port, sent).catch(() => "no answer");
  await until(() => journal.kept.length > length);
  other.link.stop();
  expect(await first).toBe("no answer");
  const repeated = stage.send(sent);
  await sleep(50);
  journal.withholds = false;
  journal.sync();
  expect([(await repeated).status, String((await repeated).body)]).toEqual([200, "true"]);
  expect(await server.states("A1", "A2")).toEqual(["LOCKED", "ACTIVE"]);
});

/** An entry of the link, of 16 bytes and its texts. */
function entry(kind: number, [first, second]: readonly [number, number], text = ""): Buffer {
  const head = Buffer.alloc(16);
  head[4] = kind;
  head.writeUInt32LE(first, 8);
  head.writeUInt32LE(second, 12);
  return Buffer.concat([head, Buffer.from(text.padEnd(Math.ceil(text.length / 4) * 4))]);
}

const HEALTH = JSON.stringify({ method: "get", path: "/healthz", from: "" });

test.each([
  ["too short for an entry", Buffer.alloc(7), 1007],
  ["of an unknown kind", entry(99, [0, 0]), 1007],
  ["with a request whose head is beyond it", entry(Entry.REQUEST, [0xffff_ffff, 0]), 1007],
  // Cut to 32 bits, the sum of the lengths would fit.
  ["with lengths beyond 32 bits", entry(Entry.REQUEST, [HEALTH.length, 0xffff_fffe], HEALTH), 1007],
  ["with a request whose head is no JSON", entry(Entry.REQUEST, [4, 0], "x"), 1007],
  ["with a request whose head is no object", entry(Entry.REQUEST, [4, 0], "null"), 1007],
  ["with a key that is not open", entry(Entry.USE, [0, 0]).subarray(0, 8), 1007],
  ["with a command of no key", entry(1, [0, 0]), 1007],
  ["of more than 64 KiB", Buffer.alloc(LINK_LIMITS.bytesInFrame + 4), 4009],
])("a frame %s closes its link, and no other", async (_, frame, code) => {
  const stage = await GatewayStage.start();
  const { socket, seen } = await openLink(stage.engine.port);
  socket.send(frame, true);
  await until(() => seen.code > 0);
  expect(seen.code).toBe(code);
  expect((await stage.lock("s", ["A1"])).status).toBe(200);
  expect(stage.broken).toEqual([]);
});

test("an engine that stops says so, and the gateway refuses before the link closes", async () => {
  const stage = await GatewayStage.start();
  const { seen } = await openLink(stage.engine.port);
  await until(() => seen.messages.length > 1);
  const noticeAt = (at: number) => JSON.parse(String(seen.messages.at(at))) as Notice;
  expect(noticeAt(0)).toEqual({ type: "credit", ...LINK_LIMITS });
  expect(noticeAt(1)).toEqual({ type: "state", takes: EngineState.CHANGES });
  void stage.engine.drain();
  await until(() => seen.code > 0);
  expect(seen.code).toBe(1012);
  expect(noticeAt(-1)).toEqual({ type: "state", takes: EngineState.CLOSED });
  await until(() => !stage.gateway.link.isOpen);
  expect((await stage.lock("s", ["A1"])).status).toBe(503);
});
