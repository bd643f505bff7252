/** The empty handlers: they do nothing with a request but take it, and so set the scale. */
import { fileURLToPath } from "node:url";
import type { Protocol } from "../load/plan.ts";
import { startNode } from "./child.ts";
import type { Contender } from "./contender.ts";
import { madeUpHall } from "./made-up-hall.ts";

const UWS = fileURLToPath(new URL("./empty-server.js", import.meta.url));
const FASTIFY = fileURLToPath(new URL("./fastify-server.js", import.meta.url));

function empty(name: string, protocol: Protocol, args: readonly string[]): Contender {
  return {
    name,
    mixes: ["lock"],
    missing: () => null,
    start: async () => {
      const { url, pid, stop } = await startNode(args);
      return {
        target: { protocol, host: url.hostname, port: Number(url.port) },
        pids: [pid],
        openHall: async (seatCount) => madeUpHall(seatCount),
        // It keeps nothing that could be wrong; the generator has checked that it said yes.
        findFault: async () => null,
        stop,
      };
    },
  };
}

/** The reference of all ratios. */
export const POST_NOT_PARSED = empty("uWebSockets.js POST, body read, not parsed", "http", [
  UWS,
  "body",
]);
export const GET_CONSTANT = empty("uWebSockets.js GET, constant answer", "http-get", [
  UWS,
  "constant",
]);
export const POST_PARSED = empty("uWebSockets.js POST, JSON.parse", "http", [UWS, "parse"]);
export const FASTIFY_EMPTY = empty("fastify, empty handler", "http", [FASTIFY, "none"]);
