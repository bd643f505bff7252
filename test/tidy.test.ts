/**
 * The style as a test: who may import whom, words that the engine may not know, sizes, openings.
 * Each rule is also run on a bad sample, for a rule that cannot fail proves nothing.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";

/** Folders, and the folders that each may import. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  engine: ["engine"],
  persistence: ["persistence", "engine"],
  server: ["server", "engine"],
  bench: ["bench", "server", "persistence", "engine"],
  test: ["test", "bench", "server", "persistence", "engine"],
};
/** What knows all three: the server's start, and the operator's tools. */
const JOINS_ALL = ["server/main.ts", "server/tools/"];
/** A module, and the only files outside bench and test that may import it. */
const ONLY_IN: Readonly<Record<string, readonly string[]>> = {
  "better-sqlite3": ["persistence/sqlite.ts"],
  "uWebSockets.js": ["server/http.ts"],
  "node:fs": [
    "persistence/disk.ts",
    // Files that ship with the package: the script and style of the reference page.
    "server/docs.ts",
    // The on-sale player reads a layout file and writes its ledger; it is a client, not the server.
    "server/onsale/setup.ts",
    "server/onsale/ledger.ts",
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
const SOURCE_LINES_MAX = 400;
const TEST_LINES_MAX = 500;
const COLUMNS_MAX = 100;
const README_LINES_MAX = 80;
/** Engine files whose twin has another name; null for those that hold only types or data. */
const TWINS: Readonly<Record<string, string | null>> = {
  "engine/audit-trail.ts": null,
  "engine/commands.ts": null,
  "engine/constants.ts": null,
  "engine/decide.ts": "results",
  "engine/decide/access.ts": "catalog",
  "engine/decide/booking-inventory.ts": "booking",
  "engine/decide/bookings.ts": "booking",
  "engine/decide/catalog-record.ts": "apply",
  "engine/decide/check-document.ts": "merge-layout",
  "engine/decide/clone-schema.ts": "schemas",
  "engine/decide/faults.ts": "selection",
  "engine/decide/inventory-in-use.ts": "price-changes",
  "engine/decide/keys.ts": "organization-changes",
  "engine/decide/price-removal.ts": "price-changes",
  "engine/decide/removals.ts": "organization-changes",
  "engine/decide/series.ts": "events",
  "engine/decide/zone-assignments.ts": "zones",
  "engine/layout-document.ts": null,
  "engine/ports.ts": null,
  "engine/place-facts.ts": "seat-listing",
  "engine/records.ts": null,
  "engine/state.ts": "apply",
  "engine/states.ts": "assert",
};

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

const folderOf = (path: string) => path.split("/")[0]!;
const bad = (path: string, text: string): SourceFile => ({ path, text: `/** Bad. */\n${text}` });

/** Every module that the file names: import, export from, import(). */
function importsOf({ text }: SourceFile): string[] {
  const statements = /^(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"|^import\s*"([^"]+)"/gm;
  const calls = /\bimport\(\s*"([^"]+)"\s*\)/g;
  return [...text.matchAll(statements), ...text.matchAll(calls)].map(([, a, b]) => a ?? b ?? "");
}

/** The text without comments and without the content of strings. */
function codeOf(text: string): string {
  const dead =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;
  return text.replaceAll(dead, (match) => (match.startsWith("/") ? "" : '""'));
}

const RULES: readonly Rule[] = [
  {
    name: "folders are imported only in the directions of the house",
    bad: bad("engine/a.ts", 'import type { X } from "../server/x.ts";'),
    faultsOf: (file) =>
      importsOf(file)
        .filter((module) => module.startsWith("."))
        .map((module) => normalize(join(dirname(file.path), module)))
        .filter((target) => {
          const joins = JOINS_ALL.some((place) => file.path.startsWith(place));
          if (joins && folderOf(target) === "persistence") return false;
          return MAY_IMPORT[folderOf(file.path)]?.includes(folderOf(target)) !== true;
        }),
  },
  {
    name: "the engine has no dependencies, node: included",
    bad: bad("engine/a.ts", 'export { readFileSync } from "node:fs";'),
    faultsOf: (file) =>
      folderOf(file.path) === "engine"
        ? importsOf(file).filter((module) => !module.startsWith("."))
        : [],
  },
  {
    name: "some modules are known to few files only",
    bad: bad("server/routes/a.ts", 'const fs = await import("node:fs/promises");'),
    faultsOf: (file) =>
      ["bench", "test"].includes(folderOf(file.path))
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
      importsOf(file).filter((module) => module.startsWith(".") && !/\.(ts|json)$/.test(module)),
  },
  {
    name: "the engine knows no clock, dice, timer, promise, locale or environment",
    bad: bad("engine/a.ts", "export const now = () => Date.now();"),
    faultsOf: ({ path, text }) =>
      folderOf(path) === "engine" ? (codeOf(text).match(BANNED_IN_ENGINE) ?? []) : [],
  },
  {
    name: "a file has at most so many lines",
    bad: bad("server/a.ts", "\n".repeat(SOURCE_LINES_MAX)),
    faultsOf: ({ path, text }) => {
      const max = folderOf(path) === "test" ? TEST_LINES_MAX : SOURCE_LINES_MAX;
      const lines = text.split("\n").length - 1;
      return lines > max ? [`${lines} lines`] : [];
    },
  },
  {
    name: "a line has at most so many columns",
    bad: bad("server/a.ts", `const a = "${"x".repeat(COLUMNS_MAX)}";`),
    faultsOf: ({ text }) =>
      text.split("\n").flatMap((line, i) => (line.length > COLUMNS_MAX ? [`line ${i + 1}`] : [])),
  },
  {
    name: "a file opens by saying what it is for",
    bad: { path: "server/a.ts", text: "export const a = 1;\n" },
    faultsOf: ({ text }) =>
      /^(#![^\n]*\n)?\/(\*\*|\/) ?\S?/.test(text) ? [] : ["no comment at the top"],
  },
  {
    name: "nothing is exported by default",
    bad: bad("server/a.ts", "export default 1;"),
    faultsOf: ({ text }) => codeOf(text).match(/^export default\b/gm) ?? [],
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
  {
    name: "a file of the engine has a twin among the tests",
    bad: bad("engine/decide/nowhere.ts", "export const a = 1;"),
    faultsOf: ({ path }) => {
      if (folderOf(path) !== "engine") return [];
      const twin = path in TWINS ? TWINS[path] : path.replace(/^.*\//, "").replace(/\.ts$/, "");
      if (twin === null) return [];
      return existsSync(`test/engine/${twin}.test.ts`) ? [] : [`no test/engine/${twin}.test.ts`];
    },
  },
];

const FILES: readonly SourceFile[] = Object.keys(MAY_IMPORT).flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name))
    .map((path) => ({ path, text: readFileSync(path, "utf8") })),
);

test.each(RULES)("$name", ({ faultsOf }) => {
  const faults = FILES.flatMap((file) => faultsOf(file).map((fault) => `${file.path}: ${fault}`));
  expect(faults).toEqual([]);
});

test.each(RULES)("the rule is seen to fail: $name", (rule) => {
  expect(rule.faultsOf(rule.bad).length).toBeGreaterThan(0);
});

test("each rule is broken by its own sample only, so none hides behind another", () => {
  const plain = bad("server/a.ts", 'import { x } from "../engine/x.ts";\nexport const y = x;');
  for (const { name, faultsOf } of RULES) expect(faultsOf(plain), name).toEqual([]);
});

test("directions are held for every folder", () => {
  const [directions] = RULES;
  const faults = (path: string, module: string) =>
    directions!.faultsOf(bad(path, `import "${module}";`)).length;
  const allowed = [
    ["persistence/a.ts", "../engine/x.ts"],
    ["server/routes/a.ts", "../../engine/decide/x.ts"],
    ["server/main.ts", "../persistence/x.ts"],
    ["server/tools/a.ts", "../../persistence/x.ts"],
    ["test/engine/a.ts", "../../bench/x.ts"],
  ] as const;
  const refused = [
    ["engine/decide/a.ts", "../../persistence/x.ts"],
    ["engine/a.ts", "../test/x.ts"],
    ["persistence/a.ts", "../server/x.ts"],
    ["server/a.ts", "../persistence/x.ts"],
    ["server/onsale/main.ts", "../../persistence/x.ts"],
    ["server/main.ts", "../bench/x.ts"],
    ["bench/a.ts", "../test/x.ts"],
  ] as const;
  for (const [path, module] of allowed) expect(faults(path, module), `${path} ${module}`).toBe(0);
  for (const [path, module] of refused) expect(faults(path, module), `${path} ${module}`).toBe(1);
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

test("a plausible number of files was looked at", () => {
  const count = (folder: string) => FILES.filter(({ path }) => folderOf(path) === folder).length;
  expect(count("engine")).toBeGreaterThan(40);
  expect(count("persistence")).toBeGreaterThan(10);
  expect(count("server")).toBeGreaterThan(20);
  expect(count("bench")).toBeGreaterThan(2);
  expect(count("test")).toBeGreaterThan(30);
});

test("every exception is still needed", () => {
  const known = new Set(FILES.map(({ path }) => path));
  const named = [...Object.keys(TWINS), ...Object.values(ONLY_IN).flat()];
  expect(named.filter((path) => !known.has(path))).toEqual([]);
  const joining = FILES.filter((file) =>
    importsOf(file).some((one) => one.includes("/persistence/")),
  );
  for (const place of JOINS_ALL) {
    expect(
      joining.some(({ path }) => path.startsWith(place)),
      place,
    ).toBe(true);
  }
});

test.each(Object.keys(MAY_IMPORT))("%s opens with a README of at most a page", (folder) => {
  const path = `${folder}/README.md`;
  expect(existsSync(path), path).toBe(true);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(lines.length).toBeLessThanOrEqual(README_LINES_MAX);
  expect(lines[0]).toMatch(/^# \S/);
});
