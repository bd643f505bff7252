/**
 * The structure as a test: permitted imports, and unknowns of the engine.
 * Each rule is also run on a bad sample, for a rule that cannot fail proves nothing.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { LAYERS, mayImport } from "./layers.ts";

/** A module, and the only files outside bench and test that may import it. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  "better-sqlite3": ["persistence/disk/sqlite.ts"],
  "uWebSockets.js": ["server/http/server.ts"],
  "node:fs": [
    // The system counts the connections of each address.
    "server/http/connections.ts",
    "persistence/disk/disk.ts",
    // SQLite creates files readable by everybody: it finds one that is private.
    "persistence/disk/sqlite.ts",
    // Files that ship with the package: the pages below /docs.
    "server/docs/package-files.ts",
    "server/observe/log.ts",
    // The files for TLS.
    "server/gateway/run.ts",
    // The secret that a gateway and its engine share.
    "server/gateway/link-layout.ts",
    // The on-sale player reads a layout file and writes its ledger; it is a client, not the server.
    "server/onsale/run.ts",
    "server/onsale/books.ts",
    // The files that a door has published; a client, too.
    "server/door/verify-draw.ts",
  ],
};
const BANNED_IN_ENGINE = new RegExp(
  [
    String.raw`\b(?:Date|performance|console|process|crypto|globalThis|fetch|require|Intl)\b`,
    String.raw`\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|Promise|async|await)\b`,
    String.raw`\b(?:localeCompare|toLocale\w+|structuredClone)\b|\bMath\.random\b|import\.meta`,
  ].join("|"),
  "g",
);

interface SourceFile {
  /** From the root, with forward slashes. */
  readonly path: string;
  readonly text: string;
}

interface Rule {
  readonly name: string;
  /** A file that breaks the rule. */
  readonly bad: SourceFile;
  /** @returns What is wrong with the file; empty when nothing is. */
  readonly faultsOf: (file: SourceFile) => readonly string[];
}

const FOLDERS = ["engine", "persistence", "server", "bench", "test"];
const topFolderOf = (path: string) => path.split("/")[0]!;
const bad = (path: string, text: string): SourceFile => ({ path, text: `/** Bad. */\n${text}` });

/** Every module that the file names: import, export from, import(). */
function importsOf({ text }: SourceFile): string[] {
  const statements = /^(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"/gm;
  const calls = /\bimport\(\s*"([^"]+)"\s*\)/g;
  return [...text.matchAll(statements), ...text.matchAll(calls)].map(([, a, b]) => a ?? b ?? "");
}

/** The files of this project that the file imports, as paths from the root. */
function targetsOf(file: SourceFile): string[] {
  return importsOf(file)
    .filter((module) => module.startsWith("."))
    .map((module) => normalize(join(dirname(file.path), module)));
}

/** Configuration in the root, as `vitest.config.ts`. */
const isRoot = (path: string) => !path.includes("/");

/** The text without comments and without the content of strings. */
function codeOf(text: string): string {
  const dead =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
  return text.replaceAll(dead, (match) => (match.startsWith("/") ? "" : '""'));
}

/** The bases of `new URL` and the static members of `URL`, but for that of the file itself. */
function basesIn(code: string): string[] {
  const calls = code.matchAll(/\b(?:new\s+URL|URL\s*\.\s*(?:parse|canParse))\s*\(/g);
  return [...calls]
    .map(({ 0: call, index }) => argumentsAt(code, index + call.length)[1]?.trim() ?? "")
    .filter((base) => base !== "" && base !== "import.meta.url");
}

/** The arguments of a call, from behind its parenthesis. */
function argumentsAt(code: string, start: number): string[] {
  const found = [""];
  let depth = 0;
  for (const character of code.slice(start)) {
    if ("([{".includes(character)) depth += 1;
    else if (")]}".includes(character)) depth -= 1;
    if (depth < 0) break;
    if (character === "," && depth === 0) found.push("");
    else found[found.length - 1] += character;
  }
  return found;
}

const RULES: readonly Rule[] = [
  {
    name: "a file imports only from the layers that its layer may import",
    bad: bad("engine/a.ts", 'import type { X } from "../server/x.ts";'),
    faultsOf: (file) =>
      targetsOf(file).filter((target) => !isRoot(file.path) && !mayImport(file.path, target)),
  },
  {
    name: "the engine has no dependencies, node: included",
    bad: bad("engine/a.ts", 'export { readFileSync } from "node:fs";'),
    faultsOf: (file) =>
      topFolderOf(file.path) === "engine"
        ? importsOf(file).filter((module) => !module.startsWith("."))
        : [],
  },
  {
    name: "some modules are known to few files only",
    bad: bad("server/routes/a.ts", 'const fs = await import("node:fs/promises");'),
    faultsOf: (file) =>
      ["bench", "test"].includes(topFolderOf(file.path))
        ? []
        : importsOf(file).filter((module) => {
            const files = ONLY_IN[module.replace(/\/promises$/, "")];
            return files !== undefined && !files.includes(file.path);
          }),
  },
  {
    name: "relative imports name the file, with its ending",
    bad: bad("server/a.ts", 'import { x } from "./b.js";'),
    faultsOf: (file) =>
      importsOf(file).filter((module) => module.startsWith(".") && !/\.(tsx?|json)$/.test(module)),
  },
  {
    name: "the engine knows no clock, dice, timer, promise, locale or environment",
    bad: bad("engine/a.ts", "export const now = () => Date.now();"),
    faultsOf: ({ path, text }) =>
      topFolderOf(path) === "engine" ? (codeOf(text).match(BANNED_IN_ENGINE) ?? []) : [],
  },
  {
    name: "no text is resolved against a base as a URL: it may name another host",
    bad: bad("server/a.ts", "const url = new URL(targetOf(a, b), engine);"),
    faultsOf: ({ path, text }) =>
      ["bench", "test"].includes(topFolderOf(path)) ? [] : basesIn(codeOf(text)),
  },
  {
    name: "no file only passes on what others hold",
    bad: bad("server/a.ts", 'export { a } from "./b.ts";\nexport type { C } from "./d.ts";'),
    faultsOf: ({ text }) => {
      const stars = text.match(/^export (?:type )?\* /gm) ?? [];
      const passes = /^export (?:type )?\{[^}]*\} from /m.test(text);
      const own =
        /^export (?:declare |abstract |async )*(?:const|let|function|class|interface|type \w)/m;
      return passes && !own.test(text) ? [...stars, "a barrel"] : stars;
    },
  },
];

const PATHS: readonly string[] = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    // Generated files follow their generator's style.
    .filter((entry) => entry.isFile() && /(?<!_pb)\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name)),
);
const FILES: readonly SourceFile[] = PATHS.map((path) => ({
  path,
  text: readFileSync(path, "utf8"),
}));

test.each(RULES)("$name", ({ faultsOf }) => {
  const faults = FILES.flatMap((file) => faultsOf(file).map((fault) => `${file.path}: ${fault}`));
  expect(faults).toEqual([]);
});

test.each(RULES)("the rule is seen to fail: $name", (rule) => {
  expect(rule.faultsOf(rule.bad).length).toBeGreaterThan(0);
});

test("a file that keeps the rules has no fault", () => {
  const plain = bad("server/a.ts", 'import { x } from "../engine/x.ts";\nexport const y = x;');
  for (const { name, faultsOf } of RULES) expect(faultsOf(plain), name).toEqual([]);
});

test.each([
  ["engine/catalog/a.ts", "../queries/x.ts", 0],
  ["server/tools/a.ts", "../../persistence/rescue/x.ts", 0],
  ["test/engine/a.ts", "../../bench/load/x.ts", 0],
  ["engine/a.ts", "../test/x.ts", 1],
  ["persistence/audit/a.ts", "../../server/x.ts", 1],
  ["server/a.ts", "../persistence/store/x.ts", 1],
  ["server/client/a.ts", "../../engine/x.ts", 1],
  ["server/console/map/a.ts", "../../layouts/x.ts", 1],
  ["server/main.ts", "../bench/x.ts", 1],
  ["bench/a.ts", "../test/x.ts", 1],
  ["misc/a.ts", "./x.ts", 1],
])("%s imports %s: %i faults", (path, module, count) => {
  const [directions] = RULES;
  expect(directions!.faultsOf(bad(path, `import "${module}";`))).toHaveLength(count);
});

test("imports are found in all their forms, and words in comments and strings are not code", () => {
  const text = [
    'import a from "a";',
    'import type { b } from "b";',
    'import {\n  c,\n} from "c";',
    'import "d";',
    'export { e } from "e";',
    'const f = import("f");',
  ].join("\n");
  expect(importsOf({ path: "x", text })).toEqual(["a", "b", "c", "d", "e", "f"]);
  expect(codeOf('/* Date */ a("Date"); // Date\n`Date` b').trim()).toBe('a(""); \n"" b');
});

test.each([
  ['new URL("./a.js", import.meta.url)', 0],
  ["new URL(text)", 0],
  ["new URL(f(a, b))", 0],
  ["new URL(a, b,)", 1],
  ["new URL(\n  f({ a, b }),\n  base,\n)", 1],
  ["URL.canParse(a, b) && URL.parse([a, b][0]!, c)", 2],
  ["new  URL (a, b)", 1],
  ["new URL(a, import.meta.url + b)", 1],
])("%s resolves against %i bases", (code, count) => {
  expect(basesIn(codeOf(code))).toHaveLength(count);
});

test("every exception is still needed", () => {
  const known = new Set(PATHS);
  expect(
    Object.values(ONLY_IN)
      .flat()
      .filter((path) => !known.has(path)),
  ).toEqual([]);
  const isLayer = (name: string) => PATHS.some((path) => `${path}/`.startsWith(`${name}/`));
  expect(Object.keys(LAYERS).filter((name) => !isLayer(name))).toEqual([]);
});
