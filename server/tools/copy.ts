/** `frontrow backup` and `frontrow restore`, and `frontrow join` from a folder. */
import path from "node:path";
import { realDisk } from "../../persistence/disk/disk.ts";
import {
  backupFolder,
  type Copied,
  type CopyOptions,
  restoreFolder,
} from "../../persistence/rescue/copy-store.ts";
import { textOf } from "../../persistence/rescue/survey.ts";
import { Exit, say, withProgress } from "./say.ts";
import { describe } from "./verify.ts";

/** @returns The exit code. @throws StoreFault. */
export function backup(folder: string, target: string): number {
  return copy(backupFolder, folder, target);
}

/** @returns The exit code. @throws StoreFault. */
export function restore(source: string, folder: string): number {
  return copy(restoreFolder, source, folder);
}

function copy(act: (options: CopyOptions) => Copied, from: string, to: string): number {
  const paths = { from: path.resolve(from), to: path.resolve(to) };
  const copied = withProgress((onWork) => act({ disk: realDisk, ...paths, onWork }));
  return tellCopied(copied, paths.to);
}

/** @returns The exit code. */
export function tellCopied(copied: Copied, to: string): number {
  for (const finding of copied.leftOut) say(`damaged, not copied: ${textOf(finding)}`);
  describe(copied);
  say(`copied to ${to} and checked; keep it as secret as the store`);
  return Exit.DONE;
}
