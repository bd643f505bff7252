/** The rows that update, delete and clone schemas. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectProblem,
  IN_USE,
  invalid,
  NO_ID,
  NOT_FOUND,
  UUID,
} from "../wire/wire.ts";

const SCHEMAS = `${V2}/schemas/`;

interface SchemaBody {
  readonly id: number;
  readonly name: string;
}

interface CloneBody {
  readonly schemaId: number;
}

test("PUT /api/private/v2.0/schemas/ replaces a schema", async () => {
  const server = new TestServer();
  const { schemaId, venueId } = server.a;
  const body = { id: schemaId, name: "New plan", venueId, description: "D", archived: true };
  // What is drawn counts, not what is declared.
  const reply = await server.put(SCHEMAS, { ...body, seatsCapacity: 300 });
  const expected = {
    ...body,
    draft: false,
    template: false,
    externalId: null,
    gaCapacity: 100,
    seatsCapacity: 12,
    preview: null,
    thumbnail: null,
    venueName: "House",
  };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await server.get(`${SCHEMAS}${schemaId}`)).body).toEqual(expected);
});

const unchanged = new TestServer();
const { a, b } = unchanged;
const sent = { id: a.schemaId, name: "New", venueId: a.venueId };

const REFUSED: readonly (readonly [string, object, ExpectedProblem])[] = [
  ["no id", { ...sent, id: undefined }, invalid("id NOT_NULL")],
  ["a name of 256 characters", { ...sent, name: "x".repeat(256) }, invalid("name SIZE")],
  ["a foreign venue", { ...sent, venueId: b.venueId }, invalid("venueId NOT_FOUND")],
  ["an unknown schema", { ...sent, id: NO_ID }, NOT_FOUND],
  ["a foreign schema", { ...sent, id: b.schemaId }, DENIED],
];

test.each(REFUSED)("PUT /api/private/v2.0/schemas/ refuses %s", async (_, body, expected) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.put(SCHEMAS, body), expected);
  expect(unchanged.digest).toBe(before);
});

test("DELETE /api/private/v2.0/schemas/{id} leaves its events readable", async () => {
  const server = new TestServer();
  const { schemaId, eventId } = server.a;
  const path = `${SCHEMAS}${schemaId}`;
  const reply = await server.delete(path);
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectProblem(await server.get(path), NOT_FOUND);
  const event = await server.get(`${V2}/events/${eventId}`);
  const none = { schemaName: null, venueId: null, venueName: null };
  expect(event.body).toMatchObject({ id: eventId, schemaId, ...none });
  expect(await server.seats()).toEqual([]);
  expect((await server.get(`${V2}/events/${eventId}/areas/`)).body).toEqual([]);
});

test("DELETE /api/private/v2.0/schemas/{id} is 409 while a seat is held", async () => {
  const server = new TestServer();
  await server.book("lock", "s", "A1");
  const before = server.digest;
  const path = `${SCHEMAS}${server.a.schemaId}`;
  expectProblem(await server.delete(path), IN_USE);
  expect(server.digest).toBe(before);
  await server.book("unlock", "s", "A1");
  expect((await server.delete(path)).status).toBe(204);
});

test(`POST ${V2}/schemas/clone/{id} returns the id of a completed operation`, async () => {
  const server = new TestServer();
  const { schemaId, labels } = server.a;
  const cloned = await server.post<string>(`${SCHEMAS}clone/${schemaId}`);
  expect(cloned.status).toBe(200);
  expect(cloned.text).toBe(JSON.stringify(cloned.body));
  expect(cloned.body).toMatch(UUID);
  const result = await server.get<CloneBody>(`${SCHEMAS}clone/${cloned.body}`);
  const { schemaId: copyId } = result.body;
  const expected = { id: cloned.body, status: "COMPLETED", schemaId: copyId, errorMessage: null };
  expect([result.status, result.body]).toEqual([200, expected]);
  const list = await server.get<PageBody<SchemaBody>>(SCHEMAS);
  expect(list.body.content.map(({ id, name }) => [id, name])).toEqual([
    [schemaId, "Plan"],
    [copyId, "Plan (copy)"],
  ]);
  const layout = await server.get<{ seats: object[] }>(`${SCHEMAS}${copyId}/layout`);
  expect(layout.body.seats.length).toBe(labels.seats.length);
});
