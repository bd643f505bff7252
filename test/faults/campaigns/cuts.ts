/**
 * The end of the log, cut at every byte of its last three batches, and the last batch with any of
 * its sectors missing: what one batch holds is there as a whole or not at all, and the start after
 * goes on from there.
 */
import path from "node:path";
import { SECTOR_BYTES } from "../../../persistence/log/frame.ts";
import type { Campaign, Outcome, Run } from "../campaign.ts";
import { framesOf, liveAndDie, NEVER } from "../support/corpus.ts";
import { FiledHistory } from "../support/lives.ts";
import { MemoryLog } from "../support/memory-log.ts";

const RECORDS = 150;
const BATCH_RECORDS = 10;
const BATCHES = 3;
const SECTORS_MAX = 10;
const SHORT_STRIDE = 11;

export const cuts: Campaign = {
  name: "cuts",
  shows: "the log cut at every byte of its last three batches: all recover, no half operation",
  missing: () => null,
  run,
};

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const history = new FiledHistory(scope, seed, RECORDS);
  const folder = path.join(scope.folder(), "data");
  const plan = { folder, until: RECORDS, snapshotBytes: NEVER, batchRecords: BATCH_RECORDS };
  await liveAndDie(scope, history, { ...plan, segmentBytes: 64 * 1024 });
  const log = new MemoryLog(folder);
  const batches = framesOf(folder).filter(({ recordCount }) => recordCount > 0);
  const [first] = batches.slice(-BATCHES);
  const last = batches.at(-1)!;
  const whole = log.segments.get(last.segment)!;
  if (first!.segment !== last.segment) throw new Error("the batches lie in two segments");
  const ends = new Map(
    batches.map(({ firstSequence, recordCount }) => {
      return [firstSequence + recordCount - 1, true];
    }),
  );
  const violations: string[] = [];
  const tried = (what: string, bytes: Buffer) => {
    const fault = faultOfTail(log, history, { segment: last.segment, bytes, ends });
    if (fault !== null) violations.push(`${what}: ${fault}`);
  };
  let cutCount = 0;
  for (let at = first!.at; at <= last.end; at += isLong ? 1 : SHORT_STRIDE) {
    tried(`cut at byte ${at}`, whole.subarray(0, at));
    const zeroed = Buffer.from(whole);
    tried(`zeros from byte ${at}`, zeroed.fill(0, at));
    cutCount += 2;
    if (at % 100 === 0) tell(`byte ${at} of ${last.end}`);
  }
  const subsets = [...withoutSectors(whole.subarray(0, last.end), last)];
  for (const [i, bytes] of subsets.entries()) tried(`sectors ${i}`, bytes);
  return {
    figures: {
      cuts: cutCount,
      "subsets of the last batch's sectors": subsets.length,
      "not recovered, or by half": violations.length,
    },
    violations,
  };
}

interface Tail {
  readonly segment: string;
  readonly bytes: Buffer;
  /** Last sequence numbers of batches. */
  readonly ends: ReadonlyMap<number, boolean>;
}

function faultOfTail(
  log: MemoryLog,
  history: FiledHistory,
  { segment, bytes, ends }: Tail,
): string | null {
  const disk = log.diskWith(new Map([[segment, bytes]]));
  try {
    const found = log.recoverFrom(disk);
    if (!ends.has(found.sequence)) return `it ends with record ${found.sequence}, inside a batch`;
    if (found.digest !== history.digestAt(found.sequence)) return "another state";
    const again = log.recoverFrom(disk);
    return again.digest === found.digest ? null : "the next start finds another state";
  } catch (error) {
    return String(error);
  }
}

/** The segment up to its last batch, of which each choice of sectors never reached the disk. */
function* withoutSectors(
  bytes: Buffer,
  { at, end }: { at: number; end: number },
): Generator<Buffer> {
  const sectors = Math.min(SECTORS_MAX, (end - at) / SECTOR_BYTES);
  for (let missing = 1; missing < 2 ** sectors; missing++) {
    const copy = Buffer.from(bytes);
    for (let sector = 0; sector < sectors; sector++) {
      const start = at + sector * SECTOR_BYTES;
      if (((missing >> sector) & 1) === 1) copy.fill(0, start, start + SECTOR_BYTES);
    }
    yield copy;
  }
}
