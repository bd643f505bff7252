// Topics of the v2 client: hold types, orphan seats, settings, idempotency, error bodies.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { V1, V2, caller, done, invalid, isFalse, isTrue, problem } from "./v2-kit.mjs";
import { sleep, step, withKey } from "./v2-kit.mjs";
import { area, book, counts, inState, newPrice, onSale, seats, seatsOf } from "./v2-stage.mjs";

export async function holdTypes(world) {
  const { api, manageOwn } = world;
  const show = await onSale(world, "Held");
  const [one, two, three] = show.a;
  const lock = (ids, holdType) =>
    book(api, "lock", show.id, seats(ids, { sessionId: "ann", holdType }));
  await step("hold types are set for the organization", async () => {
    const types = [
      { name: "SHORT", ttlSeconds: 1 },
      { name: "FOREVER", ttlSeconds: null },
    ];
    done(await manageOwn.put("/hold-types/", types));
    invalid(await manageOwn.put("/hold-types/", [{ ttlSeconds: 1 }]), "[0].name");
  });
  await step("known hold types are taken, an unknown one is 400", async () => {
    isTrue(await lock([two], "RESERVED"));
    isTrue(await lock([three], "FOREVER"));
    isTrue(await lock([show.a[3]], "CART"));
    invalid(await lock([one], "UNKNOWN"), "holdType");
    await inState(api, show.id, [one], "ACTIVE");
  });
  await step("a short hold runs out: its sale is refused, and others may lock", async () => {
    isTrue(await lock([one], "SHORT"));
    isTrue(await book(api, "lock", show.id, area(show.pit, 4, { holdType: "SHORT" })));
    await inState(api, show.id, [one], "LOCKED");
    await sleep(1050);
    const late = await book(api, "sale", show.id, seats([one], { sessionId: "ann" }));
    problem(late, 400, "INVENTORY_NOT_AVAILABLE", [
      { field: "seats[0].id", rejectedValue: one, code: "ACTIVE" },
    ]);
    isTrue(await book(api, "lock", show.id, seats([one], { sessionId: "bob" })));
    await counts(api, show.id, show.pit, { active: 50 });
    await inState(api, show.id, [two, three], "LOCKED");
  });
  await step("without any command it is announced within a second", async () => {
    isTrue(await lock([show.b[0]], "SHORT"));
    const { updatedAt } = (await seatsOf(api, show.id, "sort=updatedAt,desc")).at(0);
    await sleep(2100);
    const changed = await seatsOf(api, show.id, `lastUpdated=${updatedAt}`);
    const seat = changed.find(({ seatId }) => seatId === show.b[0]);
    assert.equal(seat?.state, "ACTIVE");
    assert.ok(seat.updatedAt > updatedAt);
  });
}

const USUAL = { salesControl: true, bookingEnabled: true, orphanPrevention: false };

/** Runs with some settings of the organization changed, and sets them back. */
async function withSettings(world, settings, run) {
  const path = `/organizations/${world.organization.id}/settings`;
  const asked = { ...USUAL, ...settings };
  const put = done(await world.manage.put(path, asked));
  assert.deepEqual({ ...put, ...asked }, put);
  try {
    await run();
  } finally {
    done(await world.manage.put(path, USUAL));
  }
}

export async function orphans(world) {
  const { api } = world;
  const show = await onSale(world, "No lonely seat");
  const seat = (number) => show.a[number - 1];
  const call = (verb, ids) => book(api, verb, show.id, seats(ids));
  const named = (...found) =>
    found.map(([index, id]) => ({
      field: `seats[${index}].id`,
      rejectedValue: id,
      code: "ORPHAN_SEAT",
    }));
  const prevented = (run) => withSettings(world, { orphanPrevention: true }, run);
  await step("a lock that leaves one seat alone is 422 and names the seat beside it", () =>
    prevented(async () => {
      const answer = await call("lock", [seat(2), show.b[0]]);
      problem(answer, 422, "ORPHAN_SEAT", named([0, seat(2)]));
      await inState(api, show.id, [seat(2), show.b[0]], "ACTIVE");
      const lost = await call("lock", [seat(2), 999999999]);
      problem(lost, 400, "INVENTORY_NOT_AVAILABLE");
    }),
  );
  await step("a lock that leaves none alone is taken", () =>
    prevented(async () => {
      isTrue(await call("lock", [seat(1), seat(2)]));
      problem(await call("lock", [seat(4)]), 422, "ORPHAN_SEAT", named([0, seat(4)]));
      const around = await call("lock", [seat(3), seat(5)]);
      problem(around, 422, "ORPHAN_SEAT", named([0, seat(3)], [1, seat(5)]));
      isTrue(await call("lock", [seat(3), seat(4)]));
    }),
  );
  await step("a seat that was alone already may be taken", async () => {
    isTrue(await call("lock", [seat(6)]));
    await prevented(async () => isTrue(await call("lock", [seat(5)])));
  });
  await step("a sale is judged as if its seats were still free", async () => {
    const other = await onSale(world, "Judged again");
    const pair = seats([other.a[1]]);
    isTrue(await book(api, "lock", other.id, pair));
    await prevented(async () => {
      const answer = await book(api, "sale", other.id, pair);
      problem(answer, 422, "ORPHAN_SEAT", named([0, other.a[1]]));
      await inState(api, other.id, [other.a[1]], "LOCKED");
    });
    isTrue(await book(api, "sale", other.id, pair));
  });
  await step("tables and direct sales are never refused for it", () =>
    prevented(async () => {
      isTrue(await call("lock", [show.table[1]]));
      isTrue(await call("directsale", [show.b[1]]));
    }),
  );
}

export async function switches(world) {
  const { api } = world;
  const show = await onSale(world, "Switched");
  const [one, two] = show.a;
  const call = (verb, ids = [one]) => book(api, verb, show.id, seats(ids));
  await step("without sales control sale and revertsale are 403, the rest is not", async () => {
    isTrue(await call("directsale", [two]));
    await withSettings(world, { salesControl: false }, async () => {
      isTrue(await call("lock"));
      problem(await call("sale"), 403, "SALES_CONTROL_REQUIRED");
      problem(await call("revertsale", [two]), 403, "SALES_CONTROL_REQUIRED");
      isTrue(await call("unlock"));
      isTrue(await call("directsale"));
    });
    isTrue(await call("revertsale", [one, two]));
  });
  await step("an organization disabled for booking gets 402 on every booking call", () =>
    withSettings(world, { bookingEnabled: false }, async () => {
      const verbs = ["lock", "unlock", "sale", "revertsale", "directsale", "block", "unblock"];
      for (const verb of verbs) problem(await call(verb), 402, "ORGANIZATION_DISABLED");
      const legacy = withKey(V1, world.organization.secretKey);
      const body = [{ compositeKey: "Stalls;;A;;1", capacity: null }];
      for (const verb of ["lock", "sale", "unlock"]) {
        const answer = await legacy.post(`/booking/${verb}?id=${show.id}`, body);
        problem(answer, 402, "ORGANIZATION_DISABLED");
      }
    }),
  );
  await step("both on again, booking goes on", async () => {
    isTrue(await call("lock"));
    isTrue(await call("sale"));
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
  await step("the key with another body or path is 422", async () => {
    problem(await lock([two], "lock"), 422, "IDEMPOTENCY_KEY_REUSED");
    const other = await book(api, "unlock", show.id, seats([one]), once("lock"));
    problem(other, 422, "IDEMPOTENCY_KEY_REUSED");
    await inState(api, show.id, [one], "LOCKED");
    await inState(api, show.id, [two], "ACTIVE");
  });
  await step("a refusal by state is kept, byte for byte", async () => {
    const first = await lock([one], "refused");
    problem(first, 400, "INVENTORY_NOT_AVAILABLE");
    isTrue(await book(api, "unlock", show.id, seats([one])));
    same(first, await lock([one], "refused"));
    isTrue(await book(api, "directsale", show.id, seats([one]), once("direct")));
    const no = await book(api, "directsale", show.id, seats([one]), once("no"));
    isFalse(no);
    isTrue(await book(api, "revertsale", show.id, seats([one])));
    same(no, await book(api, "directsale", show.id, seats([one]), once("no")));
  });
  await step("a request that fails validation leaves its key free", async () => {
    const free = once("free");
    for (const wrong of [{}, seats([two, two]), seats([two], { holdType: "UNKNOWN" })]) {
      invalid(await book(api, "lock", show.id, wrong, free));
    }
    isTrue(await book(api, "unlock", show.id, seats([show.b[0]]), free));
    const misshapen = { seats: [{ id: "one" }] };
    invalid(await book(api, "unlock", show.id, misshapen, free), "seats[0].id");
  });
  await step("a replay is the first answer, though its hold type is gone by now", async () => {
    const path = "/hold-types/";
    done(await world.manageOwn.put(path, [{ name: "BRIEF", ttlSeconds: 60 }]));
    const wish = seats([show.b[2]], { holdType: "BRIEF" });
    const first = await book(api, "lock", show.id, wish, once("brief"));
    isTrue(first);
    done(await world.manageOwn.put(path, []));
    same(first, await book(api, "lock", show.id, wish, once("brief")));
    invalid(await book(api, "lock", show.id, wish), "holdType");
    isTrue(await book(api, "unlock", show.id, seats([show.b[2]])));
  });
  await step("a 409 and a failed validation are not kept", async () => {
    const path = `/event/${show.id}/prices/${show.price.id}`;
    isTrue(await book(api, "lock", show.id, seats([two])));
    problem(await api.delete(path, once("price")), 409, "INVENTORY_IN_USE");
    isTrue(await book(api, "unlock", show.id, seats([two])));
    done(await api.delete(path, once("price")), 204);
    done(await api.delete(path, once("price")), 204);
    invalid(await api.post("/venues/", {}, once("late venue")), "name");
    done(await api.post("/venues/", { name: "Late" }, once("late venue")), 201);
  });
  await step("a key that is too long or not printable is 400", async () => {
    for (const key of ["k".repeat(256), "a\tb"]) {
      const named = { "Idempotency-Key": key };
      problem(await api.post("/venues/", { name: "Odd key" }, named), 400, "VALIDATION_FAILED");
    }
  });
  await step("two requests with one key at the same moment act once", async () => {
    const series = () => api.post("/series/", { name: "Twins" }, once("twins"));
    const answers = await Promise.all([series(), series(), series()]);
    for (const answer of answers) {
      if (answer.status === 409) problem(answer, 409, "IDEMPOTENCY_IN_PROGRESS");
      else done(answer, 201);
    }
    const found = done(await api.get("/series/")).content.filter(({ name }) => name === "Twins");
    assert.equal(found.length, 1);
    done(await api.delete(`/series/${found[0].id}`), 204);
  });
}

export async function errorBodies(world) {
  const { api } = world;
  const show = await onSale(world, "Refused");
  const [one] = show.a;
  const lock = (body) => book(api, "lock", show.id, body);
  await step("a selection is validated field by field", async () => {
    invalid(await lock({}));
    invalid(await lock({ seats: [], groupOfSeats: [] }));
    invalid(await lock(seats([one, one])), "seats[1].id");
    invalid(await lock({ seats: [{ id: one, capacity: 1 }] }), "seats[0].capacity");
    invalid(await lock({ seats: [{ capacity: null }] }), "seats[0].id");
    invalid(await lock({ seats: [{ id: "7" }] }), "seats[0].id");
    invalid(await lock({ seats: [{ id: 2 ** 53 }] }), "seats[0].id");
    for (const capacity of [0, -1, 1.5, null, "2"]) {
      invalid(await lock(area(show.pit, capacity)), "groupOfSeats[0].capacity");
    }
    const twice = { ...area(show.pit, 1), groupOfSeats: [show.pit, show.pit].map(onePlace) };
    invalid(await lock(twice), "groupOfSeats[1].id");
    const many = Array.from({ length: 1001 }, (_, index) => ({ id: index + 1, capacity: null }));
    invalid(await lock({ seats: many }));
    await inState(api, show.id, [one], "ACTIVE");
  });
  await step("the event must be named, and by a UUID", async () => {
    invalid(await api.post("/booking/lock", seats([one])), "eventId");
    invalid(await book(api, "lock", "7", seats([one])), "eventId");
    problem(await book(api, "lock", randomUUID(), seats([one])), 403, "EVENT_ACCESS_DENIED");
  });
  await step("what is not JSON, or not an object, is MALFORMED_REQUEST or invalid", async () => {
    problem(await lock('{"seats":'), 400, "MALFORMED_REQUEST");
    problem(await lock(""), 400, "MALFORMED_REQUEST");
    assert.equal((await lock("[]")).status, 400);
    const nested = `{"seats":${"[".repeat(40)}${"]".repeat(40)}}`;
    assert.equal((await lock(nested)).status, 400);
    const polluted = `{"seats":[{"id":${one}}],"__proto__":{"admin":true}}`;
    assert.equal((await lock(polluted)).status, 400);
  });
  await step("another type is 415, too much is 413", async () => {
    const body = JSON.stringify(seats([one]));
    const text = await book(api, "lock", show.id, body, { "Content-Type": "text/plain" });
    problem(text, 415, "UNSUPPORTED_MEDIA_TYPE");
    const padded = JSON.stringify({ ...seats([one]), sessionId: "x".repeat(1 << 20) });
    problem(await lock(padded), 413, "PAYLOAD_TOO_LARGE");
    await inState(api, show.id, [one], "ACTIVE");
  });
  await step("an unknown path is 404, a wrong method 405", async () => {
    problem(await api.get("/nothing/"), 404, "ENTITY_NOT_FOUND");
    problem(await api.patch("/events/", {}), 405, "METHOD_NOT_ALLOWED");
    problem(await api.delete("/booking/lock"), 405, "METHOD_NOT_ALLOWED");
  });
  await step("the first that is wrong answers", async () => {
    const stranger = caller(V2, {});
    problem(await book(stranger, "lock", randomUUID(), {}), 403, "ACCESS_DENIED");
    problem(await book(stranger, "lock", show.id, "{"), 403, "ACCESS_DENIED");
    invalid(await book(api, "lock", randomUUID(), {}));
    await withSettings(world, { bookingEnabled: false, salesControl: false }, async () => {
      const none = await book(api, "sale", randomUUID(), seats([one]));
      problem(none, 403, "EVENT_ACCESS_DENIED");
      problem(await book(api, "sale", show.id, seats([one])), 402, "ORGANIZATION_DISABLED");
    });
    const draft = await onSale(world, "Draft first", { status: "DRAFT" });
    await withSettings(world, { salesControl: false }, async () => {
      const answer = await book(api, "sale", draft.id, seats([one]));
      problem(answer, 403, "SALES_CONTROL_REQUIRED");
    });
    const lost = await book(api, "directsale", draft.id, seats([999999999]));
    problem(lost, 422, "EVENT_NOT_PUBLISHED");
  });
  await step("prices of nothing are 404", async () => {
    const path = `/event/${randomUUID()}/prices/`;
    problem(await api.delete(`${path}7`), 404, "ENTITY_NOT_FOUND");
    assert.ok((await newPrice(api, show.id, "Still there")).id > 0);
  });
}

const onePlace = (id) => ({ id, capacity: 1 });
