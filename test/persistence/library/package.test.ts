/**
 * The package @frontrow/engine as an embedder gets it: packed, installed in an empty project, and
 * used with the program of its guide, as an ES module, from CommonJS and from TypeScript.
 */
import { execFile } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const GUIDE = readFileSync("server/docs/guide/library.md", "utf8");
const INSTALLED_MEBIBYTES_MAX = 50;
const run = promisify(execFile);
const project = mkdtempSync(path.join(tmpdir(), "frontrow-package-"));
const BINARY = "node_modules/better-sqlite3/build/Release";

/** The blocks of code in one language, joined. */
function codeIn(language: string): string {
  const blocks = GUIDE.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "gm"));
  return [...blocks].map(([, block]) => block).join("\n");
}

const [IMPORT = "", PROGRAM = ""] = codeIn("js").split(/(?<=^import .*;\n)/m);
/** The promises of the comments after `console.log`. */
const OUTPUT = [...PROGRAM.matchAll(/console\.log\(.*\);? \/\/ (.*)$/gm)].map(([, text]) => text!);

const inProject = (command: string, ...args: readonly string[]) =>
  run(command, args, { cwd: project });

async function outputOf(name: string, program: string): Promise<readonly string[]> {
  rmSync(path.join(project, "box-office"), { recursive: true, force: true });
  writeFileSync(path.join(project, name), program);
  const { stdout, stderr } = await inProject(process.execPath, name);
  expect(stderr).toBe("");
  return stdout.trim().split("\n");
}

beforeAll(async () => {
  const { stdout } = await run("persistence/library/pack.sh", [project]);
  const packed = stdout.trim().split("\n").at(-1)!;
  writeFileSync(path.join(project, "package.json"), "{}");
  const flags = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  await inProject("npm", "install", ...flags, `./${packed}`);
  rmSync(path.join(project, packed));
  // On Node 20 the install script of better-sqlite3 may compile for minutes; its result equals the
  // one of `npm ci`. Later ones have a package with a binary.
  if (existsSync(BINARY)) cpSync(BINARY, path.join(project, BINARY), { recursive: true });
}, 120_000);

afterAll(() => rmSync(project, { recursive: true }));

test("the program of the guide runs as an ES module", async () => {
  expect(OUTPUT).toHaveLength(7);
  expect(await outputOf("program.mjs", IMPORT + PROGRAM)).toEqual(OUTPUT);
});

test("the program of the guide runs from CommonJS", async () => {
  const program = `${codeIn("cjs")}\nvoid (async () => {\n${PROGRAM}\n})();`;
  expect(await outputOf("program.cjs", program)).toEqual(OUTPUT);
});

const COMMON_JS = `${IMPORT}void (async () => {\n${PROGRAM}\n})();`;

test.each([
  ["node16", { "program.mts": IMPORT + PROGRAM, "program.cts": COMMON_JS }],
  ["bundler", { "program.ts": IMPORT + PROGRAM }],
])("TypeScript with the module resolution %s accepts the program", async (resolution, files) => {
  for (const [name, text] of Object.entries(files)) writeFileSync(path.join(project, name), text);
  const module = resolution === "bundler" ? "esnext" : resolution;
  const modules = ["--module", module, "--moduleResolution", resolution];
  const types = ["--types", "node", "--typeRoots", path.resolve("node_modules/@types")];
  const flags = ["--strict", "--noEmit", "--target", "es2023", ...modules, ...types];
  const tsc = path.resolve("node_modules/typescript/bin/tsc");
  const { stdout } = await inProject(process.execPath, tsc, ...flags, ...Object.keys(files));
  expect(stdout).toBe("");
});

test("an empty project takes at most 50 MB with the package, and has no HTTP server", async () => {
  const { stdout } = await run("du", ["-sm", path.join(project, "node_modules")]);
  expect(Number.parseInt(stdout, 10)).toBeLessThanOrEqual(INSTALLED_MEBIBYTES_MAX);
  const { stdout: listing } = await inProject("npm", "ls", "--all", "--parseable");
  expect(listing).toContain("better-sqlite3");
  expect(listing).not.toMatch(/uwebsockets|fastify/i);
});

test("the package of the server has its command, and neither benchmarks nor tests", async () => {
  const { stdout } = await run("npm", ["pack", "--dry-run", "--ignore-scripts", "--json"]);
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const paths = files.map((file) => file.path);
  expect(paths).toContain("dist/server/cli.js");
  const others = /^dist\/(?:bench|test|package|client-package|api)\b/;
  expect(paths.filter((file) => others.test(file))).toEqual([]);
});
