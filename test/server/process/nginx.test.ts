/** The nginx configuration of the guide, in a real nginx in front of a real server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { missingPrograms } from "../../faults/campaign.ts";
import { type ServerProcess, startServer, temporaryFolder } from "../../support/server-process.ts";

const GUIDE = readFileSync("server/docs/guide/going-live.md", "utf8");
const [, CONFIGURATION = ""] = /```nginx\n([^]*?)```/.exec(GUIDE) ?? [];
const V2 = "/api/private/v2.0";

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

/** The configuration with another address, and without the certificate that a test has not. */
function adapted(configuration: string, port: number, server: ServerProcess): string {
  return configuration
    .replace("127.0.0.1:8080", new URL(server.url).host)
    .replace("listen 443 ssl", `listen 127.0.0.1:${port}`)
    .replace(/^ +ssl_certificate.*\n/gm, "");
}

/** Starts nginx in front of a server. @returns Its address. */
async function startNginx(configuration: string, server: ServerProcess): Promise<string> {
  const folder = temporaryFolder();
  const port = await freePort();
  const file = path.join(folder, "nginx.conf");
  mkdirSync(path.join(folder, "logs"));
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = kinds.map((kind) => `${kind}_temp_path ${folder}/${kind};`);
  const http = [...paths, "access_log off;", adapted(configuration, port, server)].join("\n");
  const main = `daemon off; pid ${folder}/pid; error_log stderr; events {}`;
  writeFileSync(file, `${main}\nhttp {\n${http}\n}\n`);
  const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin` };
  const nginx = spawn("nginx", ["-p", folder, "-c", file], { env, stdio: "ignore" });
  const exited = once(nginx, "exit");
  onTestFinished(async () => {
    nginx.kill("SIGTERM");
    await exited;
  });
  const url = `http://127.0.0.1:${port}`;
  await vi.waitUntil(() => fetch(`${url}/`, { redirect: "manual" }).catch(() => null), 10_000);
  return url;
}

/** Locks and unlocks a seat. @returns The two statuses. */
async function lockAndUnlock(url: string, { key, eventId }: ServerProcess, seatId: number) {
  const statuses: number[] = [];
  for (const call of ["lock", "unlock"]) {
    const headers = { "X-API-Key": key, "Content-Type": "application/json" };
    const body = JSON.stringify({ seats: [{ id: seatId }] });
    const target = `${url}${V2}/booking/${call}?eventId=${eventId}`;
    statuses.push((await fetch(target, { method: "POST", headers, body })).status);
  }
  return statuses;
}

const missing = missingPrograms("nginx");
const why = missing === null ? "" : ` (skipped: ${missing})`;

describe.skipIf(missing !== null)(`the nginx of the guide${why}`, () => {
  test("its requests are answered, before and after a pause", async () => {
    const server = await startServer({ args: ["--demo"] });
    const url = await startNginx(CONFIGURATION, server);
    const list = `${V2}/events/${server.eventId}/seats/?size=1`;
    const answer = await fetch(url + list, { headers: { "X-API-Key": server.key } });
    const { content } = (await answer.json()) as { content: { seatId: number }[] };
    // It is meant for the connection between the two.
    expect([answer.status, answer.headers.get("keep-alive")]).toEqual([200, null]);
    const { seatId } = content[0]!;
    const lock = () => lockAndUnlock(url, server, seatId);
    for (let i = 0; i < 20; i++) expect(await lock()).toEqual([200, 200]);
    // The server has closed its side of every connection that is still open by then.
    await pause(10_000);
    for (let i = 0; i < 20; i++) expect(await lock()).toEqual([200, 200]);
  });

  test("nginx gives a body in chunks a length", async () => {
    const server = await startServer({ args: ["--demo"] });
    const url = await startNginx(CONFIGURATION, server);
    const headers = { "X-API-Key": server.key, "Content-Type": "application/json" };
    const create = (base: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const target = `${base}${V2}/venues/`;
        const sent = request(target, { method: "POST", headers }, (reply) => {
          reply.resume();
          resolve(reply.statusCode);
        });
        sent.on("error", reject);
        sent.write('{"name":');
        sent.end('"Odeon"}');
      });
    expect(await create(url)).toBe(201);
    expect(await create(server.url)).toBe(411);
  });

  test("an nginx that speaks HTTP/1.0 to the server gets 505", async () => {
    const server = await startServer();
    const old = CONFIGURATION.replace("proxy_http_version 1.1;", "proxy_http_version 1.0;");
    expect(old).not.toBe(CONFIGURATION);
    expect((await fetch(`${await startNginx(old, server)}/healthz`)).status).toBe(505);
  });
});
