/** Log lines of a host about the member of etcd beside it. */
import { expect, test } from "vitest";
import { EtcdRefusal, type Reply } from "../../../persistence/cluster/etcd.ts";
import { EtcdHealth } from "../../../server/cluster/host.ts";
import { ClusterHosts, until } from "../../support/cluster/cluster-hosts.ts";
import { describeWith } from "../../support/programs.ts";
import type { ServerProcess } from "../../support/server-process.ts";

const TIMEOUT_MS = 240_000;
const SILENT = "etcd does not answer; this host can neither lead nor follow; waiting";
const FOLLOWING = "following; takes requests when it leads";

const DONE: Reply<unknown> = { kind: "done", value: null };
const LOST: Reply<unknown> = { kind: "unknown", reason: "connect ECONNREFUSED" };
const refusedFor = (refusal: EtcdRefusal, reason: string): Reply<unknown> => {
  return { kind: "refused", refusal, reason };
};
const LEASE_GONE = refusedFor(EtcdRefusal.LEASE_GONE, "gone");
const FORBIDDEN = refusedFor(EtcdRefusal.OTHER, "a password");
const FULL = refusedFor(EtcdRefusal.NO_SPACE, "database space exceeded");

/** @returns The logged lines, and a health with `time.nowMs` as its clock. */
function healthOf() {
  const lines: string[] = [];
  const time = { nowMs: 1_000 };
  const line = (given: object, text: string) => void lines.push(`${text} ${JSON.stringify(given)}`);
  const health = new EtcdHealth({ info: line, warn: line }, "db:2379", () => time.nowMs);
  return { health, lines, time };
}

test("a silence of three seconds is logged once, and its end", () => {
  const { health, lines, time } = healthOf();
  for (let i = 0; i < 10; i++) {
    health.heard("range", LOST);
    // A member without a majority says so, and nothing else.
    health.heard("status", DONE);
    time.nowMs += 1_000;
  }
  const place = { etcd: "db:2379", reason: "connect ECONNREFUSED" };
  expect(lines).toEqual([`${SILENT} ${JSON.stringify(place)}`]);
  health.heard("range", DONE);
  health.heard("range", DONE);
  expect(lines.slice(1)).toEqual(['etcd answers {"etcd":"db:2379"}']);
});

test("calls that fail between others, and a pause of this process, are no silence", () => {
  const { health, lines, time } = healthOf();
  for (const reply of [LOST, DONE, LOST, LEASE_GONE, LOST]) {
    health.heard("keepAlive", reply);
    time.nowMs += 2_000;
  }
  health.heard("keepAlive", DONE);
  time.nowMs += 60_000;
  health.heard("keepAlive", LOST);
  expect(lines).toEqual([]);
});

test("a full member is logged once, and its room", () => {
  const { health, lines } = healthOf();
  for (let i = 0; i < 3; i++) {
    health.heard("transact", FULL);
    health.heard("range", DONE);
  }
  expect(lines).toEqual([expect.stringContaining("etcd has no room and takes no change")]);
  health.heard("transact", LOST);
  health.heard("transact", DONE);
  expect(lines.slice(1)).toEqual(['etcd takes changes again {"etcd":"db:2379"}']);
});

test("a member that refuses this host is logged with its reason", () => {
  const { health, lines, time } = healthOf();
  health.heard("range", FORBIDDEN);
  time.nowMs += 3_000;
  health.heard("range", FORBIDDEN);
  expect(lines).toEqual([expect.stringContaining("a password")]);
});

const linesOf = ({ logLines }: ServerProcess, text: string) =>
  logLines.filter(({ msg }) => msg === text);
const said = (server: ServerProcess, text: string) =>
  until(text, () => Promise.resolve(linesOf(server, text).length > 0));

describeWith(["etcd"], "with etcd", () => {
  test(
    "a host says at its start, and later, that etcd is gone, and when it is back",
    async () => {
      const hosts = await ClusterHosts.begin(1);
      const { members } = hosts;
      const first = hosts.spawn(0);
      await first.ready(false);
      expect(linesOf(first, FOLLOWING)).toHaveLength(1);
      await Promise.all([1, 2].map((member) => members.kill(member)));
      await said(first, SILENT);
      for (const member of [1, 2]) members.spawn(member);
      await said(first, "etcd answers");
      await first.kill("SIGKILL");
      await members.end();
      const second = hosts.spawn(0);
      await said(second, SILENT);
      const [line] = linesOf(second, SILENT);
      expect(line).toMatchObject({
        etcd: members.address(0),
        reason: expect.stringContaining("ECONNREFUSED") as string,
      });
      expect(linesOf(second, FOLLOWING)).toEqual([]);
      for (const member of [0, 1, 2]) members.spawn(member);
      await second.ready(false);
      expect(linesOf(second, "etcd answers")).toHaveLength(1);
      expect(linesOf(second, FOLLOWING)).toHaveLength(1);
    },
    TIMEOUT_MS,
  );
});
