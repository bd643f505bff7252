// Topics of the v2 client: prices and their assignment, the listing of seats, deletion of a price.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { done, invalid, isTrue, members, missing, page, problem, step } from "./v2-kit.mjs";
import { assign, book, counts, idOf } from "./v2-stage.mjs";
import { newPrice, onSale, priceAll, seats, seatsOf } from "./v2-stage.mjs";

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
  const named = async () => {
    const found = new Map();
    for (const { sectionName, rowName, priceName } of await seatsOf(api, event.id)) {
      const label = `${sectionName} ${rowName} ${priceName ?? "none"}`;
      found.set(label, (found.get(label) ?? 0) + 1);
    }
    return Object.fromEntries(found);
  };
  await step("sections, rows, tables and seats get their prices in one call", async () => {
    const rowB = layout.rows.find(({ rowNumber }) => rowNumber === "B");
    const stalls = idOf(layout, "Stalls");
    isTrue(await assign(api, event.id, { groupOfSeats: [item(stalls, full)] }));
    const [first, second] = layout.seats;
    isTrue(
      await assign(api, event.id, {
        seats: [
          item(first.id, half, { properties: null }),
          { ...item(0, half), ...bySeat(second) },
        ],
        groupOfSeats: [item(rowB.id, half), item(idOf(layout, "Table 1"), half)],
      }),
    );
    assert.deepEqual(await named(), {
      "Stalls A Half": 2,
      "Stalls A Full": 8,
      "Stalls B Half": 10,
      "Balcony A none": 6,
      "Table 1 1 Half": 4,
    });
  });
  await step("an area gets its activeCount, its gaCapacity, or what is left", async () => {
    const [pit, lawn] = [idOf(layout, "Pit"), idOf(layout, "Lawn")];
    const price = (id, activeCount) =>
      assign(api, event.id, { groupOfSeats: [item(id, full, { activeCount })] });
    isTrue(await price(pit, 30));
    await counts(api, event.id, pit, { active: 30 });
    isTrue(await price(pit, null));
    await counts(api, event.id, pit, { active: 50 });
    isTrue(await price(lawn, null));
    await counts(api, event.id, lawn, { active: 20 });
  });
}

/** The documents allow `seatId` instead of `objectId`. */
const bySeat = ({ id }) => ({ objectId: undefined, seatId: id });

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
  await step("the listing is restricted to a section or a row", async () => {
    const [seat] = listed;
    const inRow = await seatsOf(api, event.id, `rowId=${seat.rowId}`);
    assert.deepEqual(
      inRow,
      listed.filter(({ rowId }) => rowId === seat.rowId),
    );
    const inSection = await seatsOf(api, event.id, `sectionId=${seat.sectionId}`);
    assert.equal(inSection.length, 20);
    missing(await api.get(`/events/${randomUUID()}/seats/`));
  });
  await step("areas are listed with their counters", async () => {
    const areas = done(await api.get(`/events/${event.id}/areas/`));
    assert.equal(areas.length, 2);
    for (const counter of areas) {
      members(counter, { groupOfSeatsId: "long", name: "text", priceId: "long" });
      members(counter, { priceName: "text", capacity: "integer", updatedAt: "stamp" });
    }
  });
}

export async function priceDeletion(world) {
  const { api } = world;
  const show = await onSale(world, "Repriced");
  const path = `/event/${show.id}/prices/${show.price.id}`;
  const body = seats([show.a[0]]);
  await step("a price cannot be deleted while one of its seats is held", async () => {
    isTrue(await book(api, "lock", show.id, body));
    problem(await api.delete(path), 409, "INVENTORY_IN_USE");
    isTrue(await book(api, "unlock", show.id, body));
  });
  await step("the seats of a deleted price are not listed until they get another", async () => {
    done(await api.delete(path), 204);
    missing(await api.get(path));
    page(await api.get(`/events/${show.id}/seats/`), { total: 0 });
    problem(await book(api, "lock", show.id, body), 400, "INVENTORY_NOT_AVAILABLE", [
      { field: "seats[0].id", rejectedValue: show.a[0], code: "NO_PRICE" },
    ]);
    const price = await newPrice(api, show.id, "Again");
    await priceAll(api, show.id, show.schema.layout, price);
    page(await api.get(`/events/${show.id}/seats/`), { total: 30 });
  });
}
