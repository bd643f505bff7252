/** What a standby keeps of its own: snapshots and the audit trail. */
import fs from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { auditedSequence } from "../../../persistence/audit/file.ts";
import { readStore } from "../../../persistence/disk/data-folder.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { describeWith } from "../../support/programs.ts";
import { ClusterHosts, TOKEN, until } from "../../support/cluster/cluster-hosts.ts";
import { runCli } from "../../support/server-process.ts";
import { play } from "../cells/cells.ts";

const TIMEOUT_MS = 240_000;

describeWith(["etcd"], "with etcd", () => {
  test(
    "a standby that has joined makes snapshots and the trail of its own",
    async () => {
      const hosts = await ClusterHosts.begin(3);
      const leader = hosts.spawn(0, { args: ["--demo"] });
      await leader.ready(true);
      const env = { FRONTROW_PLATFORM_TOKEN: TOKEN };
      const small = ["--snapshot-every", "0.02"];
      // The last one gets its copy from a standby.
      for (const [host, peer] of [[1, 0] as const, [2, 1] as const]) {
        const joined = await runCli({
          args: ["join", hosts.urlOf(peer), hosts.folderOf(host)],
          env,
        });
        expect(joined.code, joined.stderr).toBe(0);
        hosts.spawn(host, { args: small });
        await hosts.untilFollowing(host, 0);
      }
      const snapshots = (host: number) => {
        const place = path.join(hosts.folderOf(host), "snapshots");
        return fs.existsSync(place) ? fs.readdirSync(place) : [];
      };
      const before = [1, 2].map(snapshots);
      const flags = ["--event", leader.eventId, "--think-ms", "50", "--buyers", "60"];
      const { code, stderr } = await play([leader.url], leader.key, flags);
      expect(code, stderr).toBe(0);
      const sequence = await hosts.sequenceOf(0, 0);
      for (const host of [1, 2]) {
        await hosts.untilFollowing(host, 0);
        const folder = hosts.folderOf(host);
        const { storeId } = readStore(realDisk, folder);
        await until(`host ${host} has the trail`, () =>
          Promise.resolve((auditedSequence(realDisk, folder, storeId) ?? 0) >= sequence),
        );
        expect(snapshots(host).length).toBeGreaterThan(0);
        expect(snapshots(host)).not.toEqual(before[host - 1]);
      }
    },
    TIMEOUT_MS,
  );
});
