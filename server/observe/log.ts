/** The log of the server on standard error: JSON lines for programs, one short line for people. */
import { close, closeSync, constants, openSync, write } from "node:fs";
import { type DestinationStream, type Logger, pino } from "pino";
import { visible } from "../../engine/names.ts";
import type { Answer } from "../http/answers.ts";
import type { Exchange } from "../http/front.ts";

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
  // Nobody may read the log, or any longer: selling goes on without it.
  const streams: readonly NodeJS.EventEmitter[] = [destination, process.stdout, process.stderr];
  for (const stream of streams) stream.on("error", () => {});
  const { isTTY } = process.stderr;
  const isPretty = logFormat === "pretty" || (logFormat === "auto" && isTTY);
  if (!isPretty) return pino({ level }, { write: (line) => destination.write(visible(line)) });
  // https://no-color.org
  const hasColors = isTTY && (process.env["NO_COLOR"] ?? "") === "";
  return pino({ level }, prettyStream(destination, hasColors));
}

function prettyStream(destination: DestinationStream, hasColors: boolean): DestinationStream {
  return { write: (line) => destination.write(prettyLine(line, hasColors)) };
}

/** Warns of an unnamed proxy, or of a client with a forged header. */
export function warnUntrusted(log: Pick<Logger, "warn">): (address: string) => void {
  return (address) =>
    log.warn(
      { address },
      "X-Forwarded-For came from an address that --trusted-proxy does not name: if it is a proxy, " +
        "name it, because all its clients count as one",
    );
}

/** An API key or a tenant token; "_" may be written as "%5F". */
const KEY_CODE = /(fr[ot](?:_|%5f)\d{1,16}(?:_|%5f))[\w%-]+/gi;

/** The id of a visitor, which is its credential. */
const VISITOR = /(\/visitors\/)[^/?]+/gi;

/** A path as a log may have it: somebody may have put a key into it. */
export function withoutKeys(path: string): string {
  return path.replace(KEY_CODE, "$1***").replace(VISITOR, "$1***");
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
  const head = [`${clockTime(time)} ${shown} ${visible(msg)}`, ...texts].join("  ");
  const stack = err === undefined ? "" : `\n${visible(err.stack ?? err.message ?? "")}`;
  return `${head}${stack}\n`;
}

/** Without quotation marks where they are not needed. */
function factText(value: unknown): string {
  const isPlain = typeof value === "string" && /^[\w.:+/@-]+$/.test(value);
  return isPlain ? value : visible(JSON.stringify(value));
}

/** The local time of day, to the millisecond. */
function clockTime(timeMs: number): string {
  const date = new Date(timeMs);
  const ms = String(date.getMilliseconds()).padStart(3, "0");
  return `${date.toTimeString().slice(0, 8)}.${ms}`;
}

// A JSON line for each answered request. Lines wait in memory for their destination, up to a limit:
// a slow destination loses lines, counted, and never delays an answer.

const { O_APPEND, O_CREAT, O_NONBLOCK, O_WRONLY } = constants;
const STANDARD_OUTPUT = 1;
const FILE_MODE = 0o600;
/** Lines are written when there are this many characters, or after this time. */
const CHUNK_CHARACTERS = 64 * 1_024;
const FLUSH_MS = 500;
export const WAITING_CHARACTERS_MAX = 4 * 1_024 * 1_024;

/** Lines on their way to the destination. */
interface Chunk {
  readonly lines: number;
  readonly characters: number;
  readonly bytes: Buffer;
}

export class AccessLog {
  lines = 0;
  /** Lines lost to a slow or failed destination. */
  dropped = 0;
  readonly #place: string;
  #file: number;
  /** The same file, opened again; null for none. */
  #next: number | null = null;
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #chunk: Chunk | null = null;
  #isWriting = false;
  #onEmpty: (() => void) | null = null;

  /** @param place - A file, or `-` for standard output. @throws Error when it cannot be opened. */
  constructor(place: string) {
    this.#place = place;
    this.#file = place === "-" ? STANDARD_OUTPUT : openToAppend(place);
    setInterval(() => this.#flush(), FLUSH_MS).unref();
  }

  /** To be called when the request has its answer, before the answer is sent. */
  answered(exchange: Exchange, { status, body }: Answer): void {
    const { method, path, organization, startedMs } = exchange;
    const durationMs = startedMs === 0 ? 0 : performance.now() - startedMs;
    const fields = JSON.stringify({
      time: new Date().toISOString(),
      method: method.toUpperCase(),
      // Without the query: it may hold anything.
      path: withoutKeys(path),
      status,
      durationMs: Number(durationMs.toFixed(3)),
      bytes: typeof body === "string" ? Buffer.byteLength(body) : body.length,
      requestId: exchange.id,
      organization: organization === 0 ? null : organization,
    });
    const line = visible(fields);
    const characters = this.#waitingCharacters + line.length + (this.#chunk?.characters ?? 0);
    if (characters > WAITING_CHARACTERS_MAX) {
      this.dropped += 1;
      return;
    }
    this.lines += 1;
    this.#waiting.push(line);
    this.#waitingCharacters += line.length;
    if (this.#waitingCharacters >= CHUNK_CHARACTERS) this.#flush();
  }

  /** Opens the file again, or goes on with the old one and says so. No line is in both. */
  reopen(log: Logger): void {
    if (this.#place === "-") return;
    try {
      const next = openToAppend(this.#place);
      if (this.#next !== null) closeSync(this.#next);
      this.#next = next;
      this.#flush();
    } catch (error) {
      log.error({ err: error }, "the access log goes on in the file that was open");
    }
  }

  /** Settles when every line has been written or lost. */
  written(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isWriting) return;
    if (this.#chunk === null && this.#next !== null) {
      const before = this.#file;
      this.#file = this.#next;
      this.#next = null;
      // A remote disk may tell of a failed write only now; what it lost is lost.
      close(before, () => {});
    }
    if (this.#chunk === null && this.#waiting.length > 0) {
      const [lines, characters] = [this.#waiting.length, this.#waitingCharacters];
      this.#chunk = { lines, characters, bytes: Buffer.from(`${this.#waiting.join("\n")}\n`) };
      this.#waiting = [];
      this.#waitingCharacters = 0;
    }
    if (this.#chunk === null) {
      this.#onEmpty?.();
      return;
    }
    this.#isWriting = true;
    write(this.#file, this.#chunk.bytes, this.#written);
  }

  readonly #written = (error: NodeJS.ErrnoException | null, bytes: number): void => {
    this.#isWriting = false;
    // The destination takes nothing at present; the next tick of the timer tries again.
    if (error?.code === "EAGAIN") return;
    const chunk = this.#chunk!;
    const rest = chunk.bytes.subarray(bytes);
    if (error !== null) this.dropped += chunk.lines;
    this.#chunk = error === null && rest.length > 0 ? { ...chunk, bytes: rest } : null;
    const isUrgent = this.#chunk !== null || this.#onEmpty !== null;
    if (isUrgent || this.#waitingCharacters >= CHUNK_CHARACTERS) this.#flush();
  };
}

/** A pipe without a reader is an error; a full one does not block. */
function openToAppend(file: string): number {
  try {
    return openSync(file, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, FILE_MODE);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`the access log cannot be opened: ${message}`, { cause: error });
  }
}
