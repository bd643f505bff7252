/** The README: its program runs unchanged, and its commands exist. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PROGRAM = /<!-- test: this program is run as it stands -->\n```js\n([\s\S]*?)```/;

test("the program in the README locks and sells two seats, and is refused them again", async () => {
  const readme = await readFile(path.join(ROOT, "README.md"), "utf8");
  const program = PROGRAM.exec(readme)?.[1];
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
  const readme = await readFile(path.join(ROOT, "README.md"), "utf8");
  const checks = await readFile(path.join(ROOT, ".ci/run"), "utf8");
  for (const command of ["npm ci", "npm test"]) {
    expect(readme).toContain(command);
    expect(checks.split("\n")).toContain(command);
  }
});
