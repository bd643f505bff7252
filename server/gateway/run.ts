/** `frontrow gateway`: runs until a signal ends it. */
import { checkCertificate } from "../certificate.ts";
import { connectionsMaxOf, openFilesMax } from "../connections.ts";
import { AccessLog } from "../observe/access-log.ts";
import { createLog, type LogOptions } from "../observe/log.ts";
import { UsageError } from "../usage-error.ts";
import { Engines } from "./engines.ts";
import { startGateway } from "./gateway.ts";
import { readSecret } from "./proof.ts";

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
  // A request that is passed on takes a connection of the client and one to the engine.
  const connectionsMax = connectionsMaxOf(options.maxConnections, openFilesMax() >> 1);
  const stopped = new Promise<void>((resolve) => {
    process.once("SIGINT", resolve).once("SIGTERM", resolve);
  });
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
