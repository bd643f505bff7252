/** The version of this package, from package.json. */
import { createRequire } from "node:module";

const manifest = createRequire(import.meta.url)("frontrow/package.json") as { version: string };

export const version: string = manifest.version;

/** A usage error of the command line: one line on standard error, exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
  readonly exitCode = 2;
}
