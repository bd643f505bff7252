/** One history for the tests of snapshots, folders for it, and what has to come back from them. */
import { afterEach, expect } from "vitest";
import { checkState } from "../../../engine/verify/check.ts";
import { digest } from "../../../engine/verify/digest.ts";
import { History } from "../../support/store/history.ts";
import { diskOn, newFolder, removeFolder, StoreProcess } from "../store/store-fixture.ts";

export const history = new History(7, 8_000);
const folders: string[] = [];

afterEach(() => {
  for (const folder of folders.splice(0)) removeFolder(folder);
});

export function folderOf(): string {
  const folder = newFolder();
  folders.push(folder);
  return folder;
}

/** Recovers, and checks that what was recovered is what was appended up to some record. */
export async function recovered(folder: string, disk = diskOn(folder)): Promise<StoreProcess> {
  const process = await StoreProcess.start({ folder, history, disk });
  checkState(process.state);
  expect(digest(process.state)).toBe(history.digestAt(process.report.sequence));
  return process;
}
