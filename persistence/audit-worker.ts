/** The program of the thread that keeps the audit trail. */
import { workerData } from "node:worker_threads";
import { serveAudit } from "./audit-service.ts";
import type { AuditThreadData } from "./audit-thread.ts";
import { threadPort } from "./thread-port.ts";

serveAudit(threadPort(), workerData as AuditThreadData);
