/** `frontrow gateway`: runs until a signal ends it. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { Logger } from "pino";
import { connectionsMaxOf, openFilesMax } from "../config.ts";
import { type HttpOptions, type HttpServer, listen } from "../http/server.ts";
import { AccessLog, createLog, type LogOptions, warnUntrusted } from "../observe/log.ts";
import { stopSignal, takeOtherSignals, UsageError, version } from "../program.ts";
import { routeTable } from "../routes/table.ts";
import { type EngineLink, Engines } from "./engine-link.ts";
import { GatewayFront, GatewayMetrics } from "./front.ts";
import { readSecret } from "./link-layout.ts";

const EXIT_BROKEN = 70;

export interface GatewayOptions extends LogOptions {
  readonly engine: readonly URL[];
  readonly gatewaySecretFile: string;
  readonly host: string;
  readonly port: number;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  readonly trustedProxy?: readonly string[];
  readonly maxConnections: number | null;
  readonly metricsToken?: string;
  readonly accessLog?: string;
}

/** @throws UsageError, Error when it cannot start. */
export async function runGateway(options: GatewayOptions): Promise<void> {
  const log = createLog(options);
  const onBroken = (error: unknown): never => {
    log.fatal({ err: error }, "the process ends: an error that should not happen");
    process.exit(EXIT_BROKEN);
  };
  process.on("uncaughtException", onBroken);
  process.on("unhandledRejection", onBroken);
  const { host, port, trustedProxy: trustedProxies = [], tlsCert, tlsKey, accessLog } = options;
  if ((tlsCert === undefined) !== (tlsKey === undefined)) {
    throw new UsageError("--tls-cert and --tls-key need each other");
  }
  const tls = tlsCert === undefined ? undefined : { certificate: tlsCert, key: tlsKey! };
  if (tls !== undefined) checkCertificate(tls.certificate, tls.key);
  const access = accessLog === undefined ? null : new AccessLog(accessLog);
  // A relayed request takes a connection of the client and one to the engine.
  const connectionsMax = connectionsMaxOf(options.maxConnections, openFilesMax() >> 1);
  takeOtherSignals(() => access?.reopen(log));
  const stopped = stopSignal();
  const gateway = await startGateway({
    engines: new Engines(options.engine),
    secret: readSecret(options.gatewaySecretFile),
    metricsToken: options.metricsToken,
    host,
    port,
    tls,
    trustedProxies,
    connectionsMax,
    onAnswer: access?.answered.bind(access),
    log,
    onBroken,
  });
  const scheme = tls === undefined ? "http" : "https";
  const name = host.includes(":") ? `[${host}]` : host;
  process.stdout.write(`frontrow listening on ${scheme}://${name}:${gateway.port}\n`);
  await stopped;
  log.info("stopping");
  await gateway.stop();
  await access?.written();
  process.exit(0);
}

// Starts a gateway, and stops it: the link first, then the public front.

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
  /** Answers waiting requests, then closes everything. */
  stop(): Promise<void>;
}

/** @throws Error when the address cannot be listened on. */
export async function startGateway(parts: GatewayParts): Promise<RunningGateway> {
  const { engines, secret, metricsToken, log } = parts;
  const metrics = new GatewayMetrics();
  const front = new GatewayFront({
    engines,
    secret,
    metrics,
    routes: routeTable(version, true),
    metricsAuthorization: metricsToken === undefined ? null : `Bearer ${metricsToken}`,
    log,
  });
  const http = await listen(front, { onUntrustedProxy: warnUntrusted(log), ...parts });
  metrics.parts = { front, http: http.stats };
  front.link.start();
  return { port: http.port, link: front.link, front, stop: () => stop(front, http) };
}

async function stop(front: GatewayFront, http: HttpServer): Promise<void> {
  front.isStopping = true;
  const tooLong = new Promise<void>((resolve) => {
    setTimeout(resolve, DRAIN_MS_MAX).unref();
  });
  await Promise.race([http.drain(), tooLong]);
  front.link.stop();
  front.relay.stop();
  http.close();
}

// Checks the files for TLS: the library reports no reason.

/** @throws UsageError when they cannot be read, are not PEM, or do not belong together. */
export function checkCertificate(certificate: string, key: string): void {
  const cert = parsed("--tls-cert", certificate, "a certificate", (text) => {
    createSecureContext({ cert: text });
    return new X509Certificate(text);
  });
  const parse = (text: string): KeyObject => createPrivateKey(text);
  const privateKey = parsed("--tls-key", key, "a private key without a passphrase", parse);
  if (cert.checkPrivateKey(privateKey)) return;
  throw new UsageError(`--tls-key: ${key} is not the key of the certificate ${certificate}`);
}

function parsed<Value>(
  option: string,
  file: string,
  what: string,
  parse: (text: string) => Value,
): Value {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${option}: ${(error as Error).message}`);
  }
  try {
    return parse(text);
  } catch (error) {
    throw new UsageError(`${option}: ${file} is not ${what} in PEM: ${(error as Error).message}`);
  }
}
