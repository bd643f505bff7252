/** The metrics of requests, in the format of Prometheus. */
import { expect, test } from "vitest";
import { Traffic } from "../../../server/observe/metrics.ts";
import { ROUTES, TestServer, V2 } from "../../support/server.ts";
import { DENIED, expectProblem } from "../wire/wire.ts";

const LOCK = ROUTES.find(({ path }) => path.endsWith("v2.0/booking/lock"))!;
const LABELS = `method="POST",route="${V2}/booking/lock"`;
const NAME = "frontrow_http_request_duration_seconds";

test("answers are counted by route and status", () => {
  const traffic = new Traffic();
  for (const status of [200, 200, 400]) traffic.answered(LOCK, status, 1);
  traffic.answered(undefined, 404, 1);
  const lines = traffic.text().split("\n");
  expect(lines.filter((line) => line.startsWith("frontrow_http_requests_total"))).toEqual([
    `frontrow_http_requests_total{${LABELS},status="200"} 2`,
    `frontrow_http_requests_total{${LABELS},status="400"} 1`,
    'frontrow_http_requests_total{method="",route="none",status="404"} 1',
  ]);
});

test("a bucket counts all requests up to its duration", () => {
  const traffic = new Traffic();
  for (const durationMs of [0.2, 0.5, 0.6, 30, 5_000, 5_001]) {
    traffic.answered(LOCK, 200, durationMs);
  }
  const text = traffic.text();
  const atMost = (seconds: string) =>
    Number(new RegExp(`_bucket\\{le="${seconds}",[^}]*\\} (\\d+)`).exec(text)?.[1]);
  expect(["0\\.0005", "0\\.001", "0\\.025", "0\\.05", "2\\.5", "5", "\\+Inf"].map(atMost)).toEqual([
    2, 3, 3, 4, 4, 5, 6,
  ]);
  expect(text).toContain(`${NAME}_count{${LABELS}} 6\n`);
  expect(text).toContain(`${NAME}_sum{${LABELS}} 10.0323\n`);
});

test("every line has the format, and a metric is described before its values", async () => {
  const server = new TestServer({ hasMetrics: true });
  await server.call("GET", "/healthz");
  await server.call("GET", "/nowhere");
  const { text } = await server.call("GET", "/metrics");
  const described = new Set<string>();
  for (const line of text.split("\n")) {
    const [, metric] = /^# TYPE (\w+) (?:counter|gauge|histogram|summary)$/.exec(line) ?? [];
    if (metric !== undefined) {
      expect([metric, described.has(metric)]).toEqual([metric, false]);
      described.add(metric);
    }
    if (line === "" || line.startsWith("#")) continue;
    const value = /^(\w+?)(?:_bucket|_sum|_count)?(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})? \S+$/;
    const [, name = ""] = value.exec(line) ?? [];
    const whole = /^\w+/.exec(line)?.[0] ?? "";
    expect([line, described.has(name) || described.has(whole)]).toEqual([line, true]);
  }
  expect(described).toContain("frontrow_http_requests_total");
  expect(described).toContain(NAME);
});

test("with a metrics token, only its bearer may read the metrics", async () => {
  const server = new TestServer({ hasMetrics: true });
  Object.assign(server.services, { metricsToken: "scrape" });
  const read = (authorization: string) =>
    server.call("GET", "/metrics", { headers: { authorization } });
  expect((await read("Bearer scrape")).status).toBe(200);
  for (const other of ["", "scrape", "Bearer scrap", "Bearer scrapes"]) {
    expectProblem(await read(other), DENIED);
  }
});
