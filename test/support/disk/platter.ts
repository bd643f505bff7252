/**
 * The content of the fake disk: names and inodes as processes see them, and their durable state.
 * It knows no processes and no faults. Files for which `isReal` holds are real files, too, because
 * SQLite writes them.
 */
import fs from "node:fs";
import { posix } from "node:path";
import { DiskFault } from "../../../persistence/disk/faults.ts";
import { type Dice, Inode, Loss } from "./inode.ts";

/** A change of a folder, not durable yet. */
type NameChange =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "put"; readonly path: string; readonly inode: Inode }
  | { readonly kind: "rename"; readonly path: string; readonly to: string; readonly inode: Inode }
  | { readonly kind: "remove"; readonly path: string };

/** The whole content of a disk. */
interface Content {
  names: Map<string, Inode>;
  folders: Set<string>;
  durableNames: Map<string, Inode>;
  durableFolders: Set<string>;
  /** By folder. */
  pending: Map<string, NameChange[]>;
}

export interface PlatterOptions {
  /** A folder from the start; a real one if some files are real. */
  readonly folder: string;
  readonly isReal?: (path: string) => boolean;
  readonly dice?: Dice;
}

/** The worst case: every possible loss. */
const NO_LUCK: Dice = { below: () => 0, once: () => false };

export class Platter {
  readonly dice: Dice;
  /** No file can grow. */
  isFull = false;
  /** Changes of files and names so far. */
  changeCount = 0;
  readonly #isReal: (path: string) => boolean;
  #content: Content;

  constructor({ folder, isReal = () => false, dice = NO_LUCK }: PlatterOptions) {
    this.dice = dice;
    this.#isReal = isReal;
    const folders = new Set<string>();
    for (let path = folder; !folders.has(path); path = posix.dirname(path)) folders.add(path);
    const durableFolders = new Set(folders);
    const [names, durableNames] = [new Map(), new Map()];
    this.#content = { names, folders, durableNames, durableFolders, pending: new Map() };
  }

  /** Dice decide about unsynced data; without dice it is lost. */
  losePower(loss: Loss = Loss.ALL): void {
    const { pending, durableNames, durableFolders, names } = this.#content;
    for (const changes of pending.values()) {
      const count = this.dice.below(changes.length + 1);
      for (const change of changes.slice(0, count)) this.#makeDurable(change);
    }
    this.#readReal();
    for (const path of durableNames.keys()) {
      if (!durableFolders.has(posix.dirname(path))) durableNames.delete(path);
    }
    const left = { names: new Map(durableNames), folders: new Set(durableFolders) };
    for (const inode of new Set(left.names.values())) inode.losePower(this.dice, loss);
    this.#replace({ ...left, durableNames, durableFolders, pending: new Map() }, names);
  }

  /** A copy of every file, in the order of their paths. */
  files(): Map<string, Buffer> {
    this.#readReal();
    const { names } = this.#content;
    const paths = [...names.keys()].toSorted();
    return new Map(paths.map((path) => [path, Buffer.from(names.get(path)!.content())]));
  }

  /** The paths of all folders, each after its parent. */
  folders(): readonly string[] {
    return [...this.#content.folders].toSorted();
  }

  /** @returns A function to restore the current content, any number of times. */
  save(): () => void {
    this.#readReal();
    const saved = copyOf(this.#content);
    return () => this.#replace(copyOf(saved), this.#content.names);
  }

  /** Puts a file on the disk as if it had always existed; null removes it. */
  plant(path: string, bytes: Uint8Array | null): this {
    this.#readReal();
    const { names, folders, durableFolders } = this.#content;
    const changed = new Map(names);
    if (bytes === null) changed.delete(path);
    else changed.set(path, new Inode(this.#realPath(path), Buffer.from(bytes)));
    const durableNames = new Map(changed);
    const content = { names: changed, folders, durableNames, durableFolders, pending: new Map() };
    this.#replace(content, names);
    return this;
  }

  list(path: string): string[] | null {
    if (!this.#hasFolder(path)) return null;
    if (this.#isRealFolder(path)) return fs.readdirSync(path);
    const { names, folders } = this.#content;
    const from = path.length + 1;
    const found: string[] = [];
    for (const paths of [names.keys(), folders]) {
      for (const name of paths) {
        if (name.startsWith(`${path}/`) && !name.includes("/", from)) found.push(name.slice(from));
      }
    }
    return found;
  }

  /** A real folder of another program counts as durable. */
  #hasFolder(path: string): boolean {
    const { folders, durableFolders } = this.#content;
    if (folders.has(path)) return true;
    if (!this.#isRealFolder(path) || !fs.existsSync(path)) return false;
    folders.add(path);
    durableFolders.add(path);
    return true;
  }

  makeFolder(path: string): void {
    if (this.#hasFolder(path)) throw new DiskFault("make the folder", path, "EEXIST");
    if (!this.#hasFolder(posix.dirname(path))) {
      throw new DiskFault("make the folder", path, "ENOENT");
    }
    this.changeCount += 1;
    this.#content.folders.add(path);
    this.#change({ kind: "folder", path });
    if (this.#isRealFolder(path)) fs.mkdirSync(path, { recursive: true });
  }

  /** The file of a name. A real file of another program counts as durable. */
  #find(path: string): Inode | undefined {
    const { names, durableNames } = this.#content;
    const known = names.get(path);
    if (known !== undefined || !this.#isReal(path) || !fs.existsSync(path)) return known;
    this.#hasFolder(posix.dirname(path));
    const inode = new Inode(path, fs.readFileSync(path));
    names.set(path, inode);
    durableNames.set(path, inode);
    return inode;
  }

  /** @throws DiskFault. */
  existing(operation: string, path: string): Inode {
    const inode = this.#find(path);
    if (inode === undefined) throw new DiskFault(operation, path, "ENOENT");
    return inode;
  }

  create(path: string): Inode {
    this.changeCount += 1;
    const existing = this.#find(path);
    const inode = existing ?? new Inode(this.#realPath(path));
    inode.truncate();
    if (inode.realPath !== null) fs.writeFileSync(path, "");
    if (existing === undefined) {
      this.#content.names.set(path, inode);
      this.#change({ kind: "put", path, inode });
    }
    return inode;
  }

  rename(from: string, to: string): void {
    const inode = this.existing("rename", from);
    this.changeCount += 1;
    if (inode.realPath !== null) {
      fs.renameSync(from, to);
      inode.realPath = to;
    }
    this.#content.names.delete(from);
    this.#content.names.set(to, inode);
    this.#change({ kind: "rename", path: from, to, inode });
  }

  remove(path: string): void {
    const { realPath } = this.existing("remove", path);
    this.changeCount += 1;
    if (realPath !== null) fs.unlinkSync(path);
    this.#content.names.delete(path);
    this.#change({ kind: "remove", path });
  }

  write(inode: Inode, bytes: Uint8Array, position: number): void {
    this.changeCount += 1;
    inode.write(bytes, position);
    const { realPath } = inode;
    if (realPath === null || !fs.existsSync(realPath)) return;
    const file = fs.openSync(realPath, "r+");
    fs.writeSync(file, bytes, 0, bytes.length, position);
    fs.closeSync(file);
  }

  /** Takes over the changes of SQLite to a real file. */
  refresh(inode: Inode): Inode {
    const { realPath } = inode;
    if (realPath !== null && fs.existsSync(realPath)) inode.replace(fs.readFileSync(realPath));
    return inode;
  }

  syncFile(inode: Inode): void {
    this.refresh(inode).sync();
  }

  syncFolder(path: string): void {
    const { pending } = this.#content;
    for (const change of pending.get(path) ?? []) this.#makeDurable(change);
    pending.delete(path);
  }

  #realPath(path: string): string | null {
    return this.#isReal(path) ? path : null;
  }

  #isRealFolder(path: string): boolean {
    return this.#isReal(`${path}/a`);
  }

  #readReal(): void {
    for (const inode of this.#content.names.values()) this.refresh(inode);
  }

  /** @param names - The previous names: real files without a name are removed. */
  #replace(content: Content, names: ReadonlyMap<string, Inode>): void {
    const { folders } = this.#content;
    this.#content = content;
    for (const [path, inode] of names) {
      if (inode.realPath !== null && !content.names.has(path)) fs.rmSync(path, { force: true });
    }
    for (const path of folders) {
      if (content.folders.has(path) || !this.#isRealFolder(path)) continue;
      fs.rmSync(path, { recursive: true, force: true });
    }
    for (const path of content.folders) {
      if (this.#isRealFolder(path)) fs.mkdirSync(path, { recursive: true });
    }
    for (const [path, inode] of content.names) {
      inode.realPath = this.#realPath(path);
      if (inode.realPath !== null) fs.writeFileSync(path, inode.content());
    }
  }

  #change(change: NameChange): void {
    const { pending } = this.#content;
    const folder = posix.dirname(change.path);
    const list = pending.get(folder);
    if (list === undefined) pending.set(folder, [change]);
    else list.push(change);
  }

  #makeDurable(change: NameChange): void {
    const { durableNames, durableFolders } = this.#content;
    if (change.kind === "folder") durableFolders.add(change.path);
    else if (change.kind === "put") durableNames.set(change.path, change.inode);
    else durableNames.delete(change.path);
    if (change.kind === "rename") durableNames.set(change.to, change.inode);
  }
}

/** Shares the memory of files until they are changed. */
function copyOf({ names, folders, durableNames, durableFolders, pending }: Content): Content {
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
    folders: new Set(folders),
    durableNames: copyNames(durableNames),
    durableFolders: new Set(durableFolders),
    pending: new Map([...pending].map(([path, list]) => [path, list.map(copyChange)])),
  };
}
