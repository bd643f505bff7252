/** The version of this package, from package.json. */
import { createRequire } from "node:module";

const manifest = createRequire(import.meta.url)("frontrow/package.json") as { version: string };

export const version: string = manifest.version;
