/** Load shedding: answers while too many requests wait. */
import { expect, test } from "vitest";
import { TestServer, V2 } from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

const WAITING_MAX = 3;
const BUSY = { status: 429, errorCode: "RATE_LIMITED" };

/** A server that is as busy as it may be: locks wait for the disk. */
async function busyServer() {
  const server = new TestServer({ waitingMax: WAITING_MAX, hasMetrics: true });
  await server.book("lock", "s", "A1");
  server.journal.withholds = true;
  const locks = ["A2", "A3", "A4"].map((label) => server.book("lock", "s", label));
  const relieve = () => {
    server.journal.withholds = false;
    server.journal.sync();
  };
  return { server, locks, relieve };
}

test("above the bound of waiting requests, a new lock is refused unread", async () => {
  const { server, locks, relieve } = await busyServer();
  const before = server.digest;
  const target = server.bookingPath("lock");
  const refused = await server.post(target, { body: "not JSON" });
  expectProblem(refused, BUSY);
  expect(refused.headers["Retry-After"]).toBe("1");
  expect(server.digest).toBe(before);
  relieve();
  for (const lock of locks) expect((await lock).text).toBe("true");
  expect((await server.book("lock", "s", "B1")).text).toBe("true");
});

test("above the bound of waiting requests, reads are refused", async () => {
  const { server, relieve } = await busyServer();
  expectProblem(await server.get(`${V2}/events/${server.a.eventId}`), BUSY);
  relieve();
  expect((await server.get(`${V2}/events/${server.a.eventId}`)).status).toBe(200);
});

test("above the bound, releases and sales are taken until twice as many wait", async () => {
  const { server, locks, relieve } = await busyServer();
  const sale = server.book("sale", "s", "A1");
  const release = server.book("unlock", "s", "A2");
  const direct = server.book("directsale", null, "B1");
  expectProblem(await server.book("unlock", "s", "A3"), BUSY);
  relieve();
  const answers = await Promise.all([...locks, sale, release, direct]);
  expect(answers.map(({ text }) => text)).toEqual(answers.map(() => "true"));
});

test("a busy server still tells its health, and counts what waits", async () => {
  const { server, relieve } = await busyServer();
  await server.book("lock", "s", "B1");
  expect((await server.get("/healthz")).status).toBe(200);
  const { text } = await server.get("/metrics");
  expect(text).toMatch(/^frontrow_waiting_requests 4$/m);
  expect(text).toMatch(/^frontrow_waiting_requests_refused_total 1$/m);
  relieve();
});

test("refusals of a busy server wait, one for each connection", async () => {
  const { server, relieve } = await busyServer();
  const refused = ["B1", "B2", "B3"].map((label) => server.book("lock", "s", label));
  expect(server.services.waiting.refusals.count).toBe(refused.length);
  for (const refusal of refused) expectProblem(await refusal, BUSY);
  expect(server.services.waiting.refusals.count).toBe(0);
  relieve();
});

test("Retry-After is as long as the request that was answered last had waited", async () => {
  const { server } = await busyServer();
  server.services.waiting.lastMs = 2_100;
  for (let i = 0; i < 2; i++) {
    const refused = await server.book("lock", "s", "B1");
    expect(refused.headers["Retry-After"]).toBe("3");
  }
});
