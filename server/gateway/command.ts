/** The command `frontrow gateway`: flags and help. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { serveOption } from "../config.ts";
import type { GatewayOptions } from "./run.ts";

/** Options that `frontrow serve` has as well. */
const SHARED = [
  "--host",
  "--port",
  "--trusted-proxy",
  "--max-connections",
  "--metrics-token",
  "--log-level",
  "--log-format",
  "--access-log",
] as const;

export function addGatewayCommand(program: Command): void {
  const command = program
    .command("gateway")
    .summary("Serve the HTTP interface for an engine on another core or host.")
    .description(
      "Takes requests of clients, with TLS if it is given a certificate, and passes them on to " +
        "an engine: booking over one link, many requests in a frame, and everything else over " +
        "HTTP. A gateway keeps nothing; start as many as you need.",
    )
    .addOption(
      new Option(
        "--engine <urls>",
        "base URL of the engine, a `frontrow serve`; several hosts of a cluster with commas",
      )
        .env("FRONTROW_ENGINE")
        .argParser(parseUrls)
        .makeOptionMandatory(),
    )
    .addOption(serveOption("--gateway-secret-file").makeOptionMandatory())
    .addOption(
      new Option("--tls-cert <file>", "certificate with its chain, in PEM; needs --tls-key").env(
        "FRONTROW_TLS_CERT",
      ),
    )
    .addOption(
      new Option("--tls-key <file>", "private key of the certificate, in PEM").env(
        "FRONTROW_TLS_KEY",
      ),
    );
  for (const flag of SHARED) command.addOption(serveOption(flag));
  command
    .addHelpText(
      "after",
      "\nThe engine needs the same --gateway-secret-file, and this host in its --trusted-proxy." +
        "\n\nExit codes: 0 after SIGINT or SIGTERM, 1 when it cannot start, 2 for a usage error.",
    )
    .action(async (options: GatewayOptions) => {
      const { runGateway } = await import("./run.ts");
      await runGateway(options);
    });
}

function parseUrls(text: string): readonly URL[] {
  const urls = text.split(",").map(parseUrl);
  if (new Set(urls.map(({ protocol }) => protocol)).size === 1) return urls;
  throw new InvalidArgumentError("Either all URLs have http: or all have https:.");
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null;
  if (url !== null && /^https?:$/.test(url.protocol) && url.pathname === "/") return url;
  throw new InvalidArgumentError("It must be a base URL, such as http://10.0.0.5:8080.");
}
