/** The compiled program as an engine and as gateways before it, each in its own process. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import {
  CLI,
  ServerProcess,
  sleep,
  spawnNode,
  startServer,
  type StartOptions,
  temporaryFolder,
} from "../server-process.ts";

const SECRET = "6a".repeat(32);

export interface WithGateway {
  readonly engine: ServerProcess;
  readonly gateway: ServerProcess;
  readonly secretFile: string;
}

export async function startWithGateway(
  options: StartOptions = {},
  gatewayArgs: readonly string[] = [],
): Promise<WithGateway> {
  const secretFile = path.join(temporaryFolder(), "gateway-secret");
  writeFileSync(secretFile, SECRET);
  const args = ["--gateway-secret-file", secretFile, ...(options.args ?? [])];
  const engine = await startServer({ ...options, args });
  const gateway = await startGatewayProcess(engine.url, secretFile, gatewayArgs);
  return { engine, gateway, secretFile };
}

/** Waits until the gateway is ready. */
export async function startGatewayProcess(
  engineUrl: string,
  secretFile: string,
  args: readonly string[] = [],
): Promise<ServerProcess> {
  const own = ["--engine", engineUrl, "--gateway-secret-file", secretFile, "--port", "0"];
  const child = spawnNode(CLI, { args: ["gateway", ...own, ...args] });
  const gateway = new ServerProcess(child, "");
  onTestFinished(async () => void (await gateway.kill("SIGKILL")));
  await gateway.ready(false);
  if (gateway.url.startsWith("http:")) await untilReady(gateway.url);
  return gateway;
}

export async function untilReady(url: string): Promise<void> {
  while (!(await fetch(`${url}/readyz`).catch(() => null))?.ok) await sleep(20);
}
