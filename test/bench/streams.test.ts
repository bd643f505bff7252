/** Trials of the benchmark of streams. */
import { expect, test } from "vitest";
import type { AllFollowings, Sale } from "../../bench/streams/following.ts";
import { trials } from "./trial.ts";

const { result, run } = trials();

interface StreamRow {
  readonly rounds: readonly {
    readonly alone: Sale;
    readonly followed: Sale;
    readonly followings: AllFollowings;
  }[];
  readonly fewer: readonly { readonly clients: number; readonly followings: AllFollowings }[];
}

test("stream measures clients of an event that sells out", async () => {
  const toy = ["--clients", "41", "--seconds", "0.5", "--connections", "4", "--seats", "200"];
  const printed = await run("stream.js", [...toy, "--fewer", "20", "--idle", "50"]);
  expect(printed).toMatch(/^Frontrow, 41 clients +[\d,]+ /m);
  expect(printed).toMatch(/^only publishes, 41 clients +[\d,]+ /m);
  expect(printed.match(/^MiB of 50 idle (streams|command sockets) +≤ 60 /gm)).toHaveLength(2);
  expect(printed).toMatch(/^clients with the states of the map +≥ 41 +41\.00 +reached$/m);
  const { rows } = await result("stream");
  const [own, publisher] = rows as [StreamRow, StreamRow];
  for (const { rounds, fewer } of [own, publisher]) {
    expect(rounds[0]!.followings.equal).toBe(41);
    expect(fewer).toMatchObject([{ clients: 20, followings: { equal: 20 } }]);
    const { probes, delaysMs } = rounds[0]!.followings;
    expect(probes).toBeGreaterThan(0);
    expect(delaysMs.sinceSentP99).toBeGreaterThanOrEqual(delaysMs.p99);
  }
  // The publisher has no rule against two buyers of one seat.
  const [{ alone, followed }] = own.rounds as [(typeof own.rounds)[0]];
  expect([alone, followed].map(({ unsold }) => unsold)).toEqual([0, 0]);
});
