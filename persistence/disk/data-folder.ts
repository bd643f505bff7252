/**
 * The data folder: which store it is, its master secret, and that one process at a time has it. A
 * folder that cannot be used is refused before anything in it is changed.
 */
import type { Clock } from "../../engine/ports.ts";
import { type Disk, type ReadDisk, namesIn } from "./disk.ts";
import { DiskFault, ExitCode, FolderRefused, only } from "./faults.ts";
import { type FileLock, shareLockedFile, SqlFault } from "./sqlite.ts";
import { makeFoldersNow, readAllNow, writeFileNow } from "./transfer.ts";

const FORMAT = 1;
export const STORE = "store.json";
export const SECRET = "secret";
const LOCK = "lock.sqlite";
const SECRET_BYTES = 32;
const UUID_BYTES = 16;
const SECRET_PATTERN = /^[0-9a-f]{64}$/i;
const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** What a first start that was cut short, or a new file system, may have left. */
const LEFTOVERS: ReadonlySet<string> = new Set([
  `${STORE}.tmp`,
  SECRET,
  `${SECRET}.tmp`,
  LOCK,
  "lost+found",
]);

export interface DataFolderOptions {
  readonly disk: Disk;
  /** Path of the folder; made when missing. */
  readonly folder: string;
  readonly clock: Clock;
  /** The master secret, 64 hexadecimal digits, when it is kept elsewhere than in the folder. */
  readonly secret?: string | undefined;
  /** From a secure source. */
  readonly randomBytes: (count: number) => Buffer;
}

/** An open data folder: this process alone has it until `close`. */
export interface DataFolder {
  /** UUID of the store, lower case. */
  readonly storeId: string;
  /** The master secret, 64 hexadecimal digits, lower case. */
  readonly secret: string;
  /** True when this call made the store. */
  readonly fresh: boolean;
  /** True once the store has had a log: from then on a missing one is damage. */
  readonly hasLog: boolean;
  /** Keeps that the store has a log, once its first segment is on disk. */
  keepHasLog(): void;
  close(): void;
}

/** @throws FolderRefused. */
export function openDataFolder(options: DataFolderOptions): DataFolder {
  const { disk, folder } = options;
  try {
    makeFoldersNow(disk, folder);
    refuseForeign(folder, namesIn(disk, folder));
    makeLock(disk, folder);
    const release = lockOrRefuse(folder, (path) => disk.lockNow(path));
    try {
      const store = openStore(options);
      const keepHasLog = () => writeStore(options, { ...store, hasLog: true });
      return { ...store, keepHasLog, close: release };
    } catch (error) {
      release();
      throw error;
    }
  } catch (error) {
    only(error, DiskFault);
    throw new FolderRefused(folder, error.message, ExitCode.CANNOT_CREATE, error);
  }
}

/** @param names - Of the files in a folder. */
export function isStore(names: readonly string[]): boolean {
  return names.includes(STORE);
}

/**
 * Keeps others from writing in a store while somebody reads it; several may read. Changes nothing.
 * @returns What ends that. @throws FolderRefused when a process has the store.
 */
export function shareFolder(disk: ReadDisk, folder: string): () => void {
  demandStore(disk, folder);
  if (!namesIn(disk, folder).includes(LOCK)) return () => {};
  return lockOrRefuse(folder, shareLockedFile);
}

/** Has the store for this process alone, as `openDataFolder` does. @throws FolderRefused. */
export function takeFolder(disk: Disk, folder: string): () => void {
  demandStore(disk, folder);
  makeLock(disk, folder);
  return lockOrRefuse(folder, (path) => disk.lockNow(path));
}

/** By the disk, so that it is private to this user, as all else. */
function makeLock(disk: Disk, folder: string): void {
  if (namesIn(disk, folder).includes(LOCK)) return;
  disk.createNow(`${folder}/${LOCK}`).closeNow();
}

/** @throws FolderRefused when there is no store in the folder. */
export function demandStore(disk: ReadDisk, folder: string): void {
  const names = disk.listNow(folder);
  if (names !== null && isStore(names)) return;
  const reason = names === null ? "there is no such folder" : `it has no ${STORE}`;
  throw new FolderRefused(folder, `${reason}: name one of Frontrow's`, ExitCode.CONFIGURATION);
}

function refuseForeign(folder: string, names: readonly string[]): void {
  if (isStore(names) || names.every((name) => LEFTOVERS.has(name))) return;
  const reason = `it has other files and no ${STORE}: choose an empty folder or a new name`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

function lockOrRefuse(folder: string, take: (path: string) => FileLock | null): () => void {
  let lock: FileLock | null;
  try {
    lock = take(`${folder}/${LOCK}`);
  } catch (error) {
    only(error, DiskFault, SqlFault);
    const { message } = error;
    const reason = `${LOCK} cannot be locked (${message}): give this user the right to write there`;
    throw new FolderRefused(folder, reason, ExitCode.CANNOT_CREATE, error);
  }
  if (lock !== null) return () => lock.release();
  const reason = "this or another process uses it: close it there, or choose another folder";
  throw new FolderRefused(folder, reason, ExitCode.TEMPORARY);
}

/**
 * Ordering: `store.json` comes last, so a store that has it is complete, and one that was cut short
 * is made again.
 */
function openStore(options: DataFolderOptions): Store {
  const { disk, folder, clock, randomBytes } = options;
  const fresh = !namesIn(disk, folder).includes(STORE);
  const given = options.secret?.toLowerCase();
  if (given !== undefined) checkSecret(folder, given, "the given secret");
  if (!fresh)
    return { ...readStore(disk, folder), secret: given ?? readSecret(disk, folder), fresh };
  const secret = given ?? randomBytes(SECRET_BYTES).toString("hex");
  if (given === undefined) writeText(disk, folder, SECRET, `${secret}\n`);
  const createdAt = new Date(clock.nowMs()).toISOString();
  const store = {
    storeId: uuidOf(randomBytes(UUID_BYTES)),
    createdAt,
    secret,
    fresh,
    hasLog: false,
  };
  writeStore(options, store);
  return store;
}

/** A version 4 UUID. */
function uuidOf(random: Buffer): string {
  random[6] = (random[6]! & 0x0f) | 0x40;
  random[8] = (random[8]! & 0x3f) | 0x80;
  return random.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

type Store = Omit<DataFolder, "close" | "keepHasLog"> & { readonly createdAt: string };

/** Everything but the secret, which has a file of its own. */
function writeStore({ disk, folder }: DataFolderOptions, store: Store): void {
  const { storeId, createdAt, hasLog } = store;
  const text = JSON.stringify({ format: FORMAT, storeId, createdAt, hasLog });
  writeText(disk, folder, STORE, `${text}\n`);
}

/** What `store.json` says. @throws FolderRefused. */
export function readStore(
  disk: ReadDisk,
  folder: string,
): Pick<Store, "storeId" | "createdAt" | "hasLog"> {
  const store = parseObject(readText(disk, folder, STORE));
  const { format, storeId, createdAt, hasLog } = store;
  if (format !== FORMAT) {
    const reason = `its ${STORE} has format ${String(format)}, this version reads ${FORMAT}`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
  }
  if (typeof storeId !== "string" || !UUID_PATTERN.test(storeId)) {
    const reason = `its ${STORE} names no store: put the file back from a copy`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
  }
  return { storeId, createdAt: String(createdAt), hasLog: hasLog === true };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // Not JSON: without members it is refused for the format it does not name.
    return {};
  }
}

function readSecret(disk: ReadDisk, folder: string): string {
  if (!namesIn(disk, folder).includes(SECRET)) {
    const reason = `its file ${SECRET} is missing: put it back, or give the secret from outside`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
  }
  const secret = readText(disk, folder, SECRET).trim().toLowerCase();
  checkSecret(folder, secret, `its file ${SECRET}`);
  return secret;
}

function checkSecret(folder: string, secret: string, source: string): void {
  if (SECRET_PATTERN.test(secret)) return;
  const reason = `${source} is not ${2 * SECRET_BYTES} hexadecimal digits: put the right one there`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

function readText(disk: ReadDisk, folder: string, name: string): string {
  const file = disk.openNow(`${folder}/${name}`);
  try {
    const bytes = Buffer.alloc(file.sizeNow());
    readAllNow(file, bytes);
    return bytes.toString("utf8");
  } finally {
    file.closeNow();
  }
}

function writeText(disk: Disk, folder: string, name: string, text: string): void {
  writeFileNow(disk, folder, name, Buffer.from(text, "utf8"));
}
