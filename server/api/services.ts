/** The services that handlers use: made once at start, passed with every request. */
import type { Engine } from "../../engine/engine.ts";
import type { ReplyBudget } from "../../engine/stored-replies.ts";
import type { Keys } from "../auth/keys.ts";
import type { RateLimits, Throttle } from "../auth/limits.ts";
import type { Logins, Passwords } from "../auth/logins.ts";
import type { Moves } from "../cells/moves.ts";
import type { Copies } from "../cluster/copies.ts";
import type { OpenCommandSockets } from "../commands/connection.ts";
import type { Doors } from "../door/doors.ts";
import type { OpenLinks } from "../gateway/link.ts";
import type { Problem } from "../http/answers.ts";
import type { LargeLayouts } from "../layouts/large-layouts.ts";
import type { Live } from "../live/live.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { WaitingWork } from "./overload.ts";
import type { AuditTrail } from "../live/changes.ts";

export interface Services {
  readonly engine: Engine;
  readonly live: Live;
  readonly doors: Doors;
  readonly layouts: LargeLayouts;
  readonly audit: AuditTrail;
  readonly commands: OpenCommandSockets;
  /** Null for a server that takes no gateways. */
  readonly gateways: OpenLinks | null;
  readonly copies: Copies;
  readonly webhooks: Pick<Webhooks, "allowsPrivate" | "list" | "retry" | "test">;
  readonly moves: Moves;
  readonly keys: Keys;
  readonly passwords: Passwords;
  readonly logins: Logins;
  readonly metrics: Metrics;
  readonly replies: ReplyBodies;
  readonly rates: RateLimits;
  readonly waiting: WaitingWork;
  /** The token that `/metrics` requires; null when it is public. */
  readonly metricsToken: string | null;
  /** Requests with an unknown key, by the address that they came from. */
  readonly badKeys: Throttle;
  /** True while requests are taken: not until recovery has ended, nor while stopping. */
  readonly isReady: () => boolean;
  /** Why requests are not taken. */
  readonly notReady?: (() => Problem) | undefined;
}

// The bodies of stored replies that are not in the engine's rows. The audit trail has them all. The
// most recent ones are in memory here, because most retries come within seconds.

const MEBIBYTE = 1_024 * 1_024;
/** Characters of the bodies in memory. */
export const RECENT_MAX = 16 * MEBIBYTE;
/** One organization may use this fraction of the memory for rows: half. */
const MEMORY_SHARE = 2;
/** And this fraction of the disk space for bodies: an eighth. */
const DISK_SHARE = 8;

export interface ReplyOptions {
  /** Memory for the rows of stored replies, in MiB. */
  readonly replyMemory: number;
  /** Disk space for their bodies, in MiB. */
  readonly replyDisk: number;
}

export class ReplyBodies {
  readonly budget: ReplyBudget;
  /** Retries whose reply was gone. */
  gone = 0;
  /** First requests with a key that were refused, because there was no memory for their reply. */
  refused = 0;
  /** Characters in memory. */
  recentChars = 0;
  /** By id of the reply, the oldest first. */
  readonly #recent = new Map<string, string>();

  constructor({ replyMemory, replyDisk }: ReplyOptions) {
    const [memory, disk] = [replyMemory * MEBIBYTE, replyDisk * MEBIBYTE].map(Math.floor);
    this.budget = {
      memory: memory!,
      memoryOfOwner: Math.floor(memory! / MEMORY_SHARE),
      disk: disk!,
      diskOfOwner: Math.floor(disk! / DISK_SHARE),
    };
  }

  add(id: string, body: string): void {
    this.#remove(id);
    this.#recent.set(id, body);
    this.recentChars += body.length;
    for (const oldest of this.#recent.keys()) {
      if (this.recentChars <= RECENT_MAX) return;
      this.#remove(oldest);
    }
  }

  /** @returns Undefined for a body that must be read from the trail. */
  find(id: string): string | undefined {
    return this.#recent.get(id);
  }

  #remove(id: string): void {
    this.recentChars -= this.#recent.get(id)?.length ?? 0;
    this.#recent.delete(id);
  }
}
