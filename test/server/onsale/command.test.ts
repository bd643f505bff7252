/** The command line of `frontrow onsale`: text of the report, errors, usage, help. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RetryPolicy, Transport } from "../../../server/onsale/client.ts";
import { Random } from "../../../server/onsale/random.ts";
import { Statistics } from "../../../server/onsale/statistics.ts";
import { layoutFlags, play, serverFlags, startTiny } from "./play.ts";

const ESCAPE = "\u001B";

test("without a terminal, the report has a headline, aligned lines, and no colours", async () => {
  const server = await startTiny({ preventsOrphans: true });
  const flags = [...serverFlags(server), ...layoutFlags(), "--seed", "7"];
  const { exitCode, stdout, stderr } = await play(...flags);
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^event [0-9a-f-]{36}\n$/);
  expect(stdout).toMatch(/^SOLD OUT: 281 tickets in \d+\.\d s, 0 sold twice\n\n/);
  expect(stdout).toMatch(/^event {5}[0-9a-f-]{36}, seed 7$/m);
  expect(stdout).toMatch(/^sold {6}186 seats, 95 places$/m);
  expect(stdout).toMatch(/^tickets {3}[\d,]+ per second, \d+\.\d{3} refusals per ticket$/m);
  expect(stdout.match(/^(lock|best|sale|unlock)(?= )/gm)).toEqual(["lock", "sale", "unlock"]);
  expect(stdout).toMatch(/^errors {4}none$/m);
  expect(stdout).toMatch(/^check: ok {3}every seat bought is SOLD$/m);
  expect(stdout).not.toContain(ESCAPE);
});

test("the report of a failed check names it and counts the errors", async () => {
  const server = await startTiny({ failsEvery: { count: 50, status: 500 } });
  const { exitCode, stdout } = await play(...serverFlags(server), ...layoutFlags());
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/^1 OF 7 CHECKS FAILED: 281 tickets in /);
  expect(stdout).toMatch(/^errors {4}500 × \d+, .*unknown outcomes \(all resolved\) × \d+$/m);
  expect(stdout).toMatch(/^check: FAIL no 5xx answer except 503 \(500 × \d+\)$/m);
});

test("a key that the server refuses ends the run with one error", async () => {
  const server = await startTiny();
  const { exitCode, stderr } = await play("--url", server.url, "--key", "wrong", ...layoutFlags());
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^error: POST .*\/venues\/: 403 ACCESS_DENIED: .*\n$/);
});

test("no server listens at the address → the run ends with the error of the connection", async () => {
  const url = [new URL("http://127.0.0.1:1")];
  const transport = new Transport({ url, key: "k", connections: 1 }, new Statistics());
  onTestFinished(() => transport.destroy());
  const policy = new RetryPolicy(transport, new Random(1));
  policy.allow(0);
  await expect(policy.waitUntilReady()).rejects.toThrow(
    "at last: connect ECONNREFUSED 127.0.0.1:1",
  );
});

test("a usage error has exit code 2 and names the mistake", async () => {
  const event = ["--event", "00000000-0000-4000-8000-000000000001"];
  const key = ["--key", "k"];
  const wrong: [string[], RegExp][] = [
    [[...event], /FRONTROW_KEY/],
    [[...key], /--event.*--layout/],
    [[...key, ...event, ...layoutFlags()], /cannot be used/],
    [[...key, "--layout", join(tmpdir(), "missing.json")], /missing\.json/],
    [[...key, "--event", "7"], /UUID/],
    [[...key, ...event, "--surprise"], /unknown option/],
    [[...key, ...event, "--buyers", "0"], /an integer from 1/],
    [[...key, ...event, "--give-up", "1.5"], /from 0 to 1/],
    [[...key, ...event, "--seats-per-buyer", "5-2"], /1 to 6/],
    [[...key, ...event, "--url", "localhost"], /a URL such as/],
  ];
  for (const [flags, message] of wrong) {
    const { exitCode, stderr } = await play(...flags);
    expect(exitCode, flags.join(" ")).toBe(2);
    expect(stderr).toMatch(message);
  }
});

test("the help explains every flag", async () => {
  const { exitCode, stdout } = await play("--help");
  expect(exitCode).toBe(0);
  for (const line of stdout.split("\n").filter((text) => text.startsWith("  --"))) {
    expect(line).toMatch(/^ {2}--[a-z-]+( <.+>)? {2,}\S/);
  }
  expect(stdout).toMatch(/Exit codes: 0 all checks passed/);
});
