/** The program of the layout thread. */
import { portOfThisThread } from "../../persistence/disk/worker.ts";
import {
  packLayout,
  unpackDocument,
  withLayoutJson,
} from "../../persistence/log/layout-packing.ts";
import { serveLayouts } from "./jobs.ts";

serveLayouts(portOfThisThread(), {
  pack: (json) => packLayout(json).bytes,
  unpack: withLayoutJson,
  read: unpackDocument,
});
