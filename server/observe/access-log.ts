/**
 * A JSON line for each answered request. Lines wait in memory for their destination, up to a limit:
 * a slow destination loses lines, which are counted, and never delays an answer.
 */
import { constants, openSync, write } from "node:fs";
import type { Answer } from "../wire/answers.ts";
import type { Exchange } from "../wire/front.ts";
import { withoutKeys } from "./log.ts";

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
  /** Lines that were lost, because the destination was too slow or failed. */
  dropped = 0;
  readonly #file: number;
  #waiting: string[] = [];
  #waitingCharacters = 0;
  #chunk: Chunk | null = null;
  #isWriting = false;
  #onEmpty: (() => void) | null = null;

  /** @param place - A file, or `-` for standard output. @throws Error when it cannot be opened. */
  constructor(place: string) {
    this.#file = place === "-" ? STANDARD_OUTPUT : openToAppend(place);
    setInterval(() => this.#flush(), FLUSH_MS).unref();
  }

  /** To be called when the request has its answer, before the answer is sent. */
  answered(exchange: Exchange, { status, body }: Answer): void {
    const { method, path, organization, startedMs } = exchange;
    const durationMs = startedMs === 0 ? 0 : performance.now() - startedMs;
    const line = JSON.stringify({
      time: new Date().toISOString(),
      method: method.toUpperCase(),
      // Without the query, which may hold anything.
      path: withoutKeys(path),
      status,
      durationMs: Number(durationMs.toFixed(3)),
      bytes: typeof body === "string" ? Buffer.byteLength(body) : body.length,
      requestId: exchange.id,
      organization: organization === 0 ? null : organization,
    });
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

  /** Settles when every line has been written or lost. */
  written(): Promise<void> {
    return new Promise((resolve) => {
      this.#onEmpty = resolve;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#isWriting) return;
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

/** A pipe that nobody reads is an error, and one that is full does not block. */
function openToAppend(file: string): number {
  try {
    return openSync(file, O_APPEND | O_CREAT | O_NONBLOCK | O_WRONLY, FILE_MODE);
  } catch (error) {
    const { message } = error as Error;
    throw new Error(`the access log cannot be opened: ${message}`, { cause: error });
  }
}
