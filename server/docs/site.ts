/** Everything below `/docs`. Each page is rendered at the first request for it. */
import type { Answer } from "../http/answers.ts";
import { htmlDocument, type MenuEntry, type MenuGroup, pageOf } from "./frame.ts";
import { escapeHtml, type Links, type Rendered, renderMarkdown } from "./markdown.ts";
import { CONSOLE_PATH, mediaTypeOf, NO_SNIFF, readPackageFile } from "./package-files.ts";
import {
  ASSETS,
  ERROR_CODES,
  errorList,
  errorPage,
  ERRORS_PATH,
  GUIDE,
  REFERENCE,
  SOURCES,
} from "./pages.ts";

// The page of the API reference: Scalar over the OpenAPI document. Requests to
// other hosts are off, and forbidden by the policy of the page.

const CONFIGURATION = {
  url: "/openapi.json",
  authentication: { preferredSecurityScheme: "apiKey" },
  // In the browser's local storage, so a reload keeps the key.
  persistAuth: true,
  defaultOpenFirstTag: false,
  defaultOpenAllTags: false,
  operationTitleSource: "summary",
  telemetry: false,
  withDefaultFonts: false,
  hideClientButton: true,
  // The page follows the setting of the system, as the others do.
  hideDarkModeToggle: true,
  showDeveloperTools: "never",
  agent: { disabled: true },
  mcp: { disabled: true },
  hiddenClients: ["libcurl", "clj_http", "restmethod", "webrequest", "nsurlsession", "cohttp"],
};

function referencePage(): string {
  const configuration = escapeHtml(JSON.stringify(CONFIGURATION));
  const body = `<script id="api-reference" data-configuration="${configuration}"></script>
    <script src="/docs/reference.js"></script>`;
  return htmlDocument(REFERENCE.title, REFERENCE.path, body);
}

/** Where the files are served, by their names without folders. */
const PATHS: ReadonlyMap<string, string> = new Map(
  [...SOURCES.map(({ file, path }) => [file, path] as const), ...Object.entries(ASSETS)].map(
    ([file, path]) => [nameOf(file), path],
  ),
);

function nameOf(file: string): string {
  return file.slice(file.lastIndexOf("/") + 1);
}

const LINKS: Links = {
  target: (href) => {
    const [file = "", anchor] = href.split("#");
    const path = PATHS.get(nameOf(file));
    if (path === undefined) return href;
    return anchor === undefined ? path : `${path}#${anchor}`;
  },
  code: (text) => {
    if (ERROR_CODES.some(({ code }) => code === text)) return `${ERRORS_PATH}${text}`;
    return [ERRORS_PATH, REFERENCE.path, CONSOLE_PATH].includes(text) ? text : null;
  },
};

/** Nothing comes from another host, and nothing is sent to one. */
const SAME_HOST =
  "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; style-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'";
/** The reference writes its styles into the page, has pictures as data, and tries calls. */
const SAME_HOST_OF_REFERENCE =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; font-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const AN_HOUR = ["Cache-Control", "max-age=3600"] as const;
/** Programs have another answer at the same address. */
const NOT_KEPT = ["Cache-Control", "no-store"] as const;
const COMPRESSED = ["Content-Encoding", "gzip"] as const;

/** By path, made at the first request for each: all pages together would stop the others. */
const answers = new Map<string, Answer>();
let menu: readonly MenuGroup[] | undefined;
let missing: Answer | undefined;

/** @param path - One of `DOCS_PATHS`. */
export function docsAnswer(path: string): Answer {
  const answer = answers.get(path) ?? answerAt(path);
  answers.set(path, answer);
  return answer;
}

/** The answer to a browser at an address without a page. */
export function missingPageAnswer(): Answer {
  if (missing === undefined) {
    const page = framed(MISSING, "");
    missing = { ...page, status: 404, headers: [...page.headers, NOT_KEPT] };
  }
  return missing;
}

const MISSING = `# There is no page here

The address is misspelled, or it is of another version of Frontrow. Search for what you need, choose a
page of the [menu](#menu), or begin at the [overview](overview.md).

Pages of error codes have the code in capitals, as it stands in \`errorCode\`: see
[all error codes](/docs/errors/).`;

function answerAt(path: string): Answer {
  if (path === REFERENCE.path) return html(referencePage(), SAME_HOST_OF_REFERENCE);
  const found = Object.entries(ASSETS).find((entry) => entry[1] === path);
  if (found !== undefined) return asset(...found);
  return framed(textOf(path), path);
}

function framed(markdown: string, path: string): Answer {
  menu ??= menuOf();
  return html(pageOf(render(markdown), path, menu));
}

export function render(markdown: string): Rendered {
  return renderMarkdown(markdown, LINKS);
}

/** The Markdown of a page. */
export function textOf(path: string): string {
  const source = SOURCES.find((one) => one.path === path);
  if (source !== undefined) return readPackageFile(source.file).toString();
  const code = ERROR_CODES.find((one) => ERRORS_PATH + one.code === path);
  return code === undefined
    ? errorList(readPackageFile(`${GUIDE}/errors.md`).toString())
    : errorPage(code);
}

function menuOf(): readonly MenuGroup[] {
  const entryOf = (path: string): MenuEntry => ({ path, title: titleIn(textOf(path)) });
  const groupOf = (title: string): MenuGroup => ({
    title,
    entries: SOURCES.filter(({ group }) => group === title).map(({ path }) => entryOf(path)),
  });
  return [
    groupOf("Guide"),
    { title: "Reference", entries: [REFERENCE, entryOf(ERRORS_PATH)] },
    groupOf("Operation"),
    groupOf("Hosts"),
  ];
}

/** Every page begins with its title, and no title has code in it. */
function titleIn(markdown: string): string {
  return /^# (.*)$/m.exec(markdown)![1]!;
}

function html(body: string, policy = SAME_HOST): Answer {
  const headers = [NO_SNIFF, ["Content-Security-Policy", policy]] as const;
  return { status: 200, type: mediaTypeOf("html"), body, headers };
}

function asset(name: string, path: string): Answer {
  const headers = name.endsWith(".gz") ? [NO_SNIFF, AN_HOUR, COMPRESSED] : [NO_SNIFF, AN_HOUR];
  return { status: 200, type: mediaTypeOf(path), body: readPackageFile(name), headers };
}
