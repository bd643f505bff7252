/** Two hosts of a cluster as an embedder opens them: with the compiled library. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ClusterView, Frontrow } from "../../../persistence/library/library.ts";
import { describeWith } from "../../support/programs.ts";
import { EtcdMembers } from "../../support/cluster/etcd-members.ts";
import { ROOT, sleep, temporaryFolder } from "../../support/server-process.ts";

type Library = typeof import("../../../persistence/library/library.ts");

const TIMEOUT_MS = 240_000;

describeWith(["etcd"], "with etcd", () => {
  test(
    "with the option cluster, open resolves when the host leads; close hands over",
    async () => {
      const library = path.join(ROOT, "dist/persistence/library/library.js");
      const { open, valueOf, NotOfThisCell } = (await import(library)) as Library;
      const root = temporaryFolder();
      const members = await EtcdMembers.start(root);
      onTestFinished(() => members.end());
      const folderOf = (host: string) => path.join(root, host);
      const openHost = (
        host: string,
        more: { founds?: boolean; onStanding?: (view: ClusterView) => void } = {},
      ) => {
        const place = { etcd: members.address(0), cell: "main", host, address: host, ...more };
        const onFailure = (fault: Error) => {
          throw fault;
        };
        return open({ folder: folderOf(host), cluster: place, onFailure });
      };
      const founder = await openHost("a", { founds: true });
      await founder.close();
      fs.cpSync(folderOf("a"), folderOf("b"), { recursive: true });
      fs.rmSync(path.join(folderOf("b"), "lock.sqlite"), { force: true });

      const first = await openHost("a");
      let hasLed = false;
      const views: ClusterView[] = [];
      const second: Promise<Frontrow> = openHost("b", {
        onStanding: (view) => void views.push(view),
      });
      void second.then(() => (hasLed = true));
      const venue = valueOf(await first.venues.create({ name: "Odeon" }));
      while (views[0]?.status().leader?.host !== "a") await sleep(20);
      expect(views[0].status()).toMatchObject({ role: "standby", mayRead: false });
      expect(hasLed).toBe(false);
      await first.close();
      const next = await second;
      expect(views[0].status()).toMatchObject({ role: "leader", mayRead: true });
      expect(valueOf(await next.venues.list())).toMatchObject([venue]);
      await next.close();
      const other = await open({ folder: folderOf("c") });
      await other.close();
      await expect(openHost("c")).rejects.toThrow(NotOfThisCell);
    },
    TIMEOUT_MS,
  );
});
