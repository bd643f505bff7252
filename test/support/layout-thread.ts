/** The layout thread in the test's own process: a thread cannot start from source. */
import {
  packedLayout,
  packLayout,
  unpackDocument,
  withLayoutJson,
} from "../../persistence/log/layout-packing.ts";
import type { StartLayoutThread } from "../../server/layouts/layout-thread.ts";
import { type FromLayouts, serveLayouts, type ToLayouts } from "../../server/layouts/jobs.ts";

export const LAYOUT_PACKER = { pack: packLayout, packed: packedLayout };
const PACKING = {
  pack: (json: Uint8Array) => packLayout(json).bytes,
  unpack: withLayoutJson,
  read: unpackDocument,
};

/** Messages are copied, or moved, as between threads. */
export const startInProcess: StartLayoutThread = ({ message }) => {
  let listener: (job: ToLayouts) => void = () => {};
  const postMessage = (answer: FromLayouts, transfer: ArrayBuffer[]) => {
    const copy = structuredClone(answer, { transfer });
    setImmediate(() => message(copy));
  };
  serveLayouts({ on: (_, given) => (listener = given), postMessage }, PACKING);
  return {
    post: (job, transfer) => {
      const copy = structuredClone(job, { transfer: [...transfer] });
      setImmediate(() => listener(copy));
    },
  };
};
