// Topics of the v2 client: prices and their assignment, the seats listing, the deletion of a price.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { all, done, invalid, isTrue, members, missing, page, problem, step } from "./v2-kit.mjs";
import { area, assign, book, counts, idOf, newEvent, newPrice, onSale } from "./v2-stage.mjs";
import { priceAll, seats, seatsOf } from "./v2-stage.mjs";

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
  await step("prices are created, several at once, and names may repeat", async () => {
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
  await step("a price's name and external id change, and nothing else", async () => {
    const next = { ...spare, name: "Friends", externalId: "F-1" };
    assert.deepEqual(done(await api.put(path, [next])), [next]);
    missing(await api.put(path, [{ ...next, id: 999999999 }]));
    invalid(await api.put(path, [{ ...next, id: null }]), "[0].id");
  });
  await step("a price's fields are validated, and one wrong price stops all", async () => {
    const twoWrong = [price("Good"), { eventId: event.id }, price("Lost", { eventId: null })];
    const errors = invalid(await api.post(path, twoWrong), "[1].name", "[2].eventId");
    assert.ok(errors.every(({ code }) => code === "NOT_NULL"));
    invalid(await api.post(path, [price("Other", { eventId: randomUUID() })]), "[0].eventId");
    page(await api.get(path), { total: 3 });
  });
  await step("a spare price is deleted", async () => {
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
  await step("sections, rows, tables and seats are priced in one call", async () => {
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
  await step("an area gets its activeCount, its gaCapacity, or the schema's", async () => {
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
  await step("an assignment is validated, and one wrong item stops all", async () => {
    const before = await named();
    const foreign = await newPrice(api, (await newEvent(world, "Foreign")).id, "Foreign");
    const [seat] = layout.seats;
    const wish = (items) => assign(api, event.id, { seats: [item(seat.id, full), items] });
    for (const items of [item(seat.id + 1, foreign), item(seat.id + 1, { id: 999999999 })]) {
      invalid(await wish(items), "seats[1].assignmentId");
    }
    const [lost] = invalid(await wish(item(999999999, full)));
    assert.match(lost.field, /^seats\[1\]\.(seatId|objectId)$/);
    const empty = invalid(await wish({}), "seats[1].assignmentId", "seats[1].seatId");
    assert.ok(empty.every(({ code }) => code === "NOT_NULL"));
    assert.deepEqual(await named(), before);
  });
}

/** The documents say that `seatId` is understood in place of `objectId`. */
const bySeat = ({ id }) => ({ objectId: undefined, seatId: id });

export async function seatListing(world) {
  const { api, event } = world;
  const path = `/events/${event.id}/seats/`;
  const listed = await seatsOf(api, event.id);
  await step("every seat is listed once, by id, with all members", () => {
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
  await step("each documented property sorts, with ties by seat id", async () => {
    const properties = ["seatId", "seatName", "rowId", "rowName", "sectionId", "sectionName"];
    properties.push("state", "priceId", "priceName", "updatedAt");
    for (const property of properties) {
      const up = await all(api, `${path}?sort=${property}`, 7);
      const down = await all(api, `${path}?sort=${property},desc`, 7);
      assert.deepEqual(groups(up, property), groups(down, property).toReversed(), property);
    }
  });
  await step("several sorts apply one after the other", async () => {
    const sorted = await all(api, `${path}?sort=sectionName,desc&sort=rowName&sort=seatId,desc`, 9);
    const order = sorted.map(({ sectionName, rowName }) => `${sectionName} ${rowName}`);
    assert.deepEqual([...new Set(order)], ["Table 1 1", "Stalls A", "Stalls B", "Balcony A"]);
    const [first, second] = sorted;
    assert.ok(first.seatId > second.seatId);
  });
  await step("an unknown sort property, page or size is 400", async () => {
    invalid(await api.get(`${path}?sort=colour`), "sort");
    invalid(await api.get(`${path}?size=101`), "size");
    invalid(await api.get(`${path}?page=-1`), "page");
    page(await api.get(`${path}?page=9`), { number: 9, total: 30 });
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

/** The distinct values of a sorted list, each with its ids, which must rise. */
function groups(sorted, property) {
  const found = [];
  for (const seat of sorted) {
    const value = seat[property] ?? null;
    if (found.at(-1)?.value !== value) found.push({ value, ids: [] });
    found.at(-1).ids.push(seat.seatId);
  }
  for (const { ids } of found) {
    assert.deepEqual(
      ids,
      ids.toSorted((left, right) => left - right),
      property,
    );
  }
  return found;
}

export async function priceDeletion(world) {
  const { api } = world;
  const show = await onSale(world, "Repriced");
  const path = `/event/${show.id}/prices/${show.price.id}`;
  const selections = [seats([show.a[0]]), area(show.pit, 2)];
  const uses = [
    ["lock", "unlock"],
    ["directsale", "revertsale"],
    ["block", "unblock"],
  ];
  await step("a price is not deleted while a seat of it is held, sold or withheld", async () => {
    for (const [take, give] of uses) {
      isTrue(await book(api, take, show.id, selections[0]));
      problem(await api.delete(path), 409, "INVENTORY_IN_USE");
      isTrue(await book(api, give, show.id, selections[0]));
    }
  });
  await step("nor while an area of it has held or sold tickets", async () => {
    for (const [take, give] of uses.slice(0, 2)) {
      isTrue(await book(api, take, show.id, selections[1]));
      problem(await api.delete(path), 409, "INVENTORY_IN_USE");
      isTrue(await book(api, give, show.id, selections[1]));
    }
  });
  await step("then it is, and its seats are not listed until they are priced again", async () => {
    done(await api.delete(path), 204);
    missing(await api.get(path));
    page(await api.get(`/events/${show.id}/seats/`), { total: 0 });
    problem(await book(api, "lock", show.id, selections[0]), 400, "INVENTORY_NOT_AVAILABLE", [
      { field: "seats[0].id", rejectedValue: show.a[0], code: "NO_PRICE" },
    ]);
    const price = await newPrice(api, show.id, "Again");
    await priceAll(api, show.id, show.schema.layout, price);
    page(await api.get(`/events/${show.id}/seats/`), { total: 30 });
  });
  await step("a held seat takes a new price and stays held", async () => {
    isTrue(await book(api, "lock", show.id, selections[0]));
    const price = await newPrice(api, show.id, "Newest");
    await priceAll(api, show.id, show.schema.layout, price);
    const seat = (await seatsOf(api, show.id)).find(({ seatId }) => seatId === show.a[0]);
    assert.deepEqual([seat.state, seat.priceId], ["LOCKED", price.id]);
  });
}
