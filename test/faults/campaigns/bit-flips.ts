/**
 * Single bits that rot. In the log, in data that a later frame proves to have been durable: every
 * flip must halt the start, name its segment, and change nothing. In a snapshot: an older one or
 * the log takes its place, with the same state; never another state.
 */
import fs from "node:fs";
import path from "node:path";
import { LogCorrupt, SnapshotsDamaged } from "../../../persistence/disk/faults.ts";
import { FRAME_HEADER_BYTES, SEGMENT_HEADER_BYTES } from "../../../persistence/log/frame.ts";
import { Random } from "../../../server/onsale/random.ts";
import { sameFiles } from "../../persistence/log/log-fixture.ts";
import type { Campaign, Outcome, Run } from "../campaign.ts";
import { framesOf, type FramePlace, liveAndDie, logFolder, NEVER } from "../support/corpus.ts";
import { readFolder } from "../support/folder-state.ts";
import { FiledHistory, SMALL_SEGMENT_BYTES } from "../support/lives.ts";
import { flipped, MemoryLog } from "../support/memory-log.ts";
import type { Scope } from "../support/scope.ts";

/** Records at which the lives end. */
const LIVES = [120, 240, 360] as const;
const SHORT = { log: 500, newest: 60, both: 30, tail: 60 };
const LONG = { log: 20_000, newest: 3_000, both: 1_000, tail: 2_000 };
const BITS = 8;

export const bitFlips: Campaign = {
  name: "bit-flips",
  shows: "one bit flipped: acknowledged data halts the start, a snapshot gives way; never silent",
  missing: () => null,
  run,
};

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const counts = isLong ? LONG : SHORT;
  const history = new FiledHistory(scope, seed, LIVES[2]);
  const random = new Random(seed);
  const plain = await folderOf(scope, history, NEVER);
  const log = flipLog({ folder: plain, history, random, tell }, counts.log);
  const kept = await folderOf(scope, history, SMALL_SEGMENT_BYTES / 2);
  const snapshots = flipSnapshots({ folder: kept, history, random, tell }, counts);
  return {
    figures: { ...log.figures, ...snapshots.figures },
    violations: [...log.violations, ...snapshots.violations],
  };
}

/** Three lives in one folder. */
async function folderOf(
  scope: Scope,
  history: FiledHistory,
  snapshotBytes: number,
): Promise<string> {
  const folder = path.join(scope.folder(), "data");
  for (const until of LIVES) await liveAndDie(scope, history, { folder, until, snapshotBytes });
  return folder;
}

interface Damage {
  readonly folder: string;
  readonly history: FiledHistory;
  readonly random: Random;
  readonly tell: Run["tell"];
}

function flipLog({ folder, history, random, tell }: Damage, count: number): Outcome {
  const log = new MemoryLog(folder);
  const whole = log.recoverFrom(log.diskWith(new Map()));
  const violations: string[] = [];
  if (whole.digest !== history.digestAt(LIVES.at(-1)!)) violations.push("the log is not whole");
  // A frame is written once all before it are on disk: so all but the last are covered.
  const covered = framesOf(folder).slice(0, -1);
  let halted = 0;
  for (let i = 0; i < count; i++) {
    const { segment, bit } = drawBit(covered, random);
    const fault = faultOfFlip(log, segment, bit);
    if (fault === null) halted += 1;
    else violations.push(`${segment}, bit ${bit}: ${fault}`);
    if (i % 100 === 0) tell(`${i} of ${count} flips in the log`);
  }
  return {
    figures: {
      "flips in covered data of the log": count,
      "halted, segment named, nothing changed": halted,
      silent: count - halted,
    },
    violations,
  };
}

/** Of frame headers, whole frames, and the header blocks of segments, each often. */
function drawBit(frames: readonly FramePlace[], random: Random): { segment: string; bit: number } {
  const { segment, at, end } = frames[random.below(frames.length)]!;
  if (random.chance(0.1)) return { segment, bit: random.below(SEGMENT_HEADER_BYTES * BITS) };
  const bytes = random.chance(0.5) ? FRAME_HEADER_BYTES : end - at;
  return { segment, bit: at * BITS + random.below(bytes * BITS) };
}

function faultOfFlip(log: MemoryLog, segment: string, bit: number): string | null {
  const disk = log.diskWith(new Map([[segment, flipped(log.segments.get(segment)!, bit)]]));
  const before = disk.files();
  try {
    const { sequence } = log.recoverFrom(disk);
    return `silent: it starts with ${sequence} records`;
  } catch (error) {
    if (!(error instanceof LogCorrupt)) return `it breaks: ${String(error)}`;
    if (path.basename(error.segment) !== segment) return `it names ${error.segment}`;
    if (error.offset > bit / BITS) return `it names byte ${error.offset}`;
    return sameFiles(disk.files(), before) ? null : "files were changed";
  }
}

function flipSnapshots(damage: Damage, counts: typeof LONG): Outcome {
  const { folder, random, tell } = damage;
  const [newest, older] = snapshotsOf(folder);
  if (newest === undefined || older === undefined) throw new Error("two snapshots are wanted");
  const draw = (file: string) => ({ file, bit: drawUsedBit(file, random) });
  const frames = framesOf(folder).slice(0, -1).slice(-4);
  const drawTail = () => {
    const { segment, bit } = drawBit(frames, random);
    return { file: path.join(logFolder(folder), segment), bit };
  };
  const kinds = {
    "flips in the newest snapshot": { count: counts.newest, flips: () => [draw(newest)] },
    "flips in both snapshots": { count: counts.both, flips: () => [draw(newest), draw(older)] },
    "flips in the log behind them": { count: counts.tail, flips: () => [drawTail()] },
  };
  const figures: Record<string, number> = {};
  const violations: string[] = [];
  for (const [name, { count, flips }] of Object.entries(kinds)) {
    const ends = { unharmed: 0, "fell back": 0, halted: 0, silent: 0 };
    for (let i = 0; i < count; i++) {
      const drawn = flips();
      const end = endOf(damage, drawn);
      ends[end] += 1;
      if (end === "silent") violations.push(`${name}: ${JSON.stringify(drawn)}`);
      if (i % 100 === 0) tell(`${i} of ${count} ${name}`);
    }
    figures[name] = count;
    for (const [end, times] of Object.entries(ends)) figures[`  ${end} (${name})`] = times;
  }
  return { figures, violations };
}

/** Mostly where something is written: much of a small SQLite file is empty. */
function drawUsedBit(file: string, random: Random): number {
  const bytes = fs.readFileSync(file);
  let byte = random.below(bytes.length);
  while (bytes[byte] === 0 && !random.chance(0.02)) byte = random.below(bytes.length);
  return byte * BITS + random.below(BITS);
}

interface Flip {
  readonly file: string;
  readonly bit: number;
}

/** Outcome of a start on the folder with these bits flipped; they are flipped back. */
function endOf(
  { folder, history }: Damage,
  flips: readonly Flip[],
): "unharmed" | "fell back" | "halted" | "silent" {
  for (const flip of flips) flipInPlace(flip);
  try {
    const found = readFolder(folder);
    const isWhole = found.digest === history.digestAt(LIVES.at(-1)!);
    if (!isWhole) return "silent";
    return found.passedOver.length > 0 ? "fell back" : "unharmed";
  } catch (error) {
    if (error instanceof LogCorrupt || error instanceof SnapshotsDamaged) return "halted";
    throw error;
  } finally {
    for (const flip of flips) flipInPlace(flip);
  }
}

function flipInPlace({ file, bit }: Flip): void {
  const fd = fs.openSync(file, "r+");
  const byte = Buffer.alloc(1);
  fs.readSync(fd, byte, 0, 1, bit >> 3);
  byte[0]! ^= 1 << (bit & 7);
  fs.writeSync(fd, byte, 0, 1, bit >> 3);
  fs.closeSync(fd);
}

/** The newest first. */
function snapshotsOf(folder: string): string[] {
  const snapshots = path.join(folder, "snapshots");
  const names = fs.readdirSync(snapshots).filter((name) => name.endsWith(".sqlite"));
  return names
    .toSorted()
    .toReversed()
    .map((name) => path.join(snapshots, name));
}
