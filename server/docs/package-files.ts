/** Reads files that ship with the package, and one of a development dependency for the build. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const { resolve } = createRequire(import.meta.url);
const ROOT = path.dirname(resolve("frontrow/package.json"));

/** @param name - From the root of the package. */
export function readPackageFile(name: string): Buffer {
  return readFileSync(path.join(ROOT, name));
}

/** @param name - Beside the entry of the module. */
export function readBeside(module: string, name: string): Buffer {
  return readFileSync(path.join(path.dirname(resolve(module)), name));
}

/**
 * @param folder - From the root of the package.
 * @returns The names of its files and those of the folders in it; none when it does not exist.
 */
export function listPackageFiles(folder: string): readonly string[] {
  const root = path.join(ROOT, folder);
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}
