/** Opens a member of etcd in a thread of its own. */
import { workerThread } from "../../disk/threads.ts";
import type { Etcd, OnReply } from "../etcd.ts";
import { type EtcdThreadData, type FromEtcd, ThreadedEtcd, type ToEtcd } from "./thread.ts";

/** @param address - Host and port of the member beside this host. */
export function openEtcd(address: string, onReply?: OnReply): Etcd {
  const program = new URL("./worker.js", import.meta.url);
  return new ThreadedEtcd(
    address,
    workerThread<EtcdThreadData, ToEtcd, FromEtcd>(program, "frontrow etcd"),
    onReply,
  );
}
