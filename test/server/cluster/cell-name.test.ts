/** A data folder starts in the cell that it belongs to, and nowhere else. */
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { ClusterHosts, TOKEN } from "../../support/cluster/cluster-hosts.ts";
import { describeWith } from "../../support/programs.ts";
import { runCli, startServer, temporaryFolder } from "../../support/server-process.ts";

const TIMEOUT_MS = 240_000;

describeWith(["etcd"], "with etcd", () => {
  test(
    "a joined folder and a restored backup are refused for another cell and for a single host",
    async () => {
      const hosts = await ClusterHosts.begin(2);
      const leader = hosts.spawn(0, { args: ["--demo"] });
      await leader.ready(true);
      const folder = hosts.folderOf(1);
      const env = { FRONTROW_PLATFORM_TOKEN: TOKEN };
      const joined = await runCli({ args: ["join", hosts.urlOf(0), folder], env });
      expect(joined.code, joined.stderr).toBe(0);
      const backup = path.join(temporaryFolder(), "backup");
      const copied = await runCli({ args: ["backup", hosts.folderOf(0), backup] });
      expect(copied.code, copied.stderr).toBe(0);
      for (const place of [folder, backup]) {
        expect(readFileSync(path.join(place, "cluster-cell"), "utf8")).toBe("main\n");
        const elsewhere = ["--cluster", "etcd://127.0.0.1:1/mainn"];
        for (const given of [elsewhere, []]) {
          const args = ["serve", "--port", "0", "--data", place, ...given];
          const { code, stderr } = await runCli({ args });
          expect(code, stderr).toBe(78);
          expect(stderr).toContain("it belongs to the cell main of a cluster");
          expect(stderr).toContain(`remove ${path.join(place, "cluster-cell")}`);
        }
      }
      hosts.spawn(1);
      await hosts.untilFollowing(1, 0);
      rmSync(path.join(backup, "cluster-cell"));
      const alone = await startServer({ folder: backup });
      expect((await fetch(`${alone.url}/readyz`)).status).toBe(200);
    },
    TIMEOUT_MS,
  );

  test(
    "a folder of a cell from before it kept the name keeps it from its next start on",
    async () => {
      const hosts = await ClusterHosts.begin(1);
      const name = path.join(hosts.folderOf(0), "cluster-cell");
      const first = hosts.spawn(0);
      await first.ready(false);
      await first.kill("SIGTERM");
      rmSync(name);
      const second = hosts.spawn(0);
      await second.ready(false);
      expect(readFileSync(name, "utf8")).toBe("main\n");
    },
    TIMEOUT_MS,
  );
});
