/** A file system of its own, in memory, that can fill up and grow. Needs root and `mount`. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { system } from "../../faults/support/system.ts";

export class SmallDisk {
  readonly path: string;

  /** @param path - An empty folder. @param size - As `mount` takes it, such as "8m". */
  constructor(path: string, size: string) {
    this.path = path;
    system("mount", "-t", "tmpfs", "-o", `size=${size}`, "tmpfs", path);
  }

  get usedBytes(): number {
    const { blocks, bfree, bsize } = fs.statfsSync(this.path);
    return (blocks - bfree) * bsize;
  }

  get freeBytes(): number {
    const { bfree, bsize } = fs.statfsSync(this.path);
    return bfree * bsize;
  }

  resize(size: string): void {
    system("mount", "-o", `remount,size=${size}`, this.path);
  }

  unmount(): void {
    spawnSync("umount", ["-l", this.path]);
  }
}
