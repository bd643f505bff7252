/** `frontrow status`: what it computes, how it looks, and how it ends. */
import { spawn } from "node:child_process";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { clusterLines as clusterMetrics } from "../../../server/cluster/host.ts";
import {
  bytesText,
  clusterLines,
  durationText,
  Interval,
  latencyText,
  numberText,
  Scrape,
  screenOf,
} from "../../../server/tools/status.ts";
import { STANDBY_STATUS } from "../../support/cluster-status.ts";
import { CLI, collect, exitOf, runCli, startServer } from "../../support/server-process.ts";

const LOCK = 'method="POST",route="/api/private/v2.0/booking/lock"';
const HEALTH = 'method="GET",route="/healthz"';
const DURATION = "frontrow_http_request_duration_seconds_bucket";
const EVENTS = ["Half sold", 'A \\"long\\" name that ends beyond the column of the names', "Empty"];

/** A reading; between two of them 1,000 locks happened, and 100 refusals. */
function reading(step: 0 | 1): Scrape {
  const places = EVENTS.flatMap((name, i) => [
    `frontrow_event_info{event="${i}",name="${name}",organization="3"} 1`,
    `frontrow_event_places{event="${i}",state="active"} ${50 * i}`,
    `frontrow_event_places{event="${i}",state="sold"} ${i === 2 ? 0 : 50}`,
    `frontrow_event_places{event="${i}",state="locked"} ${i === 1 ? 10 : 0}`,
  ]);
  const lines = [
    "# HELP frontrow_sequence Ignored.",
    'frontrow_build_info{version="1.2.3",node="20.20.2"} 1',
    "process_start_time_seconds 1000",
    "frontrow_events 30000",
    `frontrow_sequence ${1_000_000 + 1_000 * step}`,
    "frontrow_log_writable 1",
    "frontrow_audit_usable 0",
    "frontrow_snapshot_last_success_timestamp_seconds 4000",
    "frontrow_snapshot_bytes 1536",
    'frontrow_snapshots_total{result="made"} 3',
    'frontrow_snapshots_total{result="failed"} 0',
    `frontrow_http_requests_total{${LOCK},status="200"} ${900 * step}`,
    `frontrow_http_requests_total{${LOCK},status="400"} ${100 * step}`,
    `frontrow_http_requests_total{${HEALTH},status="200"} ${2 * step}`,
    `frontrow_refusals_total{code="INVENTORY_NOT_AVAILABLE"} ${100 * step}`,
    'frontrow_refusals_total{code="RATE_LIMITED"} 7',
    `${DURATION}{le="0.001",${LOCK}} ${500 * step}`,
    `${DURATION}{le="0.01",${LOCK}} ${1_000 * step}`,
    `${DURATION}{le="+Inf",${LOCK}} ${1_000 * step}`,
    ...places,
  ];
  return new Scrape(lines.join("\n"), 2_000 * step);
}

function screen(columns: number): string {
  const interval = new Interval(reading(0), reading(1));
  const shown = { url: "http://127.0.0.1:8080", isReady: true, interval, nowMs: 4_600_000 };
  return screenOf(shown, { columns, paint: (_, text) => text });
}

test("the screen has rates, latencies, refusals, the store, and the fullest events first", () => {
  const lines = screen(80).split("\n");
  const line = (start: string) => lines.find((one) => one.trimStart().startsWith(start));
  expect(lines[0]).toBe("frontrow 1.2.3  http://127.0.0.1:8080  READY  up 1 h 0 min  Node 20.20.2");
  expect(line("bookings")).toMatch(/^ {2}bookings +500\/s +1\.0 ms +9\.8 ms$/);
  expect(line("service")).toMatch(/ 1\/s +- +-$/);
  expect(line("refused")).toMatch(/ 50\/s$/);
  expect(line("INVENTORY_NOT_AVAILABLE")).toMatch(/ 50\/s$/);
  expect(line("RATE_LIMITED")).toBeUndefined();
  expect(line("log ")).toContain("record 1,001,000");
  expect(line("snapshot")).toBe("  snapshot   10 min ago, 1.5 KiB");
  expect(line("trail")).toBe("  trail      0 records to archive, CANNOT BE WRITTEN");
  const events = lines.slice(lines.findIndex((one) => one.startsWith("EVENTS")) + 1);
  expect(events.map((event) => /\d+ %/.exec(event)?.[0])).toEqual([
    "100 %",
    "54 %",
    "0 %",
    undefined,
    undefined,
  ]);
  expect(events[1]).toContain('A "long" name that');
  expect(events[3]).toBe("  and 29,997 more");
});

test("a host of a cluster shows its role, the leader, the other hosts and etcd", () => {
  const lines = [
    'frontrow_cluster_info{cell="main",host="b",leader="a",leader_address="http://a:80"} 1',
    'frontrow_cluster_role{role="standby"} 1',
    'frontrow_cluster_role{role="leader"} 0',
    'frontrow_cluster_host_sequence{host="a",address="http://a:80",role="leader"} 1200',
    'frontrow_cluster_host_sequence{host="b",address="http://b:80",role="standby"} 1100',
    "frontrow_cluster_lag_seconds 3",
    "frontrow_cluster_etcd_up 1",
    "frontrow_cluster_etcd_has_leader 0",
    "frontrow_cluster_etcd_database_bytes 2048",
    "frontrow_cluster_retained_bytes 1024",
  ];
  expect(clusterLines(new Scrape(lines.join("\n"), 0), (_, text) => text)).toEqual([
    "",
    "CLUSTER",
    "  cell       main, this is b, standby",
    "  leader     a, http://a:80",
    "  a          leader, record 1,200",
    "  b          standby, record 1,100, 100 behind",
    "  lag        3 s",
    "  etcd       2 KiB, HAS NO LEADER",
    "  in etcd    1 KiB",
  ]);
  expect(clusterLines(reading(0), (_, text) => text)).toEqual([]);
});

/** The screen of what answers with these metrics, and with 503 at `/readyz` unless it is ready. */
function screenWith(lines: readonly string[], isReady: boolean): string[] {
  const [before, after] = [0, 2_000].map((atMs) => new Scrape(lines.join("\n"), atMs));
  const shown = { url: "http://b", isReady, interval: new Interval(before!, after!) };
  const paper = { columns: 80, paint: (_: string, text: string) => text };
  return screenOf({ ...shown, nowMs: 4_600_000 }, paper).split("\n");
}

test("a standby shows that it is one, and its cluster, and nothing that it does not have", () => {
  const metrics = [...clusterMetrics(STANDBY_STATUS), "process_start_time_seconds 1000"];
  expect(screenWith(metrics, false)).toEqual([
    "frontrow  http://b  STANDBY  up 1 h 0 min",
    "",
    "CLUSTER",
    "  cell       main, this is b, standby",
    "  leader     a, http://10.0.0.1:8080",
    "  a          leader, record 12",
    "  lag        1 s",
    "  etcd       20 KiB, has a leader",
    "",
  ]);
});

test("a gateway shows that it is one, its requests and its link, and no store", () => {
  const metrics = [
    'frontrow_build_info{version="1.2.3",node="20.20.2"} 1',
    "process_start_time_seconds 1000",
    "process_resident_memory_bytes 1048576",
    "nodejs_heap_size_used_bytes 1024",
    "frontrow_gateway_link_open 1",
    "frontrow_gateway_waiting_requests 2",
    "frontrow_gateway_passing_requests 1",
    "frontrow_gateway_http_connections 40",
    "frontrow_gateway_bookings_lost_total 3",
  ];
  const lines = screenWith(metrics, true);
  expect(lines[0]).toBe("frontrow gateway 1.2.3  http://b  READY  up 1 h 0 min  Node 20.20.2");
  expect(lines.slice(3)).toEqual([
    "  bookings               0/s           -           -",
    "  passed on              0/s",
    "  3 in flight, 40 connections",
    "",
    "ENGINE",
    "  link       open",
    "  lost       3 bookings without an answer",
    "  memory     1 MiB in all, 1 KiB heap",
    "",
  ]);
  const lost = metrics.map((line) => line.replace("link_open 1", "link_open 0"));
  expect(screenWith(lost, false)).toContain("  link       NOT OPEN");
});

test.each([80, 100, 120])("no line is wider than a terminal of %i columns", (columns) => {
  for (const line of screen(columns).split("\n")) {
    expect(line.length, line).toBeLessThanOrEqual(columns);
  }
});

test("numbers are short, and have the units that people use", () => {
  expect([0, 0.25, 9, 12.6, 1_234_567].map(numberText)).toEqual([
    "0",
    "0.3",
    "9",
    "13",
    "1,234,567",
  ]);
  expect([0, 1_023, 1_536, 5 * 1_024 ** 3].map(bytesText)).toEqual([
    "0 B",
    "1,023 B",
    "1.5 KiB",
    "5 GiB",
  ]);
  expect([null, 0.0012, 2.5].map(latencyText)).toEqual(["-", "1.2 ms", "2.5 s"]);
  expect([5, 61, 3_700, 90_000].map(durationText)).toEqual([
    "5 s",
    "1 min",
    "1 h 1 min",
    "1 d 1 h",
  ]);
});

test("the command shows a server as plain text, with its token, and ends with 0", async () => {
  const env = { FRONTROW_METRICS_TOKEN: "of-this-test" };
  const server = await startServer({ args: ["--demo"], env });
  const args = ["status", "--url", `${server.url}/`];
  const denied = await runCli({ args });
  expect([denied.code, denied.stdout]).toEqual([1, ""]);
  expect(denied.stderr).toBe(`frontrow: ${server.url}/metrics needs the right --token\n`);
  const { code, stdout, stderr } = await runCli({ args, env });
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toMatch(/^frontrow \S+ {2}http\S+ {2}READY {2}up \d+ s {2}Node \d/);
  expect(stdout).toContain("Opening night");
  expect(stdout).toBe(stripVTControlCharacters(stdout));
});

test("a server that does not answer is an error, and so is an unknown option", async () => {
  const gone = await runCli({ args: ["status", "--url", "http://127.0.0.1:1"] });
  expect([gone.code, gone.stdout]).toEqual([1, ""]);
  expect(gone.stderr).toMatch(/^frontrow: no answer from http:\/\/127\.0\.0\.1:1\/metrics: .+\n$/);
  expect((await runCli({ args: ["status", "--nothing"] })).code).toBe(2);
  const help = await runCli({ args: ["status", "--help"] });
  for (const word of ["--url", "--token", "--watch", "FRONTROW_METRICS_TOKEN"]) {
    expect(help.stdout).toContain(word);
  }
});

test("on a terminal, --watch shows the screen again and again until Ctrl-C", async () => {
  const server = await startServer();
  const command = [process.execPath, CLI, "status", "--watch", "--url", server.url].join(" ");
  const child = spawn("sh", ["-c", 'script --quiet --return --command "$COMMAND" /dev/null'], {
    env: { PATH: process.env["PATH"], TERM: "xterm", COMMAND: `timeout -s INT 9 ${command}` },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const output = collect(child);
  await exitOf(child);
  expect(output.stdout.split("\u001B[H\u001B[J").length).toBeGreaterThanOrEqual(3);
  expect(stripVTControlCharacters(output.stdout)).toContain("READY");
});
