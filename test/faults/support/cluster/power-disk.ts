/** A disk whose power can be cut: a file system in a file. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import type { Scope } from "../scope.ts";
import { system } from "../system.ts";

const BYTES = 1024 ** 3;
/**
 * The request to a file system to stop at once, without writing what it has in memory
 * (EXT4_IOC_SHUTDOWN with NOLOGFLUSH).
 */
const STOP = `
  open(my $folder, "<", $ARGV[0]) or die "open: $!";
  my $how = pack("L", 2);
  ioctl($folder, 0x8004587d, $how) or die "ioctl: $!";
`;

export class PowerDisk {
  readonly folder: string;
  readonly #image: string;

  /** @param path - Of its folder, which is made. It ends with the scope. */
  constructor(scope: Scope, path: string) {
    this.folder = path;
    this.#image = `${path}.image`;
    fs.mkdirSync(path);
    fs.writeFileSync(this.#image, "");
    fs.truncateSync(this.#image, BYTES);
    system("mkfs.ext4", "-q", "-F", "-J", "size=16", this.#image);
    this.#mount();
    scope.defer(() => void spawnSync("umount", ["--lazy", this.folder]));
  }

  /** Loses unsynced writes. The processes on the disk must be stopped before. */
  cut(): void {
    system("perl", "-e", STOP, this.folder);
  }

  /** The disk has what reached it before the cut. No process may have a file of it open. */
  restore(): void {
    system("umount", this.folder);
    this.#mount();
  }

  #mount(): void {
    system("mount", "-o", "loop", this.#image, this.folder);
  }
}
