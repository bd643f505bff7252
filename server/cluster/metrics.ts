/** The metrics of a host of a cluster, in the text format of Prometheus. */
import { type ClusterStatus, HostRole } from "../../persistence/cluster/options.ts";
import { family, type Sample } from "../observe/exposition.ts";

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
