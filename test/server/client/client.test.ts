/** `@frontrow/client`: booking commands against a real server. */
import { WebSocket } from "undici";
import { expect, onTestFinished, test } from "vitest";
import { CommandClient, type CommandClientOptions } from "../../../server/client/client.ts";
import { V2 } from "../../support/server.ts";
import { CommandStage } from "../commands/stage.ts";
import { until } from "../wire/connection.ts";
import { Proxy } from "../../support/proxy.ts";

const OK = { ok: true, value: true };

async function started(options: Partial<CommandClientOptions> = {}) {
  const stage = await CommandStage.start();
  const proxy = await Proxy.start(stage.listening.http.port);
  const { a } = stage.server;
  const client = new CommandClient({ url: proxy.url, key: a.key, ...options });
  onTestFinished(() => void client.close());
  const booking = (sessionId: string, ...labels: readonly string[]) => {
    const seats = labels.map((label) => ({ id: a.labels.idOf(label) }));
    return { eventId: a.eventId, sessionId, seats };
  };
  return { stage, proxy, client, booking };
}

test("each call has its result, in the types of the client", async () => {
  const { client, booking, stage } = await started();
  const { eventId } = stage.server.a;
  expect(await client.lock(booking("ann", "A1", "A2"))).toEqual(OK);
  expect(await client.unlock(booking("ann", "A2"))).toEqual(OK);
  expect(await client.sale(booking("ann", "A1"))).toEqual(OK);
  expect(await client.revertSale({ eventId, seats: booking("", "A1").seats })).toEqual(OK);
  expect(await client.directSale({ eventId, seats: booking("", "A3").seats })).toEqual(OK);
  expect(await client.block({ eventId, seats: booking("", "A4").seats })).toEqual(OK);
  expect(await client.unblock({ eventId, seats: booking("", "A4").seats })).toEqual(OK);
  expect(await client.lock(booking("eve", "A2"))).toEqual(OK);
  const { eventId: _, ...held } = booking("eve", "A2");
  const partial = await client.lockBestEffort({ eventId, ...held });
  expect(partial).toMatchObject({
    ok: false,
    problem: { errors: [{ code: "HELD_BY_THIS_SESSION", alternatives: expect.any(Array) }] },
  });
  const extended = await client.extend({ eventId, ...held, seconds: 60 });
  expect(extended).toMatchObject({ ok: true, value: { seats: [{ state: "LOCKED" }], areas: [] } });
  if (extended.ok) expect(extended.value.until).toBe(extended.value.seats[0]?.expiresAt);
  const { fence } = extended.ok ? extended.value.seats[0]! : { fence: 0 };
  expect(await client.unlock({ eventId, ...held, fence })).toEqual(OK);
  const refused = await client.lock(booking("bob", "A3"));
  expect(refused).toMatchObject({
    ok: false,
    problem: { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", errors: [{ code: "SOLD" }] },
  });
  const misspelled = { ...booking("", "A4"), sesionId: "bob" };
  expect(await client.lock(misspelled)).toMatchObject({
    problem: { errors: [{ field: "sesionId", code: "UNKNOWN" }] },
  });
  expect(await stage.server.states("A1", "A2", "A3", "A4")).toEqual([
    "ACTIVE",
    "ACTIVE",
    "SOLD",
    "ACTIVE",
  ]);
});

test("more commands than the credit allows wait in the client, and none is refused", async () => {
  const { client, booking, proxy } = await started();
  const results = await Promise.all(
    Array.from({ length: 5_000 }, (_, i) =>
      i % 2 === 0 ? client.lock(booking("ann", "A1")) : client.unlock(booking("ann", "A1")),
    ),
  );
  expect(results.filter(({ ok }) => !ok)).toEqual([]);
  expect(proxy.connections).toBe(1);
});

test("a command that is longer than a frame is refused by the client", async () => {
  const { client, booking } = await started();
  const long = client.lock({ ...booking("ann", "A1"), holdType: "é".repeat(40_000) });
  const other = client.lock(booking("ann", "A2"));
  await expect(long).rejects.toThrow(RangeError);
  expect(await other).toEqual(OK);
});

test("after a break, commands without an answer are repeated, with one effect each", async () => {
  const { client, booking, proxy, stage } = await started();
  expect(await client.lock(booking("ann", "A1"))).toEqual(OK);
  proxy.losesAnswers = true;
  const before = stage.server.services.commands.traffic.count;
  const lost = ["A2", "A3", "B1"].map((label) => client.lock(booking("ann", label)));
  await until(() => stage.server.services.commands.traffic.count === before + 3);
  proxy.losesAnswers = false;
  proxy.cut();
  const later = client.sale(booking("ann", "A1"));
  expect(await Promise.all([...lost, later])).toEqual([OK, OK, OK, OK]);
  expect(proxy.connections).toBe(2);
  expect(await stage.server.states("A1", "A2", "A3", "B1")).toEqual([
    "SOLD",
    "LOCKED",
    "LOCKED",
    "LOCKED",
  ]);
});

test("without repetition a break leaves the outcome unknown; later commands go on", async () => {
  const { client, booking, proxy, stage } = await started({ repeats: false });
  expect(await client.lock(booking("ann", "A1"))).toEqual(OK);
  proxy.losesAnswers = true;
  const before = stage.server.services.commands.traffic.count;
  const lost = client.lock(booking("ann", "A2"));
  await until(() => stage.server.services.commands.traffic.count === before + 1);
  proxy.losesAnswers = false;
  proxy.cut();
  await expect(lost).rejects.toMatchObject({ name: "OutcomeUnknown" });
  expect(await client.lock(booking("ann", "A3"))).toEqual(OK);
});

test("a wrong key ends the client with the status of the handshake", async () => {
  const { client, booking } = await started({ key: "wrong" });
  const refused = { name: "ConnectionRefused", code: 403 };
  await expect(client.lock(booking("ann", "A1"))).rejects.toMatchObject(refused);
  await expect(client.lock(booking("ann", "A2"))).rejects.toMatchObject(refused);
});

test("the end of the key ends the client with 4001", async () => {
  const { client, booking, stage } = await started();
  expect(await client.lock(booking("ann", "A1"))).toEqual(OK);
  await stage.server.post(`${V2}/keys/rotate`, {});
  await until(() => stage.listening.http.stats.sockets.count === 0);
  await expect(client.lock(booking("ann", "A2"))).rejects.toMatchObject({
    name: "ConnectionRefused",
    code: 4001,
  });
});

test("a client that is closed has its answers first, and takes nothing more", async () => {
  const { client, booking, stage } = await started();
  const locks = ["A1", "A2"].map((label) => client.lock(booking("ann", label)));
  const closed = client.close();
  await expect(client.lock(booking("ann", "A3"))).rejects.toThrow("the client is closing");
  expect(await Promise.all(locks)).toEqual([OK, OK]);
  await closed;
  await until(() => stage.listening.http.stats.sockets.count === 0);
});

test("the class of a browser works where something else adds the key", async () => {
  let key = "";
  class WithKey extends WebSocket {
    constructor(url: string, protocols: string) {
      super(url, { protocols: [protocols], headers: { "X-API-Key": key } });
    }
  }
  const { client, booking, stage } = await started({ webSocket: WithKey });
  key = stage.server.a.key;
  expect(await client.lock(booking("ann", "A1"))).toEqual(OK);
  await client.close();
});

test("a client that is destroyed leaves the outcome of its commands unknown", async () => {
  const { client, booking, proxy, stage } = await started();
  expect(await client.lock(booking("ann", "A1"))).toEqual(OK);
  proxy.losesAnswers = true;
  const lost = client.lock(booking("ann", "A2"));
  await until(() => stage.server.services.commands.traffic.count === 2);
  client.destroy();
  await expect(lost).rejects.toMatchObject({ name: "OutcomeUnknown" });
  await expect(client.lock(booking("ann", "A3"))).rejects.toThrow("the client has been closed");
});
