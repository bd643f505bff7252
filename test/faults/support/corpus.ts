/**
 * Folders to be damaged: what killed lives of a store left, and where in the log each frame lies.
 */
import fs from "node:fs";
import path from "node:path";
import {
  LOG_FOLDER,
  padToSector,
  readFrameHeader,
  SEGMENT_HEADER_BYTES,
} from "../../../persistence/log/frame.ts";
import { sleep } from "../../support/server-process.ts";
import { type FiledHistory, Life, type LifePlan } from "./lives.ts";
import type { Scope } from "./scope.ts";

/** No log grows so far that a snapshot is due. */
export const NEVER = 2 ** 40;

/** One frame, in the order of the log. */
export interface FramePlace {
  /** Name of the segment. */
  readonly segment: string;
  readonly at: number;
  /** Behind its zeros. */
  readonly end: number;
  readonly recordCount: number;
  readonly firstSequence: number;
}

/**
 * Lives until its last record, and a snapshot where some are to be made; rests long enough to mark
 * all as durable, and is killed.
 */
export async function liveAndDie(
  scope: Scope,
  history: FiledHistory,
  plan: LifePlan,
): Promise<void> {
  const life = new Life(scope, history, { ...plan, stays: true });
  const isMade = () => plan.snapshotBytes === NEVER || life.lines.includes("snapshot");
  while (!life.lines.includes("waiting") || !isMade()) {
    const ended = await Promise.race([life.exited, sleep(5)]);
    if (ended !== undefined) throw new Error(`a life ended with ${ended.code}: ${life.stderr}`);
  }
  await sleep(REST_MS);
  await life.kill("SIGKILL");
}

/** Far more than the log waits before it marks what is durable. */
const REST_MS = 250;

export function logFolder(folder: string): string {
  return path.join(folder, LOG_FOLDER);
}

/** Names of the segments, the oldest first. */
export function segmentsOf(folder: string): string[] {
  const names = fs.readdirSync(logFolder(folder));
  return names.filter((name) => name.endsWith(".log")).toSorted();
}

export function framesOf(folder: string): FramePlace[] {
  return segmentsOf(folder).flatMap((segment) => {
    const bytes = fs.readFileSync(path.join(logFolder(folder), segment));
    const frames: FramePlace[] = [];
    let at = SEGMENT_HEADER_BYTES;
    for (;;) {
      const header = readFrameHeader(bytes, at);
      if (header === null) return frames;
      const end = at + padToSector(header.frameBytes);
      const { recordCount, firstSequence } = header;
      frames.push({ segment, at, end, recordCount, firstSequence });
      at = end;
    }
  });
}
