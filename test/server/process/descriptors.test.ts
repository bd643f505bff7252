/** File descriptors: connections may not take those that the log and the snapshots need. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { SEGMENT_BYTES } from "../../../persistence/log/segments.ts";
import { connectionsMaxOf, openFilesMax } from "../../../server/config.ts";
import { UsageError } from "../../../server/program.ts";
import { describeWith } from "../../support/programs.ts";
import {
  runCli,
  type ServerProcess,
  sleep,
  startServer,
  V2,
} from "../../support/server-process.ts";

const OPEN_FILES = 300;
const CONNECTIONS = 400;
const SHAPES = Array.from({ length: 2_000 }, (_, i) => ({
  id: `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`,
  // A layout is stored compressed, so the text must not repeat itself.
  text: randomBytes(1_400).toString("base64"),
}));

/** Connections that send nothing; the server closes them after a while, and they come back. */
function keepIdle(server: ServerProcess): void {
  const sockets = new Set<Socket>();
  let hasEnded = false;
  const open = (): void => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1").on("error", () => {});
    sockets.add(socket);
    socket.on("close", () => {
      sockets.delete(socket);
      if (!hasEnded) setTimeout(open, 100);
    });
  };
  for (let i = 0; i < CONNECTIONS; i++) open();
  onTestFinished(() => {
    hasEnded = true;
    for (const socket of sockets) socket.destroy();
  });
}

const logOf = ({ folder }: ServerProcess) => readdirSync(path.join(folder, "wal"));
const segmentsOf = (server: ServerProcess) =>
  logOf(server).filter((name) => !name.startsWith("spare"));
/** Spares with all their bytes. */
const sparesOf = (server: ServerProcess) =>
  logOf(server).filter(
    (name) =>
      name.startsWith("spare") &&
      (statSync(path.join(server.folder, "wal", name), { throwIfNoEntry: false })?.size ?? 0) >=
        SEGMENT_BYTES,
  );

/** Sends all requests on one connection, for there may be no room for another. */
class Client {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #server: ServerProcess;

  constructor(server: ServerProcess) {
    this.#server = server;
    onTestFinished(() => this.#agent.destroy());
  }

  /** @returns The text of an answer that is 200. */
  async send(method: string, target: string, body?: object): Promise<string> {
    const { key, url } = this.#server;
    const sent = body === undefined ? "" : JSON.stringify(body);
    const length = { "Content-Length": String(Buffer.byteLength(sent)) };
    const headers = { "X-API-Key": key, "Content-Type": "application/json", ...length };
    return new Promise((resolve, reject) => {
      const options = { method, headers, agent: this.#agent };
      request(`${url}${target}`, options, (reply) => {
        expect(reply.statusCode).toBe(200);
        resolve(text(reply));
      })
        .on("error", reject)
        .end(sent);
    });
  }
}

/** The layout of the demo. */
async function layoutPath(client: Client): Promise<string> {
  const list = JSON.parse(await client.send("GET", `${V2}/schemas/`)) as {
    readonly content: readonly { readonly id: number }[];
  };
  return `${V2}/schemas/${list.content[0]!.id}/layout`;
}

/** Changes the layout until the log goes on in another segment; the first one has 8 MiB. */
async function rollOver(server: ServerProcess, client: Client, layout: string): Promise<void> {
  const before = segmentsOf(server);
  for (let i = 0; segmentsOf(server).every((name) => before.includes(name)); i++) {
    // Each differs from the one before.
    const shapes = SHAPES.map((shape) => ({ ...shape, left: i }));
    await client.send("PUT", layout, { shapes });
  }
}

/** The numbers of its open files. */
function filesOf({ pid }: ServerProcess): number[] {
  return readdirSync(`/proc/${pid}/fd`).map(Number);
}

test(
  "400 idle connections with 300 open files stop neither the log nor snapshots",
  { timeout: 180_000 },
  async () => {
    const args = ["--demo", "--snapshot-every", "4"];
    const server = await startServer({ args, openFilesMax: OPEN_FILES });
    const client = new Client(server);
    const layout = await layoutPath(client);
    keepIdle(server);
    await rollOver(server, client, layout);
    const isMade = /^frontrow_snapshots_total\{result="made"\} [1-9]/m;
    let metrics = "";
    while (!isMade.test(metrics)) {
      await sleep(200);
      metrics = await client.send("GET", "/metrics");
    }
    expect(metrics).toMatch(/^frontrow_http_connections_max 172$/m);
    expect(metrics).toMatch(/^frontrow_http_connections_refused_total [1-9]/m);
    expect(metrics).toMatch(/^frontrow_snapshots_total\{result="failed"\} 0$/m);
    expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
  },
);

describeWith(["prlimit"], "with prlimit", () => {
  test(
    "when the limit on open files is lowered below what is open, the log goes on",
    { timeout: 180_000 },
    async () => {
      const server = await startServer({ args: ["--demo"] });
      const client = new Client(server);
      const layout = await layoutPath(client);
      // Starts the threads for layouts, as they need files of their own: one for the small
      // layout of the demo, and one for the large layout that it has then.
      for (const shapes of [SHAPES, SHAPES.slice(1)]) await client.send("PUT", layout, { shapes });
      keepIdle(server);
      while (filesOf(server).length < CONNECTIONS) await sleep(50);
      const { pid } = server;
      expect(spawnSync("prlimit", ["--pid", String(pid), "--nofile=100:100"]).status).toBe(0);
      expect(filesOf(server).filter((number) => number < 100)).toHaveLength(100);
      await rollOver(server, client, layout);
      // The segment after that one needs another file.
      while (sparesOf(server).length === 0) await sleep(50);
      await client.send("PUT", layout, { shapes: SHAPES });
      expect(await server.kill("SIGTERM")).toEqual({ code: 0, signal: null });
    },
  );
});

test("the limit on connections leaves files for the server itself", () => {
  expect(connectionsMaxOf(null, 1_024)).toBe(896);
  expect(connectionsMaxOf(null, 300)).toBe(172);
  expect(connectionsMaxOf(null, 100)).toBe(50);
  expect(connectionsMaxOf(null, Infinity)).toBe(Infinity);
  expect(connectionsMaxOf(10, 300)).toBe(10);
  expect(connectionsMaxOf(172, 300)).toBe(172);
  expect(() => connectionsMaxOf(173, 300)).toThrow(UsageError);
  expect(openFilesMax()).toBeGreaterThan(100);
});

test("more connections than open files are refused", async () => {
  const args = ["serve", "--port", "0", "--data", "unused", "--max-connections", "1000"];
  const { code, stderr } = await runCli({ args, openFilesMax: OPEN_FILES });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/--max-connections 1000 .* 300;/)]);
});
