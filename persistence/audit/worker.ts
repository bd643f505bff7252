/** The program of the thread that keeps the audit trail. */
import { workerData } from "node:worker_threads";
import { threadPort } from "../disk/thread-port.ts";
import { serveAudit } from "./service.ts";
import type { AuditThreadData } from "./thread.ts";

serveAudit(threadPort(), workerData as AuditThreadData);
