/** Limits of wrong passwords and keys, and of the requests of a key. */
import { expect, test } from "vitest";
import type { OrganizationRow } from "../../../engine/catalog.ts";
import { ActorKind } from "../../../engine/records.ts";
import { RateLimits, Throttle } from "../../../server/auth/limits.ts";
import { actingFor, type Reply } from "../../support/answers/exchange.ts";
import { MANAGEMENT, TestServer, V2 } from "../../support/server.ts";
import { expectProblem } from "../wire/wire.ts";

const MINUTE = 60_000;

test("the fifth failure within a minute closes the name for a minute", () => {
  const throttle = new Throttle(5);
  for (let i = 0; i < 5; i++) {
    expect([i, throttle.admits("a", i)]).toEqual([i, true]);
    throttle.failed("a", i);
  }
  expect(throttle.admits("a", 5)).toBe(false);
  expect(throttle.admits("a", 4 + MINUTE - 1)).toBe(false);
  expect(throttle.admits("a", 4 + MINUTE)).toBe(true);
  expect(throttle.admits("b", 5)).toBe(true);
});

test("four failures per minute never close a name", () => {
  const throttle = new Throttle(5);
  for (let i = 0; i < 20; i++) {
    throttle.failed("a", i * (MINUTE / 4));
    expect([i, throttle.admits("a", i * (MINUTE / 4))]).toEqual([i, true]);
  }
});

test("after the minute the count starts again", () => {
  const throttle = new Throttle(5);
  for (let i = 0; i < 5; i++) throttle.failed("a", 0);
  throttle.failed("a", MINUTE);
  expect(throttle.admits("a", MINUTE)).toBe(true);
});

test("only 100,000 names are kept; the oldest is forgotten first", () => {
  const throttle = new Throttle(5);
  throttle.failed("last", 0);
  for (let i = 0; i < 5; i++) throttle.failed("first", 0);
  for (let i = 0; i < 5; i++) throttle.failed("last", 1);
  for (let i = 0; i < 99_999; i++) throttle.failed(`name ${i}`, 2);
  expect([throttle.admits("first", 3), throttle.admits("last", 3)]).toEqual([true, false]);
});

test("five calls within any minute are taken, and the next one waits for the first to age", () => {
  const throttle = new Throttle(5);
  for (const nowMs of [0, 10_000, 20_000, 30_000, 40_000]) {
    expect(throttle.take("a", nowMs)).toBe(0);
  }
  expect(throttle.take("a", 45_000)).toBe(15_000);
  // A refused call does not count.
  expect([throttle.take("a", 59_999), throttle.take("a", 60_000)]).toEqual([1, 0]);
  expect([throttle.take("a", 60_000), throttle.take("b", 60_000)]).toEqual([10_000, 0]);
});

test("a failure that is withdrawn does not count", () => {
  const throttle = new Throttle(2);
  throttle.failed("a", 0);
  throttle.failed("a", 1);
  throttle.withdraw("a");
  expect(throttle.admits("a", 2)).toBe(true);
  throttle.failed("a", 2);
  expect(throttle.admits("a", 3)).toBe(false);
  throttle.withdraw("unknown");
  expect(throttle.admits("unknown", 3)).toBe(true);
});

const LIMITED = { status: 429, errorCode: "RATE_LIMITED" };
const VENUES = `${V2}/venues/`;

async function statuses(count: number, call: () => Promise<Reply>): Promise<number[]> {
  const all: number[] = [];
  for (let i = 0; i < count; i++) all.push((await call()).status);
  return all;
}

test("without limits nothing is counted", async () => {
  const server = new TestServer();
  expect(new Set(await statuses(50, () => server.get(VENUES)))).toEqual(new Set([200]));
  expect(server.services.rates.count).toBe(0);
});

test("a key takes so many requests per second, each key by itself", async () => {
  const server = new TestServer({ hasMetrics: true });
  const { a, world } = server;
  world.change({ requestsPerSecond: 3 });
  const call = () => server.get(VENUES);
  expect(await statuses(5, call)).toEqual([200, 200, 200, 429, 429]);
  const refused = await call();
  expectProblem(refused, LIMITED);
  expect(refused.headers["Retry-After"]).toBe("1");
  expect(refused.body.detail).toBe("The organization takes 3 requests per second with one key.");
  expect((await server.get(VENUES, actingFor(server.tenantToken, a))).status).toBe(200);
  expect((await server.get(VENUES, server.b)).status).toBe(200);
  world.clock.timeMs += 334;
  expect(await statuses(2, call)).toEqual([200, 429]);
  world.clock.timeMs += 60_000;
  expect(await statuses(4, call)).toEqual([200, 200, 200, 429]);
  const metrics = await server.services.metrics.text();
  expect(metrics).toContain("frontrow_requests_limited_total 5\n");
  expect(metrics).toContain("frontrow_rate_buckets 2\n");
});

test("a refused request is not read, changes nothing, and keeps its key unused", async () => {
  const server = new TestServer();
  server.world.change({ requestsPerSecond: 1 });
  await server.get(VENUES);
  const before = server.digest;
  expectProblem(await server.post(VENUES, "{"), LIMITED);
  const keyed = { key: server.a.key, headers: { "idempotency-key": "k" } };
  expectProblem(await server.post(VENUES, { name: "Odeon" }, keyed), LIMITED);
  expect(server.digest).toBe(before);
  server.world.clock.timeMs += 1_000;
  expect((await server.post(VENUES, { name: "Odeon" }, keyed)).status).toBe(201);
});

test("booking calls of v1 and v2 for one event have a limit of their own", async () => {
  const server = new TestServer();
  const { a, world } = server;
  world.change({ bookingsPerSecond: 2 });
  const other = world.createEvent(a.caller, a.schemaId);
  const lock = (eventId: string) =>
    server.post(server.bookingPath("lock", eventId), { seats: [{ id: a.labels.idOf("A1") }] });
  const v1 = () =>
    server.post(`/api/private/v1.0/booking/lock?id=${a.eventId}`, [{ compositeKey: "x" }]);
  expect((await lock(a.eventId)).status).toBe(200);
  expect((await v1()).status).toBe(200);
  const refused = await lock(a.eventId);
  expectProblem(refused, LIMITED);
  expect(refused.body.detail).toContain("2 booking calls for one event per second");
  expect((await v1()).status).toBe(429);
  expect((await lock(other)).status).toBe(400);
  expect((await server.get(VENUES)).status).toBe(200);
  world.clock.timeMs += 500;
  expect(await statuses(2, v1)).toEqual([200, 429]);
});

test("the settings show the limits that are set, and 0 turns one off", async () => {
  const server = new TestServer();
  const path = `${MANAGEMENT}/organizations/${server.a.id}/settings`;
  const by = { key: server.tenantToken };
  const put = async (body: object) => (await server.put<object>(path, body, by)).body;
  const plain = {
    salesControl: true,
    bookingEnabled: true,
    orphanPrevention: false,
    orphanMode: "off",
    orphanUntilSold: null,
    protectSales: false,
  };
  const limits = { heldPerSession: 8, heldPerEvent: 500, requestsPerSecond: 50 };
  expect(await put({ ...limits, bookingsPerSecond: 20 })).toEqual({
    ...plain,
    ...limits,
    bookingsPerSecond: 20,
  });
  expect(await put({ bookingsPerSecond: 0 })).toEqual({ ...plain, ...limits });
  expect((await server.get(path, by)).body).toEqual({ ...plain, ...limits });
  for (const wrong of [-1, 1.5, 1_000_001, "8"]) {
    expect((await server.put(path, { heldPerSession: wrong }, by)).status).toBe(400);
  }
});

test("a lock beyond the limit of its session is refused; v1 returns what is beyond", async () => {
  const server = new TestServer();
  server.world.change({ heldPerSession: 2 });
  const refused = await server.book("lock", "ann", "A1", "A2", "A3");
  expectProblem(refused, {
    status: 400,
    errorCode: "INVENTORY_NOT_AVAILABLE",
    errors: ["seats[2].id HELD_LIMIT"],
  });
  const keys = ["1", "2", "3"].map((seat) => ({ compositeKey: `Stalls;;A;;${seat}` }));
  const path = `/api/private/v1.0/booking/lock?id=${server.a.eventId}`;
  const { body } = await server.post<object[]>(path, keys);
  expect(body).toMatchObject([keys[2]]);
});

test("the buckets in memory are bounded", () => {
  const rates = new RateLimits();
  const organization = { id: 1, bookingsPerSecond: 1 } as OrganizationRow;
  const actor = { kind: ActorKind.ORGANIZATION, id: 1 };
  const caller = { actor, tenantId: 1, organizationId: 1 };
  for (let i = 0; i < 100_010; i++) rates.booking(organization, caller, `event ${i}`, 0);
  expect(rates.count).toBe(100_000);
});
