/** A gateway before the hosts of a cluster: it follows the leader. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import type { Report } from "../../../server/onsale/run.ts";
import { describeWith } from "../../support/programs.ts";
import { ClusterHosts, TOKEN } from "../../support/cluster/cluster-hosts.ts";
import { startGatewayProcess, untilReady } from "../../support/gateway/processes.ts";
import { runCli, sleep, temporaryFolder } from "../../support/server-process.ts";
import { play, soldIn } from "../cells/cells.ts";

const TIMEOUT_MS = 240_000;

describeWith(["etcd"], "with etcd", () => {
  test(
    "a gateway goes on with the host that takes over, with 503 in between",
    async () => {
      const secretFile = path.join(temporaryFolder(), "gateway-secret");
      writeFileSync(secretFile, "6a".repeat(32));
      const args = ["--gateway-secret-file", secretFile, "--trusted-proxy", "127.0.0.1"];
      const hosts = await ClusterHosts.begin(2);
      const leader = hosts.spawn(0, { args: ["--demo", ...args] });
      await leader.ready(true);
      const { key, eventId } = leader;
      const env = { FRONTROW_PLATFORM_TOKEN: TOKEN };
      const joined = await runCli({ args: ["join", hosts.urlOf(0), hosts.folderOf(1)], env });
      expect(joined.code, joined.stderr).toBe(0);
      hosts.spawn(1, { args });
      await hosts.untilFollowing(1, 0);

      // The standby comes first, so the gateway has to look for the leader from the beginning.
      const urls = [1, 0].map((host) => hosts.urlOf(host)).join(",");
      const gateway = await startGatewayProcess(urls, secretFile);
      const flags = ["--event", eventId, "--think-ms", "400", "--buyers", "40"];
      const played = play([gateway.url], key, [...flags, "--connections", "8"]);
      const statuses = new Set<number>();
      const target = `${gateway.url}/api/private/v2.0/events/${eventId}/summary/`;
      const look = async () => {
        const answer = await fetch(target, { headers: { "X-API-Key": key } });
        await answer.arrayBuffer();
        statuses.add(answer.status);
      };
      while ((await soldIn(gateway.url, key, eventId)) < 20) await look();
      expect([...statuses]).toEqual([200]);
      await leader.kill("SIGKILL");
      const follows = async () => {
        await hosts.untilLeading(1);
        await untilReady(gateway.url);
      };
      const state = { isBack: false };
      const back = follows().then(() => (state.isBack = true));
      while (!state.isBack) {
        await look();
        await sleep(10);
      }
      await back;
      expect([...statuses]).toEqual([200, 503]);
      await look();
      const { code, stdout, stderr } = await played;
      expect(code, stderr).toBe(0);
      const report = JSON.parse(stdout) as Report;
      expect(report.checks.filter(({ passed }) => !passed)).toEqual([]);
      expect(report.outages).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
