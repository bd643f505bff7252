/** A real nginx with the configuration of the guide, in front of a server. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import path from "node:path";
import { onTestFinished } from "vitest";
import { type ServerProcess, sleep, temporaryFolder } from "../../support/server-process.ts";

const GUIDE = readFileSync("server/docs/guide/going-live.md", "utf8");
export const [, CONFIGURATION = ""] = /```nginx\n([^]*?)```/.exec(GUIDE) ?? [];
const ENV = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };

/** Files of a certificate for 127.0.0.1 that it has signed itself. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

export function makeCertificate(): Certificate {
  const folder = temporaryFolder();
  const [certificate, key] = [path.join(folder, "certificate.pem"), path.join(folder, "key.pem")];
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  const files = ["-keyout", key, "-out", certificate];
  const args = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"];
  execFileSync("openssl", [...args, ...subject, ...files], { stdio: "ignore" });
  return { certificate, key };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

interface Addresses {
  readonly port: number;
  readonly server: Pick<ServerProcess, "url">;
  /** Without one, nginx serves without TLS. */
  readonly tls: Certificate | null;
}

function adapted(configuration: string, { port, server, tls }: Addresses): string {
  const local = configuration.replace("127.0.0.1:8080", new URL(server.url).host);
  const listen = `listen 127.0.0.1:${port}`;
  if (tls === null) {
    return local.replace("listen 443 ssl", listen).replace(/^ +ssl_.*\n/gm, "");
  }
  return local
    .replace("listen 443 ssl", `${listen} ssl`)
    .replace(/(ssl_certificate +)\S+;/, `$1${tls.certificate};`)
    .replace(/(ssl_certificate_key +)\S+;/, `$1${tls.key};`);
}

/**
 * Starts nginx in front of a server, after `nginx -t` has accepted the configuration.
 * @returns Its address.
 */
export async function startNginx(
  configuration: string,
  server: Pick<ServerProcess, "url">,
  tls: Certificate | null = null,
): Promise<string> {
  const folder = temporaryFolder();
  const port = await freePort();
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  const http = [...paths, "access_log off;", adapted(configuration, { port, server, tls })];
  const main = `daemon off; pid ${folder}/pid; error_log stderr; events {}`;
  const file = path.join(folder, "nginx.conf");
  mkdirSync(path.join(folder, "logs"));
  writeFileSync(file, `${main}\nhttp {\n${http.join("\n")}\n}\n`);
  const args = ["-p", folder, "-c", file];
  const check = spawnSync("nginx", ["-t", ...args], { env: ENV, encoding: "utf8" });
  if (check.status !== 0) throw new Error(check.stderr);
  const nginx = spawn("nginx", args, { env: ENV, stdio: "ignore" });
  const exited = once(nginx, "exit");
  onTestFinished(async () => {
    nginx.kill("SIGTERM");
    await exited;
  });
  while (!(await isListening(port))) await sleep(20);
  return `${tls === null ? "http" : "https"}://127.0.0.1:${port}`;
}

export async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return once(socket, "connect")
    .then(() => true)
    .catch(() => false)
    .finally(() => socket.destroy());
}
