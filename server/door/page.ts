/** The page of a door: one file for all events, without any address outside. */
import { createHash } from "node:crypto";
import { NO_SNIFF, readPackageFile } from "../docs/package-files.ts";
import { type Answer, withTag } from "../http/answers.ts";

const FILE = "server/door/page.html";
let made: Answer | undefined;

/** The same answer for every event, so that a cache keeps it. */
export function doorPage(): Answer {
  return (made ??= makePage());
}

function makePage(): Answer {
  const body = readPackageFile(FILE).toString();
  const headers = [
    NO_SNIFF,
    // The address has the id of the visitor in its fragment, and the event in its path.
    ["Referrer-Policy", "no-referrer"],
    ["Cache-Control", "public, max-age=60"],
    ["Content-Security-Policy", policyOf(body)],
  ] as const;
  const shown = { status: 200, type: "text/html; charset=utf-8", body, headers };
  return withTag(shown, createHash("sha256").update(body).digest("base64url"));
}

/** Only the style and the script that the page has itself. */
function policyOf(body: string): string {
  const [style, script] = ["style", "script"].map((name) => {
    const [, content = ""] = new RegExp(`<${name}>([^]*?)</${name}>`).exec(body) ?? [];
    return `'sha256-${createHash("sha256").update(content).digest("base64")}'`;
  });
  return (
    `default-src 'none'; style-src ${style}; script-src ${script}; connect-src 'self'; ` +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
  );
}
