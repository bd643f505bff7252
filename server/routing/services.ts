/** The services that handlers use: made once at start, passed with every request. */
import type { Engine } from "../../engine/engine.ts";
import type {
  AuditAnswers,
  AuditOutcome,
  AuditQuestion,
  AuditTopic,
} from "../../engine/queries/audit-trail.ts";
import type { Keys } from "../auth/keys.ts";
import type { Logins } from "../auth/logins.ts";
import type { Passwords } from "../auth/passwords.ts";
import type { Throttle } from "../auth/throttle.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ReplyBodies } from "./reply-bodies.ts";
import type { WaitingWork } from "./waiting-work.ts";

/** The audit trail, wherever it is kept. */
export interface AuditTrail {
  /** Answers from everything that is on disk when it is called. Never rejects. */
  ask<K extends AuditTopic>(question: AuditQuestion<K>): Promise<AuditOutcome<AuditAnswers[K]>>;
}

export interface Services {
  readonly engine: Engine;
  readonly audit: AuditTrail;
  readonly keys: Keys;
  readonly passwords: Passwords;
  readonly logins: Logins;
  readonly metrics: Metrics;
  readonly replies: ReplyBodies;
  readonly waiting: WaitingWork;
  /** The token that `/metrics` requires; null when it is public. */
  readonly metricsToken: string | null;
  /** Requests with an unknown key, by the address that they came from. */
  readonly badKeys: Throttle;
  /** Whether requests are taken: false until recovery has ended, and while stopping. */
  readonly isReady: () => boolean;
}
