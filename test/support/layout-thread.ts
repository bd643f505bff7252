/** The layout thread in the test's own process: a thread cannot start from source. */
import { onTestFinished } from "vitest";
import {
  packedLayout,
  packLayout,
  unpackDocument,
  withLayoutJson,
} from "../../persistence/log/layout-packing.ts";
import type { StartLayoutThread } from "../../server/layouts/layout-thread.ts";
import { serveLayouts } from "../../server/layouts/jobs.ts";
import { LocalThread } from "./store.ts";

export const LAYOUT_PACKER = { pack: packLayout, packed: packedLayout };
const PACKING = {
  pack: (json: Uint8Array) => packLayout(json).bytes,
  unpack: withLayoutJson,
  read: unpackDocument,
};

/** Messages for the thread while it is kept busy; null while it takes them. */
let unread: (() => void)[] | null = null;

/** Keeps the thread busy, as a long job would, until the returned function is called. */
export function keepLayoutThreadBusy(): () => void {
  const kept: (() => void)[] = [];
  unread = kept;
  const end = () => {
    if (unread !== kept) return;
    unread = null;
    for (const task of kept) setImmediate(task);
  };
  onTestFinished(end);
  return end;
}

/** Messages are copied, or moved, as between threads. */
export const startInProcess: StartLayoutThread = (_, events) =>
  new LocalThread({
    serve: (port) => serveLayouts(port, PACKING),
    events,
    later: (task) => (unread === null ? setImmediate(task) : unread.push(task)),
    copies: true,
  });
