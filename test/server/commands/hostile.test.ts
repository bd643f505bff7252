/** Clients with a valid key try to fill the server's memory, or to stop the others. */
import { expect, test } from "vitest";
import type { Transfers } from "../../../server/http/limits.ts";
import { type Connection, until } from "../wire/connection.ts";
import { bareSocket, headOf, largeFrame, masked, ping } from "./bare-socket.ts";
import { CommandStage } from "./stage.ts";

const UNREAD_MS_MAX = 20_000;
const PING_BYTES = 125;

/** A server with a stopped clock. */
async function timed() {
  const clock = { timeMs: 0 };
  const stage = await CommandStage.start({ nowMs: () => clock.timeMs });
  return { stage, clock, stats: stage.listening.http.stats };
}

/** Sends frames and reads nothing, until answers wait. */
async function leaveUnread(stage: CommandStage, connection: Connection): Promise<void> {
  const { stats } = stage.listening.http;
  connection.socket.pause();
  const frame = masked(largeFrame(stage));
  while (stats.answers.count === 0) {
    connection.socket.write(frame);
    await stage.listening.settled();
  }
}

async function expectServing(stage: CommandStage): Promise<void> {
  const client = await stage.open();
  expect(await client.ask(stage.command(1, "directsale", "ann", "A1"))).toMatchObject([
    { status: 200 },
  ]);
}

test("a client that leaves answers unread for 20 seconds is cut off", async () => {
  const { stage, clock, stats } = await timed();
  await leaveUnread(stage, await bareSocket(stage));
  const answerMs = stats.answers.heldBytes / 64;
  clock.timeMs += UNREAD_MS_MAX + answerMs - 1;
  (stats.answers as Transfers).sweep();
  expect(stats.sockets.count).toBe(1);
  clock.timeMs += 2;
  await until(() => stats.sockets.count === 0);
  expect([stats.answers.abandoned, stats.answers.heldBytes]).toEqual([1, 0]);
  await expectServing(stage);
});

test("a client that sends pings and reads nothing is cut off", async () => {
  const { stage, clock, stats } = await timed();
  const connection = await bareSocket(stage);
  connection.socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1_000 }, () => ping("x".repeat(PING_BYTES))));
  while (stats.answers.count === 0) {
    connection.socket.write(pings);
    await stage.listening.settled();
  }
  clock.timeMs += UNREAD_MS_MAX / 2;
  const { heldBytes } = stats.answers;
  connection.socket.write(pings);
  await until(() => stats.answers.heldBytes > heldBytes);
  clock.timeMs += UNREAD_MS_MAX / 2 + stats.answers.heldBytes / 64;
  await until(() => stats.sockets.count === 0);
  expect([stats.answers.abandoned, stats.answers.heldBytes]).toEqual([1, 0]);
  await expectServing(stage);
});

test("the bytes of unread pongs count with all answers that wait", async () => {
  const stage = await CommandStage.start({ answerBytesMax: 64 * 1_024 });
  const { stats } = stage.listening.http;
  const connection = await bareSocket(stage);
  connection.socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1_000 }, () => ping("x".repeat(PING_BYTES))));
  while (stats.sockets.count > 0) {
    connection.socket.write(pings);
    await stage.listening.settled();
  }
  expect(stats.answers.abandoned).toBe(1);
});

test("who breaks the credit gets the answers that were left unread, then 4009", async () => {
  const { stage, stats } = await timed();
  const connection = await bareSocket(stage);
  await leaveUnread(stage, connection);
  const frame = Array.from({ length: 65 }, (_, n) => stage.command(n, "unlock", "ann", "A1"));
  connection.socket.write(masked(JSON.stringify(frame)));
  await stage.listening.settled();
  expect([stats.sockets.count, stats.answers.count]).toEqual([1, 1]);
  connection.socket.resume();
  await until(() => connection.socket.closed);
  expect(connection.text).toMatch(/the frame is beyond the credit$/);
  expect([stats.sockets.count, stats.answers.heldBytes]).toEqual([0, 0]);
});

test("a message that is longer than any frame ends the connection before it has come", async () => {
  const stage = await CommandStage.start();
  const connection = await bareSocket(stage);
  connection.socket.write(headOf(128 * 1_024 + 1));
  await until(() => connection.socket.closed);
  expect(stage.listening.http.stats.sockets.count).toBe(0);
});

test("a frame that comes byte by byte is decided once it is whole", async () => {
  const stage = await CommandStage.start();
  const connection = await bareSocket(stage);
  const frame = masked(JSON.stringify([stage.command(7, "lock", "bob", "B1")]));
  for (const byte of frame) {
    expect(connection.text).not.toContain('"n":7');
    connection.socket.write(Uint8Array.of(byte));
    await new Promise(setImmediate);
  }
  await until(() => connection.text.includes('{"n":7,"status":200,"body":true}'));
});

test("a thousand connections with half a frame each hold up nobody", async () => {
  const stage = await CommandStage.start();
  const { stats } = stage.listening.http;
  const half = masked(largeFrame(stage)).subarray(0, 20_000);
  const connections: Connection[] = [];
  for (let i = 0; i < 1_000; i++) {
    const connection = await bareSocket(stage);
    connection.socket.write(half);
    connections.push(connection);
  }
  expect(stats.sockets.count).toBe(1_000);
  await expectServing(stage);
  for (const { socket } of connections) socket.destroy();
  await until(() => stats.sockets.count <= 1);
  expect([stats.bodyBudget.bytes, stats.answers.count]).toEqual([0, 0]);
});
