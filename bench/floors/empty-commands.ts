/** Command sockets that decide nothing. */
import { type Contender, syntheticEvent } from "../contenders/contender.ts";
import { startModule } from "../harness/processes.ts";
import { targetAt } from "../load/plan.ts";

const PROGRAM = new URL("./command-server.js", import.meta.url);

/** @param writes - Whether the commands are on disk before they are answered. */
export function emptyCommands(name: string, writes: boolean): Contender {
  return {
    name,
    mixes: [],
    missing: () => null,
    start: async (folder) => {
      const { url, pid, stop } = await startModule(PROGRAM, writes ? [folder] : []);
      return {
        target: targetAt(url),
        pids: [pid],
        openEvent: async (seatCount) => syntheticEvent(seatCount),
        stop,
      };
    },
  };
}
