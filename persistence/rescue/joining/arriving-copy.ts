/** A copy of a store that comes as messages of another host: see `sent-copy.ts`. */
import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { DiskFile } from "../../disk/disk.ts";
import { Malformed } from "../../disk/faults.ts";
import { makeFoldersNow, writeAllNow } from "../../disk/transfer.ts";
import { SNAPSHOT_FOLDER } from "../../snapshot/file.ts";
import {
  beginCopy,
  type Copied,
  type CopyOptions,
  endCopy,
  leaveOutSnapshots,
  removePartial,
} from "../copy-store.ts";
import type { CopyNote } from "./sent-copy.ts";

export type ArrivalOptions = Omit<CopyOptions, "from">;

/** What a data folder has: no name may lead out of it. */
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

  /** Whether everything has come. */
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
