/** The frame of every page: top bar with the search, menu, contents of the page, next page. */
import { escapeHtml, type Heading, type Rendered } from "./markdown.ts";

export interface MenuEntry {
  readonly path: string;
  readonly title: string;
}

export interface MenuGroup {
  readonly title: string;
  readonly entries: readonly MenuEntry[];
}

const TOP: readonly MenuEntry[] = [
  { path: "/docs", title: "Guide" },
  { path: "/docs/reference", title: "API reference" },
  { path: "/docs/errors/", title: "Errors" },
  { path: "/console", title: "Console" },
];

/** Hidden until its script runs. */
const SEARCH = `<form class="search" role="search" hidden>
        <input type="search" placeholder="Search" aria-label="Search the guide, the calls and the error codes" aria-keyshortcuts="/" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd>
        <div class="results" hidden></div>
      </form>`;

/** @param body - HTML below the top bar. */
export function htmlDocument(title: string, path: string, body: string): string {
  const toMenu = body.includes('id="menu"') ? '<a class="to-menu" href="#menu">Menu</a>' : "";
  const section = TOP.toReversed().find((entry) => path.startsWith(entry.path));
  const links = TOP.map((entry) => linkTo(entry, entry === section));
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${escapeHtml(title)} · Frontrow</title>
    <link rel="icon" href="/docs/icon.svg">
    <link rel="stylesheet" href="/docs/style.css">
    <script type="module" src="/docs/site.js"></script>
  </head>
  <body>
    <header class="top">
      <a class="brand" href="/docs" aria-label="Frontrow">
        <img src="/docs/icon.svg" alt="" width="20" height="20"><span>Frontrow</span>
      </a>
      <nav aria-label="Sections">${links.join("")}</nav>
      ${SEARCH}
      ${toMenu}
    </header>
    ${body}
  </body>
</html>
`;
}

export function pageOf(rendered: Rendered, path: string, menu: readonly MenuGroup[]): string {
  const entries = menu.flatMap((group) => group.entries);
  // A page without an entry is shown at the entry above it: an error code at their list.
  const current = entries.findLast((entry) => entry.path === path || isAbove(entry, path));
  const groups = menu.map((group) => menuGroup(group, current));
  const next = current?.path === path ? entries[entries.indexOf(current) + 1] : undefined;
  const body = `<div class="frame">
      <main>
${rendered.html}
${next === undefined ? "" : `<p class="next">Next: ${linkTo(next)}</p>`}
      </main>
      ${contentsOf(rendered.headings)}
      <nav class="menu" id="menu" aria-label="Pages">${groups.join("")}</nav>
    </div>`;
  return htmlDocument(titleOf(rendered), path, body);
}

function titleOf({ headings }: Rendered): string {
  return headings.find(({ level }) => level === 1)?.text ?? "";
}

function isAbove(entry: MenuEntry, path: string): boolean {
  return entry.path.endsWith("/") && path.startsWith(entry.path);
}

function menuGroup({ title, entries }: MenuGroup, current: MenuEntry | undefined): string {
  const items = entries.map((entry) => `<li>${linkTo(entry, entry === current)}</li>`);
  return `<h2>${escapeHtml(title)}</h2><ul>${items.join("")}</ul>`;
}

function linkTo({ path, title }: MenuEntry, isCurrent = false): string {
  const current = isCurrent ? ' aria-current="page"' : "";
  return `<a href="${path}"${current}>${escapeHtml(title)}</a>`;
}

function contentsOf(headings: readonly Heading[]): string {
  const sections = headings.filter(({ level }) => level === 2);
  if (sections.length < 2) return "";
  const items = sections.map(({ id, text }) => `<li><a href="#${id}">${escapeHtml(text)}</a></li>`);
  return `<aside class="contents"><h2>On this page</h2><ul>${items.join("")}</ul></aside>`;
}
