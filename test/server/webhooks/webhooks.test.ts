/** Webhooks as the server's thread sees them. */
import { expect, onTestFinished, test, vi } from "vitest";
import type { Caller } from "../../../engine/bodies.ts";
import { workerThread } from "../../../persistence/disk/worker.ts";
import { Keys } from "../../../server/auth/keys.ts";
import {
  QUESTIONS_MAX,
  type StartWebhookThread,
  TESTS_MAX,
  TESTS_OF_ORGANIZATION_MAX,
  Webhooks,
} from "../../../server/webhooks/webhooks.ts";
import type { World } from "../../support/engine.ts";
import { TestServer } from "../../support/server.ts";

/** An idle program of the thread. */
const IDLE = programOf(`import { parentPort } from "node:worker_threads";
   parentPort.on("message", ({ name }) => name === "end" && parentPort.close());`);

/** A program reporting the limits of its thread. */
const TELLING = programOf(`import { parentPort, resourceLimits } from "node:worker_threads";
   parentPort.postMessage({ event: "report", value: JSON.stringify(resourceLimits) });
   parentPort.on("message", ({ name }) => name === "end" && parentPort.close());`);

function programOf(source: string): StartWebhookThread {
  return workerThread(new URL(`data:text/javascript,${source}`), "test");
}

interface Parts {
  readonly audit?: TestServer["services"]["audit"];
  readonly program?: StartWebhookThread;
  readonly report?: (message: string) => void;
}

function webhooksOf(
  { engine }: World,
  { audit = new TestServer().services.audit, program = IDLE, report = () => {} }: Parts = {},
): Webhooks {
  const keys = new Keys("ab".repeat(32), engine.state.catalog);
  const places = { folder: "/nowhere", storeId: "none" };
  const options = { engine, audit, keys, ...places, allowsPrivate: false, report };
  const webhooks = new Webhooks(options, program);
  onTestFinished(() => webhooks.close());
  return webhooks;
}

test("a hundred lists of deliveries may wait, and the next one is refused", async () => {
  const { world, services, a } = new TestServer();
  const body = { url: "https://odeon.example/", events: ["change" as const] };
  const { id } = world.must("createWebhook", a.caller, { body });
  const webhooks = webhooksOf(world, services);
  // Before it has begun, there are no deliveries.
  expect(await webhooks.list(id, 0, 20)).toEqual({ rows: [], total: 0 });
  webhooks.begin();
  for (let i = 0; i < QUESTIONS_MAX; i++) void webhooks.list(id, 0, 20);
  expect(await webhooks.list(id, 0, 20)).toBeNull();
});

test("tests under way are bounded, of an organization and in all", async () => {
  const { world, services, a, b } = new TestServer();
  const hook = { url: "https://odeon.example/", events: ["change" as const] };
  const webhooks = webhooksOf(world, services);
  webhooks.begin();
  const isRefused = async (caller: Caller) => {
    const row = world.must("createWebhook", caller, { body: hook });
    const pending = new Promise<null>((resolve) => void setImmediate(resolve, null));
    const outcome = await Promise.race([webhooks.test(row), pending]);
    return outcome !== null && "refused" in outcome;
  };
  // The thread answers nothing.
  for (let n = 0; n < TESTS_OF_ORGANIZATION_MAX; n++) expect(await isRefused(a.caller)).toBe(false);
  expect([await isRefused(a.caller), await isRefused(b.caller)]).toEqual([true, false]);
  for (let n = TESTS_OF_ORGANIZATION_MAX + 1; n < TESTS_MAX; n++) {
    const caller = world.createOrganization(world.tenant, `Organization ${n}`);
    expect(await isRefused(caller)).toBe(false);
  }
  expect(await isRefused(b.caller)).toBe(true);
});

test("a webhook that is not on disk yet → its test waits until it is", async () => {
  const { world, services, a, journal } = new TestServer();
  let starts = 0;
  const program: StartWebhookThread = (data, events) => {
    starts += data.webhooks.length;
    return IDLE(data, events);
  };
  const webhooks = webhooksOf(world, { audit: services.audit, program });
  webhooks.begin();
  journal.withholds = true;
  const body = { url: "https://odeon.example/", events: ["change" as const] };
  void webhooks.test(world.must("createWebhook", a.caller, { body }));
  await new Promise(setImmediate);
  expect(starts).toBe(0);
  journal.withholds = false;
  journal.sync();
  await vi.waitFor(() => expect(starts).toBe(1));
});

test("the trail is asked for new records only while a webhook is active", async () => {
  const { world, services, a } = new TestServer();
  const ask = vi.spyOn(services.audit, "ask");
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const webhooks = webhooksOf(world, services);
  webhooks.begin();
  await vi.advanceTimersByTimeAsync(1_000);
  const hook = { url: "https://odeon.example/", events: ["change" as const] };
  const body = { ...hook, active: false };
  const { id } = world.must("createWebhook", a.caller, { body });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ask).not.toHaveBeenCalled();
  world.must("updateWebhook", a.caller, { body: { id, ...hook } });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ask).toHaveBeenCalledOnce();
});

test("records that the thread could not follow are given to it again, without a new one", async () => {
  const { world, services, a } = new TestServer();
  const program = programOf(`import { parentPort } from "node:worker_threads";
    let asked = 0;
    parentPort.on("message", ({ name, id }) => {
      if (name === "end") parentPort.close();
      if (name !== "follow") return;
      asked += 1;
      parentPort.postMessage({ event: "report", value: String(asked) });
      parentPort.postMessage({ id, result: asked > 1 });
    });`);
  const reports: string[] = [];
  const { audit } = services;
  webhooksOf(world, { audit, program, report: (asked) => reports.push(asked) }).begin();
  world.must("createWebhook", a.caller, {
    body: { url: "https://odeon.example/", events: ["change"] },
  });
  await vi.waitFor(() => expect(reports).toEqual(["1", "2"]), 5_000);
});

test("the thread has a heap of at most 1 GiB, with at most 16 MiB for new objects", async () => {
  const { world, services, a } = new TestServer();
  const limits = await new Promise<string>((report) => {
    const { audit } = services;
    webhooksOf(world, { audit, program: TELLING, report }).begin();
    world.must("createWebhook", a.caller, {
      body: { url: "https://odeon.example/", events: ["change"] },
    });
  });
  expect(JSON.parse(limits)).toMatchObject({
    maxOldGenerationSizeMb: 1_024,
    maxYoungGenerationSizeMb: 16,
  });
});
