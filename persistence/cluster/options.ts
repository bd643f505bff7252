/** Options and status of a host of a cluster. */
import { ExitCode, StoreFault } from "../disk/faults.ts";
import type { FramePlace } from "../log/frame.ts";
import type { Etcd, MemberStatus } from "./etcd.ts";

export interface ClusterOptions {
  /** The member of etcd beside this host. */
  readonly etcd: Etcd;
  /** The prefix of all keys: the same on all hosts of the cell. */
  readonly cell: string;
  /** The name of this host, unique in its cell. */
  readonly host: string;
  /** Address for clients, for messages. */
  readonly address: string;
  /** Founds the cell: etcd must have nothing of it. */
  readonly founds?: boolean | undefined;
  /** Lease: time to lead without hearing from etcd; 2,000 by default. */
  readonly leaseMs?: number | undefined;
  /** Every answer of the leader waits until etcd confirms its leadership. */
  readonly strictReads?: boolean | undefined;
  /** Called once, when the log has been read: from then on the status can be asked for. */
  readonly onStanding?: ((host: ClusterView) => void) | undefined;
  /** Called once, when etcd has confirmed the store of the cell: from then on it is followed. */
  readonly onJoined?: (() => void) | undefined;
}

export const LEASE_MS = 2_000;

/** An open host's view of the cluster. */
export interface ClusterView {
  status(): ClusterStatus;
  /** Stops following or leading without waiting for anything: the process ends. */
  leave(done: () => void): void;
  /** A copy for another host begins: for a while, etcd keeps the frames after it. */
  keepLog(): void;
}

export const HostRole = {
  /** Follows the leader. */
  STANDBY: "standby",
  /** Has become the leader, and reads the end of the log. */
  TAKING_OVER: "taking over",
  LEADER: "leader",
} as const;
export type HostRole = (typeof HostRole)[keyof typeof HostRole];

/** Status of a host, in its key. */
export interface HostStatus extends FramePlace {
  readonly host: string;
  readonly address: string;
  readonly role: HostRole;
  /** The last record on its disk. */
  readonly sequence: number;
  /** Start of a copy for another host; absent without one. */
  readonly keepFrom?: FramePlace | undefined;
  /** Milliseconds since 1970, by its own clock. */
  readonly atMs: number;
}

export interface ClusterStatus {
  readonly cell: string;
  readonly host: string;
  readonly role: HostRole;
  /** This host leads, and may answer reads. */
  readonly mayRead: boolean;
  readonly leader: { readonly host: string; readonly address: string } | null;
  /** All live hosts, as they last said. */
  readonly hosts: readonly HostStatus[];
  /** Lag behind the leader, in milliseconds. */
  readonly lagMs: number;
  /** Lag behind the leader, in records. */
  readonly lagRecords: number;
  /** Bytes of frames in etcd, on the leader. */
  readonly retainedBytes: number;
  /** The member of etcd beside this host; null when it does not answer. */
  readonly etcd: MemberStatus | null;
}

// Why a host of a cluster ends.

/**
 * Another host leads, or may lead. Everything acknowledged by this host is in the log. After
 * a restart it follows the new leader.
 */
export class LeadershipLost extends StoreFault {
  override readonly name = "LeadershipLost";
  readonly exitCode = ExitCode.LEADERSHIP_LOST;

  /** @param reason - In words that follow "this host no longer leads:". */
  constructor(reason: string) {
    super(`this host no longer leads: ${reason}; restart it, and it follows the new leader`);
  }
}

/** The log in etcd no longer has the frames after the end of this host's log. */
export class TooFarBehind extends StoreFault {
  override readonly name = "TooFarBehind";
  readonly exitCode = ExitCode.CONFIGURATION;

  constructor(folder: string, reason: string) {
    super(
      `the log in ${folder} cannot follow that of the cluster: ${reason}; nothing was changed: ` +
        "replace the folder with a copy from another host: `frontrow join`",
    );
  }
}

/** etcd has no cell of this name, and only a host that is told to founds one. */
export class NoSuchCell extends StoreFault {
  override readonly name = "NoSuchCell";
  readonly exitCode = ExitCode.CONFIGURATION;

  /** @param wasInCell - The folder has been in the cell. */
  constructor(folder: string, cell: string, wasInCell: boolean) {
    super(
      wasInCell
        ? `etcd has nothing of the cell ${cell}, which the store in ${folder} belongs to: it has ` +
            "lost its data, or is another one; nothing was changed. Another host may have more: " +
            "compare all with `frontrow compare`, start the one that is furthest with " +
            "--cluster-found, and give the others a copy of it with `frontrow join`"
        : `etcd has no cell ${cell}: check the name. The first host of a new cell is started ` +
            "with --cluster-found",
    );
  }
}

/** A host was told to found a cell that etcd has. */
export class CellExists extends StoreFault {
  override readonly name = "CellExists";
  readonly exitCode = ExitCode.CONFIGURATION;

  constructor(cell: string) {
    super(
      `etcd has the cell ${cell} already: start this host without --cluster-found; nothing was ` +
        "changed",
    );
  }
}

/** The data folder has another store, or records never acknowledged by the cluster. */
export class NotOfThisCell extends StoreFault {
  override readonly name = "NotOfThisCell";
  readonly exitCode = ExitCode.CONFIGURATION;

  constructor(folder: string, reason: string) {
    super(`the store in ${folder} is not the one of this cell: ${reason}; nothing was changed`);
  }
}

/**
 * The log of this host goes on after the end of the one in etcd: etcd was restored from an older
 * snapshot, or the folder is of a host that went on alone.
 */
export class EtcdIsBehind extends StoreFault {
  override readonly name = "EtcdIsBehind";
  readonly exitCode = ExitCode.CONFIGURATION;

  constructor(folder: string) {
    super(
      `the log in ${folder} goes on after the end of that in etcd: either etcd was restored from ` +
        "an older snapshot, or this host went on without the cluster; nothing was changed. Keep " +
        "this folder, it may be the only one with everything that was answered: compare it with " +
        "the other hosts with `frontrow compare` before one of them sells again",
    );
  }
}

/** The keys of this host would differ from the leader's. */
export class OtherSecret extends StoreFault {
  override readonly name = "OtherSecret";
  readonly exitCode = ExitCode.CONFIGURATION;

  constructor(folder: string, leader: string) {
    super(
      `the host of the store in ${folder} has another secret of the keys than ${leader}, which ` +
        "leads: give it the same file secret, or the same FRONTROW_SECRET",
    );
  }
}

/** etcd refused a request for good: a retry does not help. */
export class EtcdRefused extends StoreFault {
  override readonly name = "EtcdRefused";
  readonly exitCode = ExitCode.LEADERSHIP_LOST;

  constructor(what: string, reason: string) {
    super(`etcd refused to ${what}: ${reason}`);
  }
}
