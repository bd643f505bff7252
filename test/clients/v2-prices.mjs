// Topics of the v2 client: prices and their assignment, the listing of seats and areas.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { done, invalid, isTrue, members, missing, page, step } from "./v2-kit.mjs";
import { assign, idOf, seatsOf } from "./v2-stage.mjs";

const SEAT = {
  seatId: "long",
  seatName: "text",
  rowId: "long",
  rowName: "text",
  sectionId: "long",
  sectionName: "text",
  available: "boolean",
  updatedAt: "stamp",
};
const PRICED = { ...SEAT, state: "text", priceId: "long", priceName: "text" };

export async function priceList(world) {
  const { api, event } = world;
  const path = `/event/${event.id}/prices/`;
  const price = (name, more) => ({ name, eventId: event.id, ...more });
  await step("several prices are created at once, and names may repeat", async () => {
    const asked = [price("Full"), price("Half", { externalId: "H-1" }), price("Full")];
    world.prices = done(await api.post(path, asked), 201);
    for (const made of world.prices) {
      members(made, { id: "long", name: "text", eventId: "uuid", externalId: "string?" });
    }
    assert.deepEqual(
      world.prices.map(({ name, externalId }) => [name, externalId ?? null]),
      [
        ["Full", null],
        ["Half", "H-1"],
        ["Full", null],
      ],
    );
  });
  const [full, half, spare] = world.prices;
  await step("prices are read, listed and paged", async () => {
    assert.deepEqual(done(await api.get(path + half.id)), half);
    const sorted = await api.get(`${path}?sort=name,desc&sort=id,desc&size=2`);
    assert.deepEqual(page(sorted, { size: 2, total: 3 }), [half, spare]);
    invalid(await api.get(`${path}?sort=colour`), "sort");
    missing(await api.get(`${path}999999999`));
    missing(await api.get(`/event/${randomUUID()}/prices/${half.id}`));
  });
  await step("an update changes the name and the external id of a price", async () => {
    const next = { ...spare, name: "Friends", externalId: "F-1" };
    assert.deepEqual(done(await api.put(path, [next])), [next]);
    missing(await api.put(path, [{ ...next, id: 999999999 }]));
    invalid(await api.put(path, [{ ...next, id: null }]), "[0].id");
  });
  await step(
    "an update gives a price its amount, which the summary shows and adds up",
    async () => {
      const money = { ...half, amount: 1_250, currency: "EUR" };
      assert.deepEqual(done(await api.put(path, [money])), [money]);
      invalid(await api.put(path, [{ ...half, amount: 1_250 }]), "[0].currency");
      invalid(await api.put(path, [{ ...money, amount: 12.5 }]), "[0].amount");
      invalid(await api.put(path, [{ ...money, currency: "eur" }]), "[0].currency");
      const { byPrice, revenue } = done(await api.get(`/events/${event.id}/summary/`));
      const { amount, currency } = byPrice.find(({ priceId }) => priceId === half.id);
      assert.deepEqual([amount, currency], [1_250, "EUR"]);
      assert.deepEqual(revenue, [{ currency: "EUR", sold: 0 }]);
      assert.deepEqual(done(await api.put(path, [half])), [half]);
    },
  );
  await step("a price is deleted", async () => {
    done(await api.delete(path + spare.id), 204);
    missing(await api.delete(path + spare.id));
  });
  await assignments(world, full, half);
}

async function assignments(world, full, half) {
  const { api, event, schema } = world;
  const { layout } = schema;
  const item = (objectId, price, more) => ({ objectId, assignmentId: price.id, ...more });
  await step("sections, tables, areas and seats get their prices in one call", async () => {
    const [first, second] = layout.seats;
    const groups = ["Stalls", "Table 1", "Pit", "Lawn"].map((name) =>
      item(idOf(layout, name), full),
    );
    // The documents allow `seatId` instead of `objectId`.
    const bySeat = { ...item(undefined, half), seatId: second.id };
    const selection = { seats: [item(first.id, half, { properties: null }), bySeat] };
    isTrue(await assign(api, event.id, { ...selection, groupOfSeats: groups }));
    const names = (await seatsOf(api, event.id)).map(({ priceName }) => priceName ?? "none");
    const count = (name) => names.filter((found) => found === name).length;
    assert.deepEqual(["Half", "Full", "none"].map(count), [2, 22, 6]);
  });
}

export async function seatListing(world) {
  const { api, event } = world;
  const listed = await seatsOf(api, event.id);
  await step("every seat is listed once, in order of id, with all members", () => {
    assert.equal(listed.length, 30);
    const ids = listed.map(({ seatId }) => seatId);
    assert.deepEqual(
      ids,
      ids.toSorted((left, right) => left - right),
    );
    for (const seat of listed) {
      const priced = seat.sectionName !== "Balcony";
      members(seat, priced ? PRICED : SEAT);
      assert.equal(seat.state, priced ? "ACTIVE" : null);
      assert.equal(seat.available, priced);
    }
  });
  await step("areas are listed with their counters", async () => {
    const areas = done(await api.get(`/events/${event.id}/areas/`));
    assert.equal(areas.length, 2);
    for (const counter of areas) {
      members(counter, { groupOfSeatsId: "long", name: "text", priceId: "long" });
      members(counter, { priceName: "text", capacity: "integer", updatedAt: "stamp" });
    }
  });
  await step("the trail of an event is listed", async () => {
    page(await api.get(`/events/${event.id}/audit/?size=100`), { size: 100 });
  });
}
