/** Real processes: kills of engine and gateways while clients book, and TLS. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  startGatewayProcess,
  startWithGateway,
  untilReady,
} from "../../support/gateway/processes.ts";
import {
  quietPort,
  runCli,
  sleep,
  startServer,
  temporaryFolder,
  V2,
} from "../../support/server-process.ts";

const BUYERS = 8;

/** Locks a seat; repeats until there is an answer. @returns The status and body. */
async function lock(urls: () => readonly string[], own: Record<string, string>, seat: number) {
  for (let attempt = 0; ; attempt++) {
    const all = urls();
    const url = all[attempt % all.length]!;
    const sent = {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        "X-API-Key": own["key"]!,
        "Idempotency-Key": `lock-${seat}`,
      },
      body: JSON.stringify({ sessionId: own["session"], seats: [{ id: seat }] }),
    };
    const target = `${url}${V2}/booking/lock?eventId=${own["eventId"]}`;
    const response = await fetch(target, sent).catch(() => null);
    const text = await response?.text().catch(() => null);
    if (response != null && text != null && response.status < 429) {
      return `${response.status} ${text}`;
    }
    await sleep(20);
  }
}

test("gateways and engine are killed while buyers book: each lock is done once", async () => {
  const port = String(quietPort());
  const place = ["--demo", "--port", port];
  const { engine, gateway, secretFile } = await startWithGateway({ args: place });
  const { key, eventId, folder } = engine;
  const seats = await engine.freeSeats();
  const gateways = [gateway, await startGatewayProcess(engine.url, secretFile)];
  const urls = () => gateways.map(({ url }) => url);
  const answers = new Map<number, string>();
  let next = 0;
  const buy = async (session: string) => {
    for (let seat = seats[next++]; seat !== undefined; seat = seats[next++]) {
      answers.set(seat, await lock(urls, { key, session, eventId }, seat));
      await sleep(20);
    }
  };
  const buying = Promise.all(Array.from({ length: BUYERS }, (_, i) => buy(`s${i}`)));
  await sleep(100);
  await gateways[0]!.kill("SIGKILL");
  gateways[0] = await startGatewayProcess(engine.url, secretFile);
  await engine.kill("SIGKILL");
  await sleep(200);
  const args = ["--gateway-secret-file", secretFile, "--port", port];
  const again = await startServer({ folder, args });
  for (const url of urls()) await untilReady(url);
  await buying;
  expect(new Set(answers.values())).toEqual(new Set(["200 true"]));
  expect(answers.size).toBe(seats.length);
  const headers = { "X-API-Key": key };
  const held = await fetch(`${again.url}${V2}/events/${eventId}/holds/?size=100`, { headers });
  const { totalElements } = (await held.json()) as { totalElements: number };
  expect(totalElements).toBe(seats.length);
  for (const one of gateways) expect((await one.kill("SIGTERM")).code).toBe(0);
});

test("clients that gave up on a silent engine do not end the gateway", async () => {
  const { engine, gateway } = await startWithGateway({ args: ["--demo"] });
  const { key, eventId } = engine;
  const own = { key, session: "s", eventId };
  const [seat = 0, other = 0] = await engine.freeSeats();
  const target = `${gateway.url}${V2}/booking/lock?eventId=${eventId}`;
  const headers = { "X-API-Key": key, "Content-Type": "application/json" };
  process.kill(engine.pid, "SIGSTOP");
  onTestFinished(() => void engine.kill("SIGCONT"));
  const body = JSON.stringify({ sessionId: "s", seats: [{ id: seat }] });
  // A booking call goes over the link, an upload and a list go over HTTP.
  const impatient = [
    fetch(target, { method: "POST", headers, body, signal: AbortSignal.timeout(1_000) }),
    fetch(`${gateway.url}${V2}/schemas/1/layout/`, {
      method: "PUT",
      headers,
      body: " ".repeat(8 * 1_024 * 1_024),
      signal: AbortSignal.timeout(1_000),
    }),
    fetch(`${gateway.url}${V2}/events/`, { headers, signal: AbortSignal.timeout(1_000) }),
  ];
  const outcomes = await Promise.allSettled(impatient);
  expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  // After three seconds the engine counts as lost.
  while ((await fetch(`${gateway.url}/readyz`)).ok) await sleep(50);
  await sleep(200);
  expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
  process.kill(engine.pid, "SIGCONT");
  await untilReady(gateway.url);
  // The abandoned call may have been carried out.
  expect(await lock(() => [gateway.url], { ...own, session: "t" }, other)).toBe("200 true");
  expect((await gateway.kill("SIGTERM")).code).toBe(0);
});

test("a gateway with a certificate speaks TLS", async () => {
  const folder = temporaryFolder();
  const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "cert.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
  const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", cert];
  execFileSync("openssl", [...made, ...subject], { stdio: "ignore" });
  const { gateway } = await startWithGateway({}, ["--tls-cert", cert, "--tls-key", key]);
  const { port } = new URL(gateway.url);
  expect(gateway.url).toMatch(/^https:/);
  const status = await new Promise((resolve, reject) => {
    const options = { host: "localhost", port, path: "/healthz", ca: readFileSync(cert) };
    request(options, (response) => resolve(response.statusCode))
      .on("error", reject)
      .end();
  });
  expect(status).toBe(200);
});

const GATEWAY = ["gateway", "--engine", "http://x", "--gateway-secret-file", "LICENSE"];

test.each([
  [["gateway"], 2, "required option '--engine <urls>' not specified"],
  [["gateway", "--engine", "x", "--gateway-secret-file", "f"], 2, "It must be a base URL"],
  [["gateway", "--engine", "http://x:0", "--gateway-secret-file", "f"], 2, "from 1 to 65535"],
  [["gateway", "--engine", "http://x", "--gateway-secret-file", "/none"], 2, "no such file"],
  [[...GATEWAY, "--tls-cert", "c"], 2, "--tls-cert and --tls-key need each other"],
  [
    [...GATEWAY, "--tls-cert", "gone.pem", "--tls-key", "gone.key"],
    2,
    "frontrow: --tls-cert: ENOENT: ",
  ],
  [["serve", "--gateway-secret-file", ".nvmrc-none"], 2, "no such file"],
])("frontrow %j ends with %i", async (args, code, text) => {
  const ended = await runCli({ args });
  expect([ended.code, ended.stderr]).toEqual([code, expect.stringContaining(text)]);
});
