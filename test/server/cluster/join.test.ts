/** `frontrow join` from a running peer. */
import fs from "node:fs";
import { createServer, type Server } from "node:net";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { NodeSocket } from "../../../server/client/node-socket.ts";
import {
  runCli,
  startServer,
  type ServerProcess,
  temporaryFolder,
} from "../../support/server-process.ts";

const TOKEN = "platform-token-of-the-test";
const env = { FRONTROW_PLATFORM_TOKEN: TOKEN };

const join = (source: string, folder: string, more: Readonly<Record<string, string>> = env) =>
  runCli({ args: ["join", source, folder], env: more });

/** A peer with a demo event, and a folder to create. */
async function startPeer(): Promise<{ readonly peer: ServerProcess; readonly to: string }> {
  const peer = await startServer({ args: ["--demo"], env });
  return { peer, to: path.join(temporaryFolder(), "joined") };
}

const PROGRESS_LINES = /^(?:[a-z ]+: \d+ of \d+\n)*$/;

test("a host joins from a running peer with one command", async () => {
  const { peer, to } = await startPeer();
  const joined = await join(peer.url, to);
  expect(joined.code, joined.stderr).toBe(0);
  // On a busy machine it takes more than the second after which progress is shown.
  expect(joined.stderr).toMatch(PROGRESS_LINES);
  expect(joined.stdout).toContain("identical for every way of recovery\n");
  expect(joined.stdout).toContain(`copied to ${to} and checked; keep it as secret as the store\n`);
  const names = ["secret", "store.json", "audit.sqlite"];
  expect(fs.readdirSync(to)).toEqual(expect.arrayContaining(names));
  const same = await runCli({ args: ["compare", peer.folder, to] });
  expect(same.stdout).toMatch(/they are the same up to record \d+\n/);
  const server = await startServer({ folder: to });
  const summary = `/api/private/v2.0/events/${peer.eventId}/summary/`;
  const [ours, theirs] = [server, peer].map((each) =>
    each.request("GET", summary, undefined, peer.key),
  );
  expect(await (await ours!).json()).toEqual(await (await theirs!).json());
});

test("a copy needs the platform token, and a peer that has one", async () => {
  const { peer, to } = await startPeer();
  const none = await join(peer.url, to, {});
  expect(none).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("no token; set") as string,
  });
  const wrong = await join(peer.url, to, { FRONTROW_PLATFORM_TOKEN: "another-token-of-16" });
  expect(wrong.code).toBe(2);
  expect(wrong.stderr).toContain("it answers 403: A copy of the store needs the platform token.\n");
  const closed = await startServer();
  const refused = await join(closed.url, to);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("sends no copies: start it with FRONTROW_PLATFORM_TOKEN\n");
  const plain = { headers: { Authorization: `Bearer ${TOKEN}` } };
  expect((await fetch(`${peer.url}/api/internal/copy`, plain)).status).toBe(404);
  expect(fs.existsSync(to)).toBe(false);
  expect(fs.existsSync(`${to}.partial`)).toBe(false);
});

test("a peer sends one copy at a time, and the next one after it", async () => {
  const { peer, to } = await startPeer();
  const headers = { Authorization: `Bearer ${TOKEN}` };
  const request = { server: new URL(peer.url), path: "/api/internal/copy", headers };
  const held = await new Promise<NodeSocket>((resolve, reject) => {
    const socket = new NodeSocket(request, {
      opened: () => {
        // It reads nothing, so the copy does not end.
        socket.pause();
        resolve(socket);
      },
      message: () => {},
      refused: () => reject(new Error("refused")),
      closed: () => {},
    });
  });
  const busy = await join(peer.url, to);
  expect(busy.code).toBe(75);
  expect(busy.stderr).toContain("it answers 503: Another host receives a copy at the moment");
  held.destroy();
  let joined = await join(peer.url, to);
  while (joined.code === 75) joined = await join(peer.url, to);
  expect(joined.code, joined.stderr).toBe(0);
});

test("a peer that does not answer, or is lost, leaves no folder", async () => {
  const to = path.join(temporaryFolder(), "joined");
  const silent = await listening();
  silent.on("connection", (socket) => socket.destroy());
  const { port } = silent.address() as { readonly port: number };
  const lost = await join(`http://127.0.0.1:${port}`, to);
  expect(lost.code).toBe(75);
  expect(lost.stderr).toContain("nothing was kept, so try again\n");
  expect(lost.stderr).not.toContain("\n    at ");
  expect(fs.readdirSync(path.dirname(to))).toEqual([]);
});

async function listening(): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  return server;
}
