/** Hosts of two builds side by side: the upgrade of a cluster while a player sells. */
import { expect, test } from "vitest";
import type { Report } from "../../../server/onsale/run.ts";
import { describeWith } from "../../support/programs.ts";
import { ClusterHosts, TOKEN } from "../../support/cluster/cluster-hosts.ts";
import { buildNext, NEXT_VERSION, raised } from "../../support/next-build.ts";
import { type Finished, runCli, sleep } from "../../support/server-process.ts";
import { play, soldIn } from "../cells/cells.ts";

const TIMEOUT_MS = 300_000;

/** @returns How often a player whose sale was without a fault had to wait for the server. */
function outagesOf({ code, stdout, stderr }: Finished): number {
  expect(code, stderr).toBe(0);
  const report = JSON.parse(stdout) as Report;
  expect(report.checks.filter(({ passed }) => !passed)).toEqual([]);
  return report.outages;
}

async function versionAt(url: string): Promise<unknown> {
  const document = await (await fetch(`${url}/openapi.json`)).json();
  return (document as { info: { version: string } }).info.version;
}

describeWith(["etcd"], "with etcd", () => {
  test.each([
    ["of the same formats", (formats: string) => formats, false],
    ["with another format of the log", raised, true],
  ])(
    `a cluster is upgraded to a version %s while a player sells: 0 lost, 0 sold twice`,
    async (_, change, isOtherFormat) => {
      const next = { cli: buildNext(change) };
      const hosts = await ClusterHosts.begin(2);
      const [first, second] = [hosts.urlOf(0), hosts.urlOf(1)];
      const founder = hosts.spawn(0, { args: ["--demo"] });
      await founder.ready(true);
      const env = { FRONTROW_PLATFORM_TOKEN: TOKEN };
      const joined = await runCli({ args: ["join", first, hosts.folderOf(1)], env });
      expect(joined.code, joined.stderr).toBe(0);
      const standby = hosts.spawn(1);
      await hosts.untilFollowing(1, 0);

      const { key, eventId } = founder;
      // Two players in turn, with few buyers: more would have sold everything before the end.
      const sell = async (seed: string, seconds: string) => {
        const before = await soldIn(first, key, eventId);
        const flags = ["--event", eventId, "--think-ms", "3000", "--buyers", "15", "--seed", seed];
        const limits = ["--connections", "8", "--seconds", seconds];
        const played = play([first, second], key, [...flags, ...limits]);
        while ((await soldIn(first, key, eventId)) < before + 20) await sleep(20);
        return { played };
      };
      const { played: playedFirst } = await sell("1", "10");
      // The standby first.
      expect((await standby.kill("SIGTERM")).code).toBe(0);
      const upgraded = hosts.spawn(1, next);
      await hosts.untilFollowing(1, 0);
      outagesOf(await playedFirst);
      // The old leader hands over.
      const { played } = await sell("2", "20");
      expect(await versionAt(first)).not.toBe(NEXT_VERSION);
      expect((await founder.kill("SIGTERM")).code).toBe(0);
      await hosts.untilLeading(1);
      expect(await versionAt(second)).toBe(NEXT_VERSION);
      // A host of the old version follows the new one only if it knows the formats.
      const late = hosts.spawn(0);
      if (isOtherFormat) {
        expect((await late.exited).code).toBe(78);
        expect(late.stderr).toMatch(
          /format of this data folder is version \d+, and this Frontrow reads/,
        );
      } else {
        await hosts.untilFollowing(0, 1);
        expect((await late.kill("SIGTERM")).code).toBe(0);
      }
      hosts.spawn(0, next);
      await hosts.untilFollowing(0, 1);

      expect(outagesOf(await played)).toBeGreaterThan(0);
      await hosts.untilFollowing(0, 1);
      expect((await upgraded.kill("SIGTERM")).code).toBe(0);
      await hosts.untilLeading(0);
      const compared = await runCli({ args: ["compare", hosts.folderOf(0), hosts.folderOf(1)] });
      if (!isOtherFormat) expect(compared.stdout).toContain("they are the same up to record");
    },
    TIMEOUT_MS,
  );
});
