/**
 * Writes the index of the search to standard output, compressed: the sections of the pages, the
 * operations of the API reference, the error codes. The build runs it, because rendering all pages
 * in a request would stop the others.
 */
import { gzipSync } from "node:zlib";
import { ERROR_CODES, errorPage, ERRORS_PATH, GUIDE, REFERENCE, SOURCES } from "./pages.ts";
import { slugOf } from "./markdown.ts";
import { readPackageFile } from "./package-files.ts";
import { readTexts } from "./schemas.ts";
import { routeTable } from "../routes/table.ts";
import { render, textOf } from "./render.ts";

interface Section {
  /** With the fragment of its heading. */
  readonly path: string;
  /** The title of its page. */
  readonly page: string;
  readonly title: string;
  readonly text: string;
}

const HEADING = /^<h([1-6]) id="([^"]*)">(.*?)<\/h\1>/s;

function sectionsOf(path: string, markdown: string): readonly Section[] {
  const parts = render(markdown).html.split(/(?=<h[1-6] id=")/);
  const sections = parts.flatMap((part) => {
    const [heading, level, id = "", title = ""] = HEADING.exec(part) ?? [];
    if (heading === undefined) return [];
    const text = textIn(part.slice(heading.length));
    return [{ path: level === "1" ? path : `${path}#${id}`, title: textIn(title), text }];
  });
  return sections.map((section) => ({ ...section, page: sections[0]!.title }));
}

/** Without the calls that only a server with a platform token has. */
const SERVED: ReadonlySet<string> = new Set(
  routeTable("").map(({ method, path }) => `${method.toUpperCase()} ${path}`),
);

/** A call leads to its heading in the reference, which names headings by method and path. */
function operations(): readonly Section[] {
  return readTexts().flatMap(({ name, operations: texts }) =>
    texts
      .filter(({ endpoint }) => SERVED.has(endpoint))
      .map(({ id, summary, endpoint, description }) => ({
        path: `${REFERENCE.path}#tag/${slugOf(name)}/${endpoint.replace(" ", "")}`,
        page: `${REFERENCE.title}: ${name}`,
        title: summary,
        text: `${endpoint}: ${textIn(render(description).html)} ${id}`,
      })),
  );
}

/** The example, at the end, repeats the members of every problem. */
const TITLE_OR_EXAMPLE = /<h1.*<\/h1>|<h2 id="example">[^]*/g;

function errorCodes(): readonly Section[] {
  return ERROR_CODES.map((error) => ({
    path: ERRORS_PATH + error.code,
    page: "Error codes",
    title: error.code,
    text: textIn(render(errorPage(error)).html.replaceAll(TITLE_OR_EXAMPLE, "")),
  }));
}

/** The text of HTML that this project made. */
function textIn(html: string): string {
  return html
    .replaceAll("<wbr>", "")
    .replaceAll(/<[^>]*>/g, (tag) => (/^<\/?(?:code|a|strong|em|span)\b/.test(tag) ? "" : " "))
    .replaceAll(/&(amp|lt|gt|quot|#x27);/g, (_, name: string) => CHARACTERS[name]!)
    .replaceAll(/\s+/g, " ")
    .trim();
}

const CHARACTERS: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  "#x27": "'",
};

const index = [
  ...SOURCES.flatMap(({ path }) => sectionsOf(path, textOf(path))),
  ...operations(),
  // Without the list: each code has a section of its own.
  ...sectionsOf(ERRORS_PATH, readPackageFile(`${GUIDE}/errors.md`).toString()),
  ...errorCodes(),
];
process.stdout.write(gzipSync(JSON.stringify(index), { level: 9 }));
