/** The metrics of a real server: their names and types, and what they count. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { version } from "../../../server/program.ts";
import { describeWith } from "../../support/programs.ts";
import { namingFaults, readFamilies } from "./exposition.ts";
import { type ServerProcess, startServer } from "../../support/server-process.ts";

const V2 = "/api/private/v2.0";

async function textOf(server: ServerProcess): Promise<string> {
  return (await fetch(`${server.url}/metrics`)).text();
}

/** A demo on which two seats were locked, and a lock was refused. */
async function used(): Promise<ServerProcess> {
  const server = await startServer({ args: ["--demo"] });
  const lock = `${V2}/booking/lock?eventId=${server.eventId}`;
  const layout = await server.request("GET", `${V2}/events/${server.eventId}/seats/?size=2`);
  const { content } = (await layout.json()) as { readonly content: readonly { seatId: number }[] };
  const body = { seats: content.map(({ seatId }) => ({ id: seatId })) };
  expect((await server.request("POST", lock, body)).status).toBe(200);
  expect((await server.request("POST", lock, body)).status).toBe(400);
  return server;
}

test("the metrics have valid names, units, types and text, and count what happened", async () => {
  const server = await used();
  const families = readFamilies(await textOf(server));
  expect(namingFaults(families)).toEqual([]);
  const value = (series: string) => families.get(/^\w+/.exec(series)![0])?.samples.get(series);
  const node = process.versions.node;
  expect(value(`frontrow_build_info{version="${version}",node="${node}"}`)).toBe(1);
  expect(value('frontrow_refusals_total{code="INVENTORY_NOT_AVAILABLE"}')).toBe(1);
  expect(value('frontrow_refusals_total{code="RATE_LIMITED"}')).toBe(0);
  const places = (state: string) =>
    value(`frontrow_event_places{event="${server.eventId}",state="${state}"}`);
  expect(["active", "locked", "sold", "blocked"].map(places)).toEqual([344, 2, 0, 0]);
  expect(value('frontrow_event_places{event="other",state="active"}')).toBe(0);
  for (const name of ["sync", "commit"]) {
    const times = families.get(`frontrow_log_${name}_duration_seconds`)!.samples;
    const count = times.get(`frontrow_log_${name}_duration_seconds_count`)!;
    expect(count).toBeGreaterThanOrEqual(1);
    expect(times.get(`frontrow_log_${name}_duration_seconds_bucket{le="+Inf"}`)).toBe(count);
    expect(times.get(`frontrow_log_${name}_duration_seconds_sum`)).toBeGreaterThan(0);
  }
});

test("a wrong name, unit, type, label or repetition is found", () => {
  const faultsOf = (name: string, type: string, line = `${name} 1`) =>
    namingFaults(readFamilies(`# HELP ${name} A thing.\n# TYPE ${name} ${type}\n${line}\n`)).length;
  expect(faultsOf("things_total", "counter")).toBe(0);
  expect(faultsOf("things", "counter")).toBe(1);
  expect(faultsOf("things_total", "gauge")).toBe(1);
  expect(faultsOf("pause_seconds_max", "gauge")).toBe(1);
  expect(faultsOf("pause_ms", "gauge")).toBe(1);
  expect(faultsOf("openFiles", "gauge")).toBe(1);
  const bad = [
    "no_type 1",
    "# TYPE a gauge\na 1",
    "# HELP a A.\n# TYPE a gauge\na 1\na 1",
    "# HELP a A.\n# TYPE a gauge\n# HELP a A.\n# TYPE a gauge",
    '# HELP a A.\n# TYPE a gauge\na{b="c} 1',
    "# HELP a A.\n# TYPE a gauge\na one",
  ];
  for (const text of bad) expect(() => readFamilies(text), text).toThrow(Error);
});

describeWith(["promtool"], "promtool", () => {
  const lint = (input: string) => {
    const { status, stdout, stderr } = spawnSync("promtool", ["check", "metrics"], {
      input,
      encoding: "utf8",
    });
    return { status, output: stdout + stderr };
  };

  test("promtool finds no mistake in the metrics of a server", async () => {
    const text = await textOf(await used());
    expect(lint(text)).toEqual({ status: 0, output: "" });
    const wrong = lint(text.replaceAll("frontrow_log_bytes_total", "frontrow_log_bytes"));
    expect(wrong.output).toContain(
      'frontrow_log_bytes counter metrics should have "_total" suffix',
    );
  });
});
