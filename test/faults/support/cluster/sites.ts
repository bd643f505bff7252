/**
 * The places where the hosts of a cluster run, each with a member of etcd: on networks and disks of
 * their own where the system permits it, so they can be cut off and lose power.
 */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import type { MemberSite } from "../../../support/cluster/etcd-members.ts";
import { missingPrograms, missingRoot } from "../../../support/programs.ts";
import type { Scope } from "../scope.ts";
import { Network } from "./network.ts";
import { PowerDisk } from "./power-disk.ts";

/** @returns Why hosts cannot be cut off or lose power here; null when they can. */
export function missingIsolation(): string | null {
  const missing =
    missingRoot() ?? missingPrograms("ip", "nsenter", "mount", "mkfs.ext4", "losetup", "perl");
  if (missing !== null) return missing;
  const isPermitted = (program: string, ...args: readonly string[]) =>
    spawnSync(program, args).status === 0;
  if (!isPermitted("unshare", "--net", "--mount", "true")) return "needs the right to namespaces";
  return isPermitted("losetup", "--find") ? null : "needs loop devices";
}

export class Sites {
  readonly all: readonly MemberSite[];
  readonly #network: Network | null;
  readonly #disks: readonly PowerDisk[];

  /** They end with the scope, which must end everything on them before. */
  constructor(scope: Scope, count: number) {
    const root = scope.folder();
    const folders = Array.from({ length: count }, (_, site) => path.join(root, `site-${site}`));
    const isIsolated = missingIsolation() === null;
    const network = isIsolated ? new Network(scope, count) : null;
    this.#network = network;
    this.#disks = isIsolated ? folders.map((folder) => new PowerDisk(scope, folder)) : [];
    if (!isIsolated) for (const folder of folders) fs.mkdirSync(folder);
    this.all = folders.map((folder, site) => ({
      folder,
      address: network?.addressOf(site) ?? LOOPBACK,
      peerAddress: network?.peerAddressOf(site) ?? LOOPBACK,
      enter: network?.enter(site) ?? [],
    }));
  }

  cut(site: number): void {
    this.#network!.cut(site);
  }

  heal(site: number): void {
    this.#network!.heal(site);
  }

  /** Stop the processes of the site before. */
  cutPower(site: number): void {
    this.#disks[site]!.cut();
  }

  /** The processes of the site must have ended before. */
  restorePower(site: number): void {
    this.#disks[site]!.restore();
  }
}

const LOOPBACK = "127.0.0.1";
