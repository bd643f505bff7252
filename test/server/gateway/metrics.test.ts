/** The metrics of a gateway. */
import { expect, test } from "vitest";
import { GatewayMetrics } from "../../../server/gateway/front.ts";
import { GatewayStage } from "../../support/gateway/stage.ts";

test("the metrics are computed at most once a second, however often they are read", async () => {
  const { gateway, engine } = await GatewayStage.start();
  let nowMs = 5_000;
  const metrics = new GatewayMetrics(() => nowMs);
  metrics.parts = { front: gateway.front, http: engine.stats };
  const passed = async () =>
    /^frontrow_gateway_passed_total\{status="200"\} (\d+)$/m.exec(
      String((await metrics.answer()).body),
    )?.[1];
  metrics.passed(200);
  expect(await passed()).toBe("1");
  metrics.passed(200);
  nowMs = 5_999;
  expect(await passed()).toBe("1");
  nowMs = 6_000;
  expect(await passed()).toBe("2");
});
