/** The link of a gateway and its engine: proof, keys, loss, order, bounds. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { UpstreamSocket } from "../../../server/gateway/web-socket.ts";
import {
  EngineState,
  LINK_LIMITS,
  LINK_PATH,
  makeProof,
} from "../../../server/gateway/link-layout.ts";
import { type HttpServer, listen } from "../../../server/http/server.ts";
import type { ProblemBody } from "../../support/answers/exchange.ts";
import { actingFor } from "../../support/answers/exchange.ts";
import { GatewayStage, newGateway, sendTo, until } from "../../support/gateway/stage.ts";
import { quietPort } from "../../support/server-process.ts";
import { TEST_SECRET, TestServer, V2 } from "../../support/server.ts";

const problemOf = ({ body }: { readonly body: unknown }) => JSON.parse(String(body)) as ProblemBody;

/** Opens a link by hand. @returns What the engine sent, and how it ended. */
async function openLink(port: number, proof = makeProof(TEST_SECRET)) {
  const seen = { messages: [] as Buffer[], status: 0, code: 0, isOpen: false };
  const server = new URL(`http://127.0.0.1:${port}`);
  const protocol = "frontrow.gateway.v1";
  const headers = { Authorization: `Bearer ${proof}`, "Sec-WebSocket-Protocol": protocol };
  const socket = new UpstreamSocket(
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

/** Listens on a port whose connections have just been closed. */
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
  // The second one goes by the number that the key got with the first.
  for (const label of ["A1", "A3"]) expect((await stage.lock("s", [label])).status).toBe(200);
  expect(gateway.link.known.keyCount).toBe(1);
  const rotated = await server.post(`${V2}/keys/rotate`, { graceSeconds: 0 });
  expect(rotated.status).toBe(200);
  const refused = await stage.lock("s", ["A2"]);
  expect([refused.status, problemOf(refused).errorCode]).toEqual([403, "ACCESS_DENIED"]);
  await until(() => gateway.link.known.keyCount === 0);
  // The gateway itself now leaves it to the engine to refuse what it could have refused.
  const invalid = await stage.post(server.bookingPath("lock"), { seats: 1 });
  expect(invalid.status).toBe(403);
});

test("a revoked key is refused within a second, by the gateway as well", async () => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  await stage.lock("s", ["A1"]);
  const invalid = () => stage.post(server.bookingPath("lock"), { seats: 1 });
  expect((await invalid()).status).toBe(400);
  await server.post(`${V2}/keys/rotate`, { graceSeconds: 0 });
  const startMs = performance.now();
  while ((await invalid()).status !== 403) await sleep(10);
  expect(performance.now() - startMs).toBeLessThan(1_500);
});

test("a tenant token books for the organization that it names, and for no other", async () => {
  const stage = await GatewayStage.start();
  const { server } = stage;
  const { headers = {}, key = "" } = actingFor(server.tenantToken, server.a);
  const own = { "x-api-key": key, ...headers };
  const other = { ...own, "x-organization-id": String(server.c.id) };
  for (const label of ["A1", "A2"]) {
    expect((await stage.lock("s", [label], own)).status).toBe(200);
    expect((await stage.lock("s", ["A3"], other)).status).toBe(403);
  }
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

const NO_TEXTS = {
  query: "",
  apiKey: "",
  authorization: "",
  organizationId: "",
  contentType: "",
  contentEncoding: "",
  idempotencyKey: null,
  prefer: "",
  repeatedHeader: "",
  requestId: "",
  address: "",
};

test("a frame that cannot be read closes its link, and no other", async () => {
  const stage = await GatewayStage.start();
  const short = Buffer.alloc(7);
  const unknown = Buffer.alloc(20);
  unknown[4] = 99;
  const beyond = Buffer.alloc(20);
  beyond[4] = 130;
  beyond.writeUInt32LE(0xffff_ffff, 8);
  // With the length of its body, its length has more than 32 bits; cut to those, it would fit.
  const text = JSON.stringify({ ...NO_TEXTS, method: "get", path: "/healthz" });
  const head = text.padEnd(Math.ceil(text.length / 4) * 4);
  const overflowing = Buffer.alloc(20 + head.length);
  overflowing[4] = 130;
  overflowing.writeUInt32LE(head.length, 8);
  overflowing.writeUInt32LE(0xffff_fffe, 12);
  overflowing.write(head, 20);
  const noJson = Buffer.alloc(24);
  noJson[4] = 130;
  noJson.writeUInt32LE(4, 8);
  for (const frame of [
    short,
    unknown,
    beyond,
    overflowing,
    noJson,
    Buffer.alloc(LINK_LIMITS.bytesInFrame + 4),
  ]) {
    const { socket, seen } = await openLink(stage.engine.port);
    socket.send(frame, true);
    await until(() => seen.code > 0);
    expect(seen.code).toBe(1007);
  }
  expect((await stage.lock("s", ["A1"])).status).toBe(200);
  expect(stage.broken).toEqual([]);
});

test("an engine that stops says so, and the gateway refuses before the link closes", async () => {
  const stage = await GatewayStage.start();
  const { seen } = await openLink(stage.engine.port);
  await until(() => seen.messages.length > 0);
  expect(seen.messages[0]!.readUInt16LE(4)).toBe(EngineState.TAKES_CHANGES);
  void stage.engine.drain();
  await until(() => seen.code > 0);
  expect(seen.code).toBe(1012);
  expect(seen.messages.at(-1)!.readUInt16LE(4)).toBe(EngineState.CLOSED);
  await until(() => !stage.gateway.link.isOpen);
  expect((await stage.lock("s", ["A1"])).status).toBe(503);
});
