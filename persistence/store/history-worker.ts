/** The program of the thread of the history. */
import { workerData } from "node:worker_threads";
import { realDisk } from "../disk/disk.ts";
import { portOfThisThread } from "../disk/worker.ts";
import { type HistoryProgram, serveHistory } from "../history/thread.ts";

const soon = (task: () => void) => void setImmediate(task);
const nowMs = () => Date.now();
const data = workerData as HistoryProgram["data"];
serveHistory(portOfThisThread(), { ...data, disk: realDisk, soon, nowMs });
