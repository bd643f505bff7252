/** Every source folder has a README that names each of its files once. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const README = "README.md";
const LINES_MAX = 80;
/** Test folders explain themselves by their titles; `test/README.md` introduces them all. */
const ROOTS = ["engine", "persistence", "server", "bench"];

interface Folder {
  readonly path: string;
  readonly files: readonly string[];
  /** Empty when the folder has none. */
  readonly readme: string;
}

/** @returns What the README lacks, names twice, or names without a file; and its length. */
function faultsOf({ files, readme }: Folder): string[] {
  if (readme === "") return [`no ${README}`];
  const named = [...readme.matchAll(/`([\w.-]+\.\w+)`/g)].map(([, name]) => name!);
  const timesNamed = (file: string) => named.filter((name) => name === file).length;
  const faults = files
    .filter((file) => file !== README && timesNamed(file) !== 1)
    .map((file) => `${file} is named ${timesNamed(file)} times`);
  if (readme.trimEnd().split("\n").length > LINES_MAX) faults.push("longer than a page");
  if (!/^# \S/.test(readme)) faults.push("no title");
  return faults;
}

function readFolder(path: string): Folder {
  const entries = readdirSync(path, { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  const readme = join(path, README);
  return { path, files, readme: existsSync(readme) ? readFileSync(readme, "utf8") : "" };
}

function foldersBelow(root: string): string[] {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory());
  return [root, ...folders.map((entry) => join(entry.parentPath, entry.name))];
}

const FOLDERS = ROOTS.flatMap(foldersBelow)
  .map(readFolder)
  .filter(
    ({ files }) => files.some((file) => /\.(ts|sh|mjs)$/.test(file)) || files.includes(README),
  );

test.each(FOLDERS)("$path has a README that names each of its files once", (folder) => {
  expect(faultsOf(folder)).toEqual([]);
});

test("a missing README, a missing, repeated file and a missing title are faults", () => {
  const path = "engine/sample";
  const files = ["a.ts", "b.ts", README];
  const faults = (readme: string) => faultsOf({ path, files, readme });
  expect(faults("# sample\n\n`a.ts` and `b.ts`")).toEqual([]);
  expect(faults("")).toEqual(["no README.md"]);
  expect(faults("# sample\n\n`a.ts`, `a.ts`")).toEqual([
    "a.ts is named 2 times",
    "b.ts is named 0 times",
  ]);
  expect(faults("`a.ts` and `b.ts`")).toEqual(["no title"]);
  expect(faults(`# sample\n\n\`a.ts\` \`b.ts\`${"\n".repeat(LINES_MAX)}end`)).toHaveLength(1);
});

test("the README of the tests is at most a page", () => {
  expect(readFileSync(`test/${README}`, "utf8").trimEnd().split("\n").length).toBeLessThanOrEqual(
    LINES_MAX,
  );
});
