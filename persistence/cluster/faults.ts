/** Why a host of a cluster ends. */
import { ExitCode, StoreFault } from "../disk/faults.ts";

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
