/** The log of a host of a cluster: followed until the host leads, and written from then on. */
import { noteSequence } from "../../engine/affected-partitions.ts";
import { apply } from "../../engine/apply.ts";
import type { Position } from "../../engine/engine.ts";
import type { Observer } from "../../engine/ports.ts";
import { assert } from "../../engine/assert.ts";
import { ClusterHost } from "../cluster/cluster-host.ts";
import { TooFarBehind } from "../cluster/faults.ts";
import { FollowedLog } from "../cluster/followed-log.ts";
import { Gathering } from "../cluster/gathering.ts";
import { CellKeys } from "../cluster/keys.ts";
import type { ClusterOptions } from "../cluster/options.ts";
import { containsStore, type StorePlace } from "../disk/data-folder.ts";
import type { StoreFault } from "../disk/faults.ts";
import type { MachineTime } from "../disk/service-clock.ts";
import type { LogStats } from "../log/batch.ts";
import type { LogWriter } from "../log/log-writer.ts";
import { beginEpoch, type LogOptions } from "../log/open-log.ts";
import type { ChainMark } from "../log/scan.ts";
import { LOG_FOLDER } from "../log/segment-header.ts";
import type { ReadState } from "./open-state.ts";
import type { Platform } from "./platform.ts";

const ASK_DEADLINE_MS = 2_000;
const RETRY_DELAY_MS = 200;

export interface HostLogOptions extends Omit<LogOptions, "replay" | "start" | "check">, StorePlace {
  readonly time: MachineTime;
  readonly cluster: ClusterOptions;
  readonly secret: string;
  readonly read: ReadState;
}

/** What the engine of a leader begins with. */
export interface Led {
  readonly journal: LogWriter;
  readonly position: Position;
  readonly cluster?: ClusterHost;
}

/** Shows snapshots and trail one log, whoever writes it. */
export class HostLog {
  readonly #options: HostLogOptions;
  readonly #followed: FollowedLog;
  readonly #host: ClusterHost;
  #observer: Observer | null = null;
  #journal: LogWriter | null = null;
  #begun: { resolve: (led: Led) => void; reject: (fault: StoreFault) => void } | null = null;

  constructor(options: HostLogOptions) {
    const { disk, folder, storeId, secret, clock, scheduler, time, cluster, read } = options;
    const { onBatch } = options;
    this.#options = options;
    const onFault = (fault: StoreFault) => this.#fail(fault);
    this.#followed = new FollowedLog({
      disk,
      clock,
      storeId,
      onBatch,
      onFault,
      folder: `${folder}/${LOG_FOLDER}`,
      scan: read.scan,
      newest: read.newest,
      onDurable: (sequence) => this.#observer!.durable(sequence),
    });
    this.#host = new ClusterHost({
      ...cluster,
      scheduler,
      time,
      disk,
      folder,
      storeId,
      secret,
      onFault,
      log: this.#followed,
      onLead: () => void this.#lead(),
    });
    this.#replayWithEngine(read);
  }

  get mark(): ChainMark | null {
    return (this.#journal ?? this.#followed).mark;
  }

  get hasFailed(): boolean {
    return (this.#journal ?? this.#followed).hasFailed;
  }

  /** As of the log of a leader. */
  whenWritten(done: () => void): void {
    if (this.#journal === null) done();
    else this.#journal.whenWritten(done);
  }

  get stats(): Pick<LogStats, "bytes"> {
    const led = this.#journal?.stats.bytes ?? 0;
    return { bytes: this.#followed.bytes + led };
  }

  /** Settles when this host leads. To be called once. @throws StoreFault when it never can. */
  lead(observer: Observer): Promise<Led> {
    assert(this.#observer === null, "a host is started once");
    this.#observer = observer;
    return new Promise((resolve, reject) => {
      this.#begun = { resolve, reject };
      this.#host.start();
      this.#options.cluster.onStanding?.(this.#host);
    });
  }

  /** The same steps as in the engine, in the same order. */
  #replayWithEngine({ state, scan, replayWith }: ReadState): void {
    state.sequence = scan.sequence;
    replayWith((sequence, timeMs, record) => {
      this.#observer!.beforeApply(sequence, timeMs, record);
      state.sequence = sequence;
      noteSequence(state, sequence, record);
      apply(state, record, timeMs, sequence);
    });
  }

  async #lead(): Promise<void> {
    const host = this.#host;
    const { read, scheduler } = this.#options;
    const pendingRecords = () => this.#journal?.stats.pendingRecords ?? 0;
    const gathering = new Gathering(scheduler, pendingRecords);
    const { sequence, timeMs } = read.scan;
    try {
      const journal = await beginEpoch(
        {
          ...this.#options,
          commit: (frame, place, done) => host.commit(frame, place, done),
          hasRoom: () => host.hasRoom,
          gather: gathering,
        },
        read.scan,
      );
      this.#journal = journal;
      host.lead(journal);
      this.#begun!.resolve({ journal, position: { sequence, timeMs }, cluster: host });
    } catch (error) {
      this.#fail(error as StoreFault);
    }
  }

  #fail(fault: StoreFault): void {
    if (this.#journal === null) this.#begun!.reject(fault);
    else this.#journal.fail(fault);
  }
}

/**
 * An empty folder begins a cell. When the cell has a store already, the folder needs a copy of it.
 * @throws TooFarBehind; then nothing was changed.
 */
export async function refuseNewFolder(
  { disk, scheduler }: Platform,
  folder: string,
  { etcd, cell }: ClusterOptions,
): Promise<void> {
  if (containsStore(disk, folder)) return;
  const { store } = new CellKeys(cell);
  const request = { from: store, to: `${store}\0`, limit: 1 };
  await new Promise<void>((resolve, reject) => {
    const ask = () =>
      etcd.range(request, ASK_DEADLINE_MS, (reply) => {
        if (reply.kind !== "done") scheduler.later(RETRY_DELAY_MS, ask);
        else if (reply.value.pairs.length === 0) resolve();
        else reject(new TooFarBehind(folder, "it is empty, and the cell has a store"));
      });
    ask();
  });
}
