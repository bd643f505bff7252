/** Trials of the benchmarks of several hosts and of sockets. */
import { expect, test } from "vitest";
import { isInstalled } from "../../bench/harness/processes.ts";
import { longestLag } from "../../bench/hosts/lag.ts";
import { HostRole } from "../../persistence/cluster/options.ts";
import { TOY, trials } from "./trial.ts";

const { result, run } = trials();

test("cluster compares the leader of a cluster with a single host", async () => {
  const printed = await run("hosts/cluster.js", ["--seconds", "0.2", "--rounds", "1"]);
  if (!isInstalled("etcd")) return expect(printed).toContain("apt-get install etcd-server");
  expect(printed).toMatch(/^HTTP, cluster +\d/m);
  expect(printed).toMatch(/^cluster ÷ decides nothing, HTTP, \d+ connections: \d/m);
  expect(printed).toMatch(/^socket, 64 × 64, ÷ single host +≥ 0\.3 /m);
  expect(printed).toMatch(/^lag of a standby at full load, s +≤ 1 /m);
});

test("the lag of a standby is how long ago the leader had its records", () => {
  const at = (role: HostRole, seconds: number, sequence: number) => {
    const place = { number: 1, offset: 0, sequence };
    return { host: role, address: "", role, ...place, atMs: 1_000 * seconds };
  };
  const leader = [0, 1, 2, 3].map((second) => at(HostRole.LEADER, second, 100 * second));
  const lagAt = (seconds: number, sequence: number) =>
    longestLag([...leader, at(HostRole.STANDBY, seconds, sequence)]);
  expect(lagAt(2.5, 150)).toBe(1_000);
  expect(lagAt(2.5, 225)).toBe(250);
  expect(lagAt(2.2, 225)).toBe(0);
  // The load has just begun, or the leader has said nothing since.
  expect([lagAt(1.5, 50), lagAt(4, 300)]).toEqual([null, null]);
});

test("socket compares both subprotocols, and says what it could not measure", async () => {
  const printed = await run("socket.js", ["--seconds", "0.2", "--rounds", "1"]);
  expect(printed).toMatch(/^socket binary +2 +4 /m);
  expect(printed).toMatch(/^socket JSON +2 +4 /m);
  expect(printed).toMatch(/^decides nothing +2 +4 /m);
  expect(printed).toMatch(/^4 commands +[\d.]+ +[\d.]+$/m);
  expect(printed).toMatch(/^JSON ÷ binary, 2 × 4 +≥ 0.65 /m);
  if (!isInstalled("redis-server")) {
    expect(printed).toMatch(/^÷ Redis always, 2 × 4 .* not measured$/m);
  }
  const { rows } = await result("socket");
  for (const { measured } of rows as { measured: { perSecond: number }[] }[]) {
    expect(measured[0]!.perSecond).toBeGreaterThan(0);
  }
});

test("gateway compares locks through a gateway with locks straight to the engine", async () => {
  const printed = await run("hosts/gateway.js", TOY);
  expect(printed).toMatch(/^straight to the engine +[\d,]+ /m);
  expect(printed).toMatch(/^through +[\d,]+ /m);
  expect(printed).toMatch(/^command socket, one connection +[\d,]+ /m);
  expect(printed).toMatch(/^lock through a gateway ÷ without +≥ 0\.7 /m);
});
