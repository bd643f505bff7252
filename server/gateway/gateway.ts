/** Starts a gateway, and stops it: the link first, then the front that clients see. */
import type { Logger } from "pino";
import { routeTable } from "../routes/table.ts";
import { version } from "../version.ts";
import { type HttpServer, type HttpOptions, listen } from "../wire/http.ts";
import { EngineLink } from "./engine-link.ts";
import type { Engines } from "./engines.ts";
import { GatewayFront } from "./front.ts";
import { GatewayMetrics } from "./metrics.ts";

const DRAIN_MS_MAX = 5_000;

export interface GatewayParts extends Omit<HttpOptions, "onBroken"> {
  readonly engines: Engines;
  readonly secret: string;
  readonly metricsToken: string | undefined;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly onBroken: (error: unknown) => void;
}

export interface RunningGateway {
  readonly port: number;
  readonly link: EngineLink;
  readonly front: GatewayFront;
  /** Answers what waits, then closes everything. */
  stop(): Promise<void>;
}

/** @throws Error when the address cannot be listened on. */
export async function startGateway(parts: GatewayParts): Promise<RunningGateway> {
  const { engines, secret, metricsToken, log } = parts;
  const metrics = new GatewayMetrics();
  // The link and the front know each other: its answers go to the front.
  let front: GatewayFront | null = null;
  const link = new EngineLink({
    engines,
    secret,
    events: {
      answered: (exchange, answer) => front!.answered(exchange, answer),
      lost: (exchange) => front!.lost(exchange),
      changed: (isOpen, reason) => tellChange(log, isOpen, reason, () => front?.relay.lose()),
    },
  });
  const routes = routeTable(version, true);
  const metricsAuthorization = metricsToken === undefined ? null : `Bearer ${metricsToken}`;
  front = new GatewayFront({ engines, link, metrics, routes, metricsAuthorization });
  const http = await listen(front, parts);
  metrics.parts = { link, front, http: http.stats };
  link.start();
  return { port: http.port, link, front, stop: () => stop(front, link, http) };
}

function tellChange(
  log: GatewayParts["log"],
  isOpen: boolean,
  reason: string,
  lose: () => void,
): void {
  if (isOpen) log.info("linked to the engine");
  else {
    log.warn({ reason }, "no link to the engine; trying again");
    lose();
  }
}

async function stop(front: GatewayFront, link: EngineLink, http: HttpServer): Promise<void> {
  front.isStopping = true;
  const tooLong = new Promise<void>((resolve) => {
    setTimeout(resolve, DRAIN_MS_MAX).unref();
  });
  await Promise.race([http.drain(), tooLong]);
  link.stop();
  front.relay.stop();
  http.close();
}
