/** Everything below `/docs`, rendered at the first request for a page. */
import type { Answer } from "../wire/answers.ts";
import { ERROR_CODES, errorList, errorPage } from "./error-pages.ts";
import { type MenuEntry, pageOf, titleOf } from "./frame.ts";
import { type Links, type Rendered, renderMarkdown } from "./markdown.ts";
import { readPackageFile } from "./package-files.ts";
import { ASSETS, ERRORS_PATH, GUIDE, REFERENCE, SOURCES } from "./paths.ts";
import { referencePage } from "./reference.ts";

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
    return text === ERRORS_PATH || text === REFERENCE.path ? text : null;
  },
};

/** Nothing comes from another host, and nothing is sent to one. */
const SAME_HOST =
  "default-src 'none'; img-src 'self'; style-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/** The reference writes its styles into the page, has pictures as data, and tries calls. */
const SAME_HOST_WITH_SCRIPT =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; font-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const NO_SNIFF = ["X-Content-Type-Options", "nosniff"] as const;
const AN_HOUR = ["Cache-Control", "max-age=3600"] as const;
const COMPRESSED = ["Content-Encoding", "gzip"] as const;

let answers: ReadonlyMap<string, Answer> | undefined;

/**
 * @param path - One of `DOCS_PATHS`.
 * Cost: the first call reads a megabyte and renders a tenth of it, which would delay a start.
 */
export function docsAnswer(path: string): Answer {
  answers ??= renderAll();
  return answers.get(path)!;
}

function renderAll(): ReadonlyMap<string, Answer> {
  const guide = SOURCES.map(({ group, file, path }) => {
    return { group, path, rendered: renderMarkdown(readPackageFile(file).toString(), LINKS) };
  });
  const intro = readPackageFile(`${GUIDE}/errors.md`).toString();
  const errors = { path: ERRORS_PATH, rendered: renderMarkdown(errorList(intro), LINKS) };
  const menu = [
    ...["Guide", "Operation"].map((title) => ({
      title,
      entries: guide.filter(({ group }) => group === title).map(entryOf),
    })),
    { title: "Reference", entries: [REFERENCE, entryOf(errors)] },
  ];
  const codes = ERROR_CODES.map((code) => {
    return { path: `${ERRORS_PATH}${code.code}`, rendered: renderMarkdown(errorPage(code), LINKS) };
  });
  const pages = [...guide, errors, ...codes].map(({ path, rendered }) => {
    return [path, html(pageOf(rendered, path, menu))] as const;
  });
  return new Map([
    ...pages,
    [REFERENCE.path, html(referencePage(), SAME_HOST_WITH_SCRIPT)],
    ...Object.entries(ASSETS).map(([name, path]) => [path, asset(name, path)] as const),
  ]);
}

function entryOf({ path, rendered }: { path: string; rendered: Rendered }): MenuEntry {
  return { path, title: titleOf(rendered) };
}

function html(body: string, policy = SAME_HOST): Answer {
  const headers = [NO_SNIFF, ["Content-Security-Policy", policy]] as const;
  return { status: 200, type: "text/html; charset=utf-8", body, headers };
}

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

function asset(name: string, path: string): Answer {
  const headers = name.endsWith(".gz") ? [NO_SNIFF, AN_HOUR, COMPRESSED] : [NO_SNIFF, AN_HOUR];
  const type = TYPES[path.split(".").at(-1)!]!;
  return { status: 200, type, body: readPackageFile(name), headers };
}
