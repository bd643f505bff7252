/** The ways of starting that the documents give: their signals arrive, and no registry is asked. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { begun, sleep, temporaryFolder } from "../../support/server-process.ts";

const README = readFileSync("README.md", "utf8");
/** The block with which a store of one's own is started. */
const [, BLOCK = ""] = /```sh\n(export PATH=[^]*?)```/.exec(README) ?? [];

const isServed = (url: string) =>
  fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  );

test("SIGTERM to the README's command → the server stops cleanly, with 0", async () => {
  expect(BLOCK).toMatch(/^FRONTROW_TENANT_TOKEN=\S+ frontrow serve --data .\/data --port 8080$/m);
  const data = path.join(temporaryFolder(), "data");
  const commands = BLOCK.replace("./data", data)
    .replace("8080", "0")
    .replace("FRONTROW_T", "exec env $&");
  const { child, url, exited, output } = await begun(commands);
  expect(await isServed(url)).toBe(true);
  child.kill("SIGTERM");
  expect(await exited).toEqual({ code: 0, signal: null });
  expect(output.stderr).toContain("stopped");
  expect(await isServed(url)).toBe(false);
});

test("SIGTERM to npm start → the server stops cleanly, too", async () => {
  const data = path.join(temporaryFolder(), "data");
  const env = { FRONTROW_DATA: data, FRONTROW_PORT: "0" };
  const { child, url, exited, output } = await begun("exec npm start", env);
  expect(await isServed(url)).toBe(true);
  child.kill("SIGTERM");
  await exited;
  // npm ends at the signal itself; the server has a snapshot to make.
  while (await isServed(url)) await sleep(50);
  while (!output.stderr.includes("stopped")) await sleep(50);
});

test("no document starts the program with npx, which would ask a registry for the name", () => {
  const folders = ["engine", "persistence", "server", "test", "bench"];
  const names = folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  );
  const all = [...names, ...readdirSync(".")].filter((name) => name !== "CHANGELOG.md");
  const pages = all.filter((name) => /\.(md|sh|svg|yaml|service)$/.test(name));
  expect(pages.length).toBeGreaterThan(40);
  for (const page of pages) expect(readFileSync(page, "utf8"), page).not.toMatch(/npx \S*frontrow/);
});
