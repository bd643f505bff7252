/** The program of the thread that keeps the audit trail. */
import { workerData } from "node:worker_threads";
import { type AuditThreadData, serveAudit } from "../audit/thread.ts";
import { realDisk } from "../disk/disk.ts";
import { portOfThisThread } from "../disk/worker.ts";

serveAudit(portOfThisThread(), { ...(workerData as AuditThreadData), disk: realDisk });
