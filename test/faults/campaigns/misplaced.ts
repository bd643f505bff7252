/**
 * Files that are whole but not where they belong: segments swapped, missing, doubled, of another
 * store, or as a backup had them. The start must halt with the code for damage, name the file and
 * the reason, and change nothing.
 */
import fs from "node:fs";
import path from "node:path";
import { ExitCode } from "../../../persistence/disk/faults.ts";
import { sameFiles } from "../../persistence/log/log-fixture.ts";
import { contentOf } from "../../persistence/store/store-fixture.ts";
import type { Campaign, Outcome, Run } from "../campaign.ts";
import { liveAndDie, logFolder, NEVER, segmentsOf } from "../support/corpus.ts";
import { FiledHistory, Life } from "../support/lives.ts";
import { type Scope, scoped } from "../support/scope.ts";
import { spawnServer } from "../support/serving.ts";

/** Records at which the lives end. */
const LIVES = [80, 160, 240];
/** The damaged folder goes on so far after its backup. */
const RECORDS = 320;

export const misplaced: Campaign = {
  name: "misplaced",
  shows: "segments swapped, missing, doubled, foreign, from a backup: halted, named, unchanged",
  missing: () => null,
  run,
};

interface Folders {
  /** The one that is damaged. */
  readonly folder: string;
  /** Another store, with segments of the same names. */
  readonly foreign: string;
  /** The folder as it was a life earlier. */
  readonly backup: string;
}

interface Misplaced {
  readonly name: string;
  readonly damage: (folders: Folders) => void;
  /** Expected in the message. */
  readonly says: RegExp;
}

const at = (folder: string, index: number) => {
  const names = segmentsOf(folder);
  return path.join(logFolder(folder), names.at(index)!);
};
const numbered = (folder: string, add: number) => {
  const newest = path.basename(at(folder, -1));
  const number = Number.parseInt(newest.slice(0, 16), 16) + add;
  return path.join(logFolder(folder), number.toString(16).padStart(16, "0") + newest.slice(16));
};

const CASES: readonly Misplaced[] = [
  {
    name: "two segments swapped",
    damage({ folder }) {
      const [a, b] = [at(folder, 1), at(folder, 2)];
      const bytes = fs.readFileSync(a);
      fs.copyFileSync(b, a);
      fs.writeFileSync(b, bytes);
    },
    says: /expected segment 2, found 3/,
  },
  {
    name: "one in the middle missing",
    damage: ({ folder }) => fs.rmSync(at(folder, 1)),
    says: /expected segment 2, found 3/,
  },
  {
    name: "the first missing",
    damage: ({ folder }) => fs.rmSync(at(folder, 0)),
    says: /the beginning of the log .* is gone/,
  },
  {
    name: "all missing",
    damage: ({ folder }) => {
      for (const name of segmentsOf(folder)) fs.rmSync(path.join(logFolder(folder), name));
    },
    says: /expected the segments of the log, found none/,
  },
  {
    name: "the newest doubled under the next number",
    damage: ({ folder }) => fs.copyFileSync(at(folder, -1), numbered(folder, 1)),
    says: /expected segment \d+, found \d+/,
  },
  {
    name: "one of another store",
    damage: ({ folder, foreign }) => fs.copyFileSync(at(foreign, 1), at(folder, 1)),
    says: /expected store [0-9a-f-]+, found [0-9a-f-]+/,
  },
  {
    name: "one as a backup had it",
    damage({ folder, backup }) {
      const name = path.basename(at(backup, -1));
      fs.copyFileSync(at(backup, -1), path.join(logFolder(folder), name));
    },
    says: /damaged: .* expected/,
  },
  {
    name: "a name that is none",
    damage: ({ folder }) => fs.copyFileSync(at(folder, 0), path.join(logFolder(folder), "old.log")),
    says: /expected the name of a segment, found "old.log"/,
  },
];

async function run({ isLong, seed, scope, tell }: Run): Promise<Outcome> {
  const history = new FiledHistory(scope, seed, RECORDS);
  const folders = await foldersOf(scope, history);
  const violations: string[] = [];
  for (const [i, one] of CASES.entries()) {
    tell(one.name);
    // The real program takes a second of its own to load: in the short form it plays once.
    const isServed = isLong || i === 0;
    const fault = await scoped((inner) => faultOf(inner, history, folders, { ...one, isServed }));
    if (fault !== null) violations.push(`${one.name}: ${fault}`);
  }
  return { figures: { cases: CASES.length, "not halted": violations.length }, violations };
}

async function foldersOf(scope: Scope, history: FiledHistory): Promise<Folders> {
  const [folder, foreign, backup] = ["data", "foreign", "backup"].map((name) => {
    return path.join(scope.folder(), name);
  }) as [string, string, string];
  // The segment that the backup has goes on being written after it.
  const plan = { snapshotBytes: NEVER, segmentBytes: 64 * 1024 };
  for (const until of LIVES) {
    await liveAndDie(scope, history, { ...plan, folder, until });
    await liveAndDie(scope, history, { ...plan, folder: foreign, until });
  }
  fs.cpSync(folder, backup, { recursive: true });
  const newest = at(backup, -1);
  const bytes = fs.readFileSync(newest);
  // As it was when half of its batches had been written.
  const used = bytes.findLastIndex((byte) => byte !== 0);
  fs.writeFileSync(newest, Buffer.from(bytes).fill(0, 4_096 + ((used - 4_096) >> 10) * 512));
  await liveAndDie(scope, history, { ...plan, folder, until: RECORDS });
  return { folder, foreign, backup };
}

async function faultOf(
  scope: Scope,
  history: FiledHistory,
  folders: Folders,
  { damage, says, isServed }: Misplaced & { readonly isServed: boolean },
): Promise<string | null> {
  const folder = path.join(scope.folder(), "data");
  fs.cpSync(folders.folder, folder, { recursive: true });
  damage({ ...folders, folder });
  const before = contentOf(folder);
  const until = history.length;
  const process = isServed
    ? spawnServer(scope, { folder })
    : new Life(scope, history, { folder, until });
  const { code } = await process.exited;
  if (code !== ExitCode.CONFIGURATION) return `exit code ${code}: ${process.stderr}`;
  if (!says.test(process.stderr)) return `it says: ${process.stderr}`;
  return sameFiles(contentOf(folder), before) ? null : "files were changed";
}
