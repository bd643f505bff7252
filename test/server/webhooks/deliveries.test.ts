/** Deliveries of a real server to a real receiver with signature checks. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { backupFolder } from "../../../persistence/rescue/copy-store.ts";
import { verifyFolder } from "../../../persistence/rescue/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { TESTS_PER_MINUTE } from "../../../server/webhooks/webhooks.ts";
import { startWithGateway } from "../../support/gateway/processes.ts";
import { type ServerProcess, sleep, startServer, V2 } from "../../support/server-process.ts";
import { Receiver } from "./receiver.ts";

const SLOW = { timeout: 120_000 };
const WAIT_MS_MAX = 60_000;
const ARGS = ["--demo", "--webhook-private-addresses"];

async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
  const endMs = Date.now() + WAIT_MS_MAX;
  while (!(await isDone())) {
    if (Date.now() > endMs) throw new Error("waited too long");
    await sleep(20);
  }
}

async function create(server: ServerProcess, receiver: Receiver, events: readonly string[]) {
  const body = { url: receiver.url, events };
  const reply = await server.request("POST", `${V2}/webhooks/`, body);
  const { id, secret } = (await reply.json()) as { id: number; secret: string };
  receiver.secrets = [secret];
  return id;
}

async function book(server: ServerProcess, eventId: string, call: string, seat: number) {
  const body = { sessionId: "ann", seats: [{ id: seat }] };
  const target = `${V2}/booking/${call}?eventId=${eventId}`;
  expect((await server.request("POST", target, body)).status).toBe(200);
}

interface DeliveryBody {
  readonly webhookId: string;
  readonly status: string;
  readonly attempts: number;
  readonly lastStatus: number | null;
  readonly nextAt: string | null;
}

async function deliveriesOf(server: ServerProcess, id: number): Promise<readonly DeliveryBody[]> {
  const reply = await server.request("GET", `${V2}/webhooks/${id}/deliveries/`);
  return ((await reply.json()) as { content: readonly DeliveryBody[] }).content;
}

async function metric(server: ServerProcess, name: string): Promise<number> {
  const text = await (await server.request("GET", "/metrics")).text();
  return Number(new RegExp(`^frontrow_${name} (.+)$`, "m").exec(text)?.[1]);
}

test(
  "the public library accepts each delivery; after a rotation both secrets sign",
  SLOW,
  async () => {
    const server = await startServer({ args: ARGS });
    const receiver = await Receiver.open();
    const { eventId } = server;
    const id = await create(server, receiver, ["change"]);
    await book(server, eventId, "lock", 24);
    await until(() => receiver.received.length === 1);
    const [first] = receiver.received;
    expect(first).toMatchObject({
      type: "change",
      data: { eventId, changes: [{ call: "lock", sessionId: "ann", seats: [{ id: 24 }] }] },
      signedBy: receiver.secrets,
    });
    const rotated = await server.request("POST", `${V2}/webhooks/${id}/rotate`, {});
    const { secret } = (await rotated.json()) as { secret: string };
    receiver.secrets.push(secret);
    await book(server, eventId, "unlock", 24);
    await until(() => receiver.received.length === 2);
    expect(receiver.received[1]!.signedBy).toEqual(receiver.secrets);
    await server.request("POST", `${V2}/webhooks/${id}/rotate`, { graceSeconds: 0 });
    await book(server, eventId, "lock", 24);
    await until(() => receiver.received.length === 3);
    expect(receiver.received[2]!.signedBy).toEqual([]);
    let listed: readonly DeliveryBody[] = [];
    await until(async () => {
      listed = await deliveriesOf(server, id);
      return listed[0]?.status === "DELIVERED";
    });
    expect(listed.map((one) => [one.webhookId, one.status, one.lastStatus])).toEqual(
      receiver.received.toReversed().map((one) => [one.id, "DELIVERED", 200]),
    );
  },
);

test(
  "a receiver that asks for an hour and is back → a retry by hand delivers now",
  SLOW,
  async () => {
    const server = await startServer({ args: ARGS });
    const receiver = await Receiver.open();
    [receiver.status, receiver.headers] = [503, { "Retry-After": "3600" }];
    const id = await create(server, receiver, ["change"]);
    await book(server, server.eventId, "lock", 24);
    await until(async () => (await deliveriesOf(server, id))[0]?.attempts === 1);
    await server.kill("SIGKILL");
    const again = await startServer({ folder: server.folder, args: ARGS });
    receiver.status = 200;
    const retry = async () => {
      const reply = await again.request("POST", `${V2}/webhooks/${id}/retry`);
      return [reply.status, await reply.json()];
    };
    expect(await retry()).toEqual([202, { due: 1 }]);
    await until(() => receiver.received.length === 2);
    expect(receiver.received[1]).toEqual(receiver.received[0]);
    await until(async () => (await deliveriesOf(again, id))[0]?.status === "DELIVERED");
    expect(await retry()).toEqual([202, { due: 0 }]);
  },
);

test("tests and retries through a gateway → answered as by the engine", SLOW, async () => {
  const { engine, gateway } = await startWithGateway({ args: ARGS });
  const receiver = await Receiver.open();
  const id = await create(engine, receiver, ["change"]);
  const call = (name: string) =>
    gateway.request("POST", `${V2}/webhooks/${id}/${name}`, undefined, engine.key);
  for (let n = 0; n < TESTS_PER_MINUTE; n++) {
    receiver.status = 200 + n;
    expect(await (await call("test")).json()).toMatchObject({ status: 200 + n, error: null });
  }
  const refused = await call("test");
  expect([refused.status, Number(refused.headers.get("retry-after")) > 50]).toEqual([429, true]);
  const retried = await call("retry");
  expect([retried.status, await retried.json()]).toEqual([202, { due: 0 }]);
  expect(receiver.received.every(({ signedBy }) => signedBy.length === 1)).toBe(true);
});

test("a receiver that answers 410 is given up, and the webhook says why", SLOW, async () => {
  const server = await startServer({ args: ARGS });
  const receiver = await Receiver.open();
  receiver.status = 410;
  const id = await create(server, receiver, ["change"]);
  await book(server, server.eventId, "lock", 24);
  const read = async () => (await server.request("GET", `${V2}/webhooks/${id}`)).json();
  await until(async () => !((await read()) as { active: boolean }).active);
  expect(await read()).toMatchObject({ disabledReason: "The receiver answered 410 Gone." });
  expect(await deliveriesOf(server, id)).toMatchObject([
    { status: "FAILED", attempts: 1, lastStatus: 410, nextAt: null },
  ]);
  expect(await metric(server, "webhooks_disabled_total")).toBe(1);
});

test("a backup has what waits, and its server sends it with the same id", SLOW, async () => {
  const server = await startServer({ args: ARGS });
  const { folder, eventId } = server;
  const receiver = await Receiver.open();
  receiver.status = 500;
  await create(server, receiver, ["change"]);
  await book(server, eventId, "lock", 24);
  await until(async () => (await metric(server, "webhook_failures_total")) > 0);
  const to = path.join(path.dirname(folder), "copy");
  backupFolder({ disk: realDisk, from: folder, to });
  await server.kill("SIGKILL");
  expect(verifyFolder({ disk: realDisk, folder: to }).findings).toEqual([]);
  receiver.status = 200;
  const before = receiver.received.length;
  const copy = await startServer({ folder: to, args: ARGS });
  await until(() => receiver.received.length > before);
  expect(receiver.received.at(-1)).toEqual(receiver.received[0]);
  await copy.kill("SIGTERM");
  fs.writeFileSync(path.join(to, "webhooks.sqlite"), "damaged".repeat(100));
  expect(verifyFolder({ disk: realDisk, folder: to }).findings).toMatchObject([
    { path: path.join(to, "webhooks.sqlite"), found: expect.stringContaining("not a database") },
  ]);
});
