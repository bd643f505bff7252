/** Writes like those of the log: on disk when they return, in a file that has its full length. */
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { type Contender, syntheticEvent } from "../contenders/contender.ts";
import { isTrial } from "../harness/command.ts";
import { measureIn, startModule } from "../harness/processes.ts";
import { targetAt } from "../load/plan.ts";

/** Of a two-seat lock by a session with a short name, as the log encodes it. */
const RECORD_BYTES = 40;
const FRAME_BYTES = 128;
const SECTOR_BYTES = 512;
const FILE_BYTES = (isTrial ? 1 : 64) * 1_024 * 1_024;
const FLAGS = fs.constants.O_RDWR | fs.constants.O_DSYNC;

/** @returns The bytes that the log writes for so many commands of one batch. */
export function batchBytes(commands: number): number {
  const bytes = FRAME_BYTES + commands * RECORD_BYTES;
  return Math.ceil(bytes / SECTOR_BYTES) * SECTOR_BYTES;
}

/** A file that is written from its beginning to its end, again and again. */
export class WrittenFile {
  readonly #fd: number;
  readonly #bytes = Buffer.alloc(FILE_BYTES, 1);
  #position = 0;

  constructor(folder: string) {
    const file = path.join(folder, "written");
    fs.writeFileSync(file, this.#bytes, { flush: true });
    this.#fd = fs.openSync(file, FLAGS);
  }

  /** @param onDone - Called when the bytes are on disk. */
  write(bytes: number, onDone: () => void): void {
    if (this.#position + bytes > FILE_BYTES) this.#position = 0;
    fs.write(this.#fd, this.#bytes, 0, bytes, this.#position, (error) => {
      if (error !== null) throw error;
      onDone();
    });
    this.#position += bytes;
  }

  close(): void {
    fs.closeSync(this.#fd);
  }
}

export interface WriteTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Writes one batch after the other. */
export async function writeTimes(
  folder: string,
  commands: number,
  durationMs: number,
): Promise<WriteTimes> {
  const file = new WrittenFile(folder);
  const bytes = batchBytes(commands);
  const times: number[] = [];
  const endMs = performance.now() + durationMs;
  while (performance.now() < endMs) {
    const startMs = performance.now();
    await new Promise<void>((resolve) => file.write(bytes, resolve));
    times.push(performance.now() - startMs);
  }
  file.close();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}

// Combined work of the processors. Virtual machines may count two threads of one core as
// two processors; what runs beside the engine's thread then slows it down.

const BUSY_WORK = new URL("./busy-work.js", import.meta.url);

export interface Processors {
  /** As the operating system counts them. */
  readonly count: number;
  /** The work of as many busy processes at once ÷ the work of one alone; at best `count`. */
  readonly together: number;
}

export async function measureProcessors(durationMs: number): Promise<Processors> {
  const work = () => measureIn<number>(BUSY_WORK, { durationMs });
  const count = os.availableParallelism();
  const alone = await work();
  const rates = await Promise.all(Array.from({ length: count }, work));
  return { count, together: rates.reduce((sum, rate) => sum + rate, 0) / alone };
}

export function describeProcessors({ count, together }: Processors): string {
  return `${count} processors do ${together.toFixed(2)} times the work of one`;
}

// Command sockets that decide nothing.

const COMMAND_SERVER = new URL("./command-server.js", import.meta.url);

/** @param writes - Whether the commands are on disk before they are answered. */
export function emptyCommands(name: string, writes: boolean): Contender {
  return {
    name,
    mixes: [],
    missing: () => null,
    start: async (folder) => {
      const { url, pid, stop } = await startModule(COMMAND_SERVER, writes ? [folder] : []);
      return {
        target: targetAt(url),
        pids: [pid],
        openEvent: async (seatCount) => syntheticEvent(seatCount),
        stop,
      };
    },
  };
}
