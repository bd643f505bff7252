/** Handlers that only receive a request and answer it; the other figures are compared with them. */
import { startModule } from "../harness/processes.ts";
import { type Protocol, targetAt } from "../load/plan.ts";
import { type Contender, syntheticEvent } from "./contender.ts";
import * as names from "./names.ts";

const UWS = new URL("./empty-server.js", import.meta.url);
const FASTIFY = new URL("./fastify-server.js", import.meta.url);

function emptyHandler(name: string, module: URL, work: string, protocol?: Protocol): Contender {
  return {
    name,
    mixes: ["lock"],
    missing: () => null,
    start: async () => {
      const { url, pid, stop } = await startModule(module, [work]);
      return {
        target: targetAt(url, protocol),
        pids: [pid],
        openEvent: async (seatCount) => syntheticEvent(seatCount),
        stop,
      };
    },
  };
}

/** The reference of the ratios. */
export const POST_NOT_PARSED = emptyHandler(names.POST_NOT_PARSED, UWS, "body");
export const POST_PARSED = emptyHandler("uWebSockets.js POST, JSON.parse", UWS, "parse");
export const GET_CONSTANT = emptyHandler(
  "uWebSockets.js GET, constant answer",
  UWS,
  "constant",
  "http-get",
);
export const FASTIFY_EMPTY = emptyHandler("fastify, empty handler", FASTIFY, "none");
