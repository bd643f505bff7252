/** Clients with several addresses: the server that answers is killed, and another takes over. */
import { createServer } from "node:http";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { CommandClient, StreamClient } from "../../../server/client/client.ts";
import type { Report } from "../../../server/onsale/run.ts";
import { quietPort, type ServerProcess, sleep, startServer } from "../../support/server-process.ts";
import { play, soldIn, V2 } from "./cells.ts";

const LONG = { timeout: 240_000 };

/**
 * A standby: it answers 503 until the server with the data folder has been killed. Then a server on
 * its port opens the folder.
 */
async function startStandby() {
  const standby = createServer((_, answer) => {
    answer.writeHead(503, { "Content-Type": "application/problem+json", "Retry-After": "1" });
    answer.end('{"errorCode":"LOG_UNAVAILABLE"}');
  });
  standby.on("upgrade", (_, socket) => socket.end("HTTP/1.1 503 Standby\r\n\r\n"));
  const port = quietPort();
  standby.listen(port, "127.0.0.1");
  await once(standby, "listening");
  const close = () => {
    standby.closeAllConnections();
    standby.close();
  };
  onTestFinished(close);
  const takeOver = async (leader: ServerProcess) => {
    await leader.kill("SIGKILL");
    close();
    return startServer({ folder: leader.folder, args: ["--port", String(port)] });
  };
  return { url: `http://127.0.0.1:${port}`, takeOver };
}

test.each([[[]], [["--socket"]]])(
  "the player goes on with the server that takes over %s: 0 lost, 0 sold twice",
  async (extra) => {
    const leader = await startServer({ args: ["--demo"] });
    const { url, key, eventId } = leader;
    const standby = await startStandby();
    const flags = ["--event", eventId, "--think-ms", "400", "--buyers", "40", "--connections", "8"];
    const played = play([standby.url, url], key, [...flags, ...extra]);
    while ((await soldIn(url, key, eventId)) < 60) await sleep(20);
    await standby.takeOver(leader);
    const { code, stdout } = await played;
    const report = JSON.parse(stdout) as Report;
    expect(report.checks.filter(({ passed }) => !passed)).toEqual([]);
    expect(code).toBe(0);
    expect(report.outages).toBeGreaterThan(0);
  },
  LONG.timeout,
);

test("the client and its stream find the server that takes over", LONG, async () => {
  const leader = await startServer({ args: ["--demo"] });
  const { key, eventId } = leader;
  const standby = await startStandby();
  const url = [standby.url, leader.url];
  const client = new CommandClient({ url, key });
  const sequences: number[] = [];
  const stream = new StreamClient({
    url,
    key,
    eventId,
    onSnapshot: ({ sequence }) => sequences.push(sequence),
    onChanges: (changes) => sequences.push(...changes.map(({ sequence }) => sequence)),
  });
  onTestFinished(() => {
    client.destroy();
    stream.close();
  });
  const target = `${V2}/events/${eventId}/seats/?size=40`;
  const { content } = (await (await leader.request("GET", target)).json()) as {
    content: { seatId: number }[];
  };
  const lock = ({ seatId }: { seatId: number }) =>
    client.lock({ eventId, sessionId: "A", seats: [{ id: seatId }] });
  while (stream.sequence === null) await sleep(20);
  for (const seat of content.slice(0, 10))
    expect(await lock(seat)).toEqual({ ok: true, value: true });
  const successor = standby.takeOver(leader);
  // These are sent, or wait, while there is no server.
  const results = await Promise.all(content.slice(10).map(lock));
  expect(results).toEqual(content.slice(10).map(() => ({ ok: true, value: true })));
  const map = await (
    await successor
  ).request("GET", `${V2}/events/${eventId}/map/`, undefined, key);
  const { sequence } = (await map.json()) as { sequence: number };
  while (stream.sequence !== sequence) await sleep(20);
  expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b));
});
