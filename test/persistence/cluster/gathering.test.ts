/** Batch delay: the wait of a leader's frame for further records. */
import { expect, test } from "vitest";
import { Gathering } from "../../../persistence/store/open-store.ts";
import { ManualTime } from "../log/log-fixture.ts";

class World {
  readonly time = new ManualTime();
  /** Records of the next frame. */
  pending = 0;
  /** Records of each sent frame. */
  readonly frames: number[] = [];
  readonly #gathering = new Gathering(this.time, () => this.pending);

  /** A frame leaves with so many records, and is answered when others have come meanwhile. */
  async frame(records: number, meanwhile: number): Promise<void> {
    await this.begin(records);
    this.pending = meanwhile;
    this.#gathering.answered();
  }

  /** The disk is ready for the next frame, or its first record is there. */
  async begin(pending: number): Promise<void> {
    this.pending = pending;
    this.#gathering.begin(() => {
      this.frames.push(this.pending);
      this.pending = 0;
    });
    await this.time.pass(0);
  }

  /** Records arrive in one turn. */
  async add(count: number): Promise<void> {
    for (let i = 0; i < count; i++) {
      this.pending += 1;
      this.#gathering.added();
    }
    await this.time.pass(0);
  }

  /** Each millisecond, as many records arrive. */
  async arrive(...records: readonly number[]): Promise<void> {
    for (const count of records) {
      await this.add(count);
      await this.time.pass(1);
    }
  }
}

test("the only client does not wait: its frame leaves at the end of the turn", async () => {
  const world = new World();
  await world.frame(1, 0);
  await world.begin(1);
  expect(world.frames).toEqual([1, 1]);
});

test("a frame leaves in the turn in which all who were answered have come back", async () => {
  const world = new World();
  await world.frame(5, 3);
  expect(world.frames).toEqual([5]);
  // Three came before the answers, and five were answered, of whom one has come back already.
  await world.begin(4);
  await world.arrive(1, 1);
  await world.add(1);
  expect(world.frames).toEqual([5]);
  await world.add(1);
  expect(world.frames).toEqual([5, 8]);
});

test("a frame leaves at the end of the turn when all came back before it began", async () => {
  const world = new World();
  await world.frame(5, 0);
  await world.begin(5);
  expect(world.frames).toEqual([5, 5]);
});

test("a frame leaves when no further request has come for three milliseconds", async () => {
  const world = new World();
  await world.frame(5, 0);
  await world.begin(1);
  await world.arrive(1, 0, 0);
  expect(world.frames).toEqual([5]);
  await world.arrive(0);
  expect(world.frames).toEqual([5, 2]);
});

test("a frame waits for six milliseconds at most, while requests keep coming", async () => {
  const world = new World();
  await world.frame(1_000, 0);
  await world.begin(1);
  await world.arrive(1, 1, 1, 1, 1);
  expect(world.frames).toEqual([1_000]);
  await world.arrive(1);
  expect(world.frames).toEqual([1_000, 7]);
});

test("a frame without records, such as the last one of a log, leaves too", async () => {
  const world = new World();
  await world.frame(5, 0);
  await world.begin(0);
  await world.arrive(0, 0, 0);
  expect(world.frames).toEqual([5, 0]);
});
