// A topic of the v2 client: webhooks. Nothing arrives: the webhook is never active, and the name of
// its receiver has no address.

import assert from "node:assert/strict";
import { done, invalid, members, missing, page, problem, step } from "./v2-kit.mjs";

const URL = "https://receiver.example/hook";
const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/;

export async function webhooks(world) {
  const { api } = world;
  const body = { url: URL, events: ["change", "soldout"], active: false };
  let hook;
  await step("a webhook is created, and shows its secret this once", async () => {
    hook = done(await api.post("/webhooks/", body), 201);
    members(hook, { id: "long", url: "text", events: "array", eventIds: "array" });
    assert.match(hook.secret, SECRET);
    const shown = done(await api.get(`/webhooks/${hook.id}`));
    assert.deepEqual(shown, { id: hook.id, ...body, eventIds: [] });
    assert.deepEqual(page(await api.get("/webhooks/"), { total: 1 }), [shown]);
  });
  await step("addresses that are private and events that are unknown are refused", async () => {
    invalid(await api.post("/webhooks/", { ...body, url: "https://127.0.0.1/" }), "url");
    invalid(await api.post("/webhooks/", { ...body, url: "http://receiver.example/" }), "url");
    invalid(await api.post("/webhooks/", { ...body, events: [] }), "events");
    const eventIds = ["00000000-0000-4000-8000-00000000ffff"];
    problem(await api.post("/webhooks/", { ...body, eventIds }), 403, "EVENT_ACCESS_DENIED");
  });
  await step("a webhook is replaced as a whole, and its secret is rotated", async () => {
    const put = { id: hook.id, ...body, events: ["status"] };
    assert.deepEqual(done(await api.put("/webhooks/", put)), { ...put, eventIds: [] });
    const rotated = done(await api.post(`/webhooks/${hook.id}/rotate`, { graceSeconds: 60 }));
    assert.match(rotated.secret, SECRET);
    assert.notEqual(rotated.secret, hook.secret);
  });
  await step("a test says why no answer came, and a retry that nothing waits", async () => {
    const tested = done(await api.post(`/webhooks/${hook.id}/test`));
    members(tested, { milliseconds: "long", error: "text" });
    assert.equal(tested.status, null);
    assert.match(tested.error, /\.$/);
    assert.deepEqual(done(await api.post(`/webhooks/${hook.id}/retry`), 202), { due: 0 });
    missing(await api.post("/webhooks/999999/test"));
    missing(await api.post("/webhooks/999999/retry"));
  });
  await step("nothing was sent, and a deleted webhook is gone", async () => {
    page(await api.get(`/webhooks/${hook.id}/deliveries/`), { total: 0 });
    done(await api.delete(`/webhooks/${hook.id}`), 204);
    missing(await api.get(`/webhooks/${hook.id}`));
  });
}
