/**
 * Makes frames of the leader durable on a majority. Each frame is one key, which is created only
 * while this host leads and only if nothing is there yet.
 */
import type { FramePlace } from "../log/frame.ts";
import { assert } from "../../engine/assert.ts";
import type { StoreFault } from "../disk/faults.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import { EtcdRefused, LeadershipLost } from "./faults.ts";
import { type Etcd, EtcdRefusal, type Put, type TransactionResult } from "./etcd.ts";
import type { CellKeys } from "./keys.ts";

/** How long one attempt may take: about one election of etcd. */
const APPEND_DEADLINE_MS = 600;
/** Before another attempt: a member that is down refuses connections at once. */
const RETRY_DELAY_MS = 20;
/** etcd takes requests of 1.5 MiB by default. */
export const PART_BYTES_MAX = 1024 * 1024;

export interface ReplicatorOptions {
  readonly etcd: Etcd;
  readonly scheduler: Scheduler;
  readonly keys: CellKeys;
  /** The create revision of the leader key. */
  readonly token: number;
  /** Called at most once; nothing is acknowledged afterwards. */
  readonly onFault: (fault: StoreFault) => void;
}

/**
 * Ordering: one frame at a time. An attempt whose outcome is unknown is followed by another with
 * the same bytes: whichever of them is first creates the key, and the others find it. A long frame
 * goes in parts; its first part is put last, so the frame is there as a whole or not at all.
 */
export class Replicator {
  readonly #options: ReplicatorOptions;
  #isBusy = false;
  #isStopped = false;

  constructor(options: ReplicatorOptions) {
    this.#options = options;
  }

  /**
   * @param frame - Must not change before `done`.
   * @param done - Called once a majority has the frame on disk; never when it is not certain.
   */
  commit(frame: Uint8Array, place: FramePlace, done: () => void): void {
    assert(!this.#isBusy, "one frame is in flight at a time");
    this.#isBusy = true;
    const { keys } = this.#options;
    const puts: Put[] = [];
    for (let at = PART_BYTES_MAX; at < frame.length; at += PART_BYTES_MAX) {
      const key = keys.part(place, at / PART_BYTES_MAX);
      puts.push({ key, value: frame.subarray(at, at + PART_BYTES_MAX), leaseId: null });
    }
    const first = frame.subarray(0, PART_BYTES_MAX);
    puts.push({ key: keys.log(place), value: first, leaseId: null });
    this.#putNext(puts, 0, done);
  }

  /** Sends nothing more. */
  stop(): void {
    this.#isStopped = true;
  }

  #putNext(puts: readonly Put[], index: number, done: () => void): void {
    const put = puts[index];
    if (put !== undefined) return this.#put(put, () => this.#putNext(puts, index + 1, done));
    this.#isBusy = false;
    done();
  }

  #put(put: Put, done: () => void): void {
    if (this.#isStopped) return;
    const { etcd, keys, token } = this.#options;
    const change = {
      compares: [
        { key: keys.leader, createRevision: token },
        { key: put.key, createRevision: 0 },
      ],
      puts: [put],
      deletes: [],
      otherwiseGet: [keys.leader, put.key],
    };
    etcd.transact(change, APPEND_DEADLINE_MS, (reply) => {
      if (this.#isStopped) return;
      if (reply.kind === "unknown") return this.#again(put, done);
      if (reply.kind === "refused") {
        // An operator can make room.
        if (reply.refusal === EtcdRefusal.NO_SPACE) return this.#again(put, done);
        return this.#fail(new EtcdRefused("keep a frame of the log", reply.reason));
      }
      const fault = reply.value.isDone ? null : this.#judge(put, reply.value);
      if (fault === null) done();
      else this.#fail(fault);
    });
  }

  #again(put: Put, done: () => void): void {
    this.#options.scheduler.later(RETRY_DELAY_MS, () => this.#put(put, done));
  }

  /** @returns Null when an earlier attempt has put the same bytes, and this host still leads. */
  #judge({ key, value }: Put, { found }: TransactionResult): StoreFault | null {
    const { keys, token } = this.#options;
    const leader = found.find((pair) => pair.key === keys.leader);
    if (leader === undefined) return new LeadershipLost("its lease has ended");
    if (leader.createRevision !== token) return new LeadershipLost("another host leads");
    const there = found.find((pair) => pair.key === key);
    if (there !== undefined && Buffer.compare(there.value, value) === 0) return null;
    return new LeadershipLost("the log in etcd has another frame in the same place");
  }

  #fail(fault: StoreFault): void {
    this.#isStopped = true;
    this.#options.onFault(fault);
  }
}
