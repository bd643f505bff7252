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

test.each([
  // Idle and fewer clients do not depend on the rate: one trial measures both.
  { rate: 0, idle: 50, fewer: [20] },
  { rate: 200, idle: 0, fewer: [] },
])("stream measures clients of an event, at a rate of $rate", async ({ rate, idle, fewer }) => {
  const toy = ["--clients", "41", "--seconds", "0.5", "--connections", "4", "--seats", "200"];
  const more = ["--fewer", fewer.join(), "--idle", String(idle)];
  const printed = await run("stream.js", [...toy, ...more, "--rate", String(rate)]);
  expect(printed).toMatch(/^Frontrow, 41 clients +[\d,]+ /m);
  expect(printed).toMatch(/^only publishes, 41 clients +[\d,]+ /m);
  const lines = printed.match(/^MiB of 50 idle (streams|command sockets) +≤ 60 /gm) ?? [];
  expect(lines).toHaveLength(idle === 0 ? 0 : 2);
  expect(printed).toMatch(/^clients with the states of the map +≥ 41 +41\.00 +reached$/m);
  const { rows } = await result("stream");
  const [own, publisher] = rows as [StreamRow, StreamRow];
  for (const { rounds, fewer: others } of [own, publisher]) {
    expect(rounds[0]!.followings.equal).toBe(41);
    expect(others.map(({ clients, followings }) => [clients, followings.equal])).toEqual(
      fewer.map((clients) => [clients, clients]),
    );
    const { probes, delaysMs, reconnects } = rounds[0]!.followings;
    expect(probes).toBeGreaterThan(0);
    expect(delaysMs.sinceSentP99).toBeGreaterThanOrEqual(delaysMs.p99);
    if (rate > 0) expect(reconnects).toBeGreaterThan(0);
  }
  // The publisher has no rule against two buyers of one seat.
  const [{ alone, followed }] = own.rounds as [(typeof own.rounds)[0]];
  const isSoldOut = [alone, followed].map(({ unsold }) => unsold);
  expect(isSoldOut).toEqual(rate === 0 ? [0, 0] : [null, null]);
});
