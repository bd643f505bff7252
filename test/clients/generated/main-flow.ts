/**
 * The main flow with a client whose types are generated from the OpenAPI document. It compiles only
 * if the document is right about requests and answers. Environment: BASE_URL, API_KEY.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const { BASE_URL = "", API_KEY = "" } = process.env;
const client = createClient<paths>({ baseUrl: BASE_URL, headers: { "X-API-Key": API_KEY } });

/** Expects a success, and returns its body. */
function must<Data>({ data, error }: { data?: Data; error?: unknown }): NonNullable<Data> {
  assert.equal(error, undefined);
  assert.ok(data !== undefined && data !== null);
  return data;
}

const V2 = "/api/private/v2.0";

const venue = must(await client.POST(`${V2}/venues/`, { body: { name: "Odeon" } }));
const schema = must(
  await client.POST(`${V2}/schemas/`, { body: { name: "Stalls", venueId: venue.id } }),
);
const [stalls, row] = [randomUUID(), randomUUID()];
const layout = must(
  await client.PUT(`${V2}/schemas/{id}/layout`, {
    params: { path: { id: schema.id } },
    body: {
      sectors: [
        { guid: stalls, name: "Stalls", ga: false },
        { guid: randomUUID(), name: "Pit", ga: true, gaCapacity: 10 },
      ],
      rows: [{ guid: row, sectorGuid: stalls, rowNumber: "A" }],
      seats: ["1", "2", "3", "4"].map((name) => ({ guid: randomUUID(), rowGuid: row, name })),
    },
  }),
);
const event = must(
  await client.POST(`${V2}/events/`, {
    body: {
      name: "Opening",
      start: "2030-01-01T20:00:00",
      endDate: "2030-01-01T22:00:00",
      schemaId: schema.id,
    },
  }),
);
const ofEvent = { path: { eventId: event.id } };
const [price] = must(
  await client.POST(`${V2}/event/{eventId}/prices/`, {
    params: ofEvent,
    body: [{ name: "Full", eventId: event.id }],
  }),
);
assert.ok(price !== undefined);
const groupOfSeats = layout.sectors.map(({ id }) => ({ objectId: id, assignmentId: price.id }));
must(
  await client.POST(`${V2}/event/{eventId}/prices/assignments/`, {
    params: ofEvent,
    body: { groupOfSeats },
  }),
);

const [first, second] = layout.seats;
assert.ok(first !== undefined && second !== undefined);
const pair = { sessionId: "ann", seats: [{ id: first.id }, { id: second.id }] };
const query = { query: { eventId: event.id } };
assert.equal(must(await client.POST(`${V2}/booking/lock`, { params: query, body: pair })), true);
assert.equal(must(await client.POST(`${V2}/booking/sale`, { params: query, body: pair })), true);

const refused = await client.POST(`${V2}/booking/lock`, { params: query, body: pair });
assert.equal(refused.error?.errorCode, "INVENTORY_NOT_AVAILABLE");
assert.deepEqual(
  refused.error.errors.map(({ code }) => code),
  ["SOLD", "SOLD"],
);

const page = must(
  await client.GET(`${V2}/events/{id}/seats/`, {
    params: { path: { id: event.id }, query: { size: 10, sort: ["seatId,desc"] } },
  }),
);
assert.deepEqual(
  page.content.map(({ state }) => state),
  ["ACTIVE", "ACTIVE", "SOLD", "SOLD"],
);
const areas = must(
  await client.GET(`${V2}/events/{id}/areas/`, { params: { path: { id: event.id } } }),
);
assert.equal(areas[0]?.active, 10);
process.stdout.write("ok\n");
