/**
 * The data folder: the identity of the store, its master secret, and the lock for one process
 * at a time use it. An unusable folder is refused before anything in it changes.
 */
import type { Clock } from "../../engine/ports.ts";
import { type Disk, namesIn, type ReadDisk } from "./disk.ts";
import { DiskFault, ExitCode, FolderRefused, only } from "./faults.ts";
import { ensureFormat, FORMATS } from "./formats.ts";
import { type FileLock, shareLockedFile, SqlFault } from "./sqlite.ts";
import { makeFoldersNow, readFileNow, writeFileNow } from "./transfer.ts";

export const STORE = "store.json";
export const SECRET = "secret";
const LOCK = "lock.sqlite";
const SECRET_BYTES = 32;
const UUID_BYTES = 16;
const PUT_BACK = "put the file back from a copy";
/** Builds before the first release had a member `format`, and other formats. */
const UNRELEASED =
  "a build from before the first release wrote it, whose formats no version reads: choose an " +
  "empty folder, or start the build that wrote it";
const SECRET_PATTERN = /^[0-9a-f]{64}$/i;
const UUID_PATTERN = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Another user owns the path, or its file system has no rights of its own. */
const CANNOT_CHANGE_RIGHTS: ReadonlySet<string> = new Set([
  "EPERM",
  "ENOSYS",
  "ENOTSUP",
  "EOPNOTSUPP",
]);
/** Made by a new file system, for its own use. */
const LOST_AND_FOUND = "lost+found";
/** Files that an interrupted first start, or a new file system, may have left. */
const LEFTOVERS: ReadonlySet<string> = new Set([
  `${STORE}.tmp`,
  SECRET,
  `${SECRET}.tmp`,
  LOCK,
  LOST_AND_FOUND,
]);

export interface DataFolderOptions {
  readonly disk: Disk;
  /** Path of the folder, created on demand. */
  readonly folder: string;
  readonly clock: Clock;
  /** The master secret, 64 hexadecimal digits, when it is not kept in the folder. */
  readonly secret?: string | undefined;
  /** The number of the cell, 0 by default. A store keeps its first one. */
  readonly cell?: number | undefined;
  /** The name of the cell of a cluster; by default the store is on a single host. */
  readonly clusterCell?: string | undefined;
  /** From a secure source. */
  readonly randomBytes: (count: number) => Buffer;
}

/** A store, and its data folder. */
export interface StorePlace<AnyDisk extends ReadDisk = Disk> {
  readonly disk: AnyDisk;
  /** Path of the data folder. */
  readonly folder: string;
  /** UUID, lower case. */
  readonly storeId: string;
}

/** Paths of a data folder on which other users had rights. */
export interface FolderRights {
  /** They have none any more. */
  readonly madePrivate: readonly string[];
  /** They still have them: the paths belong to another user, as on a volume of Kubernetes. */
  readonly shared: readonly string[];
}

/** An open data folder. This process holds its lock until `close`. */
export interface DataFolder {
  /** UUID, lower case. */
  readonly storeId: string;
  /** The master secret, 64 hexadecimal digits, lower case. */
  readonly secret: string;
  /** This call created the store. */
  readonly isFresh: boolean;
  /** The store has had a log: a missing log is damage then. */
  readonly hasLog: boolean;
  readonly rights: FolderRights;
  /** Records the existence of the log. To be called once its first segment is on disk. */
  markHasLog(): void;
  /**
   * Records the version of the store's formats, so that an earlier version of the program refuses
   * it clearly. To be called once everything is checked, before anything is written.
   */
  upgrade(): void;
  /** Writes a file readable by this user alone. @returns Its path. */
  writeSecret(name: string, text: string): string;
  close(): void;
}

/** @throws FolderRefused. */
export function openDataFolder(options: DataFolderOptions): DataFolder {
  const { disk, folder } = options;
  try {
    if (!containsStore(disk, folder)) makeFoldersNow(disk, folder);
    refuseForeign(folder, namesIn(disk, folder));
    makeLock(disk, folder);
    const release = lockOrRefuse(folder, (path) => disk.lockNow(path));
    try {
      const store = openStore(options);
      const rights = makePrivate(disk, folder);
      const markHasLog = () => writeStore(disk, folder, { ...store, hasLog: true });
      const upgrade = () => upgradeStore(disk, folder, store);
      const writeSecret = (name: string, text: string) => {
        writeText(disk, folder, name, text);
        return `${folder}/${name}`;
      };
      const acts = { markHasLog, upgrade, writeSecret, close: release };
      return { ...store, rights, ...acts };
    } catch (error) {
      release();
      throw error;
    }
  } catch (error) {
    only(error, DiskFault);
    throw new FolderRefused(folder, error.message, ExitCode.CANNOT_CREATE, error);
  }
}

/**
 * A folder may have been created by hand, or copied, with rights for others. Without rights for
 * the folder nothing in it can be reached; the files follow for the next copy. Where this user may
 * not take rights away, but may write, the folder is used: new files are private in any folder.
 */
function makePrivate(disk: Disk, folder: string): FolderRights {
  const paths = namesIn(disk, folder).flatMap((name) =>
    name === LOST_AND_FOUND ? [] : [`${folder}/${name}`],
  );
  const rights = { madePrivate: [] as string[], shared: [] as string[] };
  for (const path of [folder, ...paths]) {
    try {
      if (disk.makePrivateNow?.(path) === true) rights.madePrivate.push(path);
    } catch (error) {
      only(error, DiskFault);
      if (!CANNOT_CHANGE_RIGHTS.has(error.code)) throw error;
      rights.shared.push(path);
    }
  }
  return rights;
}

/** There is a store in the folder. */
export function containsStore(disk: ReadDisk, folder: string): boolean {
  return namesIn(disk, folder).includes(STORE);
}

/**
 * Locks the store against writers while it is read. There may be several readers. Changes nothing.
 * @returns A function that releases the lock. @throws FolderRefused when a process uses the store.
 */
export function shareFolder(disk: ReadDisk, folder: string): () => void {
  ensureStore(disk, folder);
  if (!namesIn(disk, folder).includes(LOCK)) return () => {};
  return lockOrRefuse(folder, shareLockedFile);
}

/**
 * Locks the store for this process alone, as `openDataFolder` does.
 * @returns A function that releases the lock. @throws FolderRefused.
 */
export function takeFolder(disk: Disk, folder: string): () => void {
  ensureStore(disk, folder);
  makeLock(disk, folder);
  return lockOrRefuse(folder, (path) => disk.lockNow(path));
}

/** Created by the disk: private to this user. */
function makeLock(disk: Disk, folder: string): void {
  if (namesIn(disk, folder).includes(LOCK)) return;
  disk.createNow(`${folder}/${LOCK}`).closeNow();
}

/** @throws FolderRefused when there is no store in the folder. */
export function ensureStore(disk: ReadDisk, folder: string): void {
  if (containsStore(disk, folder)) return;
  const reason = disk.listNow(folder) === null ? "it does not exist" : `it has no ${STORE}`;
  throw new FolderRefused(folder, `${reason}: name one of Frontrow's`, ExitCode.CONFIGURATION);
}

function refuseForeign(folder: string, names: readonly string[]): void {
  if (names.includes(STORE) || names.every((name) => LEFTOVERS.has(name))) return;
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
  const reason =
    "this or another process uses it: close it there or stop that process, or choose another folder";
  throw new FolderRefused(folder, reason, ExitCode.TEMPORARY);
}

/**
 * Ordering: `store.json` is written last, so a store that has one is complete. Without one, the
 * next start creates the store again.
 */
function openStore(options: DataFolderOptions): Store {
  const { disk, folder, clock, randomBytes } = options;
  const isFresh = !containsStore(disk, folder);
  const { cell = 0 } = options;
  const given = options.secret?.toLowerCase();
  if (given !== undefined) checkSecret(folder, given, "the given secret");
  if (!isFresh) {
    const store = readStore(disk, folder);
    ensureCell(folder, store.cell, cell);
    ensureClusterCell(disk, folder, options.clusterCell);
    return { ...store, secret: given ?? readSecret(disk, folder), isFresh };
  }
  const secret = given ?? randomBytes(SECRET_BYTES).toString("hex");
  if (given === undefined) writeText(disk, folder, SECRET, `${secret}\n`);
  const createdAt = new Date(clock.nowMs()).toISOString();
  const storeId = newUuid(randomBytes(UUID_BYTES));
  const { version } = FORMATS.store;
  const store = { version, storeId, createdAt, cell, secret, isFresh, hasLog: false };
  writeStore(disk, folder, store);
  return store;
}

/** Ids of another range would be those of other organizations. */
function ensureCell(folder: string, stored: number, given: number): void {
  if (stored === given) return;
  const reason = `its store is that of cell ${stored}, not of cell ${given}: use --cell ${stored}`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

/** @returns A version 4 UUID. */
function newUuid(random: Buffer): string {
  random[6] = (random[6]! & 0x0f) | 0x40;
  random[8] = (random[8]! & 0x3f) | 0x80;
  return uuidText(random);
}

/** @param bytes - The 16 bytes of a UUID. @returns Its text, lower case. */
export function uuidText(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

type Store = Pick<DataFolder, "storeId" | "secret" | "isFresh" | "hasLog"> & {
  /** Of the formats. */
  readonly version: number;
  readonly createdAt: string;
  readonly cell: number;
};

/** Content of `store.json`. */
type StoreFile = Pick<Store, "version" | "storeId" | "createdAt" | "cell" | "hasLog">;

/** Records the present version of the formats, if the store has an earlier one. */
export function upgradeStore(disk: Disk, folder: string, store: StoreFile): void {
  if (store.version < FORMATS.store.version) writeStore(disk, folder, store);
}

function writeStore(disk: Disk, folder: string, store: StoreFile): void {
  const { storeId, createdAt, cell, hasLog } = store;
  const { version } = FORMATS.store;
  const facts = { version, storeId, createdAt, hasLog };
  const text = JSON.stringify(cell === 0 ? facts : { ...facts, cell });
  writeText(disk, folder, STORE, `${text}\n`);
}

/** Reads `store.json`. @throws FolderRefused, OtherFormat. */
export function readStore(disk: ReadDisk, folder: string): StoreFile {
  const store = parseObject(readText(disk, folder, STORE));
  const { version, storeId, createdAt, hasLog } = store;
  if (typeof version !== "number") {
    const reason = "format" in store ? UNRELEASED : `its ${STORE} has no version: ${PUT_BACK}`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
  }
  ensureFormat(FORMATS.store, version);
  if (typeof storeId !== "string" || !UUID_PATTERN.test(storeId)) {
    const reason = `its ${STORE} has no store id: ${PUT_BACK}`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
  }
  const cell = Number(store["cell"] ?? 0);
  return { version, storeId, createdAt: String(createdAt), cell, hasLog: hasLog === true };
}

function parseObject(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? { ...value } : {};
  } catch {
    // Not JSON. Without members it is refused for its missing version.
    return {};
  }
}

function readSecret(disk: ReadDisk, folder: string): string {
  if (!namesIn(disk, folder).includes(SECRET)) {
    const reason = `its file ${SECRET} is missing: put it back, or configure the secret`;
    throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
  }
  const secret = readText(disk, folder, SECRET).trim().toLowerCase();
  checkSecret(folder, secret, `its file ${SECRET}`);
  return secret;
}

function checkSecret(folder: string, secret: string, source: string): void {
  if (SECRET_PATTERN.test(secret)) return;
  const reason = `${source} is not ${2 * SECRET_BYTES} hexadecimal digits: correct it`;
  throw new FolderRefused(folder, reason, ExitCode.CONFIGURATION);
}

function readText(disk: ReadDisk, folder: string, name: string): string {
  return readFileNow(disk, `${folder}/${name}`).toString("utf8");
}

function writeText(disk: Disk, folder: string, name: string, text: string): void {
  writeFileNow(disk, folder, name, Buffer.from(text, "utf8"));
}

// The cell of a data folder, in a file of its own. A host started with another
// cell, or without one, would book the seats of its store a second time.

/** Whoever removes it takes the store out of its cell. */
export const CLUSTER_CELL = "cluster-cell";

/** @returns The folder has been in a cell. @throws DiskFault. */
export function isInCell(disk: ReadDisk, folder: string): boolean {
  return namesIn(disk, folder).includes(CLUSTER_CELL);
}

/** To be called once etcd has confirmed the store of the cell. @throws DiskFault. */
export function keepClusterCell(disk: Disk, folder: string, cell: string): void {
  if (isInCell(disk, folder)) return;
  writeFileNow(disk, folder, CLUSTER_CELL, Buffer.from(`${cell}\n`, "utf8"));
}

/**
 * @param given - The name of the cell; undefined for a single host.
 * @throws FolderRefused when the folder belongs to another one.
 */
function ensureClusterCell(disk: ReadDisk, folder: string, given: string | undefined): void {
  if (!isInCell(disk, folder)) return;
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

/**
 * Renames an unusable file of SQLite. Nobody has it open.
 * @returns The new name. @throws DiskFault.
 */
export function setAside(disk: Disk, folder: string, name: string): string {
  const names = namesIn(disk, folder);
  let count = 1;
  while (names.includes(`${name}.damaged-${count}`)) count += 1;
  const damaged = `${name}.damaged-${count}`;
  // The write-ahead log has the last commits, so it keeps its place beside the file.
  for (const suffix of ["", "-wal"]) {
    if (!names.includes(name + suffix)) continue;
    disk.renameNow(`${folder}/${name}${suffix}`, `${folder}/${damaged}${suffix}`);
  }
  if (names.includes(`${name}-shm`)) disk.removeNow(`${folder}/${name}-shm`);
  return damaged;
}
