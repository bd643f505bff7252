/** The structure of the project: every folder, and the folders that its files may import. */

const ENGINE = [
  "engine",
  "engine/cells",
  "engine/shapes",
  "engine/layout",
  "engine/layout/change",
  "engine/inventory",
  "engine/queries",
  "engine/queries/inventory",
];
const DECIDE = [...ENGINE, "engine/decide"];
const LOG = [...ENGINE, "persistence/disk", "persistence/log"];
const SNAPSHOT = [...LOG, "engine/verify", "persistence/snapshot"];
const AUDIT = [
  ...SNAPSHOT,
  "persistence/audit",
  "persistence/audit/blocks",
  "persistence/audit/reading",
];
const ROUTING = [...ENGINE, "server/wire", "server/auth", "server/observe", "server/routing"];
const ROUTES = [...ROUTING, "server/routes"];
const PLAYER = ["server/onsale", "server/onsale/http"];
const READS_TRAIL = ["persistence/audit/reading", "persistence/webhooks"];
const DECISIONS = ["engine/decide/booking", "engine/decide/pricing", "engine/decide/schema"];

/**
 * Which folders the files of a folder may import, beside their own. A name stands for the files
 * directly in that folder; with `/*` also for those of the folders inside it.
 */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "server/client": [],
  engine: [...DECIDE, ...DECISIONS],
  "engine/cells": ["engine"],
  "engine/shapes": ["engine"],
  "engine/layout": ["engine"],
  "engine/layout/change": ["engine", "engine/shapes", "engine/layout"],
  "engine/inventory": ["engine", "engine/layout"],
  "engine/queries": ENGINE,
  "engine/queries/inventory": ENGINE,
  "engine/verify": ENGINE,
  "engine/decide": ENGINE,
  "engine/decide/booking": DECIDE,
  "engine/decide/pricing": DECIDE,
  "engine/decide/schema": DECIDE,
  "persistence/disk": ["engine"],
  "persistence/log": LOG,
  "persistence/cluster": LOG,
  "persistence/cluster/member": ["engine", "persistence/disk", "persistence/cluster"],
  "persistence/snapshot": SNAPSHOT,
  "persistence/audit": AUDIT,
  "persistence/audit/blocks": [...LOG, "persistence/audit"],
  "persistence/audit/reading": AUDIT,
  "persistence/changes": LOG,
  "persistence/webhooks": ["engine", "persistence/disk"],
  "persistence/rescue": [...AUDIT, "persistence/webhooks"],
  "persistence/rescue/joining": [...AUDIT, "persistence/webhooks", "persistence/rescue"],
  "persistence/store": [...AUDIT, "persistence/cluster"],
  "persistence/library": [
    ...AUDIT,
    "persistence/store",
    "persistence/cluster",
    "persistence/cluster/member",
  ],
  "server/wire": [...ENGINE, "server/wire/bounds", "server/wire/websocket"],
  "server/wire/websocket": ["engine"],
  "server/wire/bounds": [],
  "server/routing": ROUTING,
  "server/auth": ROUTING,
  "server/observe": ROUTING,
  "server/live": ROUTING,
  "server/webhooks": [...ENGINE, "server/routing", "server/wire"],
  "server/layouts": [...ENGINE, "server/wire", "server/wire/bounds", "server/routing"],
  "server/cells": ROUTING,
  "server/cells/command": ["engine", "engine/cells", "server"],
  "server/docs": ["engine", "server/wire"],
  "server/openapi": [...ROUTING, "server/docs", "server/commands", "server/live"],
  "server/routes": [
    ...ROUTES,
    "server/docs",
    "server/openapi",
    "server/webhooks",
    "server/routes/v1",
    "server/routes/management",
    "server/routes/schemas",
  ],
  "server/routes/v1": [...ROUTES, "server/layouts"],
  "server/routes/management": ROUTES,
  "server/routes/schemas": ROUTES,
  "server/commands": ROUTING,
  "server/gateway": [...ROUTES, "server", "server/client", "server/commands", "server/routes/v1"],
  "server/gateway/engine": [...ROUTING, "server/commands", "server/gateway"],
  "server/demo": [...ENGINE, "server/auth", "server/docs", "server/onsale", "server/wire"],
  "server/console": [],
  "server/console/api": ["server/client", "server/layouts"],
  "server/console/map": ["server/layouts"],
  "server/console/state": [
    "server/console",
    "server/console/api",
    "server/console/map",
    "server/client",
  ],
  "server/console/views": [
    "server/console",
    "server/console/api",
    "server/console/map",
    "server/console/state",
  ],
  "server/cluster": [
    "engine",
    "persistence/cluster",
    "server",
    "server/auth",
    "server/observe",
    "server/wire",
  ],
  "server/examples": [],
  "server/status": ["server/onsale"],
  "server/tools": [
    "server",
    "server/cluster",
    "server/gateway",
    "server/observe",
    "persistence/*",
    "engine",
  ],
  "server/onsale": [...PLAYER, "server/onsale/books", "server/onsale/crowd"],
  "server/onsale/http": [...PLAYER, "server/client"],
  "server/onsale/books": PLAYER,
  "server/onsale/crowd": [...PLAYER, "server/onsale/books"],
  server: [
    ...ROUTES,
    "server/cluster",
    "server/routes/v1",
    "server/cells/command",
    "server/commands",
    "server/demo",
    "server/gateway",
    "server/status",
    "server/tools",
    "server/onsale",
  ],
  "bench/*": ["bench/*", "server/*", "persistence/*", "engine/*"],
  "test/*": ["test/*", "bench/*", "server/*", "persistence/*", "engine/*"],
};

/** Single files that join what their folder keeps apart. */
export const FILES_MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  "server/main.ts": [
    "persistence/store",
    "persistence/log",
    "persistence/changes",
    "server/gateway/engine",
    "server/cluster",
    "server/cells",
    "server/layouts",
    "server/live",
    "server/webhooks",
  ],
  "server/cluster/copies.ts": ["persistence/rescue/joining"],
  "server/cluster/host.ts": ["persistence/cluster/member"],
  "server/webhooks/webhooks.ts": ["persistence/disk"],
  "server/webhooks/worker.ts": [...READS_TRAIL, "persistence/disk"],
  "server/webhooks/courier.ts": READS_TRAIL,
  "server/webhooks/forming.ts": ["server/live"],
  "server/layouts/worker.ts": ["persistence/log"],
};

/** @returns Whether the file may import the file at `target`; both are paths from the root. */
export function mayImport(file: string, target: string): boolean {
  const folder = folderOf(file);
  const targetFolder = folderOf(target);
  if (folder === targetFolder) return true;
  const allowed = [...entryOf(folder), ...(FILES_MAY_IMPORT[file] ?? [])];
  return allowed.some((pattern) => covers(pattern, targetFolder));
}

/** @returns Whether the table has the folder. */
export function isKnownFolder(folder: string): boolean {
  return Object.keys(MAY_IMPORT).some((pattern) => covers(pattern, folder));
}

function entryOf(folder: string): readonly string[] {
  return Object.entries(MAY_IMPORT).find(([pattern]) => covers(pattern, folder))?.[1] ?? [];
}

function covers(pattern: string, folder: string): boolean {
  if (!pattern.endsWith("/*")) return pattern === folder;
  return `${folder}/`.startsWith(pattern.slice(0, -1));
}

export function folderOf(file: string): string {
  return file.slice(0, Math.max(0, file.lastIndexOf("/")));
}
