/** Renders every page below `/docs`; the build runs it, and the server reads the result. */
import { htmlDocument, type MenuEntry, type MenuGroup, pageOf } from "./frame.ts";
import { escapeHtml, type Links, type Rendered, renderMarkdown } from "./markdown.ts";
import { CONSOLE_PATH, readPackageFile } from "./package-files.ts";
import {
  ASSETS,
  ERROR_CODES,
  errorList,
  errorPage,
  ERRORS_PATH,
  GUIDE,
  MISSING_PATH,
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
  // The search of all pages stands above it, and finds the calls, too.
  hideSearch: true,
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

/** Paths of the files on the server, by file name without folder. */
const PATHS: ReadonlyMap<string, string> = new Map(
  [
    ...SOURCES.map(({ file, path }) => [file, path] as const),
    ["errors.md", ERRORS_PATH] as const,
    ...Object.entries(ASSETS),
  ].map(([file, path]) => [nameOf(file), path]),
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

const MISSING = `# There is no page here

The address is misspelled, or it is of another version of Frontrow. Search for what you need, choose a
page of the [menu](#menu), or begin at the [overview](overview.md).

Pages of error codes have the code in capitals, as it stands in \`errorCode\`: see
[all error codes](/docs/errors/).`;

/** @param path - One of `PAGE_PATHS`, or of the page for a browser at an address without one. */
export function pageAt(path: string): string {
  if (path === REFERENCE.path) return referencePage();
  menu ??= menuOf();
  if (path === MISSING_PATH) return pageOf(render(MISSING), "", menu);
  return pageOf(render(textOf(path)), path, menu);
}

let menu: readonly MenuGroup[] | undefined;

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
