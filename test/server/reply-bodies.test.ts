/** Long replies to requests with an `Idempotency-Key`: where they are, and when they are gone. */
import { expect, test } from "vitest";
import { AuditGap } from "../../engine/queries/history.ts";
import { BODY_IN_MEMORY_MAX } from "../../engine/stored-replies.ts";
import { ReplyBodies } from "../../server/api/services.ts";
import { actingFor, type Reply } from "../support/answers/exchange.ts";
import { MANAGEMENT, TestServer, V2 } from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

const DAY_MS = 86_400_000;
const VENUES = `${V2}/venues/`;
const GONE = { status: 409, errorCode: "IDEMPOTENCY_REPLY_GONE" };
const SHAPE = "00000000-0000-4000-8000-000000000007";

/** Organization A with a key for its requests. */
const keyed = ({ a }: TestServer, idempotencyKey: string) => ({
  key: a.key,
  headers: { "idempotency-key": idempotencyKey },
});

const createVenue = (server: TestServer, key: string) =>
  server.post(VENUES, { name: "Odeon", address: "x".repeat(200) }, keyed(server, key));

function putLayout(server: TestServer, key: string, points = "x"): Promise<Reply> {
  const path = `${V2}/schemas/${server.a.schemaId}/layout`;
  return server.put(path, { shapes: [{ id: SHAPE, points }] }, keyed(server, key));
}

/** As after a restart: the recent bodies are forgotten, the trail has them. */
function forget({ services }: TestServer): void {
  const options = { replyMemory: 8, replyDisk: 8 };
  Object.assign(services, { replies: new ReplyBodies(options) });
}

test("a long reply is repeated byte for byte from memory, and from the trail", async () => {
  const server = new TestServer();
  const first = await createVenue(server, "k");
  const before = server.digest;
  const again = await createVenue(server, "k");
  forget(server);
  const later = await createVenue(server, "k");
  for (const { status, type, text } of [again, later]) {
    expect({ status, type, text }).toEqual({ status: 201, type: first.type, text: first.text });
  }
  const row = server.engine.state.catalog.replies.get(`${server.a.id}:k`);
  expect(row).toMatchObject({ body: null, bodyLength: first.text.length });
  expect(first.text.length).toBeGreaterThan(BODY_IN_MEMORY_MAX);
  expect(server.digest).toBe(before);
});

test("a confidential reply is sealed in the trail, and repeated", async () => {
  const server = new TestServer();
  const body = {
    name: "Nova",
    email: "nova@example.org",
    firstName: "N",
    lastName: "O",
    password: "a long password",
  };
  const by = actingFor(server.tenantToken, server.a);
  const headers = { ...by.headers, "idempotency-key": "k" };
  const create = () =>
    server.post<{ secretKey: string }>(`${MANAGEMENT}/organizations/`, body, { ...by, headers });
  const first = await create();
  forget(server);
  expect((await create()).text).toBe(first.text);
  const id = `${server.a.id}:k`;
  const outcome = await server.trail.ask({ about: "reply", id });
  const kept = outcome.gap === null ? outcome.value : "";
  expect(kept).toMatch(/^[\w-]{100,}$/);
  expect(kept).not.toContain(first.body.secretKey);
});

test("the oldest bodies are dropped first, and a retry of theirs is refused", async () => {
  const server = new TestServer({ replyDisk: 0.05, hasMetrics: true });
  for (let i = 0; i < 12; i++) expect((await createVenue(server, `k${i}`)).status).toBe(201);
  const { diskOfOwner } = server.services.replies.budget;
  const { storedReplies, replies } = server.engine.state.catalog;
  expect(storedReplies.disk).toBeLessThanOrEqual(diskOfOwner);
  const has = [...replies.values()].map(({ bodyLength }) => bodyLength !== undefined);
  const dropped = has.indexOf(true);
  expect(dropped).toBeGreaterThan(2);
  expect(has.slice(dropped)).toEqual(has.slice(dropped).fill(true));
  const before = server.digest;
  expectProblem(await createVenue(server, "k0"), GONE);
  expect((await createVenue(server, "k11")).status).toBe(201);
  expect((await createVenue(server, `k${dropped}`)).status).toBe(201);
  expect(server.digest).toBe(before);
  const text = await server.services.metrics.text();
  expect(text).toContain(`frontrow_reply_bodies_dropped_total ${dropped}\n`);
  expect(text).toContain("frontrow_replies_gone_total 1\n");
  expect(text).toContain(`frontrow_reply_disk_bytes ${storedReplies.disk}\n`);
  expect(text).toContain("frontrow_replies 12\n");
});

test("a layout is repeated while it is the same, and gone once it has changed", async () => {
  const server = new TestServer();
  const first = await putLayout(server, "one");
  expect((await putLayout(server, "one")).text).toBe(first.text);
  const [reply] = server.engine.state.catalog.replies.values();
  expect(reply).toMatchObject({ body: null, layout: { schemaId: server.a.schemaId } });
  const second = await putLayout(server, "two", "y");
  const before = server.digest;
  expectProblem(await putLayout(server, "one"), GONE);
  expect((await putLayout(server, "two", "y")).text).toBe(second.text);
  expect(server.digest).toBe(before);
  expect((await server.delete(`${V2}/schemas/${server.a.schemaId}`)).status).toBe(204);
  expectProblem(await putLayout(server, "two", "y"), GONE);
});

test("a first reply that is too long to keep is answered, and gone for a retry", async () => {
  const server = new TestServer({ replyDisk: 0.001 });
  expect((await createVenue(server, "k")).status).toBe(201);
  const before = server.digest;
  expectProblem(await createVenue(server, "k"), GONE);
  expect(server.digest).toBe(before);
});

test("a new key is refused while keys of the last day use all memory, without effect", async () => {
  const server = new TestServer({ replyMemory: 0.01, hasMetrics: true });
  let stored = 0;
  let reply = await createVenue(server, "k0");
  while (reply.status === 201) reply = await createVenue(server, `k${++stored}`);
  expectProblem(reply, { status: 429, errorCode: "RATE_LIMITED" });
  expect(reply.headers["Retry-After"]).toBe("60");
  expect(stored).toBeGreaterThan(5);
  const { memory } = server.engine.state.catalog.storedReplies;
  expect(memory).toBeGreaterThan(server.services.replies.budget.memoryOfOwner - 500);
  const before = server.digest;
  expectProblem(await createVenue(server, `k${stored}`), {
    status: 429,
    errorCode: "RATE_LIMITED",
  });
  expect(server.digest).toBe(before);
  expect((await createVenue(server, "k0")).status).toBe(201);
  const other = { ...keyed(server, "k"), key: server.b.key };
  expect((await server.post(VENUES, { name: "Odeon" }, other)).status).toBe(201);
  expect((await server.post(VENUES, { name: "Odeon" })).status).toBe(201);
  expect(await server.services.metrics.text()).toContain("frontrow_reply_keys_refused_total 2\n");
  server.world.clock.timeMs += DAY_MS;
  expect((await createVenue(server, "later")).status).toBe(201);
  expect(server.engine.state.catalog.replies.size).toBe(1);
});

test.each([AuditGap.BUSY, AuditGap.UNAVAILABLE])(
  "a retry is told to come again while the trail is %s",
  async (gap) => {
    const audit = { ask: () => Promise.resolve({ gap, extent: null }) };
    const server = new TestServer({ audit });
    await createVenue(server, "k");
    forget(server);
    const before = server.digest;
    const reply = await createVenue(server, "k");
    expectProblem(reply, { status: 503, errorCode: "OVERLOADED" });
    expect(reply.headers["Retry-After"]).toBe("1");
    expect(server.digest).toBe(before);
  },
);

test("a body that the trail has lost is gone", async () => {
  const audit = { ask: () => Promise.resolve({ gap: AuditGap.NO_EVENT, extent: null }) };
  const server = new TestServer({ audit });
  await createVenue(server, "k");
  forget(server);
  expectProblem(await createVenue(server, "k"), GONE);
});

test("recent bodies stay within their memory", () => {
  const bodies = new ReplyBodies({ replyMemory: 1, replyDisk: 1 });
  const body = "x".repeat(1_024 * 1_024);
  for (let i = 0; i < 20; i++) bodies.add(`1:${i % 18}`, body);
  expect(bodies.recentChars).toBe(16 * 1_024 * 1_024);
  expect(bodies.find("1:3")).toBeUndefined();
  expect(bodies.find("1:4")).toBe(body);
  expect(bodies.find("1:1")).toBe(body);
});
