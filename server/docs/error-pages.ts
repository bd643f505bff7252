/** The pages of the error codes: a list, and a page for each code of the table of refusals. */
import { problemAnswer } from "../wire/answers.ts";
import { type Refused, REPLIES } from "../wire/replies.ts";
import { ERROR_ENTRIES, type ErrorEntry } from "./error-entries.ts";

export interface ErrorCode {
  readonly code: string;
  readonly status: number;
  readonly title: string;
  readonly entry: ErrorEntry;
  readonly refused: Refused;
}

const EXAMPLE_TIME_MS = Date.UTC(2030, 4, 1, 18, 0, 0, 123);

/** Every code that has an entry, by status, with the title of its first row in the table. */
export const ERROR_CODES: readonly ErrorCode[] = Object.entries(ERROR_ENTRIES)
  .flatMap(([code, entry]) => {
    const row = Object.entries(REPLIES).find(([, { errorCode }]) => errorCode === code);
    if (row === undefined) return [];
    const [refused, { status, title }] = row;
    return [{ code, status, title, entry, refused: Number(refused) as Refused }];
  })
  .sort((a, b) => a.status - b.status);

/** The list, as Markdown; `intro` stands before it. */
export function errorList(intro: string): string {
  const rows = ERROR_CODES.map(({ code, status, entry }) => {
    return `| \`${code}\` | ${status} | ${entry.cause} |`;
  });
  return [intro.trim(), "", "| code | status | cause |", "|---|---|---|", ...rows].join("\n");
}

export function errorPage({ code, status, title, entry, refused }: ErrorCode): string {
  const { cause, client, fieldCodes, example } = entry;
  const { body } = problemAnswer({ refused, ...example }, example.path, EXAMPLE_TIME_MS);
  const codes = Object.entries(fieldCodes ?? {}).map(([name, text]) => `| \`${name}\` | ${text} |`);
  return [
    `# ${code}`,
    `**${status}** ${title}`,
    cause,
    "## What the client does",
    client,
    ...(codes.length === 0
      ? []
      : ["## Codes in `errors[]`", ["| code | meaning |", "|---|---|", ...codes].join("\n")]),
    "## Example",
    `\`\`\`json\n${JSON.stringify(JSON.parse(String(body)), null, 2)}\n\`\`\``,
    "See [all error codes](/docs/errors/) and [retries](retries.md).",
  ].join("\n\n");
}
