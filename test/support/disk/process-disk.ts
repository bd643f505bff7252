/** The fake disk as one process sees it: each step may fail, fall short, or be its last one. */
import type { Disk, DiskFile, Done, Write } from "../../../persistence/disk/disk.ts";
import { DiskFault } from "../../../persistence/disk/faults.ts";
import type { FileLock } from "../../../persistence/disk/sqlite.ts";
import type { Inode } from "./inode.ts";
import type { Platter } from "./platter.ts";

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

/** Operations on files or names, and those for durability. */
export const CHANGES: ReadonlySet<Operation> = new Set([
  "create",
  "make the folder",
  "remove",
  "rename",
  "sync",
  "write",
]);

/** An operation about to happen. */
export interface Step {
  readonly operation: Operation;
  readonly path: string;
}

/** The outcome of a step: a fault by its code, a short write, or the end of the process. */
export type Outcome =
  | { readonly code: string }
  | { readonly writtenBytes: number }
  | { readonly dies: true };

/** Thrown by the last step of the process, and by every later one. */
export class ProcessDied extends Error {
  override readonly name = "ProcessDied";
}

/** Runs a task of a process; a write on the process's own thread may be its last step. */
export function untilDeath(task: () => void): void {
  try {
    task();
  } catch (error) {
    if (!(error instanceof ProcessDied)) throw error;
  }
}

/** The environment of a process. */
export interface Host {
  isAlive(): boolean;
  /** @returns null to let the step happen. */
  decide(step: Step): Outcome | null;
  /** Runs a task of the thread pool in some later turn. */
  later(operation: Operation, task: () => void): void;
  kill(): void;
}

/** A requested step. */
interface Asked<T> extends Step {
  /** Does it. @param most - Limit of a write, in bytes; null for all. */
  readonly act: (most: number | null) => T;
  /** The part of a write possible after the end of the process. */
  readonly happen?: () => void;
}

type Callback<T> = (fault: DiskFault | null, result: T | null) => void;

export class ProcessDisk implements Disk {
  readonly platter: Platter;
  readonly #host: Host;
  /** Pending operations of the thread pool. */
  readonly #flights = new Set<() => void>();
  /** The thread pool is working now. */
  #isInFlight = false;

  constructor(platter: Platter, host: Host) {
    this.platter = platter;
    this.#host = host;
  }

  makeFolderNow(path: string): void {
    this.now({ operation: "make the folder", path, act: () => this.platter.makeFolder(path) });
  }

  listNow(path: string): string[] | null {
    return this.now({ operation: "list", path, act: () => this.platter.list(path) });
  }

  openNow(path: string): DiskFile {
    const act = () => new ProcessFile(this, path, this.platter.existing("open", path));
    return this.now({ operation: "open", path, act });
  }

  createNow(path: string): DiskFile {
    return this.now(this.#create(path));
  }

  renameNow(from: string, to: string): void {
    this.now(this.#rename(from, to));
  }

  removeNow(path: string): void {
    this.now(this.#remove(path));
  }

  syncFolderNow(path: string): void {
    this.now(this.#syncFolder(path));
  }

  /** A lock ends with its process, and there is one process at a time. */
  lockNow(path: string): FileLock {
    this.openNow(path);
    return { release: () => {} };
  }

  create(path: string, done: Callback<DiskFile>): void {
    this.later(this.#create(path), done);
  }

  rename(from: string, to: string, done: Done): void {
    this.later(this.#rename(from, to), done);
  }

  remove(path: string, done: Done): void {
    this.later(this.#remove(path), done);
  }

  syncFolder(path: string, done: Done): void {
    this.later(this.#syncFolder(path), done);
  }

  #create(path: string): Asked<DiskFile> {
    const act = () => new ProcessFile(this, path, this.platter.create(path));
    return { operation: "create", path, act };
  }

  #rename(from: string, to: string): Asked<void> {
    return { operation: "rename", path: from, act: () => this.platter.rename(from, to) };
  }

  #remove(path: string): Asked<void> {
    return { operation: "remove", path, act: () => this.platter.remove(path) };
  }

  #syncFolder(path: string): Asked<void> {
    return { operation: "sync", path, act: () => this.platter.syncFolder(path) };
  }

  now<T>({ operation, path, act, happen }: Asked<T>): T {
    if (!this.#host.isAlive()) throw new ProcessDied();
    const outcome = this.#host.decide({ operation, path });
    if (outcome === null) return act(null);
    if ("writtenBytes" in outcome) return act(outcome.writtenBytes);
    if ("code" in outcome) throw new DiskFault(operation, path, outcome.code);
    if (!this.#isInFlight) happen?.();
    this.#host.kill();
    throw new ProcessDied();
  }

  /** Does a step later, like the thread pool; never after the end of the process. */
  later<T>(asked: Asked<T>, done: Callback<T>): void {
    const flight = asked.happen ?? (() => void asked.act(null));
    this.#flights.add(flight);
    this.#host.later(asked.operation, () => {
      if (!this.#host.isAlive()) return;
      let result: T | null = null;
      let fault: DiskFault | null = null;
      this.#isInFlight = true;
      try {
        result = this.now(asked);
      } catch (error) {
        if (error instanceof ProcessDied) return;
        if (!(error instanceof DiskFault)) throw error;
        fault = error;
      } finally {
        this.#isInFlight = false;
      }
      this.#flights.delete(flight);
      untilDeath(() => done(fault, result));
    });
  }

  /** The process has ended: each operation in flight happens, or does not. */
  abandonFlights(): void {
    for (const happen of this.#flights) if (this.platter.dice.once(2)) happen();
    this.#flights.clear();
  }
}

class ProcessFile implements DiskFile {
  path: string;
  readonly #disk: ProcessDisk;
  readonly #platter: Platter;
  readonly #inode: Inode;

  constructor(disk: ProcessDisk, path: string, inode: Inode) {
    this.path = path;
    this.#disk = disk;
    this.#platter = disk.platter;
    this.#inode = inode;
  }

  sizeNow(): number {
    const act = () => this.#platter.refresh(this.#inode).sizeBytes;
    return this.#disk.now({ operation: "measure", path: this.path, act });
  }

  readNow(target: Uint8Array, position: number): number {
    const act = () => this.#platter.refresh(this.#inode).read(target, position);
    return this.#disk.now({ operation: "read", path: this.path, act });
  }

  writeNow(source: Uint8Array, position: number): number {
    return this.#disk.now(this.#write(source, position));
  }

  /** The process may end, or the disk fail, between the write and the sync. */
  writeThroughNow(source: Uint8Array, position: number): number {
    const writtenBytes = this.writeNow(source, position);
    this.syncNow();
    return writtenBytes;
  }

  syncNow(): void {
    try {
      this.#disk.now(this.#sync());
    } catch (error) {
      if (error instanceof DiskFault) this.#inode.failSync(this.#platter.dice);
      throw error;
    }
  }

  closeNow(): void {
    this.#disk.now(this.#close());
  }

  write(...[source, position, done]: Parameters<Write>): void {
    this.#disk.later(this.#write(source, position), (fault, bytes) => done(fault, bytes ?? 0));
  }

  syncData(done: Done): void {
    this.#disk.later(this.#sync(), (fault) => {
      if (fault !== null) this.#inode.failSync(this.#platter.dice);
      done(fault);
    });
  }

  syncAll(done: Done): void {
    this.syncData(done);
  }

  close(done: Done): void {
    this.#disk.later(this.#close(), done);
  }

  #sync(): Asked<void> {
    return { operation: "sync", path: this.path, act: () => this.#platter.syncFile(this.#inode) };
  }

  #close(): Asked<void> {
    return { operation: "close", path: this.path, act: () => {} };
  }

  #write(source: Uint8Array, position: number): Asked<number> {
    const { dice } = this.#platter;
    const write = (bytes: number) => {
      this.#platter.write(this.#inode, source.subarray(0, bytes), position);
      return bytes;
    };
    const act = (allowed: number | null) => {
      const room = this.#platter.isFull ? this.#roomAt(position, source.length) : Infinity;
      const most = Math.min(source.length, allowed ?? Infinity, room);
      if (most === 0 && source.length > 0) throw new DiskFault("write", this.path, "ENOSPC");
      return write(most);
    };
    // The first bytes, or all of them.
    const happen = () => {
      write(dice.once(2) ? source.length : dice.below(source.length + 1));
    };
    return { operation: "write", path: this.path, act, happen };
  }

  /** Bytes writable on a full disk: allocated ones, and sometimes the rest of a page. */
  #roomAt(position: number, wantedBytes: number): number {
    const { dice } = this.#platter;
    const inPlace = this.#inode.sizeBytes - position;
    if (inPlace >= wantedBytes) return wantedBytes;
    return Math.max(0, inPlace) + (dice.once(2) ? dice.below(wantedBytes) : 0);
  }
}
