/**
 * Types and calls of a client that openapi-typescript generates: from a tenant token to a sold pair
 * of seats, and a refusal by its code.
 */
import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const { FRONTROW_URL: baseUrl = "http://127.0.0.1:8080", FRONTROW_TENANT_TOKEN = "" } = process.env;
const V2 = "/api/private/v2.0";

/** The body of a success. @throws Error for a refusal. */
function must<Data>({ data, error }: { data?: Data; error?: unknown }): NonNullable<Data> {
  if (data === undefined || data === null) throw new Error(JSON.stringify(error));
  return data;
}

// The tenant creates an organization. Its secret key is the key of everything that follows.
const tenant = createClient<paths>({ baseUrl, headers: { "X-API-Key": FRONTROW_TENANT_TOKEN } });
const organization = must(
  await tenant.POST("/api/private/management/v2.0/organizations/", {
    body: {
      name: `Lakeside ${Date.now()}`,
      email: "ann@lakeside.example",
      firstName: "Ann",
      lastName: "Lee",
      password: "a long password",
    },
  }),
);
const key = organization.secretKey ?? "";
const client = createClient<paths>({ baseUrl, headers: { "X-API-Key": key } });

// A venue has schemas; a schema has a layout: sections, rows, seats, standing areas.
const venue = must(await client.POST(`${V2}/venues/`, { body: { name: "Lakeside Arena" } }));
const schema = must(
  await client.POST(`${V2}/schemas/`, { body: { name: "Concert", venueId: venue.id } }),
);
const stalls = "11111111-0000-4000-8000-000000000001";
const floor = "11111111-0000-4000-8000-000000000002";
const row = "22222222-0000-4000-8000-000000000001";
const layout = must(
  await client.PUT(`${V2}/schemas/{id}/layout`, {
    params: { path: { id: schema.id } },
    body: {
      sectors: [
        { guid: stalls, name: "Stalls", ga: false },
        { guid: floor, name: "Floor", ga: true, gaCapacity: 10 },
      ],
      rows: [{ guid: row, sectorGuid: stalls, rowNumber: "A" }],
      seats: ["1", "2", "3", "4"].map((name) => {
        return { guid: `33333333-0000-4000-8000-00000000000${name}`, rowGuid: row, name };
      }),
    },
  }),
);

// An event uses the schema. A seat is on sale once it has a price.
const event = must(
  await client.POST(`${V2}/events/`, {
    body: {
      name: "Opening night",
      start: "2030-05-01T20:00:00",
      endDate: "2030-05-01T23:00:00",
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

// A buyer locks two seats and pays for them. The same session must do both.
const seats = layout.seats.slice(0, 2).map(({ id }) => ({ id }));
const pair = { sessionId: "buyer-1", seats };
const params = { query: { eventId: event.id } };
console.log("lock:", must(await client.POST(`${V2}/booking/lock`, { params, body: pair })));
console.log("sale:", must(await client.POST(`${V2}/booking/sale`, { params, body: pair })));

// Somebody else comes too late. The types know every error code.
const { error } = await client.POST(`${V2}/booking/lock`, { params, body: pair });
if (error?.errorCode === "INVENTORY_NOT_AVAILABLE") {
  console.log("refused:", error.errors.map(({ code }) => code).join(", "));
}

// The listing shows both as sold.
const { content } = must(
  await client.GET(`${V2}/events/{id}/seats/`, {
    params: { path: { id: event.id }, query: { size: 10, sort: ["seatId,asc"] } },
  }),
);
console.log("seats:", content.map(({ seatName, state }) => `${seatName} ${state}`).join(", "));
