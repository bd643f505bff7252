/** The README: its commands and links exist. */
import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { slugOf } from "../server/docs/markdown.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const README = readFileSync(path.join(ROOT, "README.md"), "utf8");

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
