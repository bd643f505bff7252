/** The metrics of a real server: their names and types, and what they count. */
import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { version } from "../../../server/program.ts";
import { describeWith } from "../../support/programs.ts";
import { readFamilies } from "./exposition.ts";
import { type ServerProcess, startServer, V2 } from "../../support/server-process.ts";

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

test("the metrics are valid text, and count a lock and a refusal", async () => {
  const server = await used();
  const families = readFamilies(await textOf(server));
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

test.each([
  "no_type 1",
  "# TYPE a gauge\na 1",
  "# HELP a A.\n# TYPE a gauge\na 1\na 1",
  "# HELP a A.\n# TYPE a gauge\n# HELP a A.\n# TYPE a gauge",
  '# HELP a A.\n# TYPE a gauge\na{b="c} 1',
  "# HELP a A.\n# TYPE a gauge\na one",
])("the strict reader of this test refuses %j", (text) => {
  expect(() => readFamilies(text)).toThrow(Error);
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
