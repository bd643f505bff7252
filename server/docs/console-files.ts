/** The files of the console: read once, at start. A request can only name a path of this list. */
import { gzipSync } from "node:zlib";
import { type Answer, inflated } from "../wire/answers.ts";
import { listPackageFiles, readPackageFile } from "./package-files.ts";

const FOLDER = "dist/server/console";
export const CONSOLE_PATH = "/console";
const PAGE = "index.html";

const TYPES: Readonly<Record<string, string>> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  svg: "image/svg+xml",
};

const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'";
const PAGE_HEADERS = [
  ["X-Content-Type-Options", "nosniff"],
  ["Referrer-Policy", "no-referrer"],
  ["Cache-Control", "no-cache"],
  ["Content-Security-Policy", POLICY],
] as const;
/** The name of an asset has the hash of its content. */
const ASSET_HEADERS = [
  ["X-Content-Type-Options", "nosniff"],
  ["Cache-Control", "public, max-age=31536000, immutable"],
] as const;

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
      type: TYPES[name.split(".").at(-1)!]!,
      body: gzipSync(readPackageFile(`${FOLDER}/${name}`)),
      headers: isPage ? PAGE_HEADERS : ASSET_HEADERS,
    };
    const path = isPage ? CONSOLE_PATH : `${CONSOLE_PATH}/${name}`;
    return { path, answer: (acceptEncoding) => inflated(compressed, acceptEncoding) };
  });
}
