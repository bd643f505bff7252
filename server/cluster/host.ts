/** How a server joins a cluster, and what it does until it leads. */
import os from "node:os";
import type { Logger } from "pino";
import { isRefused } from "../../engine/results.ts";
import { type CallName, EtcdRefusal, type Reply } from "../../persistence/cluster/etcd.ts";
import { openEtcd } from "../../persistence/cluster/member.ts";
import {
  type ClusterOptions,
  type ClusterStatus,
  type ClusterView,
  HostRole,
} from "../../persistence/cluster/options.ts";
import { bearerOf } from "../auth/access.ts";
import { isSame } from "../auth/keys.ts";
import type { ServeOptions } from "../config.ts";
import {
  type Answer,
  FrontResult,
  HEALTHY,
  page,
  type Problem,
  problemAnswer,
} from "../http/answers.ts";
import type { Exchange, Found, Front, Judged } from "../http/front.ts";
import type { HttpServer } from "../http/server.ts";
import { family, type Sample } from "../observe/exposition.ts";
import { type Copies, COPY_PATH } from "./copies.ts";

export interface ServerHost {
  readonly options: ClusterOptions;
  /** Stops following, and ends the process. */
  readonly leave: () => void;
}

/** @returns Null for a server on its own. */
export function clusterHostOf(
  options: ServeOptions,
  http: HttpServer,
  { log, copies }: { readonly log: Logger; readonly copies: Copies },
): ServerHost | null {
  const { cluster, clusterHost, clusterAddress, clusterLease, metricsToken } = options;
  if (cluster === undefined) return null;
  let host: ClusterView | null = null;
  const health = new EtcdHealth(log, cluster.etcd);
  const standing: ClusterOptions = {
    etcd: openEtcd(cluster.etcd, (name, reply) => health.heard(name, reply)),
    cell: cluster.cell,
    host: clusterHost ?? os.hostname(),
    address: clusterAddress ?? `http://${bracketed(options.host)}:${http.port}`,
    leaseMs: clusterLease * 1_000,
    founds: options.clusterFound,
    strictReads: options.clusterStrictReads,
    onStanding(view) {
      host = view;
      copies.onCopy = () => view.keepLog();
      const mayScrape = (authorization: string) =>
        metricsToken === undefined || isSame(bearerOf(authorization), metricsToken);
      http.front = new StandbyFront(() => view.status(), mayScrape, copies);
    },
    onJoined: () => log.info({ cell: cluster.cell }, "following; takes requests when it leads"),
  };
  const leave = () => {
    if (host === null) process.exit(0);
    host.leave(() => process.exit(0));
  };
  return { options: standing, leave };
}

/** Adds the brackets that a URL needs around an IPv6 address. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

// The front of a host that follows: it answers health and metrics, and sends clients to the leader
// with everything else.

const STARTED_SECONDS = Date.now() / 1_000 - process.uptime();
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export class StandbyFront implements Front {
  readonly #status: () => ClusterStatus;
  readonly #mayScrape: (authorization: string) => boolean;
  readonly #copies: Copies;

  /** @param mayScrape - Whether a request with this header may read the metrics. */
  constructor(
    status: () => ClusterStatus,
    mayScrape: (authorization: string) => boolean,
    copies: Copies,
  ) {
    this.#copies = copies;
    this.#status = status;
    this.#mayScrape = mayScrape;
  }

  find(): Found {
    return { bodyBytesMax: 0 };
  }

  judge(): Judged {
    return { refusal: notLeader(this.#status()), organization: null };
  }

  handle(exchange: Exchange): void {
    exchange.respond(this.#answer(exchange));
  }

  /** No answer of this front waits. */
  leave(): void {}

  /** The leader would refuse a malformed request, too; any other the client must send there. */
  refuse(problem: Problem, { path }: Exchange): Answer {
    const isMalformed = problem.refused === FrontResult.MALFORMED_REQUEST;
    return isMalformed ? problemAnswer(problem, path, Date.now()) : this.#notLeader(path);
  }

  #answer(exchange: Exchange): Answer {
    const { path, authorization } = exchange;
    if (path === "/healthz") return HEALTHY;
    if (path === "/metrics" && this.#mayScrape(authorization)) {
      const lines = [
        ...clusterLines(this.#status()),
        `process_start_time_seconds ${STARTED_SECONDS}`,
      ];
      return page(METRICS_TYPE, `${lines.join("\n")}\n`);
    }
    if (path === COPY_PATH) {
      const copy = this.#copies.open(exchange);
      return isRefused(copy) ? problemAnswer(copy, path, Date.now()) : copy;
    }
    return this.#notLeader(path);
  }

  #notLeader(path: string): Answer {
    return problemAnswer(notLeader(this.#status()), path, Date.now());
  }
}

/** Why a host of a cluster takes no request now, and which host does. */
export function notLeader({ leader, host }: ClusterStatus): Problem {
  const refused = FrontResult.NOT_LEADER;
  if (leader === null || leader.host === host) {
    return { refused, detail: "No host of the cluster leads at the moment; try again shortly." };
  }
  const detail = `This host is a standby; the leader is ${leader.address}.`;
  return { refused, detail, headers: [["X-Frontrow-Leader", leader.address]] };
}

// The metrics of a host of a cluster, in the text format of Prometheus.

export function clusterLines(status: ClusterStatus): string[] {
  const { cell, host, role, leader, hosts, etcd } = status;
  const gauge = (name: string, help: string, samples: readonly Sample[]) =>
    family(`frontrow_cluster_${name}`, "gauge", help, samples);
  const roles = Object.values(HostRole).map((each): Sample => [
    { role: each },
    Number(each === role),
  ]);
  const info = { cell, host, leader: leader?.host ?? "", leader_address: leader?.address ?? "" };
  return [
    ...gauge("info", "The cell, this host and the leader that it knows; always 1.", [[info, 1]]),
    ...gauge("role", "1 for the role of this host, else 0.", roles),
    ...gauge("readable", "1 while this host may answer requests, else 0.", [
      [{}, Number(status.mayRead)],
    ]),
    ...gauge("lag_records", "Records of the leader that this host lacks.", [
      [{}, status.lagRecords],
    ]),
    ...gauge("lag_seconds", "How long this host has lacked records of the leader.", [
      [{}, status.lagMs / 1_000],
    ]),
    ...gauge("retained_bytes", "Bytes of the log in etcd; only the leader knows.", [
      [{}, status.retainedBytes],
    ]),
    ...gauge(
      "host_sequence",
      "The last record on the disk of each live host.",
      hosts.map((each): Sample => {
        return [{ host: each.host, address: each.address, role: each.role }, each.sequence];
      }),
    ),
    ...gauge("etcd_up", "1 while the member of etcd beside this host answers, else 0.", [
      [{}, Number(etcd !== null)],
    ]),
    ...gauge("etcd_has_leader", "1 while etcd has a leader, so a majority, else 0.", [
      [{}, Number(etcd !== null && etcd.leaderId !== null)],
    ]),
    ...gauge("etcd_alarms", "Alarms of the member of etcd.", [[{}, etcd?.alarms.length ?? 0]]),
    ...gauge("etcd_database_bytes", "Bytes of the database of the member of etcd.", [
      [{}, etcd?.databaseBytes ?? 0],
    ]),
  ];
}

// Logs when the member of etcd beside this host no longer answers, or is full, and when that is
// over.

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
  #isFull = false;

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
    // A full member still answers reads.
    if (name === "transact") this.#heardChange(reply);
    if (reply.kind === "done" || isNormal(reply)) this.#answered();
    else this.#failed(reply.reason);
  }

  #heardChange(reply: Reply<unknown>): void {
    const isFull = reply.kind === "refused" && reply.refusal === EtcdRefusal.NO_SPACE;
    if (isFull === this.#isFull || reply.kind === "unknown") return;
    this.#isFull = isFull;
    const place = { etcd: this.#etcd };
    if (!isFull) return this.#log.info(place, "etcd takes changes again");
    const text =
      "etcd has no room and takes no change; nothing is booked until an operator makes room";
    this.#log.warn(place, text);
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
