/** The program of the thread that writes snapshots. */
import { workerData } from "node:worker_threads";
import { threadPort } from "../disk/thread-port.ts";
import { serveSnapshots } from "./service.ts";
import type { ThreadData } from "./thread.ts";

serveSnapshots(threadPort(), workerData as ThreadData);
