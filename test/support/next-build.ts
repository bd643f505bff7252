/** The next version of the program: the upgrade of a folder, or of a cluster, is to it. */
import fs from "node:fs";
import path from "node:path";
import { ROOT, temporaryFolder } from "./server-process.ts";

export const NEXT_VERSION = "99.0.0";

/** Builds the program with another version. @param change - Of `formats.js`. @returns Its path. */
export function buildNext(change: (formats: string) => string): string {
  const root = temporaryFolder();
  for (const name of ["node_modules", "server", "README.md", "LICENSE"]) {
    fs.symlinkSync(path.join(ROOT, name), path.join(root, name));
  }
  for (const name of [
    "engine",
    "persistence",
    "server",
    "pages",
    "reference.js.gz",
    "search.json.gz",
  ]) {
    fs.cpSync(path.join(ROOT, "dist", name), path.join(root, "dist", name), { recursive: true });
  }
  const manifest = fs.readFileSync(path.join(ROOT, "package.json"), "utf8");
  const next = { ...(JSON.parse(manifest) as object), version: NEXT_VERSION };
  fs.writeFileSync(path.join(root, "package.json"), JSON.stringify(next));
  const formats = path.join(root, "dist/persistence/disk/formats.js");
  fs.writeFileSync(formats, change(fs.readFileSync(formats, "utf8")));
  return path.join(root, "dist/server/cli.js");
}

/** Raises the version of the log and of the store. */
export function raised(formats: string): string {
  return ["store", "log"].reduce((text, name) => {
    const version = new RegExp(`(name: "${name}", version: )(\\d+)`);
    if (!version.test(text)) throw new Error(`formats.js has no version of the ${name}`);
    return text.replace(version, (_, start: string, found) => start + (Number(found) + 1));
  }, formats);
}
