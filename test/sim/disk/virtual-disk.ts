/**
 * A disk in memory with the manners of a failing one, on virtual time: what is written is in a
 * cache until it is synced, names last once their folder is synced, and what is neither may be
 * kept, lost or garbled when the power goes. A crash may come at any step, also in the middle of
 * one. Files in the folder of snapshots are real ones, because SQLite writes them; what of them
 * lasts is decided here like everywhere else.
 */
import fs from "node:fs";
import { posix } from "node:path";
import { SNAPSHOT_FOLDER } from "../../../persistence/snapshot/file.ts";
import type { Timeline } from "../timeline.ts";
import type { Random } from "../workload/random.ts";
import { Inode, type Loss } from "./virtual-inode.ts";
import { ProcessDisk, type DiskFaults } from "./virtual-process-disk.ts";

/** A change of a folder that is not on the platter yet. */
type NameChange =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "put"; readonly path: string; readonly inode: Inode }
  | { readonly kind: "rename"; readonly path: string; readonly to: string; readonly inode: Inode }
  | { readonly kind: "remove"; readonly path: string };

/** Everything that a disk holds, to go back to. */
export interface SavedDisk {
  readonly names: Map<string, Inode>;
  readonly keptNames: Map<string, Inode>;
  readonly folders: Set<string>;
  readonly keptFolders: Set<string>;
  readonly pending: Map<string, NameChange[]>;
}

export interface VirtualDiskOptions {
  /** A real, empty folder: the data folder of the store. */
  readonly folder: string;
  readonly timeline: Timeline;
  readonly random: Random;
}

export class VirtualDisk {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly #snapshots: string;
  /** The real folder of snapshots is there. */
  #hasReal = false;
  #names = new Map<string, Inode>();
  #keptNames = new Map<string, Inode>();
  #folders = new Set<string>();
  #keptFolders = new Set<string>();
  #pending = new Map<string, NameChange[]>();
  /** No file can grow. */
  isFull = false;
  /** Changes that processes made to files and names, so far. */
  changeCount = 0;
  /** The process that lives; null when there is none. */
  process: ProcessDisk | null = null;

  constructor({ folder, timeline, random }: VirtualDiskOptions) {
    this.timeline = timeline;
    this.random = random;
    this.#snapshots = `${folder}/${SNAPSHOT_FOLDER}`;
    for (let path = folder; !this.#folders.has(path); path = posix.dirname(path)) {
      this.#folders.add(path);
      this.#keptFolders.add(path);
    }
  }

  /** A process begins. */
  begin(faults: DiskFaults): ProcessDisk {
    this.process = new ProcessDisk(this, faults);
    return this.process;
  }

  get isDead(): boolean {
    return this.process === null;
  }

  /** Ends the process. What it had under way happens, or not, or by half; what it wrote stays. */
  kill(): void {
    const { process } = this;
    this.process = null;
    process?.abandonAll();
    this.timeline.clear();
  }

  /** To be called behind `kill`: what was not synced is left to the dice. */
  losePower(loss: Loss): void {
    for (const changes of this.#pending.values()) {
      const count = this.random.below(changes.length + 1);
      for (const change of changes.slice(0, count)) this.#last(change);
    }
    this.#pending.clear();
    this.#readReal();
    for (const path of this.#keptNames.keys()) {
      if (!this.#keptFolders.has(posix.dirname(path))) this.#keptNames.delete(path);
    }
    this.#folders = new Set(this.#keptFolders);
    this.#names = new Map(this.#keptNames);
    for (const inode of new Set(this.#names.values())) inode.losePower(this.random, loss);
    this.#writeReal();
  }

  /** Files by their path. */
  files(): Map<string, Buffer> {
    this.#readReal();
    const paths = [...this.#names.keys()].toSorted();
    return new Map(paths.map((path) => [path, this.#names.get(path)!.content()]));
  }

  save(): SavedDisk {
    this.#readReal();
    return copyOf({
      names: this.#names,
      keptNames: this.#keptNames,
      folders: this.#folders,
      keptFolders: this.#keptFolders,
      pending: this.#pending,
    });
  }

  /** As often as one likes. */
  restore(saved: SavedDisk): void {
    const { names, keptNames, folders, keptFolders, pending } = copyOf(saved);
    this.#names = names;
    this.#keptNames = keptNames;
    this.#folders = folders;
    this.#keptFolders = keptFolders;
    this.#pending = pending;
    this.#writeReal();
  }

  /** Puts a file there as if it had always been; null takes it away. */
  damage(path: string, bytes: Buffer | null): void {
    this.#readReal();
    if (bytes === null) this.#names.delete(path);
    else this.#names.set(path, Inode.of(bytes));
    this.#keptNames = new Map(this.#names);
    this.#pending.clear();
    this.#writeReal();
  }

  // What processes do, without faults.

  list(path: string): string[] | null {
    if (!this.#folders.has(path)) return null;
    const from = path.length + 1;
    const found: string[] = [];
    for (const names of [this.#names.keys(), this.#folders]) {
      for (const name of names) {
        if (name.startsWith(`${path}/`) && !name.includes("/", from)) found.push(name.slice(from));
      }
    }
    return found;
  }

  hasFolder(path: string): boolean {
    return this.#folders.has(path);
  }

  makeFolder(path: string): void {
    this.changeCount += 1;
    this.#folders.add(path);
    this.#change({ kind: "folder", path });
    if (path !== this.#snapshots) return;
    fs.mkdirSync(path, { recursive: true });
    this.#hasReal = true;
  }

  inode(path: string): Inode | undefined {
    return this.#names.get(path);
  }

  isReal(path: string): boolean {
    return this.#hasReal && path.startsWith(`${this.#snapshots}/`);
  }

  create(path: string): Inode {
    this.changeCount += 1;
    const existing = this.#names.get(path);
    const inode = existing ?? new Inode();
    inode.truncate();
    if (this.isReal(path)) fs.writeFileSync(path, "");
    if (existing === undefined) {
      this.#names.set(path, inode);
      this.#change({ kind: "put", path, inode });
    }
    return inode;
  }

  rename(from: string, to: string): void {
    this.changeCount += 1;
    const inode = this.#names.get(from)!;
    this.#names.delete(from);
    this.#names.set(to, inode);
    this.#change({ kind: "rename", path: from, to, inode });
    if (this.isReal(to)) fs.renameSync(from, to);
  }

  remove(path: string): void {
    this.changeCount += 1;
    this.#names.delete(path);
    this.#change({ kind: "remove", path });
    if (this.isReal(path)) fs.unlinkSync(path);
  }

  syncFolder(path: string): void {
    for (const change of this.#pending.get(path) ?? []) this.#last(change);
    this.#pending.delete(path);
  }

  sync(path: string, inode: Inode): void {
    this.refresh(path, inode);
    inode.sync();
  }

  /** A real file, as SQLite wrote it, into the cache. */
  refresh(path: string, inode: Inode): void {
    if (this.isReal(path)) inode.replace(fs.readFileSync(path));
  }

  #readReal(): void {
    for (const [path, inode] of this.#names) this.refresh(path, inode);
  }

  #writeReal(): void {
    if (this.#hasReal) fs.rmSync(this.#snapshots, { recursive: true });
    this.#hasReal = this.#folders.has(this.#snapshots);
    if (!this.#hasReal) return;
    fs.mkdirSync(this.#snapshots);
    for (const [path, inode] of this.#names) {
      if (this.isReal(path)) fs.writeFileSync(path, inode.content());
    }
  }

  #change(change: NameChange): void {
    const folder = posix.dirname(change.path);
    const list = this.#pending.get(folder);
    if (list === undefined) this.#pending.set(folder, [change]);
    else list.push(change);
  }

  /** A change of names reaches the platter. */
  #last(change: NameChange): void {
    switch (change.kind) {
      case "folder":
        this.#keptFolders.add(change.path);
        break;
      case "put":
        this.#keptNames.set(change.path, change.inode);
        break;
      case "rename":
        this.#keptNames.delete(change.path);
        this.#keptNames.set(change.to, change.inode);
        break;
      case "remove":
        this.#keptNames.delete(change.path);
        break;
    }
  }
}

/** Costs no memory for the content of files until it is changed. */
function copyOf({ names, keptNames, folders, keptFolders, pending }: SavedDisk): SavedDisk {
  const copies = new Map<Inode, Inode>();
  const copyOfInode = (inode: Inode): Inode => {
    let copy = copies.get(inode);
    if (copy === undefined) copies.set(inode, (copy = inode.clone()));
    return copy;
  };
  const copyNames = (from: ReadonlyMap<string, Inode>) =>
    new Map([...from].map(([path, inode]) => [path, copyOfInode(inode)]));
  const copyChange = (change: NameChange): NameChange =>
    "inode" in change ? { ...change, inode: copyOfInode(change.inode) } : change;
  return {
    names: copyNames(names),
    keptNames: copyNames(keptNames),
    folders: new Set(folders),
    keptFolders: new Set(keptFolders),
    pending: new Map([...pending].map(([path, list]) => [path, list.map(copyChange)])),
  };
}
