// Topics of the v2 client: venues, schemas, layouts, seatmaps, pricing zones, clones.

import assert from "node:assert/strict";
import { all, caller, done, invalid, isTrue, members } from "./v2-kit.mjs";
import { missing, page, problem, step } from "./v2-kit.mjs";
import { idOf, newSchema, onSale, theatre } from "./v2-stage.mjs";

/** Seats in use whose label a layout changes. */
const UNUSED = { renamed: 0, moved: 0 };

const SCHEMA = {
  id: "long",
  name: "text",
  venueId: "long",
  description: "string?",
  draft: "boolean",
  template: "boolean",
  archived: "boolean",
  externalId: "string?",
  gaCapacity: "integer?",
  seatsCapacity: "integer?",
  preview: "uuid?",
  venueName: "string?",
};

export async function venues(world) {
  const { api } = world;
  const hall = { name: "Odeon", address: "1 Main Street", lat: 51.5, lng: -0.12, draft: false };
  await step("a venue is created, read and updated", async () => {
    world.venue = done(await api.post("/venues/", hall), 201);
    members(world.venue, { id: "long" });
    const { id } = world.venue;
    assert.deepEqual({ ...world.venue, ...hall }, world.venue);
    assert.deepEqual(done(await api.get(`/venues/${id}`)), world.venue);
    const moved = { ...world.venue, address: "2 Main Street" };
    assert.equal(done(await api.put("/venues/", moved)).address, "2 Main Street");
    missing(await api.get("/venues/999999999"));
    missing(await api.put("/venues/", { ...moved, id: 999999999 }));
  });
  await step("venues are listed and an empty one is deleted", async () => {
    const spare = done(await api.post("/venues/", { name: "Spare" }), 201);
    const listed = page(await api.get("/venues/?sort=name,desc"), { total: 2 });
    assert.deepEqual(
      listed.map(({ name }) => name),
      ["Spare", "Odeon"],
    );
    done(await api.delete(`/venues/${spare.id}`), 204);
    missing(await api.delete(`/venues/${spare.id}`));
  });
}

export async function schemas(world) {
  const { api, venue } = world;
  await step("a schema is created with its defaults", async () => {
    const asked = { name: "Main", venueId: venue.id, description: "Stage left", gaCapacity: 70 };
    world.schema = done(await api.post("/schemas/", asked), 201);
    members(world.schema, SCHEMA);
    const { draft, template, archived, venueName, description } = world.schema;
    assert.deepEqual([draft, template, archived], [false, false, false]);
    assert.deepEqual([description, venueName ?? "Odeon"], ["Stage left", "Odeon"]);
  });
  await step("a schema is read and updated", async () => {
    const read = done(await api.get(`/schemas/${world.schema.id}`));
    members(read, SCHEMA);
    assert.equal(read.venueName, "Odeon");
    const put = done(await api.put("/schemas/", { ...read, description: "Stage right" }));
    assert.equal(put.description, "Stage right");
    missing(await api.get("/schemas/999999999"));
    missing(await api.put("/schemas/", { ...read, id: 999999999 }));
  });
  await step("schemas are listed by venue", async () => {
    const [own] = page(await api.get(`/schemas/?venueId=${venue.id}`), { total: 1 });
    members(own, SCHEMA);
    page(await api.get("/schemas/?venueId=999999999"), { total: 0 });
    problem(await api.get("/schemas/?sort=colour"), 400, "VALIDATION_FAILED");
    problem(await api.delete(`/venues/${venue.id}`), 409, "ENTITY_IN_USE");
  });
}

export async function layouts(world) {
  const { api, schema } = world;
  const path = `/schemas/${schema.id}/layout`;
  const drawn = theatre();
  await step("a layout is stored with all members and gets ids", async () => {
    const { inUse, ...layout } = done(await api.put(path, drawn));
    assert.deepEqual(inUse, UNUSED);
    schema.layout = layout;
    for (const list of ["sectors", "rows", "seats"]) {
      const stored = schema.layout[list];
      assert.equal(stored.length, drawn[list].length);
      for (const given of drawn[list]) {
        const kept = stored.find(({ guid }) => guid === given.guid);
        members(kept, { id: "long" });
        assert.deepEqual({ ...kept, ...given }, kept, "all members are returned");
      }
    }
    assert.deepEqual(schema.layout.clientViewBox, drawn.clientViewBox);
    assert.equal(schema.layout.shapes[0].glow, "soft");
    assert.deepEqual(done(await api.get(path)), schema.layout);
  });
  await step("the seatmap address takes a Bearer token and orgId", async () => {
    const { id, secretKey } = world.organization;
    const { token: fresh } = await world.signIn();
    for (const token of [secretKey, fresh]) {
      const tool = caller("/api/seatmap", { Authorization: `Bearer ${token}` });
      const own = `/${schema.id}/?orgId=${id}`;
      assert.deepEqual(done(await tool.get(own)), schema.layout);
      assert.deepEqual(done(await tool.put(own, schema.layout)), {
        ...schema.layout,
        inUse: UNUSED,
      });
    }
  });
}

const GROUP = {
  id: "long",
  name: "text",
  prefix: "string?",
  seatPrefix: "string?",
  parentId: "long?",
  type: "text",
  ga: "boolean",
  schemaId: "long",
  pricingZoneId: "long?",
  guid: "uuid",
  externalId: "string?",
  shapes: "array?",
  width: "number?",
  height: "number?",
  left: "number?",
  top: "number?",
  angle: "number?",
};

export async function seatmaps(world) {
  const { api, schema } = world;
  const path = `/schemas/${schema.id}/seatmaps/`;
  await step("a seatmap lists sections, rows, tables and areas", async () => {
    const groups = done(await api.get(path));
    for (const group of groups) {
      members(group, GROUP);
      assert.equal(group.schemaId, schema.id);
      assert.equal(group.ga, group.type === "GA");
    }
    const count = (type) => groups.filter((group) => group.type === type).length;
    assert.deepEqual(["SECTION", "ROW", "GA", "TABLE"].map(count), [2, 4, 2, 1]);
  });
}

export async function zones(world) {
  const { api, schema } = world;
  const path = `/schemas/${schema.id}/pricing_zones/`;
  const zone = (name) => ({ name, schemaId: schema.id });
  const stalls = idOf(schema.layout, "Stalls");
  let gold;
  let silver;
  const zoneOf = async (id) =>
    done(await api.get(`/schemas/${schema.id}/seatmaps/`)).find((group) => group.id === id)
      .pricingZoneId;
  await step("pricing zones are created, read, listed and renamed", async () => {
    [gold, silver] = done(await api.post(path, [zone("Gold"), zone("Silver")]), 201);
    for (const made of [gold, silver])
      members(made, { id: "long", name: "text", schemaId: "long" });
    assert.deepEqual([gold.name, silver.name], ["Gold", "Silver"]);
    assert.deepEqual(done(await api.get(path + gold.id)), gold);
    assert.deepEqual(page(await api.get(`${path}?sort=name,desc`), { total: 2 }), [silver, gold]);
    const [renamed] = done(await api.put(path, [{ ...silver, name: "Bronze" }]));
    assert.deepEqual(renamed, { ...silver, name: "Bronze" });
    missing(await api.get(`${path}999999999`));
    missing(await api.put(path, [{ ...silver, id: 999999999 }]));
  });
  await step("a zone is assigned, replaced and deleted", async () => {
    const item = (assignmentId) => ({ groupOfSeats: [{ objectId: stalls, assignmentId }] });
    isTrue(await api.post(`${path}assignments/`, item(silver.id)));
    isTrue(await api.post(`${path}assignments/`, item(gold.id)));
    assert.equal(await zoneOf(stalls), gold.id);
    const lost = await api.post(`${path}assignments/`, item(999999999));
    invalid(lost, "groupOfSeats[0].assignmentId");
    done(await api.delete(path + gold.id), 204);
    assert.equal(await zoneOf(stalls), null);
    missing(await api.delete(path + gold.id));
  });
}

export async function clone(world) {
  const { api } = world;
  const source = await newSchema(world, "Original");
  await step("a clone is an operation that is COMPLETED", async () => {
    const operation = done(await api.post(`/schemas/clone/${source.id}`));
    members({ operation }, { operation: "uuid" });
    const result = done(await api.get(`/schemas/clone/${operation}`));
    assert.deepEqual([result.id, result.status], [operation, "COMPLETED"]);
    const copy = done(await api.get(`/schemas/${result.schemaId}`));
    members(copy, SCHEMA);
    assert.deepEqual([copy.name, copy.venueId], ["Original (copy)", source.venueId]);
    const { seats } = done(await api.get(`/schemas/${copy.id}/layout`));
    assert.equal(seats.length, source.layout.seats.length);
  });
}

export async function schemaDeletion(world) {
  const { api } = world;
  const schema = await newSchema(world, "Short-lived");
  const show = await onSale(world, "On the short-lived one", { schema });
  await step(
    "a schema without held inventory is deleted, and its event stays readable",
    async () => {
      done(await api.delete(`/schemas/${schema.id}`), 204);
      missing(await api.get(`/schemas/${schema.id}`));
      missing(await api.get(`/schemas/${schema.id}/seatmaps/`));
      assert.equal(done(await api.get(`/events/${show.id}`)).schemaName, null);
      const names = (await all(api, "/schemas/")).map(({ name }) => name);
      assert.ok(!names.includes("Short-lived"));
    },
  );
}
