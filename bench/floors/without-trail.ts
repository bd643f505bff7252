/** Loaded into a server before it starts: its audit trail never follows the log. */
import type { StartAuditThread } from "../../persistence/audit/thread.ts";
import { realPlatform } from "../../persistence/store/platform.ts";

const startAuditThread: StartAuditThread = () => ({
  post: () => {},
  keepAlive: () => {},
  terminate: () => Promise.resolve(),
});
Object.assign(realPlatform, { startAuditThread });
// An orderly end would wait for the trail, for eight seconds.
process.once("SIGTERM", () => process.exit());
