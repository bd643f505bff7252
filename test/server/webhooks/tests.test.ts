/** Tests of webhooks: the real thread sends, and receivers of all kinds answer. */
import net, { type AddressInfo } from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { workerThread } from "../../../persistence/disk/worker.ts";
import { TESTS_PER_MINUTE, Webhooks } from "../../../server/webhooks/webhooks.ts";
import type { CallOptions } from "../../support/answers/exchange.ts";
import { ROOT, temporaryFolder } from "../../support/server-process.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectProblem, NOT_FOUND } from "../wire/wire.ts";
import { Receiver } from "./receiver.ts";

const WORKER = pathToFileURL(path.join(ROOT, "dist/server/webhooks/worker.js"));
/** The thread gives up after 15 s. */
const SLOW = { timeout: 60_000 };

interface Outcome {
  readonly status: number | null;
  readonly milliseconds: number;
  readonly error: string | null;
}

function openServer(): TestServer {
  const server = new TestServer();
  // The thread has the real clock.
  server.world.clock.timeMs = Date.now();
  startWebhooks(server, true);
  return server;
}

function startWebhooks({ services }: TestServer, allowsPrivate: boolean): void {
  const { engine, audit, keys } = services;
  const places = { folder: temporaryFolder(), storeId: "0e1ecc4e-0000-4000-8000-000000000001" };
  // There is no log to follow.
  const options = { engine, audit, keys, ...places, allowsPrivate, report: () => {} };
  const webhooks = new Webhooks(options, workerThread(WORKER, "frontrow webhooks"));
  Object.assign(services, { webhooks });
  webhooks.begin();
  onTestFinished(() => webhooks.close());
}

async function create(server: TestServer, url: string, members: object = {}) {
  const body = { url, events: ["change"], ...members };
  const reply = await server.post<{ id: number; secret: string }>(`${V2}/webhooks/`, body);
  expect(reply.status).toBe(201);
  return reply.body;
}

const tryOut = (server: TestServer, id: number, by?: CallOptions) =>
  server.post<Outcome>(`${V2}/webhooks/${id}/test`, undefined, by);

/** A server of TCP. @returns Its address. */
async function listening(server: net.Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("a receiver that answers → its status, and one signed delivery of type test", async () => {
  const server = openServer();
  const receiver = await Receiver.open();
  const { id, secret } = await create(server, receiver.url);
  receiver.secrets = [secret];
  for (const status of [204, 500, 302, 410]) {
    receiver.status = status;
    // Right after the creation: no thread knows of the webhook yet.
    const { status: answered, body } = await tryOut(server, id);
    expect([answered, body]).toEqual([
      200,
      { status, milliseconds: expect.any(Number) as number, error: null },
    ]);
    expect(Number.isSafeInteger(body.milliseconds)).toBe(true);
  }
  expect(receiver.received.length).toBe(4);
  expect(new Set(receiver.received.map((one) => one.id)).size).toBe(4);
  for (const { type, data, signedBy } of receiver.received) {
    expect({ type, data, signedBy }).toEqual({
      type: "test",
      data: { eventId: null, sequence: 0, changes: [] },
      signedBy: [secret],
    });
  }
  // Not even the 410 has had an effect.
  expect((await server.get(`${V2}/webhooks/${id}`)).body).toMatchObject({ active: true });
  const list = await server.get<{ content: unknown[] }>(`${V2}/webhooks/${id}/deliveries/`);
  expect(list.body.content).toEqual([]);
});

test("an inactive webhook, a new address and a rotated secret → tested as they are", async () => {
  const server = openServer();
  const [first, second] = [await Receiver.open(), await Receiver.open()];
  const { id, secret } = await create(server, first.url, { active: false });
  expect((await tryOut(server, id)).body.status).toBe(200);
  const changed = { id, url: second.url, events: ["change"], active: false };
  expect((await server.put(`${V2}/webhooks/`, changed)).status).toBe(200);
  const rotated = await server.post<{ secret: string }>(`${V2}/webhooks/${id}/rotate`, {});
  second.secrets = [rotated.body.secret, secret];
  expect((await tryOut(server, id)).body.status).toBe(200);
  expect([first.received.length, second.received.length]).toEqual([1, 1]);
  expect(second.received[0]!.signedBy).toEqual(second.secrets);
});

test("a connection that is refused or cut → no status, and a sentence says why", async () => {
  const server = openServer();
  const closed = net.createServer();
  const refusing = await listening(closed);
  await new Promise((resolve) => void closed.close(resolve));
  const cutting = await listening(net.createServer((socket) => void socket.destroy()));
  const talking = await listening(net.createServer((socket) => void socket.end("what?\r\n\r\n")));
  const errorOf = async (url: string) => {
    const { body } = await tryOut(server, (await create(server, url)).id);
    expect(body.status).toBeNull();
    return body.error;
  };
  expect(await errorOf(refusing)).toMatch(/^The connection was refused \(.*ECONNREFUSED.*\)\.$/);
  expect(await errorOf(cutting)).toMatch(/^The connection was closed without an answer \(.*\)\.$/);
  expect(await errorOf(talking)).toMatch(/^The connection failed \(Parse Error.*\)\.$/);
  expect(await errorOf("https://no-such-host.invalid/")).toMatch(
    /^(The name no-such-host.invalid has no address|No answer within 15 s)\.$/,
  );
});

test(
  "a receiver that never answers → no status after 15 s, and others meanwhile",
  SLOW,
  async () => {
    const server = openServer();
    const silent = await create(server, await listening(net.createServer(() => {})));
    const receiver = await Receiver.open();
    const { id } = await create(server, receiver.url);
    const waiting = tryOut(server, silent.id);
    expect((await tryOut(server, id)).body.status).toBe(200);
    const { status, body } = await waiting;
    expect([status, body.status, body.error]).toEqual([200, null, "No answer within 15 s."]);
    expect(body.milliseconds).toBeGreaterThan(14_000);
  },
);

test("an address that is private since the restart → refused in words, and not called", async () => {
  const server = openServer();
  const receiver = await Receiver.open();
  const { id } = await create(server, receiver.url);
  startWebhooks(server, false);
  const { body } = await tryOut(server, id);
  const error = "127.0.0.1 is an address of a private or special network.";
  expect([body.status, body.error]).toEqual([null, error]);
  expect(receiver.received).toEqual([]);
});

test("six tests of a webhook in a minute → the seventh is refused", async () => {
  const server = openServer();
  const receiver = await Receiver.open();
  const { id } = await create(server, receiver.url);
  const other = await create(server, receiver.url);
  for (let n = 0; n < TESTS_PER_MINUTE; n++) {
    expect((await tryOut(server, id)).status).toBe(200);
    server.world.clock.timeMs += 5_000;
  }
  const refused = await tryOut(server, id);
  expectProblem(refused, { status: 429, errorCode: "RATE_LIMITED" });
  expect(refused.headers["Retry-After"]).toBe("30");
  expect((await tryOut(server, other.id)).status).toBe(200);
  server.world.clock.timeMs += 29_999;
  expect((await tryOut(server, id)).status).toBe(429);
  server.world.clock.timeMs += 1;
  expect((await tryOut(server, id)).status).toBe(200);
  expect((await tryOut(server, id)).status).toBe(429);
  expect(receiver.received.length).toBe(8);
});

test("a repetition with its Idempotency-Key → the first outcome, and nothing is sent", async () => {
  const server = openServer();
  const receiver = await Receiver.open();
  const { id } = await create(server, receiver.url);
  const { key } = server.a;
  const by = { key, headers: { "idempotency-key": "test-1" } };
  const first = await tryOut(server, id, by);
  receiver.status = 500;
  expect((await tryOut(server, id, by)).body).toEqual(first.body);
  expect(receiver.received.length).toBe(1);
});

test("a webhook of another organization, or none → refused, and nothing is sent", async () => {
  const server = openServer();
  const receiver = await Receiver.open();
  const { id } = await create(server, receiver.url);
  for (const call of ["test", "retry"]) {
    const at = (webhook: number) => `${V2}/webhooks/${webhook}/${call}`;
    expectProblem(await server.post(at(id), undefined, server.b), DENIED);
    expectProblem(await server.post(at(id), undefined, server.c), DENIED);
    expectProblem(await server.post(at(999_999)), NOT_FOUND);
  }
  expect(receiver.received).toEqual([]);
});

test("a retry with nothing waiting → 202, and 0 are due", async () => {
  const server = openServer();
  const { id } = await create(server, "https://odeon.example/hook");
  const reply = await server.post(`${V2}/webhooks/${id}/retry`);
  expect([reply.status, reply.body]).toEqual([202, { due: 0 }]);
});

test("the server stops during a test → it is refused with 503, to be tried again", async () => {
  const server = openServer();
  const { id } = await create(server, await listening(net.createServer(() => {})));
  const waiting = tryOut(server, id);
  await new Promise(setImmediate);
  await (server.services.webhooks as Webhooks).close();
  const reply = await waiting;
  expectProblem(reply, { status: 503, errorCode: "OVERLOADED" });
  expect(reply.headers["Retry-After"]).toBe("1");
  expectProblem(await server.post(`${V2}/webhooks/${id}/retry`), {
    status: 503,
    errorCode: "OVERLOADED",
  });
});
