/** The program of the thread that reads a store for a copy on another host. */
import { workerData } from "node:worker_threads";
import { realDisk } from "../disk/disk.ts";
import { portOfThisThread, serve, Transferred } from "../disk/worker.ts";
import type { CopyProgram } from "./copy-thread.ts";
import { messagesOf } from "./join.ts";

const messages = messagesOf(realDisk, workerData as string);

serve<CopyProgram>(portOfThisThread(), {
  next() {
    const { value, done } = messages.next();
    if (done === true) return null;
    if (typeof value === "string") return value;
    return new Transferred(value, [value.buffer as ArrayBuffer]);
  },
});
