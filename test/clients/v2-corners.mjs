// Topics of the v2 client: what is promised at the edges: echoes, races, aisles, open documents.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { caller, done, invalid, isTrue, members, missing, page, problem, step } from "./v2-kit.mjs";
import { area, assign, book, counts, inState, newEvent, newPrice, onSale } from "./v2-stage.mjs";
import { TIMES, newSchema, priceAll, seats, seatsOf } from "./v2-stage.mjs";

/** An integrator reads, changes one member, and sends the whole back. */
export async function echoes(world) {
  const { api, manage, event, schema } = world;
  await step("what was read may be sent back as an update", async () => {
    const read = done(await api.get(`/events/${event.id}`));
    assert.equal(done(await api.put("/events/", { ...read, name: "Hamlet II" })).name, "Hamlet II");
    const organization = done(await manage.get(`/organizations/${world.organization.id}`));
    assert.deepEqual(done(await manage.put("/organizations/", organization)), organization);
    const stored = done(await api.get(`/schemas/${schema.id}`));
    assert.deepEqual(done(await api.put("/schemas/", stored)), stored);
  });
  await step("id and createdDate may be null on create", async () => {
    const body = { id: null, createdDate: null, name: "Nulls", schemaId: schema.id, ...TIMES };
    const made = done(await api.post("/events/", body), 201);
    members(made, { id: "uuid", createdDate: "stamp" });
    const price = { id: null, name: "Full", eventId: made.id, externalId: null };
    done(await api.post(`/event/${made.id}/prices/`, [price]), 201);
    const zone = { id: null, name: "Null zone", schemaId: schema.id };
    done(await api.post(`/schemas/${schema.id}/pricing_zones/`, [zone]), 201);
  });
  await step("letter case of an event id means nothing", async () => {
    const shouted = event.id.toUpperCase();
    const [found] = page(await api.get(`/events/?id=${shouted}`), { total: 1 });
    assert.equal(found.id, event.id);
    const priced = await api.post(`/event/${event.id}/prices/`, [{ name: "A", eventId: shouted }]);
    assert.equal(done(priced, 201)[0].eventId, event.id);
    isTrue(await book(api, "unlock", shouted, seats([schema.layout.seats[0].id])));
  });
  await step("times are local, may have a fraction, and must exist", async () => {
    const at = (start, endDate) =>
      api.post("/events/", { name: "Timed", schemaId: schema.id, start, endDate });
    const made = done(await at("2031-07-01T20:00:00.250", "2031-07-01T20:00:00.250"), 201);
    assert.match(made.start, /^2031-07-01T20:00:00\.25/);
    for (const start of ["2031-07-01T20:00:00Z", "2031-02-30T20:00:00", "2031-07-01T25:00:00", 7]) {
      invalid(await at(start, "2031-07-02T20:00:00"), "start");
    }
  });
}

export async function strangeObjects(world) {
  const { api, schema } = world;
  const show = await onSale(world, "Strange wishes");
  const other = await newSchema(world, "Another house");
  const lock = (body) => book(api, "lock", show.id, body);
  const refused = async (body, ...items) =>
    problem(await lock(body), 400, "INVENTORY_NOT_AVAILABLE", items);
  await step(
    "a seat of another schema is NOT_FOUND, and so is an area among the seats",
    async () => {
      const foreign = other.layout.seats[0].id;
      await refused(
        seats([foreign, show.pit]),
        { field: "seats[0].id", rejectedValue: foreign, code: "NOT_FOUND" },
        { field: "seats[1].id", rejectedValue: show.pit, code: "NOT_FOUND" },
      );
      const field = "groupOfSeats[0].id";
      const unknown = { field, rejectedValue: 999999999, code: "NOT_FOUND" };
      await refused(area(999999999, 1), unknown);
      const item = { objectId: foreign, assignmentId: show.price.id };
      const [error] = invalid(await assign(api, show.id, { seats: [item] }));
      assert.match(error.field, /^seats\[0\]\.(seatId|objectId)$/);
    },
  );
  await step("a zone of another schema is not assigned", async () => {
    const path = (id) => `/schemas/${id}/pricing_zones/`;
    const asked = [{ name: "Elsewhere", schemaId: other.id }];
    const [zone] = done(await api.post(path(other.id), asked), 201);
    const item = { objectId: schema.layout.seats[0].id, assignmentId: zone.id };
    const answer = await api.post(`${path(schema.id)}assignments/`, { seats: [item] });
    invalid(answer, "seats[0].assignmentId");
    missing(await api.get(path(schema.id) + zone.id));
  });
  await step("an area without a price is NO_PRICE", async () => {
    const { id } = await newEvent(world, "Unpriced area");
    const field = "groupOfSeats[0].id";
    problem(await book(api, "lock", id, area(show.pit, 1)), 400, "INVENTORY_NOT_AVAILABLE", [
      { field, rejectedValue: show.pit, code: "NO_PRICE" },
    ]);
  });
  await step("fifty buyers want one seat, and one gets it", async () => {
    const [seat] = show.b;
    const buyers = Array.from({ length: 50 }, (_, index) => `buyer ${index}`);
    const wishes = buyers.map((sessionId) => lock(seats([seat, show.b[1]], { sessionId })));
    const answers = await Promise.all(wishes);
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      problem(answer, 400, "INVENTORY_NOT_AVAILABLE");
    }
  });
  await step("fifty buyers want two of an area's fifty places, and 25 get them", async () => {
    const wishes = Array.from({ length: 50 }, () => lock(area(show.pit, 2)));
    const answers = await Promise.all(wishes);
    assert.equal(answers.filter(({ status }) => status === 200).length, 25);
    await counts(api, show.id, show.pit, { active: 0, locked: 50 });
  });
  await step("events of one schema share nothing but the layout", async () => {
    const second = await onSale(world, "Same house");
    assert.deepEqual(second.b, show.b);
    await inState(api, second.id, second.b, "ACTIVE");
    page(await api.get(`/event/${second.id}/prices/`), { total: 1 });
  });
  await step(
    "a removed section takes its rows and seats along, and an emptied row goes",
    async () => {
      const path = `/schemas/${other.id}/layout`;
      const { sectors, rows, seats: drawn, ...rest } = other.layout;
      const rowB = rows.find(({ rowNumber }) => rowNumber === "B").id;
      const rowOf = (seat) => rows.find(({ guid }) => guid === seat.rowGuid).id;
      const mark = (list, gone) =>
        list.map((item) => (gone(item) ? { ...item, toRemove: true } : item));
      const next = {
        ...rest,
        rows,
        sectors: mark(sectors, ({ name }) => name === "Balcony"),
        seats: mark(drawn, (seat) => rowOf(seat) === rowB),
      };
      const left = done(await api.put(path, next));
      assert.deepEqual([left.sectors.length, left.rows.length, left.seats.length], [4, 2, 14]);
      assert.equal(done(await api.get(`/schemas/${other.id}/seatmaps/?type=ROW`)).length, 2);
      assert.equal(schema.layout.seats.length, 30);
    },
  );
}

/** A row across an aisle, and one that stands upright and is labelled out of order. */
export async function aisles(world) {
  const { api, manage } = world;
  const house = done(await api.post("/schemas/", { name: "Aisle", venueId: world.venue.id }), 201);
  const sector = { guid: randomUUID(), name: "Floor", ga: false };
  const row = (rowNumber) => ({ guid: randomUUID(), sectorGuid: sector.guid, rowNumber });
  const rows = [row("A"), row("B"), row("C")];
  const seat = (index, name, place) => ({
    guid: randomUUID(),
    rowGuid: rows[index].guid,
    name,
    ...place,
  });
  const across = [0, 20, 40, 80, 100, 120].map((x, at) => seat(0, `${at + 1}`, { x, y: 0 }));
  const upright = ["5", "3", "1", "2", "4"].map((name, at) => seat(1, name, { x: 200, y: at * 9 }));
  const bare = ["10", "9", "8", "7", "1"].map((name) => seat(2, name));
  const body = { sectors: [sector], rows, seats: [...across, ...upright, ...bare] };
  const layout = done(await api.put(`/schemas/${house.id}/layout`, body));
  const event = await newEvent(world, "Aisle", { schemaId: house.id });
  await priceAll(api, event.id, layout, await newPrice(api, event.id, "Full"));
  const listed = await seatsOf(api, event.id);
  const ids = (label, ...names) =>
    names.map(
      (name) => listed.find((one) => one.rowName === label && one.seatName === name).seatId,
    );
  const path = `/organizations/${world.organization.id}/settings`;
  const settings = { salesControl: true, bookingEnabled: true };
  const lock = (list) => book(api, "lock", event.id, seats(list));
  const orphan = async (list) => problem(await lock(list), 422, "ORPHAN_SEAT");
  done(await manage.put(path, { ...settings, orphanPrevention: true }));
  await step("an aisle separates neighbours", async () => {
    await orphan(ids("A", "1", "2"));
    isTrue(await lock(ids("A", "1", "2", "3")));
    await orphan(ids("A", "5"));
    isTrue(await lock(ids("A", "4")));
  });
  await step("neighbours of an upright row stand as drawn, not as labelled", async () => {
    await orphan(ids("B", "3"));
    isTrue(await lock(ids("B", "5", "3")));
    await orphan(ids("B", "2"));
    isTrue(await lock(ids("B", "1")));
  });
  await step("without coordinates the labels are ordered as people count", async () => {
    await orphan(ids("C", "9"));
    isTrue(await lock(ids("C", "9", "10")));
    isTrue(await lock(ids("C", "1")));
  });
  done(await manage.put(path, { ...settings, orphanPrevention: false }));
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
  await step("the OpenAPI document has every path of the documents", async () => {
    const { paths } = (await read("/openapi.json")).body;
    const shape = (path) => path.replaceAll(/\{\w+\}/g, "{}").replace(/\/$/, "");
    const found = new Set();
    for (const [path, methods] of Object.entries(paths)) {
      for (const method of Object.keys(methods)) found.add(`${method} ${shape(path)}`);
    }
    const lost = DOCUMENTED.trim()
      .split("\n")
      .flatMap((line) => {
        const [path, ...methods] = line.trim().split(" ");
        return methods.map((method) => `${method} ${shape(path)}`);
      })
      .filter((call) => !found.has(call));
    assert.deepEqual(lost, []);
  });
}

const DOCUMENTED = `
  /api/private/v2.0/booking/lock post
  /api/private/v2.0/booking/unlock post
  /api/private/v2.0/booking/sale post
  /api/private/v2.0/booking/revertsale post
  /api/private/v2.0/booking/directsale post
  /api/private/v2.0/booking/block post
  /api/private/v2.0/booking/unblock post
  /api/private/v2.0/events/ post get put
  /api/private/v2.0/events/{id} get delete
  /api/private/v2.0/events/{id}/seats/ get
  /api/private/v2.0/events/{id}/areas/ get
  /api/private/v2.0/events/{id}/status post
  /api/private/v2.0/events/{id}/series put
  /api/private/v2.0/series/ post get
  /api/private/v2.0/series/{id} delete
  /api/private/v2.0/event/{eventId}/prices/assignments/ post
  /api/private/v2.0/event/{eventId}/prices/{id} get delete
  /api/private/v2.0/event/{eventId}/prices/ get post put
  /api/private/v2.0/schemas/{schemaId}/pricing_zones/ post get put
  /api/private/v2.0/schemas/{schemaId}/pricing_zones/assignments/ post
  /api/private/v2.0/schemas/{schemaId}/pricing_zones/{id} get delete
  /api/private/v2.0/schemas/ post get put
  /api/private/v2.0/schemas/{id} get delete
  /api/private/v2.0/schemas/clone/{id} post get
  /api/private/v2.0/schemas/{schemaId}/seatmaps/ get
  /api/private/v2.0/schemas/{id}/layout get put
  /api/seatmap/{id}/ get put
  /api/private/v2.0/venues/ post put get
  /api/private/v2.0/venues/{id} get delete
  /api/private/v2.0/keys/rotate post
  /api/private/management/v2.0/organizations/ post get put
  /api/private/management/v2.0/organizations/{id} get delete
  /api/private/management/v2.0/organizations/{id}/settings put
  /api/private/management/v2.0/session-config/ put
  /api/private/management/v2.0/hold-types/ put
  /api/private/management/v2.0/keys/rotate post
  /api/auth/login post
  /api/auth/refresh post
  /api/auth/logout post
  /api/auth/user/ get
  /api/private/v1.0/booking/lock post
  /api/private/v1.0/events/ get post put
  /api/private/v1.0/assignments/ post delete
  /api/private/v1.0/assignments/clean post
  /api/private/v1.0/prices/ get post put delete
  /api/private/v1.0/venues/schemas/ get
  /api/private/v1.0/venues/schemas/{schemaId}/details/ get
  /api/private/v1.0/venues/schemas/{schemaId}/ get
`;
