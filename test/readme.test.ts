/** The README and the library guide: the program runs unchanged; commands and links exist. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { slugOf } from "../server/docs/markdown.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const README = readFileSync(path.join(ROOT, "README.md"), "utf8");
const PROGRAM = /<!-- test: this program is run as it stands -->\n```js\n([\s\S]*?)```/;

test("the program of the library guide locks, sells, and is refused the same seats", async () => {
  const guide = await readFile(path.join(ROOT, "server/docs/guide/library.md"), "utf8");
  const program = PROGRAM.exec(guide)?.[1];
  expect(program).toBeDefined();
  const folder = await mkdtemp(path.join(os.tmpdir(), "frontrow-readme-"));
  try {
    await mkdir(path.join(folder, "node_modules"));
    await symlink(ROOT, path.join(folder, "node_modules", "frontrow"));
    await writeFile(path.join(folder, "package.json"), "{}");
    await writeFile(path.join(folder, "program.mjs"), program!);
    const run = promisify(execFile)(process.execPath, ["program.mjs"], { cwd: folder });
    const { stdout, stderr } = await run;
    expect(stderr).toBe("");
    expect(stdout).toContain("[ 'SOLD', 'SOLD' ]");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("the README names the commands that check a clean checkout", async () => {
  const checks = await readFile(path.join(ROOT, ".ci/run"), "utf8");
  for (const command of ["npm ci", "npm test"]) {
    expect(README).toContain(command);
    expect(checks.split("\n")).toContain(command);
  }
});

test("every link of the README leads to a file or a heading", () => {
  const sections = [...README.matchAll(/^## (.*)$/gm)];
  const headings = new Set(sections.map(([, heading]) => `#${slugOf(heading!)}`));
  const targets = [...README.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target!);
  expect(targets.length).toBeGreaterThan(20);
  for (const target of targets) {
    const exists = target.startsWith("#")
      ? headings.has(target)
      : existsSync(path.join(ROOT, target));
    expect([target, exists]).toEqual([target, true]);
  }
});

test("the table of contents of the README has every section", () => {
  const [, contents = ""] = /^## Contents\n([^]*?)^## /m.exec(README) ?? [];
  const listed = [...contents.matchAll(/^- \[([^\]]+)\]/gm)].map(([, title]) => title);
  const sections = [...README.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
  expect(listed).toEqual(sections.filter((title) => title !== "Contents"));
});
