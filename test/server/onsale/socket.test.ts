/** A whole sale over the command socket. */
import { expect, test } from "vitest";
import { CommandStage } from "../commands/stage.ts";
import { until } from "../wire/connection.ts";
import { expectSoldOut, layoutFlags, playReport } from "./play.ts";

test("over one WebSocket a crowd buys every seat and place", { timeout: 90_000 }, async () => {
  const { listening, server } = await CommandStage.start();
  const flags = ["--url", listening.base, "--key", server.a.key, "--socket", "--buyers", "40"];
  const played = await playReport(...flags, ...layoutFlags());
  expectSoldOut(played);
  const { traffic } = server.services.commands;
  const { lock, sale } = played.latency;
  expect(traffic.count).toBeGreaterThanOrEqual(lock.count + sale.count);
  await until(() => listening.http.stats.sockets.count === 0);
});
