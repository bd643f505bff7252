// Topics of the v2 client: lock, unlock, sale, revertsale, block, direct sale, areas and sessions.

import assert from "node:assert/strict";
import { done, invalid, isFalse, isTrue, problem, step, V1, withKey } from "./v2-kit.mjs";
import { area, book, counts, inState, onSale, seats, seatsOf } from "./v2-stage.mjs";

const refused = (answer, ...items) =>
  problem(answer, 400, "INVENTORY_NOT_AVAILABLE", items.length > 0 ? items : undefined);

const seatError = (index, rejectedValue, code) => ({
  field: `seats[${index}].id`,
  rejectedValue,
  code,
});

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
  await step("a locked seat is unlocked, and unlocking twice is safe", async () => {
    isTrue(await call("lock", [one]));
    isTrue(await call("unlock", [one]));
    isTrue(await call("unlock", [one]));
    await inState(api, show.id, [one], "ACTIVE");
  });
  await step("a refusal names every refused seat and changes nothing", async () => {
    isTrue(await call("lock", [one]));
    isTrue(await call("directsale", [two]));
    isTrue(await call("block", [three]));
    refused(
      await call("lock", [one, two, three, four, 999999999]),
      seatError(0, one, "LOCKED"),
      seatError(1, two, "SOLD"),
      seatError(2, three, "BLOCKED"),
      seatError(4, 999999999, "NOT_FOUND"),
    );
    await inState(api, show.id, [four], "ACTIVE");
  });
  await step("v1 sees the sales of v2", async () => {
    const legacy = withKey(V1, world.organization.secretKey);
    const body = [{ compositeKey: "Stalls;;A;;2", capacity: null }];
    const left = done(await legacy.post(`/booking/lock?id=${show.id}`, body));
    assert.deepEqual(left, body);
  });
}

export async function generalAdmission(world) {
  const { api } = world;
  const show = await onSale(world, "Standing");
  const { pit, lawn } = show;
  const call = (verb, capacity, more) => book(api, verb, show.id, area(pit, capacity, more));
  const short = { field: "groupOfSeats[0].capacity", code: "INSUFFICIENT_CAPACITY" };
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
  await step("more places than there are is refused", async () => {
    const calls = { lock: 35, unlock: 2, sale: 2, revertsale: 11, block: 35 };
    for (const [verb, capacity] of Object.entries(calls)) {
      refused(await call(verb, capacity), { ...short, rejectedValue: capacity });
    }
    isFalse(await call("directsale", 35));
    await counts(api, show.id, pit, { active: 34, locked: 1, sold: 10, blocked: 5 });
  });
  await step("a request with seats and areas is granted or refused as a whole", async () => {
    const both = (capacity) => ({
      ...seats([show.a[0]]),
      groupOfSeats: [{ id: lawn, capacity }],
    });
    refused(await book(api, "lock", show.id, both(21)), { ...short, rejectedValue: 21 });
    await inState(api, show.id, [show.a[0]], "ACTIVE");
    isTrue(await book(api, "lock", show.id, both(20)));
    await counts(api, show.id, lawn, { active: 0, locked: 20 });
    await inState(api, show.id, [show.a[0]], "LOCKED");
  });
}

export async function sessions(world) {
  const { api } = world;
  const show = await onSale(world, "Two buyers");
  const [one, two] = show.a;
  const call = (verb, ids, sessionId) => book(api, verb, show.id, seats(ids, { sessionId }));
  await step("a session acts only on its own holds", async () => {
    isTrue(await call("lock", [one], "ann"));
    isTrue(await call("lock", [two], "bob"));
    for (const verb of ["unlock", "sale"]) {
      refused(await call(verb, [one, two], "ann"), seatError(1, two, "HELD_BY_ANOTHER_SESSION"));
    }
    await inState(api, show.id, [one, two], "LOCKED");
  });
  await step("held places of an area belong to their session", async () => {
    const places = (verb, capacity, sessionId) =>
      book(api, verb, show.id, area(show.pit, capacity, { sessionId }));
    isTrue(await places("lock", 3, "ann"));
    isTrue(await places("lock", 2, "bob"));
    assert.equal(refused(await places("sale", 4, "ann")).errors.length, 1);
    isTrue(await places("sale", 3, "ann"));
    isTrue(await places("unlock", 2, "bob"));
    await counts(api, show.id, show.pit, { active: 47, sold: 3 });
  });
}

export async function directSales(world) {
  const { api } = world;
  const show = await onSale(world, "Box office");
  const [one, two, three] = show.a;
  const call = (body) => book(api, "directsale", show.id, body);
  await step("a direct sale sells at once, with any hold type", async () => {
    isTrue(await call({ ...seats([one]), groupOfSeats: [{ id: show.pit, capacity: 5 }] }));
    isTrue(await call(seats([two], { holdType: "COMP", sessionId: "till 4" })));
    await inState(api, show.id, [one, two], "SOLD");
    await counts(api, show.id, show.pit, { active: 45, sold: 5 });
    invalid(await call(seats([three], { holdType: "x".repeat(65) })), "holdType");
  });
  await step("a direct sale is false and changes nothing when something is not free", async () => {
    isFalse(await call(seats([three, two])));
    isFalse(await call({ ...seats([three]), groupOfSeats: [{ id: show.pit, capacity: 46 }] }));
    for (const verb of ["lock", "block"]) {
      const other = show.b[verb.length];
      isTrue(await book(api, verb, show.id, seats([other])));
      isFalse(await call(seats([three, other])));
    }
    await inState(api, show.id, [three], "ACTIVE");
    await counts(api, show.id, show.pit, { active: 45, sold: 5 });
  });
}
