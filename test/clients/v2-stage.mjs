// The theatre of the v2 client, and short functions for booking in it.

import { randomUUID } from "node:crypto";
import assert from "node:assert/strict";
import { all, done, isTrue } from "./v2-kit.mjs";

export const TIMES = { start: "2031-05-01T20:00:00", endDate: "2031-05-01T23:00:00" };

const rowOf = (section, label, seats, top) => {
  const row = { guid: randomUUID(), sectorGuid: section.guid, name: "Row", rowNumber: label };
  const seatAt = (index) => ({
    guid: randomUUID(),
    rowGuid: row.guid,
    name: String(index + 1),
    x: index * 20,
    y: top,
    ax: section.x + index * 20,
    ay: section.y + top,
    angle: 0,
  });
  return { row, seats: Array.from({ length: seats }, (_, index) => seatAt(index)) };
};

/** Two sections, a table and two general-admission areas, with 30 seats altogether. */
export function theatre() {
  const sector = (name, more) => ({ guid: randomUUID(), name, ga: false, x: 0, y: 0, ...more });
  const stalls = sector("Stalls", { y: 100 });
  const balcony = sector("Balcony", { y: 400 });
  const table = sector("Table 1", { type: "TABLE", y: 600 });
  const pit = sector("Pit", { ga: true, gaCapacity: 50, y: 700 });
  const lawn = sector("Lawn", { ga: true, y: 800 });
  const rows = [
    rowOf(stalls, "A", 10, 0),
    rowOf(stalls, "B", 10, 30),
    rowOf(balcony, "A", 6, 0),
    rowOf(table, "1", 4, 0),
  ];
  const stage = { id: randomUUID(), shapeType: "rect", purpose: "OBJECT", left: 0, top: 0 };
  return {
    sectors: [stalls, balcony, table, pit, lawn],
    rows: rows.map(({ row }) => row),
    seats: rows.flatMap(({ seats }) => seats),
    shapes: [{ ...stage, width: 200, height: 50, text: "Stage", glow: "soft" }],
    clientViewBox: { x: 0, y: 0, width: 1000, height: 1000 },
  };
}

/** Creates a schema with the theatre. */
export async function newSchema(world, name) {
  const body = { name, venueId: world.venue.id, gaCapacity: 70 };
  const schema = done(await world.api.post("/schemas/", body), 201);
  const layout = done(await world.api.put(`/schemas/${schema.id}/layout`, theatre()));
  return { ...schema, layout };
}

export const idOf = (layout, name) => layout.sectors.find((sector) => sector.name === name).id;

export async function newEvent(world, name, more) {
  const body = { name, schemaId: world.schema.id, ...TIMES, ...more };
  return done(await world.api.post("/events/", body), 201);
}

export async function newPrice(api, eventId, name) {
  const [price] = done(await api.post(`/event/${eventId}/prices/`, [{ name, eventId }]), 201);
  return price;
}

export const assign = (api, eventId, selection) =>
  api.post(`/event/${eventId}/prices/assignments/`, selection);

/** Assigns one price to every section, table and area of a theatre. */
export async function priceAll(api, eventId, layout, price) {
  const item = ({ id }) => ({ objectId: id, assignmentId: price.id, activeCount: null });
  isTrue(await assign(api, eventId, { seats: [], groupOfSeats: layout.sectors.map(item) }));
}

/** Creates a published event with everything on sale, and names its seats and areas. */
export async function onSale(world, name, { schema = world.schema, ...more } = {}) {
  const event = await newEvent(world, name, { schemaId: schema.id, ...more });
  const price = await newPrice(world.api, event.id, "Full");
  await priceAll(world.api, event.id, schema.layout, price);
  const listed = await seatsOf(world.api, event.id);
  const row = (section, label) =>
    listed
      .filter(({ sectionName, rowName }) => sectionName === section && rowName === label)
      .toSorted((left, right) => Number(left.seatName) - Number(right.seatName))
      .map(({ seatId }) => seatId);
  return {
    id: event.id,
    event,
    price,
    schema,
    a: row("Stalls", "A"),
    b: row("Stalls", "B"),
    pit: idOf(schema.layout, "Pit"),
  };
}

export const seatsOf = (api, eventId, query = "") =>
  all(api, `/events/${eventId}/seats/${query === "" ? "" : `?${query}`}`);

export const seats = (ids, more) => ({
  seats: ids.map((id) => ({ id, capacity: null })),
  groupOfSeats: [],
  ...more,
});

export const area = (id, capacity, more) => ({
  seats: [],
  groupOfSeats: [{ id, capacity }],
  ...more,
});

export const book = (api, verb, eventId, ...selectionAndHeaders) =>
  api.post(`/booking/${verb}?eventId=${eventId}`, ...selectionAndHeaders);

/** Checks that all these seats are in one state. */
export async function inState(api, eventId, ids, state) {
  const listed = await seatsOf(api, eventId);
  const found = ids.map((id) => listed.find(({ seatId }) => seatId === id)?.state);
  assert.deepEqual(
    found,
    ids.map(() => state),
  );
}

/** Checks the four counters of an area. */
export async function counts(api, eventId, areaId, wanted) {
  const areas = done(await api.get(`/events/${eventId}/areas/`));
  const { active, locked, sold, blocked, capacity } = areas.find(
    ({ groupOfSeatsId }) => groupOfSeatsId === areaId,
  );
  assert.deepEqual(
    { active, locked, sold, blocked },
    { locked: 0, sold: 0, blocked: 0, ...wanted },
  );
  assert.equal(capacity, active + locked + sold + blocked);
}
