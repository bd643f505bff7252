/** Logs when the member of etcd beside this host no longer answers, and when it does again. */
import { type CallName, EtcdRefusal, type Reply } from "../../persistence/cluster/etcd.ts";

/** Longer than etcd usually needs for a new leader of its own. */
const SILENT_MS = 3_000;

/** The part of the log that is used. */
interface HealthLog {
  info(place: object, text: string): void;
  warn(place: object, text: string): void;
}

export class EtcdHealth {
  readonly #log: HealthLog;
  readonly #etcd: string;
  readonly #nowMs: () => number;
  /** When the first of the present failures was heard of; null while etcd answers. */
  #silentSinceMs: number | null = null;
  #isTold = false;

  /** @param etcd - Host and port of the member. */
  constructor(log: HealthLog, etcd: string, nowMs: () => number = () => performance.now()) {
    this.#log = log;
    this.#etcd = etcd;
    this.#nowMs = nowMs;
  }

  /** The outcome of each call to etcd. */
  heard(name: CallName, reply: Reply<unknown>): void {
    // A member that has lost the majority still tells its status.
    if (name === "status") return;
    if (reply.kind === "done" || isNormal(reply)) this.#answered();
    else this.#failed(reply.reason);
  }

  #answered(): void {
    if (this.#isTold) this.#log.info({ etcd: this.#etcd }, "etcd answers");
    this.#silentSinceMs = null;
    this.#isTold = false;
  }

  #failed(reason: string): void {
    this.#silentSinceMs ??= this.#nowMs();
    if (this.#isTold || this.#nowMs() - this.#silentSinceMs < SILENT_MS) return;
    this.#isTold = true;
    const place = { etcd: this.#etcd, reason };
    this.#log.warn(place, "etcd does not answer; this host can neither lead nor follow; waiting");
  }
}

/** Whether etcd said something about the call, and not about the caller or itself. */
function isNormal(reply: Exclude<Reply<unknown>, { readonly kind: "done" }>): boolean {
  return reply.kind === "refused" && reply.refusal !== EtcdRefusal.OTHER;
}
