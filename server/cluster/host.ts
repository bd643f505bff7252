/** How a server joins a cluster, and what it does until it leads. */
import os from "node:os";
import type { Logger } from "pino";
import { openEtcd } from "../../persistence/cluster/member/open.ts";
import type { ClusterOptions, ClusterView } from "../../persistence/cluster/options.ts";
import { bearerOf } from "../auth/access.ts";
import { isSame } from "../auth/keys.ts";
import type { ServeOptions } from "../config.ts";
import type { HttpServer } from "../wire/http.ts";
import type { Copies } from "./copies.ts";
import { EtcdHealth } from "./etcd-health.ts";
import { StandbyFront } from "./standby-front.ts";

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
