/** A copy of a store that comes as messages of another host: see `join.ts`. */
import { createHash, type Hash } from "node:crypto";
import { dirname } from "node:path";
import { AUDIT_FILE } from "../history/archive.ts";
import { WEBHOOKS_FILE } from "../deliveries.ts";
import { ensureStore } from "../disk/data-folder.ts";
import { type CopyDisk, type DiskFile, namesIn, type ReadFile } from "../disk/disk.ts";
import { DiskFault, Malformed } from "../disk/faults.ts";
import { makeFoldersNow, writeAllNow } from "../disk/transfer.ts";
import { LOG_FOLDER } from "../log/frame.ts";
import { SNAPSHOT_FOLDER } from "../snapshot/file.ts";
import {
  beginCopy,
  type Copied,
  type CopyOptions,
  copySql,
  endCopy,
  HeldFolder,
  leaveOutSnapshots,
  removePartial,
} from "./copy-store.ts";

export type ArrivalOptions = Omit<CopyOptions, "from">;

/** Files of a data folder: no name may lead out of it. */
const FILE_NAME = /^((snapshots|wal)\/)?[\w-][\w.-]*$/;

interface ArrivingFile {
  readonly file: DiskFile;
  readonly bytes: number;
  position: number;
}

export class ArrivingCopy {
  readonly #options: ArrivalOptions;
  readonly #partial: string;
  readonly #hash = createHash("sha256");
  readonly #folders = new Set<string>();
  #file: ArrivingFile | null = null;
  #totalBytes = 0;
  #doneBytes = 0;
  #hasEnded = false;

  /** Removes what an interrupted attempt has left. @throws FolderRefused, DiskFault. */
  constructor(options: ArrivalOptions) {
    this.#options = options;
    this.#partial = beginCopy(options.disk, options.to);
  }

  /** True once everything has come. */
  get isWhole(): boolean {
    return this.#hasEnded;
  }

  /** Takes the next message. @throws Malformed, DiskFault. */
  take(message: string | Uint8Array): void {
    if (typeof message !== "string") return this.#write(message);
    const note = noteOf(message);
    if (this.#file !== null) throw new Malformed("the rest of a file", note.kind);
    if (note.kind === "size") this.#totalBytes = note.bytes;
    else if (note.kind === "file") this.#open(note.name, note.bytes);
    else if (note.sha256 === this.#hash.digest("hex")) this.#hasEnded = true;
    else throw new Malformed("the files as they were sent", "other bytes");
  }

  /** Checks the copy, and gives it its name. @throws FolderRefused, DiskFault. */
  finish(): Copied {
    const { disk } = this.#options;
    makeFoldersNow(disk, `${this.#partial}/${SNAPSHOT_FOLDER}`);
    for (const folder of this.#folders) disk.syncFolderNow(folder);
    const leftOut = leaveOutSnapshots(disk, this.#partial);
    return endCopy(this.#options, leftOut);
  }

  /** Removes everything that has come. */
  abandon(): void {
    this.#file?.file.closeNow();
    this.#file = null;
    removePartial(this.#options.disk, this.#partial);
  }

  #open(name: string, bytes: number): void {
    if (!FILE_NAME.test(name)) throw new Malformed("a file of a data folder", name);
    this.#hash.update(name);
    const path = `${this.#partial}/${name}`;
    const folder = dirname(path);
    makeFoldersNow(this.#options.disk, folder);
    this.#folders.add(folder);
    this.#file = { file: this.#options.disk.createNow(path), bytes, position: 0 };
    this.#closeWhole();
  }

  #write(piece: Uint8Array): void {
    const arriving = this.#file;
    if (arriving === null || arriving.position + piece.length > arriving.bytes) {
      throw new Malformed("the bytes of a file", "more bytes");
    }
    this.#hash.update(piece);
    writeAllNow(arriving.file, piece, arriving.position);
    arriving.position += piece.length;
    this.#doneBytes += piece.length;
    this.#options.onWork?.("receiving bytes", this.#doneBytes, this.#totalBytes);
    this.#closeWhole();
  }

  #closeWhole(): void {
    const { file, bytes, position } = this.#file!;
    if (position < bytes) return;
    file.syncNow();
    file.closeNow();
    this.#file = null;
  }
}

function noteOf(text: string): CopyNote {
  try {
    return JSON.parse(text) as CopyNote;
  } catch {
    throw new Malformed("a note about the copy", "other text");
  }
}

// A copy of a store as messages to another host: a text announces each file or says that nothing
// follows, and binary pieces are its bytes. The store may be in use.

/** The texts, as JSON. */
type CopyNote =
  /** About how many bytes follow. */
  | { readonly kind: "size"; readonly bytes: number }
  /** A file follows. @param name - Relative to the data folder. */
  | { readonly kind: "file"; readonly name: string; readonly bytes: number }
  /** Everything was sent. @param sha256 - Of the names and bytes of all files, hexadecimal. */
  | { readonly kind: "end"; readonly sha256: string };

/** Has copies of the SQLite files while they are opened; a kill leaves it until the next copy. */
const SENDING_FOLDER = "sending";
const PIECE_BYTES = 1024 * 1024;

/**
 * Everything that was on the disk of this host before the first message is in the copy; etcd has
 * what comes after.
 * @param folder - The data folder.
 * @throws StoreFault.
 */
export function* messagesOf(disk: CopyDisk, folder: string): Generator<string | Uint8Array> {
  ensureStore(disk, folder);
  const held = HeldFolder.hold(disk, folder);
  let projections: readonly ReadFile[] = [];
  try {
    projections = openProjections(disk, folder);
    // The trail may have records of segments that are new since the folder was opened.
    held.extend(disk, folder);
    const log = `${folder}/${LOG_FOLDER}`;
    const whole = [folder, `${folder}/${SNAPSHOT_FOLDER}`].flatMap((place) =>
      namesIn(held, place).map((name) => held.openNow(`${place}/${name}`)),
    );
    const files = [...whole, ...projections];
    const segments = namesIn(held, log).map((name) => held.openNow(`${log}/${name}`));
    const bytes = [...files, ...segments].reduce((sum, file) => sum + file.sizeNow(), 0);
    yield textOf({ kind: "size", bytes });
    const hash = createHash("sha256");
    for (const file of files) yield* fileMessages(nameOf(folder, file), piecesOf(file), hash);
    for (const segment of segments) {
      yield* fileMessages(nameOf(folder, segment), piecesOfSegment(segment), hash);
    }
    yield textOf({ kind: "end", sha256: hash.digest("hex") });
  } finally {
    for (const file of projections) file.closeNow();
    held.release();
  }
}

/** @returns Copies of the trail and of the deliveries, without names. A damaged one is left out. */
function openProjections(disk: CopyDisk, folder: string): readonly ReadFile[] {
  const place = `${folder}/${SENDING_FOLDER}`;
  if (disk.listNow(place) === null) disk.makeFolderNow(place);
  const clear = () => {
    for (const name of namesIn(disk, place)) disk.removeNow(`${place}/${name}`);
  };
  clear();
  const files: ReadFile[] = [];
  for (const name of [AUDIT_FILE, WEBHOOKS_FILE]) {
    copySql(disk, folder, `${place}/${name}`);
    if (namesIn(disk, place).includes(name)) files.push(disk.openNow(`${place}/${name}`));
  }
  clear();
  disk.removeFolderNow(place);
  return files;
}

interface Pieces {
  readonly bytes: number;
  readonly pieces: Iterable<Uint8Array>;
}

function* fileMessages(
  name: string,
  { bytes, pieces }: Pieces,
  hash: Hash,
): Generator<string | Uint8Array> {
  hash.update(name);
  yield textOf({ kind: "file", name, bytes });
  for (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

function piecesOf(file: ReadFile): Pieces {
  const bytes = file.sizeNow();
  function* pieces(): Generator<Uint8Array> {
    for (let at = 0; at < bytes;) {
      const piece = new Uint8Array(Math.min(PIECE_BYTES, bytes - at));
      const readBytes = file.readNow(piece, at);
      if (readBytes === 0) throw new DiskFault("read all of", file.path, "TRUNCATED");
      yield piece.subarray(0, readBytes);
      at += readBytes;
    }
  }
  return { bytes, pieces: pieces() };
}

/** Read in one step: the newest one grows, and its unused end is cut off when it is full. */
function piecesOfSegment(file: ReadFile): Pieces {
  const segment = new Uint8Array(file.sizeNow());
  const bytes = file.readNow(segment, 0);
  function* pieces(): Generator<Uint8Array> {
    for (let at = 0; at < bytes; at += PIECE_BYTES) {
      yield segment.slice(at, Math.min(at + PIECE_BYTES, bytes));
    }
  }
  return { bytes, pieces: pieces() };
}

function nameOf(folder: string, { path }: ReadFile): string {
  const sending = `${folder}/${SENDING_FOLDER}/`;
  return path.slice(path.startsWith(sending) ? sending.length : folder.length + 1);
}

function textOf(note: CopyNote): string {
  return JSON.stringify(note);
}
