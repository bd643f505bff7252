// Topics of the v2 client: hold types, orphan seats, idempotency.

import assert from "node:assert/strict";
import { done, invalid, isTrue, problem, step } from "./v2-kit.mjs";
import { area, becomes, book, inState, onSale, seats, seatsOf } from "./v2-stage.mjs";

export async function holdTypes(world) {
  const { api, manageOwn } = world;
  const show = await onSale(world, "Held");
  const [one, two, three] = show.a;
  const lock = (ids, holdType) =>
    book(api, "lock", show.id, seats(ids, { sessionId: "ann", holdType }));
  await step("an organization sets its hold types", async () => {
    const types = [
      { name: "SHORT", ttlSeconds: 1 },
      { name: "FOREVER", ttlSeconds: null },
    ];
    done(await manageOwn.put("/hold-types/", types));
    invalid(await manageOwn.put("/hold-types/", [{ ttlSeconds: 1 }]), "[0].name");
  });
  await step("known hold types are accepted, an unknown one is 400", async () => {
    isTrue(await lock([two], "RESERVED"));
    isTrue(await lock([three], "FOREVER"));
    isTrue(await lock([show.a[3]], "CART"));
    invalid(await lock([one], "UNKNOWN"), "holdType");
    await inState(api, show.id, [one], "ACTIVE");
  });
  await step("after a short hold its sale is refused, and others may lock", async () => {
    isTrue(await lock([one], "SHORT"));
    isTrue(await book(api, "lock", show.id, area(show.pit, 4, { holdType: "SHORT" })));
    await becomes(api, show.id, one, "ACTIVE");
    const late = await book(api, "sale", show.id, seats([one], { sessionId: "ann" }));
    problem(late, 400, "INVENTORY_NOT_AVAILABLE", [
      { field: "seats[0].id", rejectedValue: one, code: "ACTIVE" },
    ]);
    isTrue(await book(api, "lock", show.id, seats([one], { sessionId: "bob" })));
    await inState(api, show.id, [two, three], "LOCKED");
  });
  await step("the end of a hold is a change for those who poll", async () => {
    const [{ updatedAt }] = await seatsOf(api, show.id, "sort=updatedAt,desc");
    isTrue(await lock([show.b[0]], "SHORT"));
    await becomes(api, show.id, show.b[0], "ACTIVE");
    const changed = await seatsOf(api, show.id, `lastUpdated=${updatedAt}`);
    const seat = changed.find(({ seatId }) => seatId === show.b[0]);
    assert.equal(seat.state, "ACTIVE");
    assert.ok(seat.updatedAt > updatedAt);
  });
}

export async function orphans(world) {
  const { api, manage, organization } = world;
  const show = await onSale(world, "No lonely seat");
  const [, second] = show.a;
  const path = `/organizations/${organization.id}/settings`;
  const switched = async (orphanPrevention) => {
    const asked = { salesControl: true, bookingEnabled: true, orphanPrevention };
    const put = done(await manage.put(path, asked));
    assert.deepEqual({ ...put, ...asked }, put);
  };
  await step("a lock that leaves a seat alone is 422 and names the requested seat", async () => {
    await switched(true);
    const answer = await book(api, "lock", show.id, seats([second, show.b[0]]));
    await switched(false);
    problem(answer, 422, "ORPHAN_SEAT", [
      { field: "seats[0].id", rejectedValue: second, code: "ORPHAN_SEAT" },
    ]);
    await inState(api, show.id, [second, show.b[0]], "ACTIVE");
  });
}

export async function idempotency(world) {
  const { api } = world;
  const show = await onSale(world, "Once only");
  const [one, two] = show.a;
  const once = (name) => ({ "Idempotency-Key": `${name}-${world.run}` });
  const same = (first, second) =>
    assert.deepEqual([second.status, second.text], [first.status, first.text]);
  const lock = (ids, name) => book(api, "lock", show.id, seats(ids), once(name));
  await step("a repeated request gets the first answer and acts once", async () => {
    const first = await lock([one], "lock");
    isTrue(first);
    same(first, await lock([one], "lock"));
    const venue = () => api.post("/venues/", { name: "Once" }, once("venue"));
    const made = await venue();
    done(made, 201);
    same(made, await venue());
  });
  await step("a key with another body or path is 422", async () => {
    problem(await lock([two], "lock"), 422, "IDEMPOTENCY_KEY_REUSED");
    const other = await book(api, "unlock", show.id, seats([one]), once("lock"));
    problem(other, 422, "IDEMPOTENCY_KEY_REUSED");
    await inState(api, show.id, [one], "LOCKED");
    await inState(api, show.id, [two], "ACTIVE");
  });
  await step("a retry gets the first answer, even if its hold type no longer exists", async () => {
    const path = "/hold-types/";
    done(await world.manageOwn.put(path, [{ name: "BRIEF", ttlSeconds: 60 }]));
    const body = seats([show.b[2]], { holdType: "BRIEF" });
    const first = await book(api, "lock", show.id, body, once("brief"));
    isTrue(first);
    done(await world.manageOwn.put(path, []));
    same(first, await book(api, "lock", show.id, body, once("brief")));
    invalid(await book(api, "lock", show.id, body), "holdType");
    isTrue(await book(api, "unlock", show.id, seats([show.b[2]])));
  });
}
