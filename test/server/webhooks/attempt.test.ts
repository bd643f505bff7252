/** One try of a delivery, against real servers. */
import http from "node:http";
import type { AddressInfo } from "node:net";
import net from "node:net";
import { expect, onTestFinished, test } from "vitest";
import {
  attempt,
  type AttemptResult,
  delayMs,
  retryAfterMs,
} from "../../../server/webhooks/attempt.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const HEADERS = { "webhook-id": "msg_1" };

async function portOf(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

const to = (port: number, allowsPrivate = true, timeMsMax?: number): Promise<AttemptResult> =>
  attempt(
    { url: `http://127.0.0.1:${port}/hook?a=1`, body: "{}", headers: HEADERS, allowsPrivate },
    timeMsMax,
  );

/** A server with one answer. @returns Its port, and its requests. */
async function receiver(answer: (response: http.ServerResponse) => void) {
  const received: { url: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
  const server = http.createServer((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      received.push({ url: request.url!, headers: request.headers, body });
      answer(response);
    });
  });
  onTestFinished(() => server.closeAllConnections());
  return { port: await portOf(server), received };
}

test("a success is any status from 200 to 299, whatever the body is", async () => {
  const { port, received } = await receiver((response) => {
    response.writeHead(204).end();
  });
  expect(await to(port)).toEqual({ status: 204, askedMs: 0, failure: "" });
  expect(received).toMatchObject([
    {
      url: "/hook?a=1",
      body: "{}",
      headers: { "webhook-id": "msg_1", "content-type": "application/json", "content-length": "2" },
    },
  ]);
});

test("an answer without an end is a success as soon as its status is there", async () => {
  const { port } = await receiver((response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write("x".repeat(65_536)), 1);
    response.on("close", () => clearInterval(timer));
  });
  expect(await to(port)).toMatchObject({ status: 200, failure: "" });
});

test("a redirect is a failure and is not followed", async () => {
  const other = await receiver((response) => response.end());
  const location = `http://127.0.0.1:${other.port}/`;
  const { port } = await receiver((response) => response.writeHead(307, { location }).end());
  expect(await to(port)).toEqual({ status: 307, askedMs: 0, failure: "the answer was 307" });
  expect(other.received).toEqual([]);
});

test("Retry-After says how long to wait", async () => {
  const { port } = await receiver((response) => {
    response.writeHead(503, { "Retry-After": "120" }).end();
  });
  expect(await to(port)).toMatchObject({ status: 503, askedMs: 120_000 });
});

test("a try ends after its time, whatever it waits for", async () => {
  const silent = net.createServer(() => {});
  const port = await portOf(silent);
  const startMs = performance.now();
  const result = await to(port, true, 200);
  const failure = "no answer within 0.2 s";
  expect(result).toEqual({ status: null, askedMs: 0, failure, isTimeout: true });
  expect(performance.now() - startMs).toBeLessThan(5_000);
});

test("a private address is not connected to, even if a webhook has it", async () => {
  let connections = 0;
  const port = await portOf(net.createServer(() => (connections += 1)));
  const { status, failure } = await to(port, false);
  expect([status, failure]).toEqual([null, expect.stringContaining("127.0.0.1 is an address of")]);
  expect(connections).toBe(0);
});

test("a refused connection and a name without an address are failures in words", async () => {
  const closed = net.createServer();
  await portOf(closed);
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => void closed.close(resolve));
  expect(await to(port)).toMatchObject({ status: null, failure: expect.stringMatching(/REFUSED/) });
  const url = "https://no-such-host.invalid/";
  const lost = await attempt({ url, body: "", headers: {}, allowsPrivate: false }, 3_000);
  expect(lost.status).toBeNull();
  expect(lost.failure).toMatch(/has no address|no answer within/);
});

test("a receiver that is back after seconds or minutes is tried after seconds or minutes", () => {
  const delays = Array.from({ length: 15 }, (_, i) => delayMs(i + 1, 0, 0));
  const seconds = [2, 5, 15, 30].map((each) => each * 1_000);
  const minutes = [1, 2, 5, 15, 30].map((each) => each * MINUTE_MS);
  const hours = [2, 5, 10, 12, 12, 12].map((each) => each * HOUR_MS);
  expect(delays).toEqual([...seconds, ...minutes, ...hours]);
});

test("a try comes up to a fifth later, never earlier", () => {
  expect(delayMs(2, 0, 0.999)).toBe(5_999);
  expect(delayMs(7, 0, 0.5)).toBe(5.5 * MINUTE_MS);
});

test("a receiver may ask for a longer wait, up to a day, and not for a shorter one", () => {
  expect(delayMs(1, MINUTE_MS, 0)).toBe(MINUTE_MS);
  expect(delayMs(9, MINUTE_MS, 0)).toBe(30 * MINUTE_MS);
  expect(delayMs(1, 1_000 * HOUR_MS, 0)).toBe(24 * HOUR_MS);
});

test("Retry-After is a number of seconds or a time; anything else is ignored", () => {
  const nowMs = Date.parse("2030-05-01T20:00:00Z");
  expect(retryAfterMs("120", nowMs)).toBe(120_000);
  expect(retryAfterMs("Wed, 01 May 2030 20:01:00 GMT", nowMs)).toBe(60_000);
  expect(retryAfterMs("Wed, 01 May 2030 19:00:00 GMT", nowMs)).toBe(0);
  for (const header of [undefined, "", "soon", "-5", "9".repeat(30)]) {
    expect(retryAfterMs(header, nowMs)).toBe(0);
  }
});
