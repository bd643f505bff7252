/** The nginx configuration of the guide, in a real nginx in front of a real server. */
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { Agent, get } from "node:https";
import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Report } from "../../../server/onsale/run.ts";
import { describeWith } from "../../support/programs.ts";
import { runCli, type ServerProcess, startServer, V2 } from "../../support/server-process.ts";
import { Listening } from "../wire/connection.ts";
import { SHAPES, statusesOf } from "../wire/shapes.ts";
import { StreamClient } from "../live/stream-client.ts";
import { CONFIGURATION, makeCertificate, startNginx } from "./nginx.ts";

const UNBUFFERED = CONFIGURATION.replace(
  "location / {",
  "location / {\n proxy_request_buffering off;",
);
/** Ends a connection that nginx would keep. */
const FAREWELL = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

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

describeWith(["nginx", "openssl"], "the nginx of the guide", () => {
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

  test("a seat is sold → its WebSocket and its event stream tell at once", async () => {
    const server = await startServer({ args: ["--demo"] });
    const url = await startNginx(CONFIGURATION, server);
    const event = `${V2}/events/${server.eventId}`;
    const made = async () => {
      const answer = await server.request("POST", `${event}/stream-tickets`);
      return ((await answer.json()) as { ticket: string }).ticket;
    };
    const stream = `${url.replace("http", "ws")}${event}/stream?ticket=${await made()}`;
    const client = await StreamClient.open(stream, "");
    const headers = { Accept: "text/event-stream" };
    const events = await fetch(`${url}${event}/changes/?ticket=${await made()}`, { headers });
    expect(events.headers.get("content-type")).toBe("text/event-stream");
    const reader = events.body!.pipeThrough(new TextDecoderStream()).getReader();
    const list = await server.request("GET", `${event}/seats/?size=1&sort=state`);
    const { content } = (await list.json()) as { content: { seatId: number }[] };
    expect(await lockAndUnlock(url, server, content[0]!.seatId)).toEqual([200, 200]);
    let text = "";
    while (!text.includes("unlock")) text += (await reader.read()).value ?? "";
    expect(text).toContain('"LOCKED"');
    const calls = () =>
      client.messages.flatMap(({ changes = [] }) => changes.map(({ call }) => call));
    await expect.poll(calls).toEqual(["lock", "unlock"]);
    await reader.cancel();
  });

  test.each([
    ["collects the body", CONFIGURATION],
    ["passes its chunks on", UNBUFFERED],
  ])("a chunked body, and nginx %s → it is taken", async (_, configuration) => {
    const server = await startServer({ args: ["--demo"] });
    const url = await startNginx(configuration, server);
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
        // Apart, so that nginx does not know the length when it begins to pass it on.
        setTimeout(() => sent.end('"Odeon"}'), 50);
      });
    for (let i = 0; i < 10; i++) expect(await create(url)).toBe(201);
    expect(await create(server.url)).toBe(201);
  });

  test.each([
    ["collects bodies", CONFIGURATION],
    ["passes chunks on", UNBUFFERED],
  ])(
    "a request without a certain end, and nginx %s → no request is hidden in it",
    async (_, from) => {
      const listening = await Listening.start();
      // Of requests that nginx sees, this one stops here.
      const guarded = from.replace(
        "location / {",
        `location ${V2}/booking/ {\n return 403;\n }\n location / {`,
      );
      const url = await startNginx(guarded, { url: listening.base });
      const { port } = new URL(url);
      const before = listening.server.digest;
      const hidden = listening.lockRequest("A1");
      const answers = await Promise.all(
        Object.values(SHAPES).flatMap(([shape]) => [
          statusesOf(Number(port), shape + hidden, FAREWELL),
          statusesOf(Number(port), shape, hidden, FAREWELL),
        ]),
      );
      expect(listening.server.digest).toBe(before);
      // The shapes reach the server: it refuses the token in some.
      expect(answers.flat()).toContain(401);
      expect(listening.broken).toEqual([]);
      expect((await listening.lock("A1")).status).toBe(200);
    },
  );

  test("an nginx that speaks HTTP/1.0 to the server gets 505", async () => {
    const server = await startServer();
    const old = CONFIGURATION.replace("proxy_http_version 1.1;", "proxy_http_version 1.0;");
    expect(old).not.toBe(CONFIGURATION);
    expect((await fetch(`${await startNginx(old, server)}/healthz`)).status).toBe(505);
  });

  test("an on-sale plays through TLS, and every ticket is sold once", async () => {
    const server = await startServer({ args: ["--demo"] });
    const tls = makeCertificate();
    const url = await startNginx(CONFIGURATION, server, tls);
    const sale = ["--event", server.eventId, "--buyers", "60", "--think-ms", "5", "--json"];
    const { code, stdout, stderr } = await runCli({
      args: ["onsale", "--url", url, ...sale],
      env: { FRONTROW_KEY: server.key, NODE_EXTRA_CA_CERTS: tls.certificate },
    });
    expect(code, stderr).toBe(0);
    const { headline, passed } = JSON.parse(stdout) as Report;
    expect(headline).toMatch(/^SOLD OUT: .* 0 sold twice$/);
    expect(passed).toBe(true);
  });

  test("each client has its own limit of bad keys, whatever it claims to be", async () => {
    const args = ["--trusted-proxy", "127.0.0.1", "--bad-keys-per-minute", "1"];
    const server = await startServer({ args });
    const tls = makeCertificate();
    const url = await startNginx(CONFIGURATION, server, tls);
    const agent = new Agent({ ca: readFileSync(tls.certificate) });
    const guess = (localAddress: string, claimed: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { "X-API-Key": "wrong", "X-Forwarded-For": claimed };
        get(`${url}${V2}/venues/`, { agent, headers, localAddress }, (reply) => {
          reply.resume();
          resolve(reply.statusCode);
        }).on("error", reject);
      });
    expect(await guess("127.0.0.2", "1.1.1.1")).toBe(403);
    expect(await guess("127.0.0.2", "2.2.2.2")).toBe(429);
    expect(await guess("127.0.0.3", "1.1.1.1")).toBe(403);
  });
});
