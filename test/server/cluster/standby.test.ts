/** A standby's own files: snapshots and the audit trail. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { auditedSequence } from "../../../persistence/history/archive.ts";
import type { ClusterStatus } from "../../../persistence/cluster/options.ts";
import { readStore } from "../../../persistence/disk/data-folder.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { Copies } from "../../../server/cluster/copies.ts";
import { StandbyFront } from "../../../server/cluster/host.ts";
import { listen } from "../../../server/http/server.ts";
import { STANDBY_STATUS } from "../../support/cluster-status.ts";
import { ClusterHosts, TOKEN, until } from "../../support/cluster/cluster-hosts.ts";
import { describeWith } from "../../support/programs.ts";
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

async function started(
  status: ClusterStatus = STANDBY_STATUS,
): Promise<(target: string, body?: string) => Promise<Response>> {
  const mayScrape = (authorization: string) => authorization === "Bearer right";
  const front = new StandbyFront(() => status, mayScrape, new Copies("nowhere", "right"));
  const http = await listen(front, {
    host: "127.0.0.1",
    port: 0,
    connectionsMax: 10,
    trustedProxies: [],
    onBroken: (error) => {
      throw error;
    },
    onAnswer: undefined,
  });
  onTestFinished(() => http.close());
  const headers = { Authorization: "Bearer right" };
  return (target, body) => {
    const method = body === undefined ? "GET" : "POST";
    return fetch(`http://127.0.0.1:${http.port}${target}`, { method, headers, body: body ?? null });
  };
}

test.each(["/readyz", "/api/private/v2.0/events/", "/console"])(
  "a standby refuses %s, and names the leader",
  async (target) => {
    const get = await started();
    const response = await get(target);
    expect(response.status).toBe(503);
    expect(response.headers.get("x-frontrow-leader")).toBe("http://10.0.0.1:8080");
    expect(response.headers.get("retry-after")).toBe("1");
    expect(await response.json()).toMatchObject({
      errorCode: "NOT_LEADER",
      detail: "This host is a standby; the leader is http://10.0.0.1:8080.",
    });
  },
);

test("a standby refuses a request with a body as it refuses any other", async () => {
  const send = await started();
  const response = await send("/api/private/v2.0/booking/lock", '{"sessionId":"a"}');
  expect(response.status).toBe(503);
  expect(await response.json()).toMatchObject({ errorCode: "NOT_LEADER" });
});

test.each(["/x/..%2fmetrics", "/x%5cy", "//x/"])(
  "a standby refuses %s as its leader does",
  async (target) => {
    const get = await started();
    const response = await get(target);
    expect(response.status).toBe(400);
    expect(response.headers.get("x-frontrow-leader")).toBe(null);
    expect(await response.json()).toMatchObject({ errorCode: "MALFORMED_REQUEST" });
  },
);

test("without a leader a standby names none", async () => {
  const get = await started({ ...STANDBY_STATUS, leader: null });
  const response = await get("/readyz");
  expect([response.status, response.headers.get("x-frontrow-leader")]).toEqual([503, null]);
});

test("a standby answers its health, and the metrics of the cluster", async () => {
  const get = await started();
  expect((await get("/healthz")).status).toBe(200);
  const text = await (await get("/metrics")).text();
  expect(text).toContain('frontrow_cluster_role{role="standby"} 1\n');
  expect(text).toContain("frontrow_cluster_lag_seconds 1.5\n");
  expect(text).toContain("frontrow_cluster_etcd_has_leader 1\n");
  expect(text).toMatch(/^frontrow_cluster_host_sequence\{host="a",.*role="leader"\} 12$/m);
});
