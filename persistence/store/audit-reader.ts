/** The program of the thread that reads the audit trail. */
import { workerData } from "node:worker_threads";
import { type ReaderData, serveReading } from "../audit/reader.ts";
import { portOfThisThread } from "../disk/worker.ts";

const soon = (task: () => void) => void setImmediate(task);
serveReading(portOfThisThread(), { ...(workerData as ReaderData), soon });
