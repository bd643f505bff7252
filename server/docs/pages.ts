/** The list of pages and files. A request can only name a path of this list, never a file. */
import type { FieldError } from "../../engine/results.ts";
import { problemAnswer, type Refused, REPLIES } from "../http/answers.ts";
import type { MenuEntry } from "./frame.ts";
import { readPackageFile } from "./package-files.ts";

// The texts of the error pages, by public code. A test keeps them in step with the table.

interface ErrorEntry {
  /** One sentence. This text and the next one are Markdown. */
  readonly cause: string;
  /** Advice for the client, in one or two paragraphs. */
  readonly client: string;
  /** Its values of `errors[].code` with their meanings. */
  readonly fieldCodes: Readonly<Record<string, string>>;
  readonly example: ErrorExample;
}

interface ErrorExample {
  readonly path: string;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
}

const FILE = "server/docs/error-codes.md";
const ENTRY = /^([A-Z_]+)\n\n(.*)\n\n([^]*?)\n\n(?:(- `[^]*?)\n\n)?```json\n([^]*)\n```/;

export const ERROR_ENTRIES: Readonly<Record<string, ErrorEntry>> = Object.fromEntries(
  readPackageFile(FILE).toString().split(/^## /m).slice(1).map(entryOf),
);

/** @throws Error when the section has another form. */
function entryOf(section: string): readonly [string, ErrorEntry] {
  const parts = ENTRY.exec(section);
  if (parts === null) throw new Error(`not the text of an error code: ${section.slice(0, 60)}`);
  const [, code = "", cause = "", client = "", codes = "", example = ""] = parts;
  const items = [...codes.matchAll(/^- `(\w+)`: (.*)$/gm)];
  const fieldCodes = Object.fromEntries(items.map(([, name, text]) => [name, text]));
  return [code, { cause, client, fieldCodes, example: JSON.parse(example) as ErrorExample }];
}

// The pages of the error codes: a list, and a page for each code of the table of refusals.

export interface ErrorCode {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly entry: ErrorEntry;
  readonly refused: Refused;
}

const EXAMPLE_TIME_MS = Date.UTC(2030, 4, 1, 18, 0, 0, 123);

/** Every code with an entry, by status, with the title of its first row in the table. */
export const ERROR_CODES: readonly ErrorCode[] = Object.entries(ERROR_ENTRIES)
  .flatMap(([code, entry]) => {
    const row = Object.entries(REPLIES).find(([, { errorCode }]) => errorCode === code);
    if (row === undefined) return [];
    const [refused, { status, title }] = row;
    return [{ code, status, title, entry, refused: Number(refused) as Refused }];
  })
  .sort((a, b) => a.status - b.status);

/** The list, as Markdown; `intro` stands before it. */
export function errorList(intro: string): string {
  const rows = ERROR_CODES.map(({ code, status, entry }) => {
    return `| \`${code}\` | ${status} | ${entry.cause} |`;
  });
  return [intro.trim(), "", "| code | status | cause |", "|---|---|---|", ...rows].join("\n");
}

/** The example of an error code as the server answers it. */
export function exampleProblem({ entry: { example }, refused }: ErrorCode): unknown {
  const { body } = problemAnswer({ refused, ...example }, example.path, EXAMPLE_TIME_MS);
  return JSON.parse(String(body));
}

export function errorPage(error: ErrorCode): string {
  const { code, status, title, entry } = error;
  const { cause, client, fieldCodes } = entry;
  const codes = Object.entries(fieldCodes).map(([name, text]) => `| \`${name}\` | ${text} |`);
  return [
    `# ${code}`,
    `**${status}** ${title}`,
    cause,
    "## What the client does",
    client,
    ...(codes.length === 0
      ? []
      : ["## Codes in `errors[]`", ["| code | meaning |", "|---|---|", ...codes].join("\n")]),
    "## Example",
    `\`\`\`json\n${JSON.stringify(exampleProblem(error), null, 2)}\n\`\`\``,
    "See [all error codes](/docs/errors/) and [retries](retries.md).",
  ].join("\n\n");
}

export const GUIDE = "server/docs/guide";
export const ERRORS_PATH = "/docs/errors/";

interface Source {
  /** Of the menu. */
  readonly group: string;
  /** Markdown, from the root of the package. */
  readonly file: string;
  readonly path: string;
}

/** In the order of the menu. */
export const SOURCES: readonly Source[] = [
  { group: "Guide", file: `${GUIDE}/overview.md`, path: "/docs" },
  { group: "Guide", file: `${GUIDE}/first-sale.md`, path: "/docs/first-sale" },
  { group: "Guide", file: `${GUIDE}/concepts.md`, path: "/docs/concepts" },
  { group: "Guide", file: `${GUIDE}/calls.md`, path: "/docs/calls" },
  { group: "Guide", file: `${GUIDE}/holds.md`, path: "/docs/holds" },
  { group: "Guide", file: `${GUIDE}/checkout.md`, path: "/docs/checkout" },
  { group: "Guide", file: `${GUIDE}/retries.md`, path: "/docs/retries" },
  { group: "Guide", file: `${GUIDE}/door.md`, path: "/docs/door" },
  { group: "Guide", file: `${GUIDE}/live.md`, path: "/docs/live" },
  { group: "Guide", file: `${GUIDE}/webhooks.md`, path: "/docs/webhooks" },
  { group: "Guide", file: `${GUIDE}/audit-trail.md`, path: "/docs/audit-trail" },
  { group: "Guide", file: `${GUIDE}/commands.md`, path: "/docs/commands" },
  { group: "Guide", file: `${GUIDE}/v1.md`, path: "/docs/v1" },
  { group: "Guide", file: `${GUIDE}/library.md`, path: "/docs/library" },
  { group: "Operation", file: `${GUIDE}/going-live.md`, path: "/docs/going-live" },
  { group: "Operation", file: `${GUIDE}/on-sale.md`, path: "/docs/on-sale" },
  { group: "Operation", file: "server/OPERATING.md", path: "/docs/operating" },
  { group: "Operation", file: "server/docs/scale.md", path: "/docs/scale" },
  { group: "Operation", file: `${GUIDE}/architecture.md`, path: "/docs/architecture" },
  { group: "Operation", file: `${GUIDE}/faults.md`, path: "/docs/faults" },
  { group: "Hosts", file: `${GUIDE}/hosts/gateways.md`, path: "/docs/gateways" },
  { group: "Hosts", file: `${GUIDE}/hosts/cluster.md`, path: "/docs/cluster" },
  { group: "Hosts", file: `${GUIDE}/hosts/cells.md`, path: "/docs/cells" },
  { group: "Hosts", file: `${GUIDE}/hosts/kubernetes.md`, path: "/docs/kubernetes" },
];

/** Files served as they are. */
export const ASSETS: Readonly<Record<string, string>> = {
  "server/docs/assets/style.css": "/docs/style.css",
  "server/docs/assets/site.js": "/docs/site.js",
  "server/docs/assets/icon.svg": "/docs/icon.svg",
  "server/docs/assets/onsale.svg": "/docs/onsale.svg",
  "dist/reference.js.gz": "/docs/reference.js",
  "dist/search.json.gz": "/docs/search.json",
};

export const REFERENCE: MenuEntry = { path: "/docs/reference", title: "API reference" };

/** Pages that the build makes. */
export const PAGE_PATHS: readonly string[] = [
  ...SOURCES.map(({ path }) => path),
  ERRORS_PATH,
  ...ERROR_CODES.map(({ code }) => ERRORS_PATH + code),
  REFERENCE.path,
];

/** The page at addresses that have none. It has no address of its own. */
export const MISSING_PATH = "/missing";

/** The file of a page that the build has made, from the root of the package. */
export function pageFile(path: string): string {
  return `dist/pages${path}${path.endsWith("/") ? "index" : ""}.html`;
}

export const DOCS_PATHS: readonly string[] = [...PAGE_PATHS, ...Object.values(ASSETS)];
