/** The log of the server on standard error: JSON lines for programs, one short line for people. */
import { type DestinationStream, type Logger, pino } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
export const LOG_FORMATS = ["auto", "pretty", "json"] as const;

export interface LogOptions {
  readonly logLevel: (typeof LOG_LEVELS)[number];
  /** `auto` is pretty on a terminal, otherwise JSON. */
  readonly logFormat: (typeof LOG_FORMATS)[number];
}

const STANDARD_ERROR = 2;
const RESET = "\u001B[0m";
/** Name and colour of each level of pino. */
const LEVELS: Readonly<Record<number, readonly [name: string, color: string]>> = {
  10: ["TRACE", "\u001B[90m"],
  20: ["DEBUG", "\u001B[90m"],
  30: ["INFO ", "\u001B[32m"],
  40: ["WARN ", "\u001B[33m"],
  50: ["ERROR", "\u001B[31m"],
  60: ["FATAL", "\u001B[31m"],
};

export function createLog({ logLevel: level, logFormat }: LogOptions): Logger {
  const destination = pino.destination({ dest: STANDARD_ERROR, sync: true });
  const { isTTY } = process.stderr;
  const isPretty = logFormat === "pretty" || (logFormat === "auto" && isTTY);
  if (!isPretty) return pino({ level }, destination);
  // https://no-color.org
  const hasColors = isTTY && (process.env["NO_COLOR"] ?? "") === "";
  return pino({ level }, prettyStream(destination, hasColors));
}

function prettyStream(destination: DestinationStream, hasColors: boolean): DestinationStream {
  return { write: (line) => destination.write(prettyLine(line, hasColors)) };
}

/** What follows the number in an API key or a tenant token; "_" may be written as "%5F". */
const KEY_CODE = /(fr[ot](?:_|%5f)\d{1,16}(?:_|%5f))[\w%-]+/gi;

/** A path as a log may have it: somebody may have put a key into it. */
export function withoutKeys(path: string): string {
  return path.replace(KEY_CODE, "$1***");
}

interface Entry {
  readonly level: number;
  readonly time: number;
  readonly msg?: string;
  readonly err?: { readonly message?: string; readonly stack?: string };
}

/**
 * `18:04:05.123 INFO  recovered  records=3 seconds=0.1`, with the stack of an error below it.
 *
 * @param line - As pino writes it.
 */
export function prettyLine(line: string, hasColors: boolean): string {
  const {
    level,
    time,
    msg = "",
    err,
    pid: _,
    hostname: __,
    ...facts
  } = JSON.parse(line) as Entry & {
    readonly [name: string]: unknown;
  };
  const [name, color] = LEVELS[level] ?? [String(level), ""];
  const shown = hasColors ? `${color}${name}${RESET}` : name;
  const texts = Object.entries(facts).map(([fact, value]) => `${fact}=${factText(value)}`);
  const head = [`${clockTime(time)} ${shown} ${msg}`, ...texts].join("  ");
  const stack = err === undefined ? "" : `\n${err.stack ?? err.message ?? ""}`;
  return `${head}${stack}\n`;
}

/** Without quotation marks where they are not needed. */
function factText(value: unknown): string {
  const isPlain = typeof value === "string" && /^[\w.:+/@-]+$/.test(value);
  return isPlain ? value : JSON.stringify(value);
}

/** The local time of day, to the millisecond. */
function clockTime(timeMs: number): string {
  const date = new Date(timeMs);
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${date.toTimeString().slice(0, 8)}.${ms}`;
}
