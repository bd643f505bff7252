/** The program of the thread that reads a store for a copy on another host. */
import { workerData } from "node:worker_threads";
import { realDisk } from "../disk/disk.ts";
import { messageOf } from "../disk/faults.ts";
import { portOfThisThread } from "../disk/threads.ts";
import type { FromCopyThread } from "./copy-thread.ts";
import { messagesOf } from "./join.ts";

const port = portOfThisThread();
const messages = messagesOf(realDisk, workerData as string);

port.on("message", () => {
  const answer = next();
  const moved = answer.kind === "message" && typeof answer.message !== "string";
  port.postMessage(answer, moved ? [answer.message.buffer as ArrayBuffer] : []);
});

function next(): FromCopyThread {
  try {
    const { value, done } = messages.next();
    return done === true ? { kind: "ended", failure: null } : { kind: "message", message: value };
  } catch (error) {
    return { kind: "ended", failure: messageOf(error) };
  }
}
