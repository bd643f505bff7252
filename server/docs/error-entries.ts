/** The texts of the error pages, by public code. A test keeps them in step with the table. */
import type { FieldError } from "../../engine/results.ts";
import { readPackageFile } from "./package-files.ts";

export interface ErrorEntry {
  /** One sentence. This text and the next one are Markdown. */
  readonly cause: string;
  /** What a client does, in one or two paragraphs. */
  readonly client: string;
  /** The values of `errors[].code` that come with it, and what each means. */
  readonly fieldCodes: Readonly<Record<string, string>>;
  readonly example: ErrorExample;
}

interface ErrorExample {
  readonly path: string;
  readonly detail: string;
  readonly errors?: readonly FieldError[];
}

const FILE = "server/docs/error-codes.md";
const ENTRY = /^([A-Z_]+)\n\n(.*)\n\n([^]*?)\n\n(?:(- `[^]*?)\n\n)?```json\n([^]*)\n```/;

export const ERROR_ENTRIES: Readonly<Record<string, ErrorEntry>> = Object.fromEntries(
  readPackageFile(FILE).toString().split(/^## /m).slice(1).map(entryOf),
);

/** @throws Error when the section has another form. */
function entryOf(section: string): readonly [string, ErrorEntry] {
  const parts = ENTRY.exec(section);
  if (parts === null) throw new Error(`not the text of an error code: ${section.slice(0, 60)}`);
  const [, code = "", cause = "", client = "", codes = "", example = ""] = parts;
  const items = [...codes.matchAll(/^- `(\w+)`: (.*)$/gm)];
  const fieldCodes = Object.fromEntries(items.map(([, name, text]) => [name, text]));
  return [code, { cause, client, fieldCodes, example: JSON.parse(example) as ErrorExample }];
}
