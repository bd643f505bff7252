/**
 * A disk in memory with the manners of a real one: what is written is in a cache until it is
 * synced, a name lasts once its folder is synced, and a failed sync drops the data yet leaves it
 * readable until the power goes. Everything happens in a fixed order, one step at a time; a test
 * may make any step fail, fall short, or be the last one of the process.
 */
import { posix } from "node:path";
import type { Disk, DiskFile, Done } from "../../persistence/disk/disk.ts";
import { DiskFault } from "../../persistence/disk/faults.ts";

const SECTOR_BYTES = 512;

export type Operation =
  | "list"
  | "make the folder"
  | "open"
  | "measure"
  | "read"
  | "create"
  | "write"
  | "sync"
  | "close"
  | "rename"
  | "remove";

export interface Step {
  /** Counts all steps of the disk, from 1. */
  readonly index: number;
  readonly operation: Operation;
  readonly path: string;
}

/** What becomes of a step: a fault by its code, a short write, or the end of the process. */
export type Outcome =
  | { readonly code: string }
  | { readonly writtenBytes: number }
  | { readonly dies: true };

/** Thrown by a step at which the process ends, and by every later one. */
export class ProcessDied extends Error {
  override readonly name = "ProcessDied";
}

/** A file, whatever it is called. */
class Inode {
  /** What a process reads. */
  cached = Buffer.alloc(0);
  #kept = Buffer.alloc(0);
  readonly #dirty = new Set<number>();

  write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.length;
    if (end > this.cached.length) this.cached = resized(this.cached, end);
    this.cached.set(bytes, position);
    const lastSector = Math.floor((end - 1) / SECTOR_BYTES);
    for (let i = Math.floor(position / SECTOR_BYTES); i <= lastSector; i++) this.#dirty.add(i);
  }

  sync(): void {
    if (this.#kept.length !== this.cached.length) {
      this.#kept = resized(this.#kept, this.cached.length);
    }
    for (const sector of this.#dirty) {
      const start = sector * SECTOR_BYTES;
      this.cached.copy(this.#kept, start, start, start + SECTOR_BYTES);
    }
    this.#dirty.clear();
  }

  /** As kernels do: the pages count as written from now on. */
  failSync(): void {
    this.#dirty.clear();
  }

  losePower(): void {
    this.cached = Buffer.from(this.#kept);
    this.#dirty.clear();
  }
}

export class MemoryDisk implements Disk {
  /** Decides on each step; null lets it happen. */
  decide: (step: Step) => Outcome | null = () => null;
  /** Steps so far. */
  stepCount = 0;
  #names = new Map<string, Inode>();
  #keptNames = new Map<string, Inode>();
  readonly #folders = new Set<string>();
  #process = 0;
  #dead = false;
  #tellDeath: () => void = () => {};

  /** @param folder - A folder that exists from the start. */
  constructor(folder: string) {
    this.#folders.add(folder);
  }

  /** The process has died, and no other has begun. */
  get isDead(): boolean {
    return this.#dead;
  }

  /** Resolves when the process of this moment dies. */
  death(): Promise<void> {
    return new Promise((resolve) => {
      this.#tellDeath = resolve;
    });
  }

  /** Ends the process; what it wrote stays. Nothing that it started calls back. */
  kill(): void {
    this.#process += 1;
    this.#dead = false;
  }

  /** Ends the process and drops all that was not synced. */
  losePower(): void {
    this.kill();
    this.#names = new Map(this.#keptNames);
    for (const inode of this.#names.values()) inode.losePower();
  }

  /** Every file by its path, in the order of paths: for comparing. */
  files(): Map<string, Buffer> {
    const paths = [...this.#names.keys()].toSorted();
    return new Map(paths.map((path) => [path, Buffer.from(this.#inode(path).cached)]));
  }

  /** Puts a file there as if it had always been: for damage. */
  plant(path: string, bytes: Uint8Array): this {
    const inode = new Inode();
    inode.write(bytes, 0);
    inode.sync();
    this.#names.set(path, inode);
    this.#keptNames.set(path, inode);
    return this;
  }

  uproot(path: string): void {
    this.#names.delete(path);
    this.#keptNames.delete(path);
  }

  makeFolderNow(path: string): void {
    this.#step("make the folder", path);
    if (this.#folders.has(path)) throw new DiskFault("make the folder", path, "EEXIST");
    if (!this.#folders.has(posix.dirname(path))) {
      throw new DiskFault("make the folder", path, "ENOENT");
    }
    this.#folders.add(path);
  }

  listNow(path: string): string[] | null {
    this.#step("list", path);
    if (!this.#folders.has(path)) return null;
    const all = [...this.#names.keys(), ...this.#folders];
    return all.filter((name) => posix.dirname(name) === path).map((name) => posix.basename(name));
  }

  openNow(path: string): DiskFile {
    this.#step("open", path);
    if (!this.#names.has(path)) throw new DiskFault("open", path, "ENOENT");
    return new MemoryFile(this, path, this.#inode(path));
  }

  createNow(path: string): DiskFile {
    this.#step("create", path);
    const inode = this.#names.get(path) ?? new Inode();
    inode.cached = Buffer.alloc(0);
    this.#names.set(path, inode);
    return new MemoryFile(this, path, inode);
  }

  renameNow(from: string, to: string): void {
    this.#step("rename", from);
    if (!this.#names.has(from)) throw new DiskFault("rename", from, "ENOENT");
    this.#names.set(to, this.#inode(from));
    this.#names.delete(from);
  }

  removeNow(path: string): void {
    this.#step("remove", path);
    if (!this.#names.delete(path)) throw new DiskFault("remove", path, "ENOENT");
  }

  syncFolderNow(path: string): void {
    this.#step("sync", path);
    for (const name of this.#keptNames.keys()) {
      if (posix.dirname(name) === path && !this.#names.has(name)) this.#keptNames.delete(name);
    }
    for (const [name, inode] of this.#names) {
      if (posix.dirname(name) === path) this.#keptNames.set(name, inode);
    }
  }

  lockNow(): { release: () => void } {
    return { release: () => {} };
  }

  create(path: string, done: (fault: DiskFault | null, file: DiskFile | null) => void): void {
    this.run(() => this.createNow(path), done, null);
  }

  rename(from: string, to: string, done: Done): void {
    this.run(() => this.renameNow(from, to), done, undefined);
  }

  remove(path: string, done: Done): void {
    this.run(() => this.removeNow(path), done, undefined);
  }

  syncFolder(path: string, done: Done): void {
    this.run(() => this.syncFolderNow(path), done, undefined);
  }

  /** Does a step later, as the thread pool would, unless the process ended meanwhile. */
  run<T, F>(act: () => T, done: (fault: DiskFault | null, result: T | F) => void, none: F): void {
    const process = this.#process;
    queueMicrotask(() => {
      if (process !== this.#process || this.#dead) return;
      let result: T | F = none;
      let fault: DiskFault | null = null;
      try {
        result = act();
      } catch (error) {
        if (error instanceof ProcessDied) return;
        if (!(error instanceof DiskFault)) throw error;
        fault = error;
      }
      done(fault, result);
    });
  }

  /** @returns How much a write may write; null for all. */
  step(operation: Operation, path: string, inode?: Inode): number | null {
    return this.#step(operation, path, inode);
  }

  #step(operation: Operation, path: string, inode?: Inode): number | null {
    if (this.#dead) throw new ProcessDied();
    this.stepCount += 1;
    const outcome = this.decide({ index: this.stepCount, operation, path });
    if (outcome === null) return null;
    if ("writtenBytes" in outcome) return outcome.writtenBytes;
    if ("code" in outcome) {
      if (operation === "sync") inode?.failSync();
      throw new DiskFault(operation, path, outcome.code);
    }
    this.#dead = true;
    this.#tellDeath();
    throw new ProcessDied();
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path);
    if (inode === undefined) throw new Error(`no file ${path}`);
    return inode;
  }
}

class MemoryFile implements DiskFile {
  path: string;
  readonly #disk: MemoryDisk;
  readonly #inode: Inode;

  constructor(disk: MemoryDisk, path: string, inode: Inode) {
    this.path = path;
    this.#disk = disk;
    this.#inode = inode;
  }

  sizeNow(): number {
    this.#disk.step("measure", this.path);
    return this.#inode.cached.length;
  }

  readNow(target: Uint8Array, position: number): number {
    this.#disk.step("read", this.path);
    if (position >= this.#inode.cached.length) return 0;
    return this.#inode.cached.copy(target, 0, position, position + target.length);
  }

  writeNow(source: Uint8Array, position: number): number {
    const writtenBytes = this.#disk.step("write", this.path) ?? source.length;
    this.#inode.write(source.subarray(0, writtenBytes), position);
    return writtenBytes;
  }

  syncNow(): void {
    this.#disk.step("sync", this.path, this.#inode);
    this.#inode.sync();
  }

  closeNow(): void {
    this.#disk.step("close", this.path);
  }

  write(
    source: Uint8Array,
    position: number,
    done: (fault: DiskFault | null, writtenBytes: number) => void,
  ): void {
    this.#disk.run(() => this.writeNow(source, position), done, 0);
  }

  syncData(done: Done): void {
    this.#disk.run(() => this.syncNow(), done, undefined);
  }

  syncAll(done: Done): void {
    this.syncData(done);
  }

  close(done: Done): void {
    this.#disk.run(() => this.closeNow(), done, undefined);
  }
}

function resized(bytes: Buffer, lengthBytes: number): Buffer<ArrayBuffer> {
  const copy = Buffer.alloc(lengthBytes);
  bytes.copy(copy);
  return copy;
}
