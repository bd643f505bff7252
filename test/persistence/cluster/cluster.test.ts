/** Hosts of a cluster in this process, on three real members of etcd. */
import fs from "node:fs";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { StoreFault } from "../../../persistence/disk/faults.ts";
import { CellKeys, type KeyValue } from "../../../persistence/cluster/etcd.ts";
import { GrpcEtcd } from "../../../persistence/cluster/grpc-etcd.ts";
import {
  type ClusterOptions,
  type ClusterView,
  LEASE_MS,
} from "../../../persistence/cluster/options.ts";
import { Result } from "../../../engine/results.ts";
import { digest } from "../../../engine/verify.ts";
import { openEngine, type Store } from "../../../persistence/store/open-engine.ts";
import { describeWith } from "../../support/programs.ts";
import { readFolder } from "../../faults/support/folder-state.ts";
import { asked, EtcdMembers } from "../../support/cluster/etcd-members.ts";
import { Proxy } from "../../support/proxy.ts";
import { sleep } from "../../support/server-process.ts";
import { folderOf } from "../store/store-fixture.ts";

vi.setConfig({ testTimeout: 240_000 });

const CELL = "cell";
/** Longer than a log is idle before its mark, plus the time to write it. */
const MARKED_MS = 200;
const keys = new CellKeys(CELL);
/** Of the database of etcd: soon full. */
const QUOTA = ["--quota-backend-bytes", String(16 * 1024 * 1024)];

/**
 * For a host stopping for a while as soon as its first frame is in etcd: it hears of the frame
 * late, and meanwhile keeps no lease alive.
 */
class LateEtcd extends GrpcEtcd {
  /** Lets the host hear of its frame in etcd; null before. */
  hear: (() => void) | null = null;
  #unsent: (() => void)[] = [];

  override transact(...[change, deadlineMs, answer]: Parameters<GrpcEtcd["transact"]>): void {
    const isFrame = change.puts.some(({ key }) => keys.placeOf(key) !== null);
    super.transact(change, deadlineMs, (reply) => {
      if (isFrame && reply.kind === "done") this.hear = () => answer(reply);
      else answer(reply);
    });
  }

  override keepAlive(...call: Parameters<GrpcEtcd["keepAlive"]>): void {
    if (this.hear === null) super.keepAlive(...call);
    else this.#unsent.push(() => super.keepAlive(...call));
  }

  send(): void {
    for (const send of this.#unsent) send();
  }
}

function clientOf(address: string): GrpcEtcd {
  const etcd = new GrpcEtcd(address);
  onTestFinished(() => etcd.close());
  return etcd;
}

/** Members of etcd, and hosts with folders of their own. */
class World {
  readonly folder = folderOf();
  readonly faults: StoreFault[] = [];
  readonly #members: EtcdMembers;
  readonly etcd: GrpcEtcd;
  #isFounded = false;

  private constructor(folder: string, members: EtcdMembers) {
    this.folder = folder;
    this.#members = members;
    this.etcd = this.member(0);
  }

  /** @param more - Arguments of the members of etcd. */
  static async start(more: readonly string[] = []): Promise<World> {
    const folder = folderOf();
    const members = await EtcdMembers.start(folder, more);
    onTestFinished(() => members.end());
    return new World(folder, members);
  }

  member(number: number): GrpcEtcd {
    return clientOf(this.#members.address(number));
  }

  /** A member behind a proxy. */
  async behindProxy(number: number): Promise<{ readonly etcd: GrpcEtcd; readonly proxy: Proxy }> {
    const port = Number(this.#members.address(number).split(":")[1]);
    const proxy = await Proxy.start(port);
    return { etcd: clientOf(new URL(proxy.url).host), proxy };
  }

  late(number: number): LateEtcd {
    const etcd = new LateEtcd(this.#members.address(number));
    onTestFinished(() => etcd.close());
    return etcd;
  }

  dataOf(number: number): string {
    return path.join(this.folder, `host-${number}`);
  }

  /** Founds the cell on host 0, then stops the host. */
  async found(venues = 0): Promise<void> {
    const founder = await this.open(0).store;
    if (venues > 0) await addVenues(founder, 1, venues);
    await founder.close();
  }

  /** A host with the data of another one. */
  copy(from: number, to: number): void {
    fs.cpSync(this.dataOf(from), this.dataOf(to), { recursive: true });
    fs.rmSync(path.join(this.dataOf(to), "lock.sqlite"), { force: true });
  }

  /** A host being opened, settled when it leads; and its view. The first one founds the cell. */
  open(
    number: number,
    given: Partial<ClusterOptions> = {},
  ): {
    readonly store: Promise<Store>;
    readonly standing: Promise<ClusterView>;
  } {
    let stand: (view: ClusterView) => void = () => {};
    const standing = new Promise<ClusterView>((resolve) => (stand = resolve));
    const host = { host: `host-${number}`, address: `http://host-${number}` };
    const etcd = given.etcd ?? this.member(number);
    const own = { etcd, cell: CELL, ...host, founds: !this.#isFounded, onStanding: stand };
    const cluster = { ...own, ...given };
    this.#isFounded = true;
    const onFailure = (fault: StoreFault) => void this.faults.push(fault);
    const store = openEngine({ folder: this.dataOf(number), cluster, onFailure });
    store.catch(() => {});
    return { store, standing };
  }

  async log(): Promise<readonly KeyValue[]> {
    const request = { ...keys.logs, limit: 0, keysOnly: true };
    const reply = await asked((answer: Parameters<GrpcEtcd["range"]>[2]) =>
      this.etcd.range(request, 5_000, answer),
    );
    if (reply.kind !== "done") throw new Error(reply.reason);
    return reply.value.pairs;
  }

  /** Calls a member by HTTP and JSON, as an operator may. */
  async ask(operation: string, body: object, member = 0): Promise<Record<string, unknown>> {
    const url = `http://${this.#members.address(member)}/v3/${operation}`;
    const reply = await fetch(url, { method: "POST", body: JSON.stringify(body) });
    return (await reply.json()) as Record<string, unknown>;
  }

  async isLed(): Promise<boolean> {
    const reply = await this.change({ compares: [{ key: keys.leader, createRevision: 0 }] });
    return reply.kind !== "done" || !reply.value.isDone;
  }

  change(change: Partial<Parameters<GrpcEtcd["transact"]>[0]>) {
    const none = { compares: [], puts: [], deletes: [], otherwiseGet: [] };
    return asked((answer: Parameters<GrpcEtcd["transact"]>[2]) =>
      this.etcd.transact({ ...none, ...change }, 5_000, answer),
    );
  }
}

/** Host 0 leads, and host 1 stands by. @param venues - Both have them from the start. */
async function leaderAndStandby(venues = 0, more: readonly string[] = []) {
  const world = await World.start(more);
  await world.found(venues);
  world.copy(0, 1);
  const leader = await world.open(0).store;
  const { store: standby, standing } = world.open(1);
  return { world, leader, standby, view: await standing };
}

async function addVenues(store: Store, from: number, count: number): Promise<void> {
  const caller = await store.callerFor("Box office");
  for (let n = from; n < from + count; n++) {
    await store.execute({ kind: "createVenue", caller, body: { name: `Venue ${n}` } });
  }
}

/** Waits until the host has every record of the leader on its disk. */
async function untilCaughtUp(view: ClusterView, sequence: number): Promise<void> {
  const { host } = view.status();
  const ours = () => view.status().hosts.find((each) => each.host === host)?.sequence ?? 0;
  while (ours() < sequence) await sleep(20);
}

describeWith(["etcd"], "with etcd", () => {
  test("a standby has every acknowledged record when the leader hands over", async () => {
    const { world, leader, view, standby } = await leaderAndStandby(5);
    await addVenues(leader, 6, 40);
    await untilCaughtUp(view, leader.engine.sequence);
    expect(view.status()).toMatchObject({
      role: "standby",
      mayRead: false,
      lagRecords: 0,
      leader: { host: "host-0", address: "http://host-0" },
    });
    expect(leader.cluster!.status()).toMatchObject({ role: "leader", mayRead: true });
    const before = digest(leader.engine.state);
    await leader.close();
    const next = await standby;
    expect(await next.read(digest)).toBe(before);
    expect(next.cluster!.mayRead).toBe(true);
    await addVenues(next, 100, 3);
    await next.close();
    expect(readFolder(world.dataOf(1)).sequence).toBe(next.engine.sequence);
    expect(world.faults).toEqual([]);
  });

  test("the folders of two hosts have the same frames at the same places", async () => {
    const { world, leader, standby } = await leaderAndStandby();
    await addVenues(leader, 1, 30);
    await leader.close();
    const next = await standby;
    await next.close();
    const [first, second] = [0, 1].map((host) => readFolder(world.dataOf(host)).log);
    expect(second!.scan.sequence).toBe(first!.scan.sequence);
    const folders = [0, 1].map((host) => path.join(world.dataOf(host), "wal"));
    const [names, others] = folders.map((folder) => fs.readdirSync(folder));
    expect(others).toEqual(expect.arrayContaining(names!));
    for (const name of names!) {
      const [one, other] = folders.map((folder) => fs.readFileSync(path.join(folder, name)));
      // The first 4 KiB say when the host began the segment.
      expect(other!.subarray(4_096, one!.length).equals(one!.subarray(4_096))).toBe(true);
    }
  });

  test("a frame above 1 MiB goes in parts, and a standby has it whole", async () => {
    const { leader, view, standby } = await leaderAndStandby();
    const caller = await leader.callerFor("Box office");
    await leader.execute({ kind: "createVenue", caller, body: { name: "Odeon" } });
    const [venueId] = leader.engine.state.catalog.venues.keys();
    // All in one turn, so in one frame.
    const plans = Array.from({ length: 14 }, (_, n) => {
      const body = { name: `Plan ${n}`, venueId: venueId!, thumbnail: "x".repeat(250_000) };
      return leader.execute({ kind: "createSchema", caller, body });
    });
    for (const { refused } of await Promise.all(plans)) expect(refused).toBe(Result.OK);
    await untilCaughtUp(view, leader.engine.sequence);
    const before = digest(leader.engine.state);
    await leader.close();
    const next = await standby;
    expect(await next.read(digest)).toBe(before);
    await next.close();
  });

  test("a leader whose key is gone acknowledges nothing more, and ends", async () => {
    const world = await World.start();
    const leader = await world.open(0).store;
    await addVenues(leader, 1, 3);
    const { sequence } = leader.engine;
    await world.change({ deletes: [{ from: keys.leader, to: `${keys.leader}\0` }] });
    let isAcknowledged = false;
    void addVenues(leader, 50, 1).then(() => (isAcknowledged = true));
    while (world.faults.length === 0) await sleep(20);
    expect(world.faults).toMatchObject([{ name: "LeadershipLost", exitCode: 76 }]);
    expect(leader.cluster!.mayRead).toBe(false);
    expect(isAcknowledged).toBe(false);
    expect(readFolder(world.dataOf(0)).sequence).toBe(sequence);
  });

  test("a host that hears late that it led opens, answers nothing, and ends", async () => {
    const world = await World.start();
    await world.found();
    world.copy(0, 1);
    const etcd = world.late(0);
    const { store: late } = world.open(0, { etcd });
    while (etcd.hear === null) await sleep(20);
    const leader = await world.open(1).store;
    await addVenues(leader, 1, 3);
    etcd.hear();
    const opened = await late;
    expect(opened.engine.sequence).toBeLessThan(leader.engine.sequence);
    await expect(opened.read(digest)).rejects.toMatchObject({ name: "NotLeading" });
    await expect(addVenues(opened, 50, 1)).rejects.toMatchObject({ name: "NotLeading" });
    etcd.send();
    while (world.faults.length === 0) await sleep(20);
    expect(world.faults).toMatchObject([{ name: "LeadershipLost", exitCode: 76 }]);
    await addVenues(leader, 4, 1);
    await leader.close();
  });

  test("a host that founds a cell and ends without a log of its own starts again", async () => {
    const world = await World.start();
    const etcd = world.late(0);
    const { store: founder } = world.open(0, { etcd });
    while (etcd.hear === null) await sleep(20);
    while (await world.isLed()) await sleep(20);
    etcd.send();
    await expect(founder).rejects.toMatchObject({ name: "LeadershipLost" });
    const again = await world.open(0).store;
    await addVenues(again, 1, 3);
    await again.close();
    expect(readFolder(world.dataOf(0)).sequence).toBe(again.engine.sequence);
  });

  test("with strict reads a host answers once etcd says that it leads, never if not", async () => {
    const world = await World.start();
    const leader = await world.open(0, { strictReads: true }).store;
    await addVenues(leader, 1, 3);
    const reads = await Promise.all([leader.read(digest), leader.read(digest)]);
    expect(reads).toEqual([digest(leader.engine.state), digest(leader.engine.state)]);
    // The mark of an idle log is a frame too, and would reveal the lost key.
    await sleep(MARKED_MS);
    await world.change({ deletes: [{ from: keys.leader, to: `${keys.leader}\0` }] });
    expect(leader.cluster!.mayRead).toBe(true);
    let isAnswered = false;
    void leader.read(digest).then(() => (isAnswered = true));
    while (world.faults.length === 0) await sleep(20);
    expect(world.faults).toMatchObject([{ name: "LeadershipLost", exitCode: 76 }]);
    expect(isAnswered).toBe(false);
  });

  test("parts without their first part are dropped when a host takes over", async () => {
    const world = await World.start();
    await world.found();
    const value = Buffer.alloc(100, 7);
    const key = keys.part({ number: 1, offset: 2 ** 40 }, 1);
    await world.change({ puts: [{ key, value, leaseId: null }] });
    const leader = await world.open(0).store;
    await addVenues(leader, 1, 3);
    const there = await asked((answer: Parameters<GrpcEtcd["range"]>[2]) =>
      world.etcd.range({ from: key, to: `${key}\0`, limit: 1 }, 5_000, answer),
    );
    expect(there).toMatchObject({ kind: "done", value: { pairs: [] } });
    await leader.close();
    expect(readFolder(world.dataOf(0)).sequence).toBe(leader.engine.sequence);
  });

  test("a host whose frames etcd has trimmed says that it needs a copy", async () => {
    const world = await World.start();
    await world.found();
    world.copy(0, 1);
    const leader = await world.open(0).store;
    await addVenues(leader, 1, 20);
    const log = await world.log();
    await world.change({ deletes: [{ from: keys.logs.from, to: log.at(-2)!.key }] });
    await expect(world.open(1).store).rejects.toMatchObject({ name: "TooFarBehind", exitCode: 78 });
    await leader.close();
  });

  test("a host with another store, or with an empty folder, is refused", async () => {
    const world = await World.start();
    await world.found();
    await (await openEngine({ folder: world.dataOf(1) })).close();
    await expect(world.open(1).store).rejects.toMatchObject({ name: "NotOfThisCell" });
    await expect(world.open(2).store).rejects.toMatchObject({ name: "TooFarBehind" });
    expect(fs.existsSync(world.dataOf(2))).toBe(false);
  });

  test("a host whose secret is not that of the leader is refused", async () => {
    const world = await World.start();
    await world.found();
    world.copy(0, 1);
    fs.writeFileSync(path.join(world.dataOf(1), "secret"), `${"0123456789abcdef".repeat(4)}\n`);
    const leader = await world.open(0).store;
    await expect(world.open(1).store).rejects.toMatchObject({ name: "OtherSecret", exitCode: 78 });
    await leader.close();
  });

  test("a host with records that the cluster never acknowledged is refused", async () => {
    const world = await World.start();
    await world.found();
    world.copy(0, 1);
    fs.rmSync(path.join(world.dataOf(1), "cluster-cell"));
    const alone = await openEngine({ folder: world.dataOf(1) });
    await addVenues(alone, 1, 3);
    await alone.close();
    await expect(world.open(1).store).rejects.toMatchObject({ name: "EtcdIsBehind", exitCode: 78 });
  });

  test("a round trip to etcd takes 700 ms → the leader goes on answering", async () => {
    const world = await World.start();
    const { etcd, proxy } = await world.behindProxy(0);
    const leader = await world.open(0, { etcd }).store;
    proxy.delayMs = 700;
    await addVenues(leader, 1, 5);
    expect(leader.cluster!.mayRead).toBe(true);
    expect(world.faults).toEqual([]);
    proxy.delayMs = 0;
    await leader.close();
  });

  test("requests of the leader arrive at etcd, answers do not → another host leads", async () => {
    const world = await World.start();
    await world.found();
    world.copy(0, 1);
    const { etcd, proxy } = await world.behindProxy(0);
    const leader = await world.open(0, { etcd }).store;
    const { store: standby, standing } = world.open(1);
    await untilCaughtUp(await standing, leader.engine.sequence);
    proxy.losesAnswers = true;
    const next = await standby;
    await addVenues(next, 1, 3);
    proxy.losesAnswers = false;
    proxy.cut();
    while (world.faults.length === 0) await sleep(20);
    expect(world.faults).toMatchObject([{ name: "LeadershipLost", exitCode: 76 }]);
    await next.close();
  });

  test("etcd is full → changes are refused, the hosts stay; with room again they go on", async () => {
    const { world, leader, view, standby } = await leaderAndStandby(3, QUOTA);
    const value = Buffer.alloc(1024 * 1024, 7);
    let filled = 0;
    for (let isFull = false; !isFull; filled++) {
      const puts = [{ key: `other/${filled}`, value, leaseId: null }];
      isFull = (await world.change({ puts })).kind === "refused";
    }
    const caller = await leader.callerFor("Box office");
    const body = { name: "Odeon" };
    const waiting = leader.execute({ kind: "createVenue", caller, body });
    while (leader.engine.isWritable) await sleep(20);
    const refused = leader.engine.submit({ kind: "createVenue", caller, body });
    expect(refused.refused).toBe(Result.LOG_UNAVAILABLE);
    // The standby asks for the lead as long as a lease lasts.
    await sleep(3 * LEASE_MS);
    expect(view.status()).toMatchObject({
      role: "standby",
      etcd: { alarms: expect.arrayContaining([expect.stringContaining("NOSPACE")]) },
    });
    expect(world.faults).toEqual([]);

    await world.change({ deletes: [{ from: "other/", to: "other0" }] });
    const { header } = await world.ask("kv/range", { key: "eA==" });
    await world.ask("kv/compaction", { revision: (header as { revision: string }).revision });
    for (const member of [0, 1, 2]) await world.ask("maintenance/defragment", {}, member);
    const { alarms } = await world.ask("maintenance/alarm", {});
    for (const alarm of alarms as readonly object[]) {
      await world.ask("maintenance/alarm", { action: "DEACTIVATE", ...alarm });
    }
    expect((await waiting).refused).toBe(Result.OK);
    expect(leader.engine.isWritable).toBe(true);
    await leader.close();
    const next = await standby;
    expect(await next.read((state) => state.catalog.venues.size)).toBe(4);
    await next.close();
  });

  test("etcd has lost its data → no host of the cell founds it again, unless told to", async () => {
    const world = await World.start();
    await world.found(3);
    world.copy(0, 1);
    const ahead = await world.open(0).store;
    await addVenues(ahead, 4, 2);
    await ahead.close();
    await world.change({ deletes: [{ from: `${CELL}/`, to: `${CELL}0` }] });
    const behind = world.open(1).store;
    await expect(behind).rejects.toMatchObject({ name: "NoSuchCell", exitCode: 78 });
    await expect(behind).rejects.toThrow(/start the one that is furthest with --cluster-found/);
    await expect(world.open(0).store).rejects.toMatchObject({ name: "NoSuchCell" });
    const again = await world.open(0, { founds: true }).store;
    expect(again.engine.sequence).toBe(ahead.engine.sequence);
    await expect(world.open(1).store).rejects.toMatchObject({ name: "TooFarBehind" });
    await again.close();
  });

  test("etcd is restored to an earlier state → the host with more keeps its folder", async () => {
    const world = await World.start();
    await world.found(3);
    const early = await world.log();
    const ahead = await world.open(0).store;
    await addVenues(ahead, 4, 2);
    await ahead.close();
    await world.change({ deletes: [{ from: `${early.at(-1)!.key}\0`, to: keys.logs.to }] });
    const refused = world.open(0).store;
    await expect(refused).rejects.toMatchObject({ name: "EtcdIsBehind", exitCode: 78 });
    await expect(refused).rejects.toThrow(/Keep this folder/);
  });

  test("a host of no cell → a cell that etcd lacks, or has, is not founded by mistake", async () => {
    const world = await World.start();
    await world.found();
    const { store } = world.open(2, { cell: "cel" });
    await expect(store).rejects.toMatchObject({ name: "NoSuchCell", exitCode: 78 });
    await expect(store).rejects.toThrow(/etcd has no cell cel: check the name/);
    expect(fs.existsSync(world.dataOf(2))).toBe(false);
    const founder = world.open(0, { founds: true }).store;
    await expect(founder).rejects.toMatchObject({ name: "CellExists", exitCode: 78 });
  });
});
