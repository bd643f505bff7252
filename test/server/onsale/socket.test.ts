/** A whole sale over the command socket. */
import { expect, test } from "vitest";
import { CommandStage } from "../commands/stage.ts";
import { until } from "../wire/connection.ts";
import { expectSoldOut, layoutFlags, playReport } from "./play.ts";

test.each([["lock", []] as const, ["best", ["--best"]] as const])(
  "over one WebSocket, by %s → a crowd buys every seat and place",
  { timeout: 90_000 },
  async (call, more) => {
    const { listening, server } = await CommandStage.start();
    const flags = ["--url", listening.base, "--key", server.a.key, "--socket", "--buyers", "40"];
    const played = await playReport(...flags, ...layoutFlags(), ...more);
    expectSoldOut(played);
    const { traffic } = server.services.commands;
    const { [call]: taken, sale } = played.latency;
    expect(taken.count).toBeGreaterThanOrEqual(sale.count);
    expect(traffic.count).toBeGreaterThanOrEqual(taken.count + sale.count);
    await until(() => listening.http.stats.sockets.count === 0);
  },
);
