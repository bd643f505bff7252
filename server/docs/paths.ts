/**
 * The list of pages and files. A request can only name a path of this list, never a file. A start
 * needs no more than this: what makes the pages is loaded with the first of them.
 */
import { ERROR_CODES } from "./error-pages.ts";
import type { MenuEntry } from "./frame.ts";

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
  { group: "Guide", file: `${GUIDE}/concepts.md`, path: "/docs/concepts" },
  { group: "Guide", file: `${GUIDE}/first-sale.md`, path: "/docs/first-sale" },
  { group: "Guide", file: `${GUIDE}/holds.md`, path: "/docs/holds" },
  { group: "Guide", file: `${GUIDE}/retries.md`, path: "/docs/retries" },
  { group: "Guide", file: `${GUIDE}/commands.md`, path: "/docs/commands" },
  { group: "Guide", file: `${GUIDE}/live.md`, path: "/docs/live" },
  { group: "Guide", file: `${GUIDE}/audit-trail.md`, path: "/docs/audit-trail" },
  { group: "Guide", file: `${GUIDE}/webhooks.md`, path: "/docs/webhooks" },
  { group: "Guide", file: `${GUIDE}/v1.md`, path: "/docs/v1" },
  { group: "Guide", file: `${GUIDE}/library.md`, path: "/docs/library" },
  { group: "Operation", file: `${GUIDE}/going-live.md`, path: "/docs/going-live" },
  { group: "Operation", file: `${GUIDE}/hosts/gateways.md`, path: "/docs/gateways" },
  { group: "Operation", file: `${GUIDE}/hosts/cluster.md`, path: "/docs/cluster" },
  { group: "Operation", file: "server/OPERATING.md", path: "/docs/operating" },
  { group: "Operation", file: `${GUIDE}/hosts/cells.md`, path: "/docs/cells" },
  { group: "Operation", file: "server/docs/scale.md", path: "/docs/scale" },
  { group: "Operation", file: `${GUIDE}/architecture.md`, path: "/docs/architecture" },
  { group: "Operation", file: `${GUIDE}/faults.md`, path: "/docs/faults" },
];

/** Files that are served as they are. */
export const ASSETS: Readonly<Record<string, string>> = {
  "server/docs/assets/style.css": "/docs/style.css",
  "server/docs/assets/icon.svg": "/docs/icon.svg",
  "server/docs/assets/onsale.svg": "/docs/onsale.svg",
  "dist/reference.js.gz": "/docs/reference.js",
};

export const REFERENCE: MenuEntry = { path: "/docs/reference", title: "API reference" };

export const DOCS_PATHS: readonly string[] = [
  ...SOURCES.map(({ path }) => path),
  ERRORS_PATH,
  ...ERROR_CODES.map(({ code }) => ERRORS_PATH + code),
  REFERENCE.path,
  ...Object.values(ASSETS),
];
