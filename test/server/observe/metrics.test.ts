/** The metrics as a whole: how often they are computed, and for whom. */
import { expect, test } from "vitest";
import { Metrics } from "../../../server/observe/metrics.ts";
import { NO_STORE, TestServer } from "../../support/server.ts";
import { DENIED, expectProblem } from "../wire/wire.ts";

const LOCK = { method: "post", path: "/lock" };

test("the metrics are computed at most once a second, however often they are read", async () => {
  let nowMs = 5_000;
  let reads = 0;
  const log = {
    ...NO_STORE.log,
    get syncs() {
      return (reads += 1);
    },
  };
  const { engine } = new TestServer();
  const metrics = new Metrics({ engine, ...NO_STORE, log }, () => nowMs);
  const countOf = (text: string) => /^frontrow_http_requests_total\{.*\} (\d+)$/m.exec(text)?.[1];
  metrics.answered(LOCK, 200, 1);
  const texts = await Promise.all(Array.from({ length: 50 }, () => metrics.text()));
  metrics.answered(LOCK, 200, 1);
  nowMs = 5_999;
  texts.push(await metrics.text());
  expect([reads, new Set(texts).size, countOf(texts[0]!)]).toEqual([1, 1, "1"]);
  nowMs = 6_000;
  expect([countOf(await metrics.text()), reads]).toEqual(["2", 2]);
});

test("the token is checked for metrics that another caller has just read, too", async () => {
  const server = new TestServer({ hasMetrics: true });
  Object.assign(server.services, { metricsToken: "scrape" });
  const read = (authorization: string) =>
    server.call("GET", "/metrics", { headers: { authorization } });
  const [first, second] = [await read("Bearer scrape"), await read("Bearer scrape")];
  expect([first.status, second.text]).toEqual([200, first.text]);
  expectProblem(await read("Bearer other"), DENIED);
});
