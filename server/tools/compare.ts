/** `frontrow compare`: whether two hosts of a cluster have the same log. */
import path from "node:path";
import { realDisk } from "../../persistence/disk/disk.ts";
import { DiskFault, only } from "../../persistence/disk/faults.ts";
import { readFileNow } from "../../persistence/disk/transfer.ts";
import { type Chains, chainsOf, compareChains } from "../../persistence/rescue/chains.ts";
import { Exit, say } from "./say.ts";

/**
 * @param other - A data folder, or a file with what `compare` printed for one; undefined to print.
 * @returns The exit code. @throws StoreFault.
 */
export function compare(folder: string, other: string | undefined): number {
  const own = chainsOf(realDisk, path.resolve(folder));
  if (other === undefined) {
    say(JSON.stringify(own));
    return Exit.DONE;
  }
  const place = path.resolve(other);
  const theirs = isFolder(place)
    ? chainsOf(realDisk, place)
    : (JSON.parse(readFileNow(realDisk, place).toString("utf8")) as Chains);
  return judge(own, theirs);
}

function isFolder(place: string): boolean {
  try {
    return realDisk.listNow(place) !== null;
  } catch (error) {
    // It is a file.
    only(error, DiskFault);
    return false;
  }
}

function judge(own: Chains, theirs: Chains): number {
  const ends = [own, theirs].map(({ chains }) => chains.at(-1)?.sequence ?? 0);
  say(`the first log ends with record ${ends[0]}, the second with record ${ends[1]}`);
  if (own.storeId !== theirs.storeId) {
    say(`they are different stores: ${own.storeId} and ${theirs.storeId}`);
    return Exit.DAMAGED;
  }
  const { same, different } = compareChains(own, theirs);
  if (same !== null) say(`they are the same up to record ${same.sequence}`);
  else if (different === null) say("they share no place, so they cannot be compared");
  if (different === null) return Exit.DONE;
  const { segment, offset, sequence } = different;
  say(`they differ at record ${sequence}, segment ${segment}, byte ${offset}`);
  return Exit.DAMAGED;
}
