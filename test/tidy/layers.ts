/** The layers of the project, a line each: whom a layer may import, beside itself. */

/** On the way of every request. */
const REQUEST = ["engine", "server/http", "server/api", "server/auth", "server/observe"];
const WITH_STORE = ["engine", "persistence", "server"];

/**
 * A name stands for a file or for all of a folder. The longest name that fits is the layer of a
 * file.
 */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  engine: [],
  persistence: ["engine"],
  // Clients, which know the server by its interface only.
  "server/client": [],
  "server/onsale": ["server/client", "engine/names.ts"],
  "server/console": ["server/client", "server/layouts/geometry-columns.ts", "engine/names.ts"],
  // The server. Few of its parts know the store.
  "server/http": ["engine"],
  "server/api": REQUEST,
  // Types of all services, wherever they are.
  "server/api/services.ts": ["server", "engine"],
  "server/auth": REQUEST,
  "server/observe": REQUEST,
  server: ["engine"],
  "server/main.ts": WITH_STORE,
  "server/cluster": WITH_STORE,
  "server/layouts": WITH_STORE,
  "server/tools": WITH_STORE,
  "server/webhooks": WITH_STORE,
  bench: WITH_STORE,
  test: [...WITH_STORE, "bench"],
};

/** @returns Whether the file may import the file at `target`; both are paths from the root. */
export function mayImport(file: string, target: string): boolean {
  const layers = Object.keys(LAYERS).filter((name) => covers(name, file));
  const layer = layers.toSorted((a, b) => b.length - a.length)[0];
  if (layer === undefined) return false;
  return [layer, ...LAYERS[layer]!].some((name) => covers(name, target));
}

function covers(name: string, file: string): boolean {
  return file === name || file.startsWith(`${name}/`);
}
