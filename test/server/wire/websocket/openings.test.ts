/** WebSockets whose requests waited for the disk, as they do while locks are on their way to it. */
import { expect, test } from "vitest";
import { V2 } from "../../../support/server.ts";
import { Listening, until } from "../connection.ts";

/** In the corks of their own responses, the library closed about one of a thousand sockets. */
const SOCKETS = 500;
const SEATS = ["A1", "A2", "A3", "A4", "B1", "B2"];
const HANDSHAKE = [
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Protocol: frontrow.commands.v1+json",
];

test("sockets whose requests waited for the disk stay open", async () => {
  const listening = await Listening.start();
  for (const seat of SEATS) await openWithLock(listening, seat);
  expect(listening.broken).toEqual([]);
}, 60_000);

/** All sockets open when one lock has reached the disk, and then close. */
async function openWithLock(listening: Listening, seat: string): Promise<void> {
  const { server, http } = listening;
  server.journal.withholds = true;
  const answered = listening.lock(seat).then(({ status }) => status);
  await listening.settled();
  const connections = await Promise.all(
    Array.from({ length: SOCKETS }, () => listening.connection()),
  );
  for (const connection of connections) {
    connection.get(`${V2}/booking/socket`, `X-API-Key: ${server.a.key}`, ...HANDSHAKE);
  }
  await listening.settled();
  expect(connections.filter(({ text }) => text !== "")).toHaveLength(0);
  server.journal.withholds = false;
  server.journal.sync();
  expect(await answered).toBe(200);
  await until(() => connections.every(({ text }) => text.includes('"credit"')));
  await listening.settled();
  expect(http.stats.sockets.count).toBe(SOCKETS);
  for (const { socket } of connections) socket.destroy();
  await until(() => http.stats.sockets.count === 0);
}
