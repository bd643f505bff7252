/** The links of the README. */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { slugOf } from "../server/docs/markdown.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const README = readFileSync(path.join(ROOT, "README.md"), "utf8");

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
