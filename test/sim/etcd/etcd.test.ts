/** The model of etcd behaves as the real one, and as the documents say under faults. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { Answer, Etcd, Put, Reply } from "../../../persistence/cluster/etcd.ts";
import { GrpcEtcd } from "../../../persistence/cluster/grpc-etcd.ts";
import { describeWith } from "../../support/programs.ts";
import { folderOf } from "../../persistence/store/store-fixture.ts";
import { asked, EtcdMembers } from "../../support/cluster/etcd-members.ts";
import { sleep } from "../../support/server-process.ts";
import { Timeline } from "../timeline.ts";
import { Random } from "../workload/random.ts";
import { describeEtcd, type EtcdRig } from "./etcd.suite.ts";
import { EtcdCluster } from "./etcd-cluster.ts";
import { SimEtcd } from "./sim-etcd.ts";
import { SimProcess } from "./sim-process.ts";

const RATES = [1, 1, 1];
const DEADLINE_MS = 600;
const LEASE_MS = 2_000;

class ModelRig implements EtcdRig {
  readonly timeline = new Timeline();
  readonly cluster: EtcdCluster;
  readonly etcd: Etcd;

  constructor(seed = 1, hasOldLeases = false) {
    const { timeline } = this;
    const random = Random.stream(seed, "etcd");
    const options = { timeline, random, rates: RATES, slowOnce: Infinity, hasOldLeases };
    this.cluster = new EtcdCluster(options);
    this.etcd = this.at(0);
  }

  /** The leading member. */
  get leader(): number {
    return this.cluster.leader!;
  }

  /** A host beside a member. */
  at(member: number): Etcd {
    const host = new SimProcess(`host${member}`, this.timeline, 1);
    return new SimEtcd({ cluster: this.cluster, member, host, isLinked: () => true });
  }

  async ask<Value>(call: (answer: Answer<Value>) => void): Promise<Reply<Value>> {
    const given: Reply<Value>[] = [];
    call((reply) => given.push(reply));
    while (given.length === 0) expect(this.timeline.step()).toBe(true);
    return Promise.resolve(given[0]!);
  }

  async wait(ms: number): Promise<void> {
    const untilUs = this.timeline.nowUs + ms * 1_000;
    this.timeline.later(ms, () => {});
    while (this.timeline.nowUs < untilUs) this.timeline.step();
    return Promise.resolve();
  }

  /** Cuts a member off from both others, or restores its connections. */
  link(member: number, isUp: boolean): void {
    for (const other of [0, 1, 2]) if (other !== member) this.cluster.link(member, other, isUp);
  }

  async put(member: number, key: string, leaseId: string | null = null): Promise<string> {
    const puts: Put[] = [{ key, value: Buffer.from(key), leaseId }];
    const change = { compares: [], puts, deletes: [], otherwiseGet: [] };
    const etcd = this.at(member);
    return (await this.ask((answer) => etcd.transact(change, DEADLINE_MS, answer))).kind;
  }

  /** The keys, as a linearizable read shows them; null without an answer. */
  async keys(member: number): Promise<string[] | null> {
    const range = { from: "a", to: "z", limit: 0 };
    const etcd = this.at(member);
    const reply = await this.ask<{ pairs: readonly { key: string }[] }>((answer) => {
      etcd.range(range, DEADLINE_MS, answer);
    });
    return reply.kind === "done" ? reply.value.pairs.map(({ key }) => key) : null;
  }

  async lease(member: number): Promise<string> {
    const etcd = this.at(member);
    const reply = await this.ask<{ leaseId: string }>((answer) => {
      etcd.grant(LEASE_MS, DEADLINE_MS, answer);
    });
    if (reply.kind === "done") return reply.value.leaseId;
    throw new Error(reply.reason);
  }

  async renew(member: number, leaseId: string): Promise<string> {
    const etcd = this.at(member);
    return (await this.ask((answer) => etcd.keepAlive(leaseId, DEADLINE_MS, answer))).kind;
  }
}

/** Three members of the real etcd start slowly on a busy machine. */
vi.setConfig({ testTimeout: 120_000 });

describe("the model", () => {
  describeEtcd(test, () => Promise.resolve(new ModelRig()));
});

describeWith(["etcd"], "the real etcd", () => {
  describeEtcd(test, async () => {
    const members = await EtcdMembers.start(folderOf());
    onTestFinished(() => members.end());
    const etcd = new GrpcEtcd(members.address(0));
    onTestFinished(() => etcd.close());
    return { etcd, ask: asked, wait: sleep };
  });
});

describe("the model under faults", () => {
  test("a member that is cut off answers nothing that needs a majority", async () => {
    const rig = new ModelRig();
    expect(await rig.put(0, "a")).toBe("done");
    rig.link(0, false);
    expect(await rig.put(0, "b")).toBe("unknown");
    expect(await rig.keys(0)).toBe(null);
    await rig.wait(3_000);
    expect(await rig.put(1, "c")).toBe("done");
    expect(await rig.keys(2)).toEqual(["a", "c"]);
    expect(await rig.keys(0)).toBe(null);
  });

  test("a change whose leader is lost takes effect or not, and that remains so", async () => {
    const found = new Set<string>();
    for (let seed = 1; seed <= 60; seed++) {
      const rig = new ModelRig(seed);
      const { leader } = rig;
      rig.timeline.after(300 + 40 * seed, () => rig.cluster.kill(leader));
      const kind = await rig.put(leader, "a");
      await rig.wait(3_000);
      rig.cluster.start(leader);
      await rig.wait(500);
      const keys = await rig.keys((leader + 1) % 3);
      if (kind === "done") expect(keys).toEqual(["a"]);
      expect(await rig.keys(leader)).toEqual(keys);
      found.add(`${kind}, then ${keys!.length} keys`);
    }
    const all = ["done, then 1 keys", "unknown, then 0 keys", "unknown, then 1 keys"];
    expect([...found].toSorted()).toEqual(all);
  });

  test("a request that waits in a paused member takes effect long after its deadline", async () => {
    const rig = new ModelRig();
    rig.cluster.pause(0);
    expect(await rig.put(0, "a")).toBe("unknown");
    await rig.wait(4_000);
    expect(await rig.keys(1)).toEqual([]);
    rig.cluster.resume(0);
    await rig.wait(3_000);
    expect(await rig.keys(1)).toEqual(["a"]);
  });

  test("without a majority nothing happens, and afterwards everything is still there", async () => {
    const rig = new ModelRig();
    expect(await rig.put(0, "a")).toBe("done");
    for (const member of [0, 1, 2]) rig.cluster.kill(member);
    expect(await rig.put(1, "b")).toBe("unknown");
    rig.cluster.start(1);
    await rig.wait(3_000);
    expect(await rig.keys(1)).toBe(null);
    rig.cluster.start(2);
    await rig.wait(3_000);
    expect(await rig.keys(1)).toEqual(["a"]);
  });

  test("a new leader gives each lease its whole time and an election timeout more", async () => {
    const rig = new ModelRig();
    const leaseId = await rig.lease(0);
    await rig.put(0, "a", leaseId);
    await rig.wait(1_500);
    rig.cluster.resign();
    await rig.wait(2_100);
    expect(await rig.keys(0)).toEqual(["a"]);
    await rig.wait(LEASE_MS + 2_000);
    expect(await rig.keys(0)).toEqual([]);
  });

  test("a leader that was cut off renews leases until it steps down", async () => {
    const rig = new ModelRig();
    const { leader } = rig;
    const leaseId = await rig.lease(leader);
    rig.link(leader, false);
    await rig.wait(800);
    expect(await rig.renew(leader, leaseId)).toBe("done");
    await rig.wait(1_500);
    expect(await rig.renew(leader, leaseId)).toBe("unknown");
  });

  test.each([
    ["a leader that went on after a pause revokes nothing", false, ["a"]],
    ["before 3.4.31 it revokes a lease that its successor renews", true, []],
  ])("%s", async (_, hasOldLeases, keys) => {
    const rig = new ModelRig(3, hasOldLeases);
    const { leader } = rig;
    const other = (leader + 1) % 3;
    const leaseId = await rig.lease(other);
    await rig.put(other, "a", leaseId);
    rig.cluster.pause(leader);
    for (let beats = 0; beats < 10; beats++) {
      await rig.wait(500);
      await rig.renew(other, leaseId);
    }
    rig.cluster.resume(leader);
    await rig.wait(300);
    await rig.renew(other, leaseId);
    await rig.wait(500);
    expect(await rig.keys(other)).toEqual(keys);
  });
});
