/** The journal of a host whose frames are made durable elsewhere before they are written here. */
import { expect, test } from "vitest";
import { Admission } from "../../../engine/ports.ts";
import { LeadershipLost } from "../../../persistence/cluster/options.ts";
import type { CommitFrame } from "../../../persistence/log/frame.ts";
import { FakeDisk } from "../../support/disk/fake-disk.ts";
import { LogProcess, settle } from "./log-fixture.ts";

/** A disk and a majority of other hosts, both held up by the test. */
class World {
  isDiskSlow = false;
  readonly disk: FakeDisk;
  /** Unfinished operations of the disk. */
  readonly #held: (() => void)[] = [];
  /** The sent frames, and whether they are durable. */
  readonly #sent: (() => void)[] = [];
  log!: LogProcess;
  #isOpen = false;

  constructor() {
    this.disk = new FakeDisk({
      folder: "/data",
      later: (_, task) => void (this.isDiskSlow ? this.#held.push(task) : queueMicrotask(task)),
    });
    this.disk.begin();
  }

  static async start(): Promise<World> {
    const world = new World();
    const commit: CommitFrame = (_frame, _place, done) => {
      if (world.#isOpen) world.#sent.push(done);
      else done();
    };
    world.log = await LogProcess.start({ disk: world.disk, commit });
    await settle();
    world.#isOpen = true;
    return world;
  }

  /** Frames sent so far. */
  get sent(): number {
    return this.#sent.length;
  }

  /** The newest frame is durable. */
  async acknowledge(): Promise<void> {
    this.#sent.at(-1)!();
    await settle();
  }

  async finishWrites(): Promise<void> {
    this.isDiskSlow = false;
    for (const task of this.#held.splice(0)) task();
    await settle();
  }
}

test("a frame is answered when it is durable elsewhere, before this disk has it", async () => {
  const world = await World.start();
  const { log } = world;
  await log.commit(3);
  expect([log.durable, log.journal.mark]).toEqual([[], null]);
  world.isDiskSlow = true;
  await world.acknowledge();
  expect(log.durable).toEqual([3]);
  // A snapshot and the trail may rest only on the content of this disk.
  expect(log.journal.mark).toBe(null);
  await world.finishWrites();
  expect([log.durable, log.journal.mark?.sequence]).toEqual([[3], 3]);
});

test("the next frame leaves when this disk has the one before", async () => {
  const world = await World.start();
  const { log } = world;
  await log.commit(1);
  world.isDiskSlow = true;
  await world.acknowledge();
  await log.commit(2);
  expect([log.durable, world.sent]).toEqual([[1], 1]);
  await world.finishWrites();
  expect(world.sent).toBe(2);
  await world.acknowledge();
  expect(log.durable).toEqual([1, 3]);
});

test("who asks for what is durable waits until this disk has it, and only then", async () => {
  const world = await World.start();
  const { log } = world;
  const told: string[] = [];
  await log.commit(1);
  log.journal.whenWritten(() => told.push("nothing is durable yet"));
  expect(told).toEqual(["nothing is durable yet"]);
  world.isDiskSlow = true;
  await world.acknowledge();
  log.journal.whenWritten(() => told.push(`record ${log.journal.mark?.sequence}`));
  expect(told).toHaveLength(1);
  await world.finishWrites();
  expect(told.slice(1)).toEqual(["record 1"]);
});

test("a frame that is durable elsewhere and not on this disk ends the process", async () => {
  const world = await World.start();
  const { log } = world;
  await log.commit(1);
  world.disk.decide = ({ operation, path }) =>
    operation === "sync" && path.endsWith(".log") ? { code: "EIO" } : null;
  await world.acknowledge();
  expect(log.durable).toEqual([1]);
  expect(log.failures).toHaveLength(1);
  expect(log.journal.admission()).toBe(Admission.UNAVAILABLE);
  expect(world.sent).toBe(1);
});

test("a log that fails while this disk writes sends no further frame", async () => {
  const world = await World.start();
  const { log } = world;
  await log.commit(1);
  world.isDiskSlow = true;
  await world.acknowledge();
  log.append(1);
  log.journal.fail(new LeadershipLost("its lease has ended"));
  await world.finishWrites();
  expect([log.durable, world.sent]).toEqual([[1], 1]);
});

test("a log is closed when this disk has the clean end too", async () => {
  const world = await World.start();
  const { log } = world;
  await log.commit(2);
  let isClosed = false;
  const closing = log.close().then(() => (isClosed = true));
  await world.acknowledge();
  expect([world.sent, log.durable]).toEqual([2, [2]]);
  world.isDiskSlow = true;
  await world.acknowledge();
  expect(isClosed).toBe(false);
  await world.finishWrites();
  await closing;
  const next = await LogProcess.start({ disk: world.disk });
  expect(next.report).toMatchObject({ records: 2, cleanShutdown: true });
});
