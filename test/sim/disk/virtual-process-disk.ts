/** The virtual disk as one process has it: every step may fail, fall short or be its last. */
import { posix } from "node:path";
import type { Disk, DiskFile, Done } from "../../../persistence/disk/disk.ts";
import { DiskFault } from "../../../persistence/disk/faults.ts";
import type { FileLock } from "../../../persistence/disk/sqlite.ts";
import { type Operation, type Outcome, ProcessDied, type Step } from "../../support/memory-disk.ts";
import type { VirtualDisk } from "./virtual-disk.ts";
import type { Inode } from "./virtual-inode.ts";

/** What the run makes of the steps of a process. */
export interface DiskFaults {
  /** Null lets the step happen. */
  decide(step: Step): Outcome | null;
  /** Microseconds until an operation of the thread pool is done. */
  latencyUs(operation: Operation): number;
}

/** An operation of the thread pool. */
interface Flight {
  /** Does it without further faults; a write perhaps in part. */
  readonly happen: () => void;
}

/** What is asked for: checked when it happens, and then done. */
interface Asked<T> {
  readonly operation: Operation;
  readonly path: string;
  readonly act: () => T;
  /** What may be done of it when the process ends meanwhile. */
  readonly happen: () => void;
}

export class ProcessDisk implements Disk {
  readonly disk: VirtualDisk;
  readonly #faults: DiskFaults;
  readonly #flights = new Set<Flight>();
  /** Steps so far, those of its threads included. */
  stepCount = 0;
  /** What was asked for and is being done just now. */
  #acting: Flight | null = null;

  constructor(disk: VirtualDisk, faults: DiskFaults) {
    this.disk = disk;
    this.#faults = faults;
  }

  /**
   * The same disk for another thread of the process.
   * @param beforeStep - What happens in the first thread meanwhile.
   */
  thread(beforeStep: () => void): Disk {
    return new ThreadDisk(this, beforeStep);
  }

  makeFolderNow(path: string): void {
    this.check("make the folder", path);
    if (this.disk.hasFolder(path)) throw new DiskFault("make the folder", path, "EEXIST");
    if (!this.disk.hasFolder(posix.dirname(path))) {
      throw new DiskFault("make the folder", path, "ENOENT");
    }
    this.disk.makeFolder(path);
  }

  listNow(path: string): string[] | null {
    this.check("list", path);
    return this.disk.list(path);
  }

  openNow(path: string): DiskFile {
    this.check("open", path);
    return new ProcessFile(this, path, this.#inode("open", path));
  }

  createNow(path: string): DiskFile {
    this.check("create", path);
    return new ProcessFile(this, path, this.disk.create(path));
  }

  renameNow(from: string, to: string): void {
    this.check("rename", from);
    this.#inode("rename", from);
    this.disk.rename(from, to);
  }

  removeNow(path: string): void {
    this.check("remove", path);
    this.#inode("remove", path);
    this.disk.remove(path);
  }

  syncFolderNow(path: string): void {
    this.check("sync", path);
    this.disk.syncFolder(path);
  }

  /** A lock ends with its process, and there is one process at a time. */
  lockNow(path: string): FileLock {
    this.check("open", path);
    this.#inode("open", path);
    return { release: () => {} };
  }

  create(path: string, done: (fault: DiskFault | null, file: DiskFile | null) => void): void {
    const happen = () => void this.disk.create(path);
    this.later({ operation: "create", path, act: () => this.createNow(path), happen }, done, null);
  }

  rename(from: string, to: string, done: Done): void {
    const happen = () => this.disk.rename(from, to);
    const act = () => this.renameNow(from, to);
    this.later({ operation: "rename", path: from, act, happen }, done, undefined);
  }

  remove(path: string, done: Done): void {
    const happen = () => this.disk.remove(path);
    this.later({ operation: "remove", path, act: () => this.removeNow(path), happen }, done, null);
  }

  syncFolder(path: string, done: Done): void {
    const happen = () => this.disk.syncFolder(path);
    this.later(
      { operation: "sync", path, act: () => this.syncFolderNow(path), happen },
      done,
      null,
    );
  }

  /** As the thread pool does: after a while, and never for a process that has ended. */
  later<T, F>(
    asked: Asked<T>,
    done: (fault: DiskFault | null, result: T | F) => void,
    no: F,
  ): void {
    const flight = { happen: asked.happen };
    this.#flights.add(flight);
    this.disk.timeline.after(this.#faults.latencyUs(asked.operation), () => {
      if (this.disk.process !== this) return;
      let result: T | F = no;
      let fault: DiskFault | null = null;
      this.#acting = flight;
      try {
        result = asked.act();
      } catch (error) {
        if (error instanceof ProcessDied) return;
        if (!(error instanceof DiskFault)) throw error;
        fault = error;
      } finally {
        this.#acting = null;
      }
      this.#flights.delete(flight);
      done(fault, result);
    });
  }

  /** The process has ended: what it had asked for happens, or does not. */
  abandonAll(): void {
    for (const { happen } of this.#flights) if (this.disk.random.once(2)) happen();
    this.#flights.clear();
  }

  /**
   * To be called before each step.
   * @param happen - What may be done of the step when it is the last one.
   * @returns How many bytes a write may write at most; null for all.
   */
  check(operation: Operation, path: string, happen?: () => void): number | null {
    if (this.disk.process !== this) throw new ProcessDied();
    this.stepCount += 1;
    const outcome = this.#faults.decide({ index: this.stepCount, operation, path });
    if (outcome === null) return null;
    if ("writtenBytes" in outcome) return outcome.writtenBytes;
    if ("code" in outcome) throw new DiskFault(operation, path, outcome.code);
    if (this.#acting === null && happen !== undefined) happen();
    this.disk.kill();
    throw new ProcessDied();
  }

  #inode(operation: Operation, path: string): Inode {
    const inode = this.disk.inode(path);
    if (inode === undefined) throw new DiskFault(operation, path, "ENOENT");
    return inode;
  }
}

class ThreadDisk extends ProcessDisk {
  readonly #process: ProcessDisk;
  readonly #beforeStep: () => void;

  constructor(process: ProcessDisk, beforeStep: () => void) {
    super(process.disk, { decide: () => null, latencyUs: () => 0 });
    this.#process = process;
    this.#beforeStep = beforeStep;
  }

  override check(operation: Operation, path: string, happen?: () => void): number | null {
    this.#beforeStep();
    return this.#process.check(operation, path, happen);
  }
}

class ProcessFile implements DiskFile {
  path: string;
  readonly #process: ProcessDisk;
  readonly #inode: Inode;

  constructor(process: ProcessDisk, path: string, inode: Inode) {
    this.path = path;
    this.#process = process;
    this.#inode = inode;
  }

  sizeNow(): number {
    this.#process.check("measure", this.path);
    return this.#read().sizeBytes;
  }

  readNow(target: Uint8Array, position: number): number {
    this.#process.check("read", this.path);
    return this.#read().read(target, position);
  }

  writeNow(source: Uint8Array, position: number): number {
    const { disk } = this.#process;
    const happen = () => this.#writeSome(source, position);
    const allowed = this.#process.check("write", this.path, happen) ?? source.length;
    let most = Math.min(allowed, source.length);
    if (disk.isFull) most = Math.min(most, this.#roomAt(position, source.length));
    if (most <= 0) throw new DiskFault("write", this.path, "ENOSPC");
    disk.changeCount += 1;
    this.#inode.write(source.subarray(0, most), position);
    return most;
  }

  syncNow(): void {
    try {
      this.#process.check("sync", this.path);
    } catch (error) {
      if (error instanceof DiskFault) this.#inode.failSync(this.#process.disk.random);
      throw error;
    }
    this.#process.disk.sync(this.path, this.#inode);
  }

  closeNow(): void {
    this.#process.check("close", this.path);
  }

  write(
    source: Uint8Array,
    position: number,
    done: (fault: DiskFault | null, writtenBytes: number) => void,
  ): void {
    const act = () => this.writeNow(source, position);
    const happen = () => this.#writeSome(source, position);
    this.#process.later({ operation: "write", path: this.path, act, happen }, done, 0);
  }

  syncData(done: Done): void {
    const happen = () => this.#process.disk.sync(this.path, this.#inode);
    const act = () => this.syncNow();
    this.#process.later({ operation: "sync", path: this.path, act, happen }, done, undefined);
  }

  syncAll(done: Done): void {
    this.syncData(done);
  }

  close(done: Done): void {
    const act = () => this.closeNow();
    this.#process.later({ operation: "close", path: this.path, act, happen: () => {} }, done, null);
  }

  /** Some of the first bytes, or all. */
  #writeSome(source: Uint8Array, position: number): void {
    const { random } = this.#process.disk;
    const bytes = random.once(2) ? source.length : random.below(source.length + 1);
    this.#inode.write(source.subarray(0, bytes), position);
  }

  /** On a full disk: what is there already, and now and then the rest of a page. */
  #roomAt(position: number, wantedBytes: number): number {
    const { random } = this.#process.disk;
    const inPlace = this.#inode.sizeBytes - position;
    if (inPlace >= wantedBytes) return wantedBytes;
    return Math.max(0, inPlace) + (random.once(2) ? random.below(wantedBytes) : 0);
  }

  /** SQLite may have written it meanwhile. */
  #read(): Inode {
    this.#process.disk.refresh(this.path, this.#inode);
    return this.#inode;
  }
}
