// Topics of the v2 client: the booking commands, and repeated requests.

import assert from "node:assert/strict";
import { done, invalid, isFalse, isTrue, page, problem, step } from "./v2-kit.mjs";
import { area, book, counts, inState, onSale, seats, seatsOf } from "./v2-stage.mjs";

export async function bookings(world) {
  const { api } = world;
  const show = await onSale(world, "Booked");
  const [one, two, three, four] = show.a;
  const call = (verb, ids, more) => book(api, verb, show.id, seats(ids, more));
  const ann = { sessionId: "ann", holdType: null, cartSeatIds: null };
  await step("seats are locked, sold and reverted", async () => {
    isTrue(await call("lock", [one, two], ann));
    await inState(api, show.id, [one, two], "LOCKED");
    isTrue(await call("sale", [one, two], ann));
    await inState(api, show.id, [one, two], "SOLD");
    isTrue(await call("revertsale", [one, two]));
    await inState(api, show.id, [one, two], "ACTIVE");
    const seat = (await seatsOf(api, show.id)).find(({ seatId }) => seatId === one);
    assert.deepEqual([seat.priceId, seat.available], [show.price.id, true]);
  });
  await step("a check answers as the call would, and changes nothing", async () => {
    const check = (verb, ids, more) =>
      api.post(`/booking/check?eventId=${show.id}&call=${verb}`, seats(ids, more));
    isTrue(await check("lock", [one, two], ann));
    const refused = await check("sale", [one]);
    const errors = [{ field: "seats[0].id", rejectedValue: one, code: "ACTIVE" }];
    // The problem is that of the call.
    const path = refused.path.replace("check", "sale");
    problem({ ...refused, path }, 400, "INVENTORY_NOT_AVAILABLE", errors);
    await inState(api, show.id, [one, two], "ACTIVE");
  });
  await step("the best places are locked together, or the answer says how many are", async () => {
    const best = (more) => api.post(`/booking/best?eventId=${show.id}`, { ...ann, ...more });
    const dry = await api.post(`/booking/check?eventId=${show.id}&call=best`, { quantity: 2 });
    const wanted = done(dry).seats.map(({ id }) => id);
    const held = done(await best({ quantity: 2 }));
    assert.deepEqual([held.seats.map(({ id }) => id), held.together], [wanted, true]);
    assert.deepEqual([held.groupOfSeats, held.areas], [[], []]);
    assert.ok(
      held.seats.every(({ state, fence }) => state === "LOCKED" && fence === held.sequence),
    );
    isTrue(await call("unlock", wanted, ann));
    const places = done(await best({ quantity: 20, groupOfSeatsIds: [show.pit] }));
    assert.deepEqual(places.groupOfSeats, [{ id: show.pit, capacity: 20 }]);
    isTrue(await book(api, "unlock", show.id, { ...ann, groupOfSeats: places.groupOfSeats }));
    const none = await best({ quantity: 20 });
    const errors = [{ field: "quantity", rejectedValue: 20, code: "NOTHING_SUITABLE" }];
    problem(none, 409, "NOTHING_SUITABLE", errors);
    assert.deepEqual([none.body.largestTogether, none.body.available], [10, 30]);
    const apart = done(await best({ quantity: 20, adjacent: "preferred" }));
    assert.deepEqual([apart.together, apart.seats.length], [false, 20]);
    const ids = apart.seats.map(({ id }) => id);
    isTrue(await call("unlock", ids, ann));
  });
  await step(
    "with best effort, what can be had is held, and the rest has alternatives",
    async () => {
      const lock = (...ids) => {
        const body = { ...ann, seats: ids.map((id) => ({ id })) };
        return api.post(`/booking/lock?eventId=${show.id}&mode=best-effort`, body);
      };
      isTrue(await call("lock", [two], { sessionId: "other" }));
      const held = done(await lock(one, two));
      assert.deepEqual([held.seats.map(({ id }) => id), held.groupOfSeats], [[one], []]);
      const [refused, ...more] = held.refused;
      assert.deepEqual([refused.field, refused.code, more], ["seats[1].id", "LOCKED", []]);
      assert.ok(refused.alternatives.every(({ id }) => id !== one && id !== two));
      const none = await lock(two);
      assert.equal(none.status, 400);
      assert.ok(Array.isArray(none.body.errors[0].alternatives));
      isTrue(await call("unlock", [one, two]));
    },
  );
  await step("a cart makes several calls at once, or none of them", async () => {
    const item = (verb, ids, more) => ({ eventId: show.id, call: verb, ...seats(ids), ...more });
    const cart = (...items) => api.post("/booking/cart", { sessionId: "ann", items });
    const held = done(await cart(item("lock", [one]), item("lock", [two]), item("block", [three])));
    assert.deepEqual(
      held.items.map(({ eventId, seats: [seat] }) => [eventId, seat.state, seat.fence]),
      ["LOCKED", "LOCKED", "BLOCKED"].map((state) => [show.id, state, held.sequence]),
    );
    const refused = await cart(item("unlock", [one]), item("lock", [two]));
    const field = "items[1].seats[0].id";
    const errors = [{ field, rejectedValue: two, code: "HELD_BY_THIS_SESSION" }];
    problem(refused, 400, "INVENTORY_NOT_AVAILABLE", errors);
    await inState(api, show.id, [one, two], "LOCKED");
    const late = { ifSequence: held.sequence - 1 };
    const stale = [
      { field: "items[0].ifSequence", rejectedValue: late.ifSequence, code: "CHANGED" },
    ];
    problem(await cart(item("unlock", [one], late)), 409, "CHANGED", stale);
    const { fence } = held.items[0].seats[0];
    done(await cart(item("unlock", [one, two], { fence }), item("unblock", [three])));
    await inState(api, show.id, [one, two, three], "ACTIVE");
    const best = { eventId: show.id, call: "best" };
    const { items } = done(await cart(item("lock", [one]), { ...best, quantity: 1 }));
    const [chosen] = items[1].seats;
    assert.ok(chosen.id !== one && chosen.state === "LOCKED");
    const many = await cart(item("lock", [two]), { ...best, quantity: 50, accessible: 50 });
    const nothing = { field: "items[1].quantity", rejectedValue: 50, code: "NOTHING_SUITABLE" };
    problem(many, 409, "NOTHING_SUITABLE", [nothing]);
    done(await cart({ eventId: show.id, call: "unlock", all: true }));
  });
  await step("the holds of a session are listed, and the figures count them", async () => {
    isTrue(await call("lock", [three, four], ann));
    const [hold] = page(await api.get(`/events/${show.id}/holds/?sessionId=ann`), { total: 1 });
    assert.deepEqual([hold.seats, hold.areas], [[three, four], []]);
    assert.ok(Date.parse(`${hold.until}Z`) > Date.parse(`${hold.since}Z`));
    const { total, bySection } = done(await api.get(`/events/${show.id}/summary/`));
    assert.equal(total.locked, 2);
    assert.equal(bySection.find(({ name }) => name === "Stalls").locked, 2);
    isTrue(await call("unlock", [three, four], ann));
  });
  await step("a hold is extended as far as its type allows", async () => {
    isTrue(await call("lock", [three, four], ann));
    const extend = (more) =>
      api.post(`/booking/extend?eventId=${show.id}`, { seconds: 60, ...more });
    const held = done(await extend({ sessionId: "ann" }));
    assert.deepEqual(
      held.seats.map(({ id, state, expiresAt }) => [id, state, expiresAt]),
      [three, four].map((id) => [id, "LOCKED", held.until]),
    );
    const errors = [{ field: "sessionId", rejectedValue: "bob", code: "NOT_FOUND" }];
    problem(await extend({ sessionId: "bob" }), 400, "INVENTORY_NOT_AVAILABLE", errors);
    invalid(await extend({}), "seats");
    isTrue(await call("unlock", [three, four], { ...ann, fence: held.seats[0].fence }));
  });
  await step("a refusal names every refused seat and changes nothing", async () => {
    isTrue(await call("lock", [one]));
    isTrue(await call("directsale", [two]));
    isTrue(await call("block", [three]));
    const answer = await call("lock", [one, two, three, four, 999999999]);
    problem(answer, 400, "INVENTORY_NOT_AVAILABLE", [
      { field: "seats[0].id", rejectedValue: one, code: "LOCKED" },
      { field: "seats[1].id", rejectedValue: two, code: "SOLD" },
      { field: "seats[2].id", rejectedValue: three, code: "BLOCKED" },
      { field: "seats[4].id", rejectedValue: 999999999, code: "NOT_FOUND" },
    ]);
    await inState(api, show.id, [four], "ACTIVE");
  });
}

export async function generalAdmission(world) {
  const { api } = world;
  const show = await onSale(world, "Standing");
  const { pit } = show;
  const call = (verb, capacity) => book(api, verb, show.id, area(pit, capacity));
  await step("places of an area are locked, sold, reverted, blocked and unblocked", async () => {
    isTrue(await call("lock", 10));
    await counts(api, show.id, pit, { active: 40, locked: 10 });
    isTrue(await call("unlock", 4));
    isTrue(await call("sale", 5));
    await counts(api, show.id, pit, { active: 44, locked: 1, sold: 5 });
    isTrue(await call("revertsale", 2));
    isTrue(await call("block", 6));
    await counts(api, show.id, pit, { active: 40, locked: 1, sold: 3, blocked: 6 });
    isTrue(await call("unblock", 1));
    isTrue(await call("directsale", 7));
    await counts(api, show.id, pit, { active: 34, locked: 1, sold: 10, blocked: 5 });
  });
}

export async function directSales(world) {
  const { api } = world;
  const show = await onSale(world, "Box office");
  const [one, two] = show.a;
  await step("a direct sale sells at once, or is false and changes nothing", async () => {
    const both = { ...seats([one]), groupOfSeats: [{ id: show.pit, capacity: 5 }] };
    isTrue(await book(api, "directsale", show.id, { ...both, holdType: "COMP" }));
    await counts(api, show.id, show.pit, { active: 45, sold: 5 });
    isFalse(await book(api, "directsale", show.id, seats([two, one])));
    await inState(api, show.id, [one], "SOLD");
    await inState(api, show.id, [two], "ACTIVE");
  });
}

export async function retries(world) {
  const { api } = world;
  const show = await onSale(world, "Once only");
  const once = (name) => ({ "Idempotency-Key": `${name}-${world.run}` });
  const same = (first, second) =>
    assert.deepEqual([second.status, second.text], [first.status, first.text]);
  await step("a repeated request gets the first answer and acts once", async () => {
    const lock = () => book(api, "lock", show.id, seats([show.a[0]]), once("lock"));
    const first = await lock();
    isTrue(first);
    same(first, await lock());
    const venue = () => api.post("/venues/", { name: "Once" }, once("venue"));
    const made = await venue();
    done(made, 201);
    same(made, await venue());
  });
}
