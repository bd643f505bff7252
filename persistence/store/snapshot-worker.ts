/** The program of the thread that writes snapshots. */
import { workerData } from "node:worker_threads";
import { auditedSequence } from "../history/archive.ts";
import { realDisk } from "../disk/disk.ts";
import { portOfThisThread } from "../disk/worker.ts";
import { serveSnapshots, type SnapshotThreadData } from "../snapshot/thread.ts";

const data = workerData as SnapshotThreadData;
const { folder, storeId } = data;
const audited = () => auditedSequence(realDisk, folder, storeId);
serveSnapshots(portOfThisThread(), { ...data, disk: realDisk, audited });
