// Topics of the v2 client: updates with what was read, races, and pages that need no key.

import assert from "node:assert/strict";
import { caller, done, page, problem, step } from "./v2-kit.mjs";
import { area, book, counts, inState, onSale, seats } from "./v2-stage.mjs";

export async function echoes(world) {
  const { api, manage, event, schema } = world;
  await step("an object that was read can be sent back as an update", async () => {
    const read = done(await api.get(`/events/${event.id}`));
    assert.equal(done(await api.put("/events/", { ...read, name: "Hamlet II" })).name, "Hamlet II");
    const organization = done(await manage.get(`/organizations/${world.organization.id}`));
    assert.deepEqual(done(await manage.put("/organizations/", organization)), organization);
    const stored = done(await api.get(`/schemas/${schema.id}`));
    assert.deepEqual(done(await api.put("/schemas/", stored)), stored);
  });
}

export async function races(world) {
  const { api } = world;
  const show = await onSale(world, "Race");
  const lock = (body) => book(api, "lock", show.id, body);
  await step("of fifty buyers of two seats, one gets them", async () => {
    const [seat] = show.b;
    const buyers = Array.from({ length: 50 }, (_, index) => `buyer ${index}`);
    const wishes = buyers.map((sessionId) => lock(seats([seat, show.b[1]], { sessionId })));
    const answers = await Promise.all(wishes);
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      problem(answer, 400, "INVENTORY_NOT_AVAILABLE");
    }
  });
  await step("of fifty buyers of two places each, 25 get the fifty places of an area", async () => {
    const wishes = Array.from({ length: 50 }, () => lock(area(show.pit, 2)));
    const answers = await Promise.all(wishes);
    assert.equal(answers.filter(({ status }) => status === 200).length, 25);
    await counts(api, show.id, show.pit, { active: 0, locked: 50 });
  });
  await step("events of one schema share its layout, but no states and prices", async () => {
    const second = await onSale(world, "Same house");
    assert.deepEqual(second.b, show.b);
    await inState(api, second.id, second.b, "ACTIVE");
    page(await api.get(`/event/${second.id}/prices/`), { total: 1 });
  });
}

export async function documents() {
  const open = caller("", {});
  const read = async (path) => {
    const answer = await open.get(path);
    assert.equal(answer.status, 200, `${path} is ${answer.status}`);
    return answer;
  };
  await step("health, readiness, metrics and reference need no key", async () => {
    for (const path of ["/healthz", "/readyz", "/metrics", "/docs", "/docs/reference", "/"])
      await read(path);
  });
}
