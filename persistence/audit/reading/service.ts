/** The work of the reading thread: handles the messages of `thread.ts`. */
import type { ThreadPort } from "../../disk/threads.ts";
import { AuditReader } from "./reader.ts";
import type { ReaderData, ToReader } from "./thread.ts";

export interface ReadingOptions extends ReaderData {
  /** Runs the task after the messages that have arrived. */
  readonly soon: (task: () => void) => void;
}

/** Handles messages until "end", then closes the port. */
export function serveReading(port: ThreadPort<ToReader>, options: ReadingOptions): void {
  const { soon, ...data } = options;
  const reader = new AuditReader({ ...data, send: (message) => port.postMessage(message) });
  let isRunning = false;
  let hasEnded = false;
  const run = () => {
    if (hasEnded) return;
    isRunning = reader.step();
    if (isRunning) soon(run);
  };
  port.on("message", (message: ToReader) => {
    switch (message.kind) {
      case "ask":
        reader.ask(message);
        if (!isRunning) soon(run);
        isRunning = true;
        return undefined;
      case "drop":
        return reader.drop(message.id);
      case "end":
        hasEnded = true;
        reader.close();
        return port.close();
    }
    return message satisfies never;
  });
}
