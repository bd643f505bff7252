/** The content of a data folder, read by the code of recovery without changing anything. */
import fs from "node:fs";
import path from "node:path";
import { apply } from "../../../engine/apply.ts";
import { State } from "../../../engine/state.ts";
import { checkState, digest } from "../../../engine/verify.ts";
import { realDisk } from "../../../persistence/disk/disk.ts";
import { type ReadLog, readLog } from "../../../persistence/log/log-reader.ts";
import { LOG_FOLDER } from "../../../persistence/log/frame.ts";
import { startOf } from "../../../persistence/snapshot/file.ts";
import { loadNewest, replayAfter } from "../../../persistence/snapshot/load.ts";
import { ensureWholeLog } from "../../../persistence/store/open-state.ts";

export interface FolderState {
  readonly state: State;
  readonly sequence: number;
  readonly digest: string;
  /** The name of the snapshot that was used. */
  readonly snapshot: string | null;
  readonly passedOver: readonly string[];
  readonly log: ReadLog;
}

/** @throws LogCorrupt, SnapshotsDamaged, or the error of a broken invariant. */
export function readFolder(folder: string): FolderState {
  const storeId = storeIdOf(folder);
  const { loaded, passedOver } = loadNewest({ disk: realDisk, folder, storeId });
  if (loaded === null) ensureWholeLog(realDisk, folder, passedOver);
  const state = loaded?.state ?? new State();
  const log = readLog({
    disk: realDisk,
    folder,
    storeId,
    replay: replayAfter(loaded, state),
    start: loaded === null ? null : startOf(loaded.meta),
  });
  checkState(state);
  const { sequence } = log.scan;
  const snapshot = loaded?.name ?? null;
  return { state, sequence, digest: digest(state), snapshot, passedOver, log };
}

export function storeIdOf(folder: string): string {
  const text = fs.readFileSync(path.join(folder, "store.json"), "utf8");
  return (JSON.parse(text) as { storeId: string }).storeId;
}

/** A first start got far enough to acknowledge anything. */
export function hasStoreFile(folder: string): boolean {
  return fs.existsSync(path.join(folder, "store.json"));
}

/**
 * Keeps every segment of a store, even after its removal by a snapshot, so that the state can be
 * rebuilt from the first record.
 */
export class Archive {
  readonly #folder: string;
  readonly #storeId: string;

  constructor(folder: string, storeId: string) {
    this.#folder = folder;
    this.#storeId = storeId;
    fs.mkdirSync(path.join(folder, LOG_FOLDER));
  }

  /** Must be called after each end of a process, before the next one starts. */
  add(dataFolder: string, { newest }: ReadLog): void {
    const source = path.join(dataFolder, LOG_FOLDER);
    for (const name of fs.readdirSync(source)) {
      if (!name.endsWith(".log")) continue;
      const target = path.join(this.#folder, LOG_FOLDER, name);
      if (name === newest?.name) {
        fs.writeFileSync(target, newest.bytes.subarray(0, newest.validBytes));
      } else if (!fs.existsSync(target)) {
        fs.copyFileSync(path.join(source, name), target);
      }
    }
  }

  /** The digest of the state that the whole log gives, without any snapshot. */
  digest(): string {
    const state = new State();
    readLog({
      disk: realDisk,
      folder: this.#folder,
      storeId: this.#storeId,
      start: null,
      replay: (sequence, timeMs, record) => apply(state, record, timeMs, sequence),
    });
    return digest(state);
  }
}
