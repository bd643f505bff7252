/** `frontrow join` and `frontrow compare`. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { type Chains, compareChains } from "../../../persistence/rescue/inspect.ts";
import { openEngine } from "../../../persistence/store/open-engine.ts";
import { runCli, temporaryFolder } from "../../support/server-process.ts";

async function addVenues(folder: string, ...names: readonly string[]): Promise<number> {
  const store = await openEngine({ folder });
  const caller = await store.callerFor("Box office");
  for (const name of names) await store.execute({ kind: "createVenue", caller, body: { name } });
  await store.close();
  return store.engine.sequence;
}

test("a joined folder has the same log; compare says where two logs differ", async () => {
  const root = temporaryFolder();
  const [one, other, file] = ["one", "other", "chains.json"].map((name) => path.join(root, name));
  const sequence = await addVenues(one!, "Odeon", "Apollo");
  const joined = await runCli({ args: ["join", one!, other!] });
  expect(joined.code, joined.stderr).toBe(0);
  const same = await runCli({ args: ["compare", one!, other!] });
  expect(same).toMatchObject({ code: 0 });
  expect(same.stdout).toContain(`they are the same up to record ${sequence}\n`);
  const printed = await runCli({ args: ["compare", one!] });
  writeFileSync(file!, printed.stdout);
  await addVenues(other!, "Palace");
  const longer = await runCli({ args: ["compare", other!, file!] });
  expect(longer).toMatchObject({ code: 0 });
  expect(longer.stdout).toContain(`they are the same up to record ${sequence}\n`);
  await addVenues(one!, "Globe");
  const different = await runCli({ args: ["compare", one!, other!] });
  expect(different.code).toBe(78);
  expect(different.stdout).toContain(`they differ at record ${sequence + 1}, segment `);
});

test("a fork that dropped the segments of the common past is not called the same", async () => {
  const root = temporaryFolder();
  const [one, fork] = ["one", "fork"].map((name) => path.join(root, name));
  await addVenues(one!, "Odeon");
  expect((await runCli({ args: ["join", one!, fork!] })).code).toBe(0);
  const forkedAt = await addVenues(one!, "Globe");
  // Each start begins a segment, and drops those before the older snapshot.
  for (const name of ["Palace", "Scala", "Forum", "Arena"]) await addVenues(fork!, name);
  for (const args of [
    [one!, fork!],
    [fork!, one!],
  ]) {
    const { code, stdout } = await runCli({ args: ["compare", ...args] });
    expect(code, stdout).toBe(78);
    expect(stdout).toContain(`one log ends at record ${forkedAt}, segment 2, `);
    expect(stdout).toContain("neither is the beginning of the other: keep both folders");
  }
});

test.each([
  {
    title: "with the end of the shorter one inside",
    at: ["1:0 a", "1:8 b", "2:0 b", "3:0 c"],
    isPrefix: true,
  },
  { title: "with another chain there", at: ["1:0 a", "1:8 x", "2:0 x"], isPrefix: false },
  { title: "without that place", at: ["1:0 a", "1:12 x", "2:0 x"], isPrefix: false },
  { title: "that begins later", at: ["2:0 b", "2:8 c"], isPrefix: false },
])("a log that ends at 1:8, and a longer one $title → prefix: $isPrefix", ({ at, isPrefix }) => {
  const [shorter, longer] = [["1:0 a", "1:8 b"], at].map((places): Chains => {
    const chains = places.map((place, sequence) => {
      const [, segment, offset, chain] = /^(\d+):(\d+) (.)$/.exec(place)!;
      return { segment: Number(segment), offset: Number(offset), sequence, chain: chain! };
    });
    return { storeId: "store", chains };
  }) as [Chains, Chains];
  expect(compareChains(shorter, longer).isPrefix).toBe(isPrefix);
  expect(compareChains(longer, shorter).isPrefix).toBe(isPrefix);
});

test("logs of two stores are not the same", async () => {
  const root = temporaryFolder();
  const [one, other] = ["one", "other"].map((name) => path.join(root, name));
  await addVenues(one!, "Odeon");
  await addVenues(other!, "Odeon");
  const { code, stdout } = await runCli({ args: ["compare", one!, other!] });
  expect(code).toBe(78);
  expect(stdout).toContain("they are different stores");
});
