/** Clients that do not read, that send more than their share, and that send while others wait. */
import { expect, test } from "vitest";
import { until } from "../wire/connection.ts";
import { bareSocket, largeFrame, masked } from "./bare-socket.ts";
import { CommandStage } from "./stage.ts";

test("while answers are not read, nothing more of the connection is decided", async () => {
  const stage = await CommandStage.start();
  const { stats } = stage.listening.http;
  const { traffic } = stage.server.services.commands;
  const connection = await bareSocket(stage);
  connection.socket.pause();
  const frame = masked(largeFrame(stage));
  const frames = 300;
  for (let i = 0; i < frames; i++) connection.socket.write(frame);
  await until(() => stats.answers.count === 1 && stats.bodyBudget.bytes > 0);
  for (let i = 0; i < 5; i++) await stage.listening.settled();
  const decided = traffic.count;
  await stage.listening.settled();
  expect(traffic.count).toBe(decided);
  expect(decided).toBeLessThan(3 * frames);
  const other = await stage.open();
  expect(await other.ask(stage.command(1, "lock", "ann", "A1"))).toMatchObject([{ body: true }]);
  connection.socket.resume();
  await until(() => traffic.count === 3 * frames + 1);
  await until(() => stats.bodyBudget.bytes === 0 && stats.answers.count === 0);
});

test("beyond the memory for waiting frames the connection closes", async () => {
  const stage = await CommandStage.start({ bodyLimits: { organization: 256 * 1_024 } });
  const { stats } = stage.listening.http;
  const connection = await bareSocket(stage);
  connection.socket.pause();
  const frame = masked(largeFrame(stage));
  for (let i = 0; i < 300; i++) connection.socket.write(frame);
  await until(() => stats.bodyBudget.refused === 1);
  connection.socket.resume();
  await until(() => connection.socket.closed);
  expect(stats.bodyBudget.bytes).toBe(0);
});

test("frames of one connection are decided between the frames of another", async () => {
  const stage = await CommandStage.start();
  const [busy, calm] = [await bareSocket(stage), await bareSocket(stage)];
  const { engine, journal } = stage.server;
  journal.withholds = true;
  const before = engine.sequence;
  const frameOf = (call: string, session: string, label: string) =>
    masked(JSON.stringify([stage.command(1, call, session, label)]));
  const frames = Array.from({ length: 40 }, (_, i) =>
    frameOf(i % 2 === 0 ? "lock" : "unlock", "ann", "A1"),
  );
  // All arrive in one turn of the loop: those of the first connection before the others.
  busy.socket.write(Buffer.concat(frames));
  calm.socket.write(Buffer.concat(["B1", "B2", "B3"].map((seat) => frameOf("lock", "bob", seat))));
  await until(() => engine.sequence === before + 43);
  const moves = journal.kept.slice(-43).map(({ record }) => record);
  const last = moves.findLastIndex((record) => "session" in record && record.session === "bob");
  expect(last).toBeLessThan(10);
  journal.sync();
});
