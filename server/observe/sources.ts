/** What the metrics are read from, wherever it is counted. */
import type { Engine } from "../../engine/engine.ts";
import type { HttpStats } from "../wire/http.ts";
import type { DurationCounts } from "./exposition.ts";
import type { LiveStats } from "./live-metrics.ts";
import type { WebhookCounters } from "./webhook-metrics.ts";

/** Totals of the log since the start. */
export interface LogCounters {
  readonly batches: number;
  readonly bytes: number;
  readonly syncs: number;
  readonly syncTimes: DurationCounts;
  readonly commitTimes: DurationCounts;
  /** Bytes and records of the open batch, which waits for the disk. */
  readonly pendingBytes: number;
  readonly pendingRecords: number;
}

/** Recovery and snapshots, in seconds; `snapshotAtSeconds` counts from 1970. */
export interface StoreCounters {
  readonly snapshotsMade: number;
  readonly snapshotsFailed: number;
  readonly snapshotPauseSecondsMax: number;
  readonly snapshotSeconds: number;
  readonly snapshotBytes: number;
  readonly snapshotAtSeconds: number;
  readonly recoverySeconds: number;
  readonly recoveryRecords: number;
}

/** State of the audit trail. */
export interface AuditCounters {
  /** Durable records that the trail does not have yet. */
  readonly lagRecords: number;
  /** Whether the last attempt to read or write it failed. */
  readonly isFailing: boolean;
  /** Questions that wait for an answer. */
  readonly waiting: number;
  /** Questions that were refused because too many were waiting. */
  readonly refused: number;
}

/** Stored replies to requests with an `Idempotency-Key`. */
export interface ReplyCounters {
  /** Retries whose reply was gone. */
  readonly gone: number;
  /** First requests that were refused, because there was no memory for their reply. */
  readonly refused: number;
  /** Characters of recent bodies in memory. */
  readonly recentChars: number;
}

/** Commands over WebSockets. */
export interface CommandCounters {
  readonly traffic: { text(): string };
  /** Commands that wait for the disk, and those that were refused because too many did. */
  readonly waiting: { readonly count: number; readonly refused: number };
  /** Bytes of answers that wait for the disk. */
  readonly answerBytes: number;
}

/** Links of gateways, and the requests that came over them. */
export interface GatewayCounters {
  readonly count: number;
  readonly requests: number;
  /** Requests that wait for the disk, and those that were refused because too many did. */
  readonly waiting: { readonly count: number; readonly refused: number };
}

/** Sources of the metrics. */
export interface MetricsSources {
  readonly engine: Engine;
  /** Of this package. */
  readonly version: string;
  readonly log: LogCounters;
  readonly store: StoreCounters;
  readonly audit: AuditCounters;
  readonly http: HttpStats;
  readonly replies: ReplyCounters;
  /** `revoked` counts the logins that ended because a refresh token was used twice. */
  readonly logins: {
    readonly revoked: number;
    /** Accounts and addresses whose wrong passwords are remembered. */
    readonly throttled: { readonly accounts: number; readonly addresses: number };
  };
  /** Addresses that sent requests without a valid key. */
  readonly badKeys: { readonly count: number };
  /** Keys that are remembered, and hashes of private keys. */
  readonly keys: { readonly counts: { readonly remembered: number; readonly privateKeys: number } };
  /** Queries that are remembered. */
  readonly queries: { readonly count: number };
  /** Jobs of the layout threads. */
  readonly layoutThreads: LaneCounters;
  readonly passwords: PasswordCounters;
  /** Requests beyond the limits of an organization, and the buckets that count them. */
  readonly rates: { readonly refused: number; readonly count: number };
  /** Requests that wait for their answer, and those refused because too many waited. */
  readonly waiting: {
    readonly count: number;
    readonly refused: number;
    /** Refusals that are delayed. */
    readonly refusals: { readonly count: number };
  };
  readonly commands: CommandCounters;
  /** Links of gateways; null for a server that takes none. */
  readonly gateways: GatewayCounters | null;
  readonly live: { readonly stats: LiveStats };
  readonly webhooks: WebhookCounters;
  /** As in `ServerSources`. */
  readonly clusterLines?: (() => readonly string[]) | undefined;
  /** Lines of the access log, and those that were lost; null without one. */
  readonly accessLog: { readonly lines: number; readonly dropped: number } | null;
}

/** A queue of work, such as one in which passwords wait to be hashed. */
interface LaneCounters {
  readonly count: number;
  readonly refused: number;
}

export interface PasswordCounters {
  readonly checks: LaneCounters;
  readonly hashes: LaneCounters;
}
