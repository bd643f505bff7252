/** The program of the etcd thread. */
import { workerData } from "node:worker_threads";
import { portOfPromptThread } from "../disk/worker.ts";
import { GrpcEtcd } from "./grpc-etcd.ts";
import { type EtcdProgram, serveEtcd } from "./member.ts";

const { address } = workerData as EtcdProgram["data"];
serveEtcd(portOfPromptThread(), new GrpcEtcd(address));
