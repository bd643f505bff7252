/** What a caller passes to open a store, perhaps as a host of a cluster, and to create a tenant. */
import type { Administrator } from "../../engine/shapes/bodies.ts";
import { openEtcd } from "../cluster/member/open.ts";
import type { ClusterOptions } from "../cluster/options.ts";
import type { Etcd } from "../cluster/etcd.ts";
import type { OpenOptions } from "../store/open-engine.ts";

/** How to open a store. */
export interface FrontrowOptions extends OpenOptions {
  /** Name of the organization to act for; "default" by default. It is created if necessary. */
  readonly organization?: string | undefined;
  /**
   * Makes the store a host of a cluster, which follows the leader until it leads itself: `open`
   * resolves when it leads. By default the store is on this host alone.
   */
  readonly cluster?: HostInCluster | undefined;
}

/** A host of a cluster. */
export interface HostInCluster extends Omit<ClusterOptions, "etcd"> {
  /** Host and port of the member of etcd beside this host. */
  readonly etcd: string;
}

/** A new tenant. Its token is for HTTP clients. */
export interface NewTenant {
  readonly name: string;
  /** SHA-256 of its token, 64 hexadecimal digits; without it the token is derived. */
  readonly tokenSha256?: string | null;
  /** The account that manages it over HTTP. */
  readonly administrator?: Administrator | null;
}

/** @returns A connection to etcd, and the options that use it; null without a cluster. */
export function joinCluster(
  host: HostInCluster | undefined,
): { readonly etcd: Etcd; readonly options: ClusterOptions } | null {
  if (host === undefined) return null;
  const etcd = openEtcd(host.etcd);
  return { etcd, options: { ...host, etcd } };
}
