/**
 * Plays the examples of the API reference against a server, in the order of the files, and compares
 * the answers. What a server makes itself (UUIDs, keys, tokens) is replaced in later requests.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Example, readTexts } from "../../../server/docs/schemas.ts";

const FOLDER = path.resolve(import.meta.dirname, "../../../server/docs/operations");
const UUID_V4 = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
/** What a server makes itself: UUIDs, keys, secrets, tokens of logins, tickets, sealed parts. */
const MADE = new RegExp(
  `^(${UUID_V4}|whsec_[\\w+/]{43}=|(fr[ot]_\\d+_)?[\\w-]{43}|\\d+(\\.[\\w-]{43}){2}|[\\w-]{100,})$`,
);
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z?$/;

const WRONG_STATUS = "the status is";

export interface Played {
  readonly operation: string;
  readonly example: Example;
  /** Where the answer differs from the example; empty when it does not. */
  readonly differences: readonly string[];
  /** What the answer would be in the words of the example. */
  readonly answer: { readonly status: number; readonly body: unknown };
}

/** Sends a request. */
export type Send = (
  operation: string,
  request: { method: string; target: string; headers: Record<string, string>; body?: string },
) => Promise<{ readonly status: number; readonly text: string }>;

/** Every example with its operation, in the order of the files but for those that wait. */
function scenario(): { operation: string; endpoint: string; example: Example }[] {
  const all = readTexts().flatMap(({ operations }) =>
    operations.flatMap(({ id: operation, endpoint, examples }) =>
      examples.map((example) => ({ operation, endpoint, example })),
    ),
  );
  const isAfter = (name: string) => (item: (typeof all)[number]) =>
    item.example.requestNote === `after=${name}`;
  const ordered: typeof all = [];
  const add = (item: (typeof all)[number], next: (typeof all)[number] | undefined) => {
    ordered.push(item);
    if (next?.operation === item.operation) return;
    for (const later of all.filter(isAfter(item.operation))) add(later, undefined);
  };
  const first = all.filter(({ example }) => example.requestNote === "");
  for (const [i, item] of first.entries()) add(item, first[i + 1]);
  return ordered;
}

export async function play(send: Send): Promise<Played[]> {
  /** From the examples to the server. */
  const made = new Map<string, string>();
  const played: Played[] = [];
  for (const { operation, example } of scenario()) {
    const { method, headers, body } = example;
    const target = replaced(example.target, made);
    const sent = Object.entries(headers).map(([name, value]) => [name, replaced(value, made)]);
    const text = body === undefined ? undefined : replaced(JSON.stringify(body), made);
    const request = { method, target, headers: Object.fromEntries(sent) };
    const got = await send(operation, text === undefined ? request : { ...request, body: text });
    const value = valueOf(got.text);
    const isPart = example.answerNote === "part";
    const differences = [...differencesOf(example.answer, value, { made, isPart, place: "" })];
    if (got.status !== example.status) differences.unshift(`${WRONG_STATUS} ${got.status}`);
    const back = new Map([...made].map(([from, to]) => [to, from]));
    const answer = { status: got.status, body: valueOf(replaced(got.text, back)) };
    played.push({ operation, example, differences, answer });
  }
  return played;
}

function valueOf(text: string): unknown {
  if (text === "") return undefined;
  return /^([[{"]|true$|false$)/.test(text) ? (JSON.parse(text) as unknown) : text;
}

function replaced(text: string, by: ReadonlyMap<string, string>): string {
  let result = text;
  for (const [from, to] of by) result = result.replaceAll(from, to);
  return result;
}

interface Comparison {
  readonly made: Map<string, string>;
  /** Whether the example may leave out members. */
  readonly isPart: boolean;
  readonly place: string;
}

/** Where two values differ. Times and durations need to have the same form only. */
function* differencesOf(example: unknown, actual: unknown, at: Comparison): Generator<string> {
  const { made, isPart, place } = at;
  if (typeof example === "string" && typeof actual === "string") {
    const known = made.get(example);
    if (known === undefined && MADE.test(example) && MADE.test(actual)) made.set(example, actual);
    const isSame = replaced(example, made) === actual || (TIME.test(example) && TIME.test(actual));
    const isStart = isPart && actual.startsWith(example);
    if (!isSame && !isStart) yield `${place}: ${actual}`;
  } else if (place.endsWith("/milliseconds")) {
    if (typeof example !== typeof actual) yield `${place}: ${JSON.stringify(actual)}`;
  } else if (isObject(example) && isObject(actual)) {
    for (const name of new Set([...Object.keys(actual), ...Object.keys(example)])) {
      if (isPart && !(name in example)) continue;
      yield* differencesOf(example[name], actual[name], { ...at, place: `${place}/${name}` });
    }
  } else if (example !== actual) {
    yield `${place}: ${JSON.stringify(actual)}`;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Writes answers into the examples, but for those whose status is wrong. */
export function record(played: readonly Played[]): void {
  for (const name of readdirSync(FOLDER).filter((file) => /^[a-z].*\.md$/.test(file))) {
    const file = path.join(FOLDER, name);
    const sections = readFileSync(file, "utf8").split(/^(?=## )/m);
    const recorded = sections.map((section) => {
      const id = /^## (\w+)/.exec(section)?.[1];
      const own = played.filter(({ operation }) => operation === id);
      return own.reduce(withAnswer, section);
    });
    writeFileSync(file, recorded.join(""));
  }
}

function withAnswer(section: string, { example, differences, answer }: Played): string {
  const isWrong = differences.length === 0 || differences[0]!.startsWith(WRONG_STATUS);
  if (isWrong || example.answerNote === "part") return section;
  const start = section.indexOf(`### ${example.title}\n`);
  const answerAt = section.indexOf("```http", section.indexOf("```\n\n```http", start) + 4);
  const from = section.indexOf("\n", answerAt) + 1;
  const shown = answer.body === undefined ? "" : `\n\n${pretty(answer.body)}`;
  const rest = section.slice(section.indexOf("\n```", from));
  return `${section.slice(0, from)}${answer.status}${shown}${rest}`;
}

/** JSON in which a value that fits is on one line. */
function pretty(value: unknown, indent = "", used = 0): string {
  if (typeof value === "string" && indent === "" && used === 0 && value.includes("\n"))
    return value;
  const line = JSON.stringify(value, null, 1).replaceAll(/\n\s*/g, " ");
  if (!isObject(value) || indent.length + used + line.length <= 96) return line;
  const inner = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => inner + pretty(item, inner))
    : Object.entries(value).map(([name, item]) => {
        const key = `${JSON.stringify(name)}: `;
        return inner + key + pretty(item, inner, key.length);
      });
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  return `${open}\n${items.join(",\n")}\n${indent}${close}`;
}
