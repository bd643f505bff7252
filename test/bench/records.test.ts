/** Trials of the benchmarks of the engine, its log and its memory; their figures in the pages. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { trials } from "./trial.ts";

const { run } = trials();

test("micro measures ten single steps and compares the lock with its goal", async () => {
  const printed = await run("micro.js", ["--seats", "200", "--rows", "1"]);
  expect(printed.match(/^(decide|apply|encode|decode|read|parse|list)\b.* \d+$/gm)).toHaveLength(
    10,
  );
  expect(printed).toMatch(/^two-seat lock in process, including the record, ns +≤ 250 /m);
  expect(printed.match(/^[1248] of [\d.]+ % free/gm)).toHaveLength(32);
});

test("memory measures a process, a seat and a hold", async () => {
  const printed = await run("memory.js", ["--events", "3", "--seats", "500", "--holds", "500"]);
  expect(printed).toMatch(/^free seat of a further event, beyond the layout +-?[\d.]+ bytes$/m);
  expect(printed).toMatch(/^sold seat, beyond the layout +-?[\d.]+ bytes$/m);
  expect(printed).toMatch(/^peak MiB of one process with 50 million seats .* not measured$/m);
});

test("recovery measures starts from a log and from a snapshot", async () => {
  const toy = ["--records", "1000", "--events", "2", "--seats", "100", "--rounds", "1"];
  const printed = await run("recovery.js", toy);
  expect(printed).toMatch(/^1,000 records of the log +\d+\.\d\d /m);
  expect(printed).toMatch(/^a snapshot of 2 events of 100 seats +\d+\.\d\d /m);
  expect(printed).toMatch(/^start after a kill, 1,000 records since the snapshot, s +≤ 3 /m);
});

test("the figures of memory in the pages → those of the stored results", () => {
  const stored = JSON.parse(readFileSync("bench/results/memory.json", "utf8")) as {
    readonly figures: Readonly<Record<string, number>>;
  };
  const { seatBytes, soldSeatBytes, holdBytes, peak, events, seats } = stored.figures as Record<
    "seatBytes" | "soldSeatBytes" | "holdBytes" | "peak" | "events" | "seats",
    number
  >;
  expect([events, seats]).toEqual([1_000, 50_000]);
  const seat = soldSeatBytes.toFixed(0);
  expect(seatBytes.toFixed(0)).toBe(seat);
  const mib = (bytes: number, digits = 0) => `${(bytes / 2 ** 20).toFixed(digits)} MiB`;
  const gib = `${(peak / 2 ** 30).toFixed(1)} GiB`;
  const billions = (memoryGib: number, digits: number) =>
    `${((memoryGib * 2 ** 30) / Number(seat) / 1e9).toFixed(digits)} billion`;
  const quotes = {
    "README.md": [
      `- **${seat} bytes of memory** for a seat`,
      `50 million seats fit in ${gib}`,
      `A seat takes ${seat} bytes`,
      `1,000 events fit in ${gib}`,
    ],
    "server/OPERATING.md": [`about ${seat} bytes for each seat`],
    "server/docs/guide/going-live.md": [`A seat takes ${seat} bytes`],
    "server/docs/scale.md": [
      `beside the layout, free or sold | ${seat} bytes |`,
      `| ${holdBytes.toFixed(0)} bytes |`,
      `| 1,000 events of 50,000 seats | ${gib} |`,
      `which takes ${mib(200_000 * Number(seat), 1)} for each event`,
      `with a hold each takes ${mib(1e6 * holdBytes)}.`,
      `64 GiB hold ${billions(64, 1)} seats`,
      `2,800 GiB: ${billions(2_800, 0)} seats`,
    ],
  };
  for (const [page, figures] of Object.entries(quotes)) {
    const text = readFileSync(page, "utf8").replaceAll(/\s+/g, " ");
    for (const figure of figures) expect(text, page).toContain(figure);
  }
});
