/** Handles the messages of the layout thread. */
import { buffersIn, doJob, type JobKind, type JobOf, type Packing, type ResultOf } from "./jobs.ts";

export interface ToLayouts {
  readonly job: JobOf<JobKind>;
}

/** The result of a job, or the message of its error. */
export type FromLayouts = { readonly result: ResultOf<JobKind> } | { readonly failure: string };

/** The port of the thread, as its program sees it. */
interface Port {
  on(event: "message", listener: (message: ToLayouts) => void): unknown;
  postMessage(message: FromLayouts, transfer: ArrayBuffer[]): void;
}

export function serveLayouts(port: Port, packing: Packing): void {
  port.on("message", ({ job }) => {
    try {
      const result = doJob(job, packing);
      port.postMessage({ result }, buffersIn(result));
    } catch (error) {
      port.postMessage({ failure: String(error) }, []);
    }
  });
}
