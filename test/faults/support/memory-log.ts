/** The recovery of a log from bytes in memory: thousands of damaged ones in a minute. */
import fs from "node:fs";
import path from "node:path";
import { apply } from "../../../engine/apply.ts";
import { State } from "../../../engine/state.ts";
import { digest } from "../../../engine/verify.ts";
import { recover } from "../../../persistence/log/recover.ts";
import { FakeDisk } from "../../support/disk/fake-disk.ts";
import { logFolder, segmentsOf } from "./corpus.ts";
import { storeIdOf } from "./folder-state.ts";

const ROOT = "/data";
const FOLDER = `${ROOT}/wal`;

export interface Recovered {
  readonly sequence: number;
  readonly digest: string;
}

/** The segments of a folder, to be damaged one copy at a time. */
export class MemoryLog {
  readonly segments: ReadonlyMap<string, Buffer>;
  readonly #storeId: string;

  constructor(folder: string) {
    const names = segmentsOf(folder);
    const read = (name: string) => fs.readFileSync(path.join(logFolder(folder), name));
    this.segments = new Map(names.map((name) => [name, read(name)]));
    this.#storeId = storeIdOf(folder);
  }

  /** @param changed - Segments that are other than they were, by name. */
  diskWith(changed: ReadonlyMap<string, Buffer>): FakeDisk {
    const disk = new FakeDisk({ folder: ROOT });
    disk.begin().makeFolderNow(FOLDER);
    for (const [name, bytes] of this.segments) {
      disk.plant(`${FOLDER}/${name}`, changed.get(name) ?? bytes);
    }
    return disk;
  }

  /** Starts on that disk as a process does. @throws LogCorrupt. */
  recoverFrom(disk: FakeDisk): Recovered {
    const state = new State();
    const { report } = recover({
      disk: disk.begin(),
      folder: ROOT,
      storeId: this.#storeId,
      clock: { nowMs: () => 0 },
      start: null,
      replay: (sequence, timeMs, record) => apply(state, record, timeMs, sequence),
    });
    return { sequence: report.sequence, digest: digest(state) };
  }
}

export function flipped(bytes: Buffer, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[bit >> 3]! ^= 1 << (bit & 7);
  return copy;
}
