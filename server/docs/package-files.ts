/** Reads files of the package; for the build, writes some, and reads one of a development dependency. */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { type Answer, inflated } from "../http/answers.ts";

const { resolve } = createRequire(import.meta.url);
const ROOT = path.dirname(resolve("@frontrow/server/package.json"));

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  json: "application/json; charset=utf-8",
  svg: "image/svg+xml",
};

/** The media type of a file, by its ending. */
export function mediaTypeOf(name: string): string {
  return TYPES[name.split(".").at(-1)!]!;
}

/** @param name - From the root of the package. */
export function readPackageFile(name: string): Buffer {
  return readFileSync(path.join(ROOT, name));
}

/** For the build. @param name - From the root of the package; its folder is made. */
export function writePackageFile(name: string, text: string): void {
  const file = path.join(ROOT, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/** @param name - Beside the entry of the module. */
export function readBeside(module: string, name: string): Buffer {
  return readFileSync(path.join(path.dirname(resolve(module)), name));
}

/**
 * @param folder - From the root of the package.
 * @returns The names of its files and those of the folders in it; none when it does not exist.
 */
function listPackageFiles(folder: string): readonly string[] {
  const root = path.join(ROOT, folder);
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}

// The files of the console: read once, at start. A request can only name a path of this list.

const FOLDER = "dist/server/console";
export const CONSOLE_PATH = "/console";
const PAGE = "index.html";

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'";
export const NO_SNIFF = ["X-Content-Type-Options", "nosniff"] as const;
const PAGE_HEADERS = [
  NO_SNIFF,
  ["Referrer-Policy", "no-referrer"],
  ["Cache-Control", "no-cache"],
  ["Content-Security-Policy", POLICY],
] as const;
/** The name of an asset has the hash of its content. */
const ASSET_HEADERS = [NO_SNIFF, ["Cache-Control", "public, max-age=31536000, immutable"]] as const;

interface ConsoleFile {
  readonly path: string;
  /** @param acceptEncoding - The header of the request. */
  readonly answer: (acceptEncoding?: string) => Answer;
}

/** Empty when the console has not been built. */
export function consoleFiles(): readonly ConsoleFile[] {
  return listPackageFiles(FOLDER).map((name) => {
    const isPage = name === PAGE;
    const compressed: Answer = {
      status: 200,
      type: mediaTypeOf(name),
      body: gzipSync(readPackageFile(`${FOLDER}/${name}`)),
      headers: isPage ? PAGE_HEADERS : ASSET_HEADERS,
    };
    const address = isPage ? CONSOLE_PATH : `${CONSOLE_PATH}/${name}`;
    return { path: address, answer: (acceptEncoding) => inflated(compressed, acceptEncoding) };
  });
}
