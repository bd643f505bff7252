/** Validity of a host's lease: counted from the sending of a keep-alive. */
import { expect, test } from "vitest";
import { type Answer, type Etcd, EtcdRefusal } from "../../../persistence/cluster/etcd.ts";
import { Lease } from "../../../persistence/cluster/leader.ts";
import { ManualTime } from "../log/log-fixture.ts";

const STEP_MS = 250;

type Kept = { readonly ttlMs: number };

/** A lease of 2 seconds, 250 ms of them not relied on, and a member answering when told. */
class World {
  readonly time = new ManualTime();
  readonly asked: Answer<Kept>[] = [];
  readonly granted: string[] = [];
  lapses = 0;
  ended = 0;
  isStuck = false;
  readonly lease: Lease;

  constructor() {
    const etcd: Pick<Etcd, "grant" | "keepAlive"> = {
      grant: (ttlMs, _, answer) => {
        const leaseId = `lease ${this.granted.length + 1}`;
        answer({ kind: "done", value: { leaseId, ttlMs } });
      },
      keepAlive: (_id, _deadlineMs, answer) => void this.asked.push(answer),
    };
    const { time } = this;
    this.lease = new Lease({
      etcd: etcd as Etcd,
      time: { wallMs: () => time.nowMs(), runningMs: () => time.nowMs() },
      scheduler: time,
      leaseMs: 2_000,
      onGranted: (id) => void this.granted.push(id),
      onEnded: () => {
        this.ended += 1;
        return true;
      },
      onLapse: () => void (this.lapses += 1),
      isStuck: () => this.isStuck,
    });
    this.lease.start();
  }

  /** In steps, so that every beat has its time. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= STEP_MS) await this.time.pass(Math.min(STEP_MS, left));
  }

  /** Answers the last keep-alive; those before it are lost. */
  answer(): void {
    this.asked.pop()!({ kind: "done", value: { ttlMs: 2_000 } });
    this.asked.length = 0;
  }
}

test("a lease is held for its time less an eighth, from when it was asked for", async () => {
  const { time, lease } = new World();
  await time.pass(1_749);
  expect(lease.isHeld).toBe(true);
  await time.pass(1);
  expect(lease.isHeld).toBe(false);
});

test("a keep-alive counts from when it was sent, however late its answer comes", async () => {
  const world = new World();
  await world.time.pass(500);
  await world.time.pass(400);
  world.answer();
  await world.time.pass(1_349);
  expect(world.lease.isHeld).toBe(true);
  await world.time.pass(1);
  expect(world.lease.isHeld).toBe(false);
});

test("after a lapse keep-alives count again only when the lease is proved", async () => {
  const world = new World();
  await world.pass(500);
  world.answer();
  await world.pass(1_500);
  expect(world.lease.isHeld).toBe(true);
  await world.pass(500);
  world.answer();
  expect([world.lease.isHeld, world.lapses]).toEqual([false, 1]);
  world.lease.prove();
  await world.pass(500);
  world.answer();
  expect(world.lease.isHeld).toBe(true);
});

test("answers that take longer than the time between keep-alives hold the lease", async () => {
  const world = new World();
  const answered = new Set<Answer<Kept>>();
  for (let step = 0; step < 40; step++) {
    await world.pass(STEP_MS);
    for (const answer of world.asked) {
      if (answered.has(answer)) continue;
      answered.add(answer);
      world.time.later(700, () => answer({ kind: "done", value: { ttlMs: 2_000 } }));
    }
    expect(world.lease.isHeld).toBe(true);
  }
});

test("keep-alives that nobody answers → no more of them, until etcd confirms the lead", async () => {
  const world = new World();
  await world.pass(3_000);
  const sent = world.asked.length;
  expect(sent).toBeGreaterThan(3);
  await world.pass(10_000);
  expect(world.asked).toHaveLength(sent);
  expect(world.lapses).toBeGreaterThan(10);
  world.lease.prove();
  await world.pass(500);
  expect(world.asked).toHaveLength(sent + 1);
});

test("a leader whose frame is stuck does not keep its lease alive, nor ask for it", async () => {
  const world = new World();
  world.isStuck = true;
  await world.pass(10_000);
  expect([world.asked, world.lapses]).toEqual([[], 0]);
  world.isStuck = false;
  await world.pass(500);
  expect([world.asked, world.lapses]).toEqual([[], 1]);
  world.lease.prove();
  await world.pass(500);
  expect(world.asked).toHaveLength(1);
});

test("a lease that has ended is not held, and another one is asked for", async () => {
  const world = new World();
  await world.time.pass(500);
  const refusal = EtcdRefusal.LEASE_GONE;
  world.asked.shift()!({ kind: "refused", refusal, reason: "gone" });
  expect([world.ended, world.granted]).toEqual([1, ["lease 1", "lease 2"]]);
});
