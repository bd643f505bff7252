/** Opens the file of the deliveries; one that cannot be used is renamed and made anew. */
import { namesIn } from "../disk/disk.ts";
import { realDisk } from "../disk/disk.ts";
import { Malformed, messageOf } from "../disk/faults.ts";
import { SqlFault } from "../disk/sqlite.ts";
import { DeliveryFile, WEBHOOKS_FILE } from "./delivery-file.ts";

interface OpenOptions {
  /** The data folder. */
  readonly folder: string;
  readonly storeId: string;
  /** The last record of the log. */
  readonly sequence: number;
  /** Called when an operator should know something. */
  readonly report: (message: string) => void;
}

/** @throws SqlFault when the file is sound and cannot be used, for example on a full disk. */
export function openDeliveries({ folder, storeId, sequence, report }: OpenOptions): DeliveryFile {
  const path = `${folder}/${WEBHOOKS_FILE}`;
  const isNew = !namesIn(realDisk, folder).includes(WEBHOOKS_FILE);
  // SQLite would create it readable for others.
  if (isNew) realDisk.createNow(path).closeNow();
  const open = (start: number) => {
    const file = new DeliveryFile(path, storeId, start);
    file.transaction(() => file.cut(sequence));
    return file;
  };
  try {
    return open(0);
  } catch (error) {
    const isDamaged = error instanceof SqlFault ? error.isDamage : error instanceof Malformed;
    if (!isDamaged) throw error;
    const name = setAside(folder);
    realDisk.createNow(path).closeNow();
    const reason = messageOf(error);
    report(`the deliveries of webhooks could not be read and are now in ${name}: ${reason}`);
    // What waited is lost; nothing that was sent is sent again.
    return open(sequence);
  }
}

/** @returns The new name. */
function setAside(folder: string): string {
  const names = namesIn(realDisk, folder);
  let count = 1;
  while (names.includes(`${WEBHOOKS_FILE}.damaged-${count}`)) count += 1;
  const name = `${WEBHOOKS_FILE}.damaged-${count}`;
  for (const suffix of ["", "-wal"]) {
    if (!names.includes(WEBHOOKS_FILE + suffix)) continue;
    realDisk.renameNow(`${folder}/${WEBHOOKS_FILE}${suffix}`, `${folder}/${name}${suffix}`);
  }
  if (names.includes(`${WEBHOOKS_FILE}-shm`)) realDisk.removeNow(`${folder}/${WEBHOOKS_FILE}-shm`);
  return name;
}
