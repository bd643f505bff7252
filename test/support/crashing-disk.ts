/**
 * The real disk with the manners of a failing one, in a folder of its own: any step may be the last
 * of the process, and the power may go, which leaves only what was synced. Real files, so that
 * SQLite can write to them too: what it wrote counts as not synced until the file is.
 */
import fs from "node:fs";
import path from "node:path";
import { type Disk, type DiskFile, type Done, realDisk } from "../../persistence/disk/disk.ts";
import { DiskFault } from "../../persistence/disk/faults.ts";
import { type Operation, type Outcome, ProcessDied, type Step } from "./memory-disk.ts";

/** A file, whatever it is called: what of it would outlast the power. */
interface Inode {
  kept: Buffer;
}

export class CrashingDisk {
  /** Decides on each step; null lets it happen. */
  decide: (step: Step) => Outcome | null = () => null;
  /** Steps that change something, so far. */
  stepCount = 0;
  readonly inodes = new Map<string, Inode>();
  keptNames = new Map<string, Inode>();
  /** The process that lives; null when it died. */
  process: ProcessDisk | null = null;

  /** Takes in the files of a folder, as files that were there before and are on disk. */
  adopt(folder: string): this {
    for (const name of fs.readdirSync(folder, { recursive: true, encoding: "utf8" })) {
      const file = path.join(folder, name);
      if (fs.statSync(file).isDirectory()) continue;
      const inode = { kept: fs.readFileSync(file) };
      this.inodes.set(file, inode);
      this.keptNames.set(file, inode);
    }
    return this;
  }

  /** A process begins; the one before, if it still thinks that it lives, gets nothing done. */
  begin(): Disk {
    this.process = new ProcessDisk(this);
    return this.process;
  }

  get isDead(): boolean {
    return this.process === null;
  }

  /** Ends the process; what it wrote stays. */
  kill(): void {
    this.process = null;
  }

  /** Ends the process and drops all that was not synced. */
  losePower(): void {
    this.kill();
    for (const name of this.inodes.keys()) fs.rmSync(name, { force: true });
    this.inodes.clear();
    for (const [name, inode] of this.keptNames) {
      fs.writeFileSync(name, inode.kept);
      this.inodes.set(name, inode);
    }
  }
}

class ProcessDisk implements Disk {
  readonly #disk: CrashingDisk;

  constructor(disk: CrashingDisk) {
    this.#disk = disk;
  }

  makeFolderNow(name: string): void {
    this.step("make the folder", name);
    realDisk.makeFolderNow(name);
  }

  listNow(name: string): string[] | null {
    this.#live();
    return realDisk.listNow(name);
  }

  openNow(name: string): DiskFile {
    this.#live();
    return new CrashingFile(this, realDisk.openNow(name));
  }

  createNow(name: string): DiskFile {
    this.step("create", name);
    const file = realDisk.createNow(name);
    if (!this.#disk.inodes.has(name)) this.#disk.inodes.set(name, { kept: Buffer.alloc(0) });
    return new CrashingFile(this, file);
  }

  renameNow(from: string, to: string): void {
    this.step("rename", to);
    realDisk.renameNow(from, to);
    this.#disk.inodes.set(to, this.#disk.inodes.get(from)!);
    this.#disk.inodes.delete(from);
  }

  removeNow(name: string): void {
    this.step("remove", name);
    realDisk.removeNow(name);
    this.#disk.inodes.delete(name);
  }

  syncFolderNow(name: string): void {
    this.step("sync", name);
    const others = [...this.#disk.keptNames].filter(([file]) => path.dirname(file) !== name);
    const present = [...this.#disk.inodes].filter(([file]) => path.dirname(file) === name);
    this.#disk.keptNames = new Map([...others, ...present]);
  }

  lockNow(): { release: () => void } {
    return { release: () => {} };
  }

  create(name: string, done: (fault: DiskFault | null, file: DiskFile | null) => void): void {
    this.later(() => this.createNow(name), done, null);
  }

  rename(from: string, to: string, done: Done): void {
    this.later(() => this.renameNow(from, to), done, undefined);
  }

  remove(name: string, done: Done): void {
    this.later(() => this.removeNow(name), done, undefined);
  }

  syncFolder(name: string, done: Done): void {
    this.later(() => this.syncFolderNow(name), done, undefined);
  }

  syncFile(name: string): void {
    this.step("sync", name);
    const inode = this.#disk.inodes.get(name);
    if (inode !== undefined) inode.kept = fs.readFileSync(name);
  }

  /** Does a step later, as the thread pool would, unless the process ended meanwhile. */
  later<T, F>(act: () => T, done: (fault: DiskFault | null, result: T | F) => void, none: F): void {
    queueMicrotask(() => {
      if (this.#disk.process !== this) return;
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

  step(operation: Operation, name: string): void {
    this.#live();
    const disk = this.#disk;
    disk.stepCount += 1;
    const outcome = disk.decide({ index: disk.stepCount, operation, path: name });
    if (outcome === null) return;
    if ("code" in outcome) throw new DiskFault(operation, name, outcome.code);
    disk.kill();
    throw new ProcessDied();
  }

  #live(): void {
    if (this.#disk.process !== this) throw new ProcessDied();
  }
}

class CrashingFile implements DiskFile {
  path: string;
  readonly #disk: ProcessDisk;
  readonly #file: DiskFile;

  constructor(disk: ProcessDisk, file: DiskFile) {
    this.path = file.path;
    this.#disk = disk;
    this.#file = file;
  }

  sizeNow(): number {
    return this.#file.sizeNow();
  }

  readNow(target: Uint8Array, position: number): number {
    return this.#file.readNow(target, position);
  }

  writeNow(source: Uint8Array, position: number): number {
    this.#disk.step("write", this.path);
    return this.#file.writeNow(source, position);
  }

  syncNow(): void {
    this.#disk.syncFile(this.path);
  }

  closeNow(): void {
    this.#file.closeNow();
  }

  write(
    source: Uint8Array,
    position: number,
    done: (fault: DiskFault | null, writtenBytes: number) => void,
  ): void {
    this.#disk.later(() => this.writeNow(source, position), done, 0);
  }

  syncData(done: Done): void {
    this.#disk.later(() => this.syncNow(), done, undefined);
  }

  syncAll(done: Done): void {
    this.syncData(done);
  }

  close(done: Done): void {
    this.#disk.later(() => this.closeNow(), done, undefined);
  }
}
