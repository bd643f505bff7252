/** Answers waiting for etcd: one question for a turn, and in order. */
import { expect, test } from "vitest";
import { Confirmations } from "../../../persistence/cluster/host.ts";
import { ManualTime } from "../log/log-fixture.ts";

class World {
  readonly time = new ManualTime();
  readonly asked: { readonly leads: () => void; readonly unknown: () => void }[] = [];
  readonly answered: number[] = [];
  readonly #confirmations = new Confirmations({
    scheduler: this.time,
    ask: (leads, unknown) => void this.asked.push({ leads, unknown }),
  });

  add(...numbers: readonly number[]): void {
    for (const number of numbers) this.#confirmations.add(() => void this.answered.push(number));
  }
}

test("one question serves all answers of a turn, and later ones wait for the next", async () => {
  const world = new World();
  world.add(1, 2);
  await world.time.pass(1);
  world.add(3, 4);
  await world.time.pass(1_000);
  expect([world.asked.length, world.answered]).toEqual([1, []]);
  world.asked[0]!.leads();
  expect([world.asked.length, world.answered]).toEqual([2, [1, 2]]);
  world.asked[1]!.leads();
  expect([world.asked.length, world.answered]).toEqual([2, [1, 2, 3, 4]]);
  world.add(5);
  await world.time.pass(1);
  world.asked[2]!.leads();
  expect(world.answered).toEqual([1, 2, 3, 4, 5]);
});

test("a question without an answer is asked again, and nothing is answered meanwhile", async () => {
  const world = new World();
  world.add(1);
  await world.time.pass(1);
  world.asked[0]!.unknown();
  world.add(2);
  expect(world.answered).toEqual([]);
  await world.time.pass(20);
  world.asked[1]!.leads();
  expect(world.answered).toEqual([1, 2]);
  expect(world.asked).toHaveLength(2);
});
