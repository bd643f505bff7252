/**
 * The cell that a data folder belongs to, in a file of its own. A host that is started with another
 * cell, or without one, would book the seats of its store a second time.
 */
import { type Disk, namesIn, type ReadDisk } from "./disk.ts";
import { ExitCode, FolderRefused } from "./faults.ts";
import { readFileNow, writeFileNow } from "./transfer.ts";

/** Whoever removes it takes the store out of its cell. */
export const CLUSTER_CELL = "cluster-cell";

/** To be called once etcd has said that the cell has this store. @throws DiskFault. */
export function keepClusterCell(disk: Disk, folder: string, cell: string): void {
  if (namesIn(disk, folder).includes(CLUSTER_CELL)) return;
  writeFileNow(disk, folder, CLUSTER_CELL, Buffer.from(`${cell}\n`, "utf8"));
}

/**
 * @param given - The name of the cell that the store is opened for; undefined for a single host.
 * @throws FolderRefused when the folder belongs to another one.
 */
export function ensureClusterCell(disk: ReadDisk, folder: string, given: string | undefined): void {
  if (!namesIn(disk, folder).includes(CLUSTER_CELL)) return;
  const path = `${folder}/${CLUSTER_CELL}`;
  const cell = readFileNow(disk, path).toString("utf8").trim();
  if (cell === given) return;
  const asked = given === undefined ? "without --cluster" : `for the cell ${given}`;
  const reason =
    `it belongs to the cell ${cell} of a cluster, and was started ${asked}: it would book the ` +
    `same seats again; use --cluster etcd://host:port/${cell}. To take it out of its cell, for ` +
    `example after a backup was restored, remove ${path}`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}
