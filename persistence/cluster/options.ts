/** The options of a host of a cluster, and what it says about itself and the others. */
import { ExitCode, StoreFault } from "../disk/faults.ts";
import type { FramePlace } from "../log/frame.ts";
import type { Etcd, MemberStatus } from "./etcd.ts";

export interface ClusterOptions {
  /** The member of etcd beside this host. */
  readonly etcd: Etcd;
  /** The prefix of all keys: the same on all hosts of the cell. */
  readonly cell: string;
  /** The name of this host, which no other host of the cell has. */
  readonly host: string;
  /** Where clients reach this host, for messages. */
  readonly address: string;
  /** How long this host leads without hearing from etcd; 2,000 by default. */
  readonly leaseMs?: number | undefined;
  /** Whether every answer of the leader waits until etcd has said that it still leads. */
  readonly strictReads?: boolean | undefined;
  /** Called once, when the log has been read: from then on the status can be asked for. */
  readonly onStanding?: ((host: ClusterView) => void) | undefined;
  /** Called once, when etcd has said that the cell has this store: from then on it is followed. */
  readonly onJoined?: (() => void) | undefined;
}

export const LEASE_MS = 2_000;

/** What an open host shows of the cluster. */
export interface ClusterView {
  status(): ClusterStatus;
  /** Stops following or leading without waiting for anything: the process ends. */
  leave(done: () => void): void;
  /** A copy for another host begins: for a while, etcd keeps what comes after it. */
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

/** What a host says about itself, in its key. */
export interface HostStatus extends FramePlace {
  readonly host: string;
  readonly address: string;
  readonly role: HostRole;
  /** The last record on its disk. */
  readonly sequence: number;
  /** Where a copy of its log begins that another host gets; absent without one. */
  readonly keepFrom?: FramePlace | undefined;
  /** Milliseconds since 1970, by its own clock. */
  readonly atMs: number;
}

export interface ClusterStatus {
  readonly cell: string;
  readonly host: string;
  readonly role: HostRole;
  /** Whether this host leads, and may answer reads. */
  readonly mayRead: boolean;
  readonly leader: { readonly host: string; readonly address: string } | null;
  /** All live hosts, as they last said. */
  readonly hosts: readonly HostStatus[];
  /** How long this host has lacked records that the leader has, in milliseconds. */
  readonly lagMs: number;
  /** Records that the leader has and this host lacks. */
  readonly lagRecords: number;
  /** Bytes of frames in etcd, on the leader. */
  readonly retainedBytes: number;
  /** The member of etcd beside this host; null when it does not answer. */
  readonly etcd: MemberStatus | null;
}

// Why a host of a cluster ends.

/**
 * Another host leads, or may lead. Everything that this host has acknowledged is in the log. After
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

/** The data folder has another store, or records that the cluster never acknowledged. */
export class NotOfThisCell extends StoreFault {
  override readonly name = "NotOfThisCell";
  readonly exitCode = ExitCode.CONFIGURATION;

  constructor(folder: string, reason: string) {
    super(`the store in ${folder} is not the one of this cell: ${reason}; nothing was changed`);
  }
}

/** The keys of this host would not be those of the host that leads. */
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

/** A request to etcd was refused for a reason that trying again does not remove. */
export class EtcdRefused extends StoreFault {
  override readonly name = "EtcdRefused";
  readonly exitCode = ExitCode.LEADERSHIP_LOST;

  constructor(what: string, reason: string) {
    super(`etcd refused to ${what}: ${reason}`);
  }
}
