/** Answers below `/docs`: pages that the build has made, and assets. Each is read at its first request. */
import type { Answer } from "../http/answers.ts";
import { mediaTypeOf, NO_SNIFF, readPackageFile } from "./package-files.ts";
import { ASSETS, MISSING_PATH, pageFile, REFERENCE } from "./pages.ts";

/** Nothing comes from another host, and nothing is sent to one. */
const SAME_HOST =
  "default-src 'none'; script-src 'self'; connect-src 'self'; img-src 'self'; style-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'";
/** The reference writes its styles into the page, has pictures as data, and tries calls. */
const SAME_HOST_OF_REFERENCE =
  "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; font-src 'self' data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const AN_HOUR = ["Cache-Control", "max-age=3600"] as const;
/** Programs have another answer at the same address. */
const NOT_KEPT = ["Cache-Control", "no-store"] as const;
const COMPRESSED = ["Content-Encoding", "gzip"] as const;

const answers = new Map<string, Answer>();
let missing: Answer | undefined;

/** @param path - One of `DOCS_PATHS`. */
export function docsAnswer(path: string): Answer {
  const answer = answers.get(path) ?? answerAt(path);
  answers.set(path, answer);
  return answer;
}

/** The answer to a browser at an address without a page. */
export function missingPageAnswer(): Answer {
  if (missing === undefined) {
    const page = html(MISSING_PATH);
    missing = { ...page, status: 404, headers: [...page.headers, NOT_KEPT] };
  }
  return missing;
}

function answerAt(path: string): Answer {
  const found = Object.entries(ASSETS).find((entry) => entry[1] === path);
  return found === undefined ? html(path) : asset(...found);
}

function html(path: string): Answer {
  const policy = path === REFERENCE.path ? SAME_HOST_OF_REFERENCE : SAME_HOST;
  const headers = [NO_SNIFF, ["Content-Security-Policy", policy]] as const;
  const body = readPackageFile(pageFile(path)).toString();
  return { status: 200, type: mediaTypeOf("html"), body, headers };
}

function asset(name: string, path: string): Answer {
  const headers = name.endsWith(".gz") ? [NO_SNIFF, AN_HOUR, COMPRESSED] : [NO_SNIFF, AN_HOUR];
  return { status: 200, type: mediaTypeOf(path), body: readPackageFile(name), headers };
}
