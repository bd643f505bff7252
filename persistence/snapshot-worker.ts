/** The program of the thread that writes snapshots. */
import { workerData } from "node:worker_threads";
import { serveSnapshots } from "./snapshot-service.ts";
import type { ThreadData } from "./snapshot-thread.ts";
import { threadPort } from "./thread-port.ts";

serveSnapshots(threadPort(), workerData as ThreadData);
