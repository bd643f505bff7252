/** Webhooks as the server's thread sees them. */
import { expect, onTestFinished, test } from "vitest";
import { Keys } from "../../../server/auth/keys.ts";
import { LISTS_MAX, Webhooks } from "../../../server/webhooks/webhooks.ts";
import { World } from "../../support/engine.ts";
import { section } from "../../support/layout.ts";
import { TestServer } from "../../support/server.ts";

function webhooksOf({ engine }: World): Webhooks {
  const { audit } = new TestServer().services;
  const keys = new Keys("ab".repeat(32), engine.state.catalog);
  const places = { folder: "/nowhere", storeId: "none" };
  const webhooks = new Webhooks({
    engine,
    audit,
    keys,
    ...places,
    allowsPrivate: false,
    report: () => {},
  });
  onTestFinished(() => webhooks.close());
  return webhooks;
}

test("a hundred lists of deliveries may wait, and the next one is refused", async () => {
  const webhooks = webhooksOf(new World([section("Stalls", { A: "1" })]));
  webhooks.begin();
  for (let i = 0; i < LISTS_MAX; i++) void webhooks.list(7, 0, 20);
  expect(await webhooks.list(7, 0, 20)).toBeNull();
});

test("before it has begun, there are no deliveries", async () => {
  const webhooks = webhooksOf(new World([section("Stalls", { A: "1" })]));
  expect(await webhooks.list(7, 0, 20)).toEqual({ rows: [], total: 0 });
});
