/** Loaded into a server before it starts: its history never reads the log. */
import { realPlatform } from "../../persistence/store/platform.ts";

const startHistory: typeof realPlatform.startHistory = () => ({
  post: () => {},
  keepAlive: () => {},
  terminate: () => Promise.resolve(),
});
Object.assign(realPlatform, { startHistory });
// An orderly end would wait for the thread.
process.once("SIGTERM", () => process.exit());
