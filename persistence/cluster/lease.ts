/**
 * The lease of a host in etcd. While it is held, the keys on it exist, so no other host can lead.
 * etcd counts the time of a lease from when it receives a keep-alive; this host counts from when it
 * sent it, so it stops relying on the lease before etcd lets it end.
 */
import { assert } from "../../engine/assert.ts";
import type { Scheduler } from "../disk/scheduler.ts";
import type { MachineTime } from "../disk/service-clock.ts";
import { type Etcd, EtcdRefusal } from "./etcd.ts";

/** Keep-alives for each duration of the lease. */
const BEATS = 4;
/** The part of the lease that is not relied on, because the clocks of two machines drift. */
const MARGIN_SHARE = 8;

export interface LeaseOptions {
  readonly etcd: Etcd;
  readonly time: MachineTime;
  readonly scheduler: Scheduler;
  readonly leaseMs: number;
  /** A lease was granted: the first one, or another after one that ended. */
  readonly onGranted: (leaseId: string) => void;
  /** The lease has ended: its keys are gone. @returns Whether to ask for another one. */
  readonly onEnded: () => boolean;
  /** The lease was not certainly held for a while: see `prove`. */
  readonly onLapse: () => void;
}

export class Lease {
  readonly #options: LeaseOptions;
  #leaseId: string | null = null;
  #heldUntilMs = 0;
  /** Keep-alives that were sent from this moment on count, also after a lapse. */
  #provenMs = 0;
  #isStopped = false;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  /** Null before the first grant and after the end of a lease. */
  get id(): string | null {
    return this.#leaseId;
  }

  /** Whether the lease certainly has not ended yet. */
  get isHeld(): boolean {
    return this.#options.time.runningMs() < this.#heldUntilMs;
  }

  /** Asks for a lease until there is one, and keeps it alive. To be called once. */
  start(): void {
    assert(this.#leaseId === null, "a lease is started once");
    this.#grant();
  }

  /** Keeps it alive no longer. @returns The lease, which the caller may revoke; null for none. */
  stop(): string | null {
    this.#isStopped = true;
    this.#heldUntilMs = 0;
    return this.#leaseId;
  }

  /**
   * To be called when a linearizable call that was sent after a lapse has found a key of the lease.
   *
   * After a lapse a keep-alive alone proves nothing: a leader of etcd that was paused or cut off
   * answers it too, although the lease may have ended meanwhile.
   */
  prove(): void {
    this.#provenMs = this.#options.time.runningMs();
  }

  #grant(): void {
    const { etcd, time, leaseMs, onGranted } = this.#options;
    const sentMs = time.runningMs();
    etcd.grant(leaseMs, leaseMs, (reply) => {
      if (this.#isStopped) return;
      if (reply.kind !== "done") return this.#later(leaseMs / BEATS, () => this.#grant());
      this.#leaseId = reply.value.leaseId;
      this.#provenMs = sentMs;
      this.#hold(sentMs, reply.value.ttlMs);
      this.#later(leaseMs / BEATS, () => this.#beat());
      onGranted(this.#leaseId);
    });
  }

  #beat(): void {
    const { etcd, time, leaseMs } = this.#options;
    const sentMs = time.runningMs();
    const periodMs = leaseMs / BEATS;
    etcd.keepAlive(this.#leaseId!, periodMs, (reply) => {
      if (this.#isStopped) return;
      if (reply.kind === "refused" && reply.refusal === EtcdRefusal.LEASE_GONE) return this.#end();
      if (reply.kind === "done") this.#hold(sentMs, reply.value.ttlMs);
      const spentMs = time.runningMs() - sentMs;
      this.#later(Math.max(0, periodMs - spentMs), () => this.#beat());
    });
  }

  #end(): void {
    this.#leaseId = null;
    this.#heldUntilMs = 0;
    if (this.#options.onEnded()) this.#grant();
  }

  #hold(sentMs: number, ttlMs: number): void {
    if (sentMs >= this.#heldUntilMs && sentMs < this.#provenMs) return this.#options.onLapse();
    const untilMs = sentMs + ttlMs - ttlMs / MARGIN_SHARE;
    this.#heldUntilMs = Math.max(this.#heldUntilMs, untilMs);
    this.#provenMs = Infinity;
  }

  #later(delayMs: number, task: () => void): void {
    this.#options.scheduler.later(delayMs, () => {
      if (!this.#isStopped) task();
    });
  }
}
