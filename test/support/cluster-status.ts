/** Status of a cluster, as a standby sees it. */
import type { ClusterStatus } from "../../persistence/cluster/options.ts";

export const STANDBY_STATUS: ClusterStatus = {
  cell: "main",
  host: "b",
  role: "standby",
  mayRead: false,
  leader: { host: "a", address: "http://10.0.0.1:8080" },
  hosts: [
    {
      host: "a",
      address: "http://10.0.0.1:8080",
      role: "leader",
      number: 1,
      offset: 8_192,
      sequence: 12,
      atMs: 0,
    },
  ],
  lagMs: 1_500,
  lagRecords: 3,
  retainedBytes: 0,
  etcd: { version: "3.5.14", databaseBytes: 20_480, memberId: "1", leaderId: "2", alarms: [] },
};
