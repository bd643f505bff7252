/** `frontrow join` and `frontrow compare`. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
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

test("logs of two stores are not the same", async () => {
  const root = temporaryFolder();
  const [one, other] = ["one", "other"].map((name) => path.join(root, name));
  await addVenues(one!, "Odeon");
  await addVenues(other!, "Odeon");
  const { code, stdout } = await runCli({ args: ["compare", one!, other!] });
  expect(code).toBe(78);
  expect(stdout).toContain("they are different stores");
});
