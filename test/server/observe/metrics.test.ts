/** Metrics: computed once a second, for the bearer of their token; requests by route. */
import { expect, test } from "vitest";
import { family } from "../../../server/observe/exposition.ts";
import { Metrics, Traffic } from "../../../server/observe/metrics.ts";
import { DoorWorld, MINUTE_MS } from "../../support/door.ts";
import { section } from "../../support/layout.ts";
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

test("only the bearer of the metrics token reads them, also when another has just read them", async () => {
  const server = new TestServer({ hasMetrics: true });
  Object.assign(server.services, { metricsToken: "scrape" });
  const read = (authorization: string) =>
    server.call("GET", "/metrics", { headers: { authorization } });
  const [first, second] = [await read("Bearer scrape"), await read("Bearer scrape")];
  expect([first.status, second.text]).toEqual([200, first.text]);
  for (const other of ["", "scrape", "Bearer scrap", "Bearer scrapes"]) {
    expectProblem(await read(other), DENIED);
  }
});

test("doors that go → their counters stay; those of before the start do not count", async () => {
  const world = new DoorWorld([section("Stalls", { A: "1 2 3 4" })]);
  const { engine, caller, eventId } = world;
  let nowMs = 0;
  const inviteAll = () => {
    world.opensAtMs = world.clock.timeMs + MINUTE_MS;
    world.put({ draw: false, perMinute: 6_000, claimSeconds: 5 });
    for (const name of ["ann", "bob"]) world.join(name);
    world.open();
    world.wait(1_000);
    world.enter("ann");
    world.wait(10_000);
  };
  inviteAll();
  const metrics = new Metrics({ engine, ...NO_STORE }, () => (nowMs += 1_000));
  const counters = async () => {
    const text = await metrics.text();
    return ["invited", "no_shows"].map((name) => {
      return Number(new RegExp(`^frontrow_door_${name}_total (\\d+)$`, "m").exec(text)![1]);
    });
  };
  expect(await counters()).toEqual([0, 0]);
  world.must("deleteAdmission", caller, { eventId });
  expect(await counters()).toEqual([0, 0]);
  inviteAll();
  expect(await counters()).toEqual([2, 1]);
  world.must("deleteAdmission", caller, { eventId });
  expect(await counters()).toEqual([2, 1]);
  inviteAll();
  world.must("deleteEvent", caller, { eventId, force: true });
  expect(await counters()).toEqual([4, 2]);
});

const LABELS = 'method="POST",route="/lock"';

test("answers are counted by route and status", () => {
  const traffic = new Traffic();
  for (const status of [200, 200, 400]) traffic.answered(LOCK, status, 1);
  traffic.answered(undefined, 404, 1);
  const lines = traffic.lines();
  expect(lines.filter((line) => line.startsWith("frontrow_http_requests_total"))).toEqual([
    `frontrow_http_requests_total{${LABELS},status="200"} 2`,
    `frontrow_http_requests_total{${LABELS},status="400"} 1`,
    'frontrow_http_requests_total{method="",route="none",status="404"} 1',
  ]);
});

test("a label has no character that disguises others", () => {
  const [, , line] = family("places", "gauge", "Places.", [[{ event: "a\u202eb\u2028" }, 1]]);
  expect(line).toBe(String.raw`places{event="a\\u202eb\\u2028"} 1`);
});

test("a bucket counts all requests up to its duration", () => {
  const traffic = new Traffic();
  for (const durationMs of [0.2, 0.5, 0.6, 30, 5_000, 5_001]) {
    traffic.answered(LOCK, 200, durationMs);
  }
  const lines = traffic.lines();
  const valueOf = (series: string) => {
    const start = `frontrow_http_request_duration_seconds_${series}} `;
    return Number(lines.find((line) => line.startsWith(start))?.slice(start.length));
  };
  const bounds = ["0.0005", "0.001", "0.025", "0.05", "2.5", "5", "+Inf"];
  const counts = bounds.map((bound) => valueOf(`bucket{le="${bound}",${LABELS}`));
  expect(counts).toEqual([2, 3, 3, 4, 4, 5, 6]);
  expect([valueOf(`count{${LABELS}`), valueOf(`sum{${LABELS}`)]).toEqual([6, 10.0323]);
});
