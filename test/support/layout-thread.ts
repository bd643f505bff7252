/** The layout thread in the test's own process: a thread cannot start from source. */
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

/** Messages are copied, or moved, as between threads. */
export const startInProcess: StartLayoutThread = (_, events) =>
  new LocalThread({
    serve: (port) => serveLayouts(port, PACKING),
    events,
    later: (task) => setImmediate(task),
    copies: true,
  });
