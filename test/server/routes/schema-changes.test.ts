/** The rows that change, delete and clone schemas. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { Booth } from "../onsale/booth.ts";
import { expectProblem, NOWHERE, UUID } from "../wire/wire.ts";

const SCHEMAS = `${V2}/schemas/`;
const INVALID = { status: 400, errorCode: "VALIDATION_FAILED" };
const NOT_FOUND = { status: 404, errorCode: "ENTITY_NOT_FOUND" };
const DENIED = { status: 403, errorCode: "ACCESS_DENIED" };

interface SchemaBody {
  readonly id: number;
  readonly name: string;
}

interface CloneBody {
  readonly id: string;
  readonly status: string;
  readonly schemaId: number;
  readonly errorMessage: string | null;
}

test("PUT /api/private/v2.0/schemas/ replaces what is sent", async () => {
  const server = new TestServer();
  const { schemaId, venueId, key } = server.a;
  const body = { id: schemaId, name: "New plan", venueId, description: "D", archived: true };
  const reply = await server.call<SchemaBody>("PUT", SCHEMAS, { key, body });
  const expected = {
    ...body,
    draft: false,
    template: false,
    externalId: null,
    gaCapacity: null,
    seatsCapacity: null,
    preview: null,
    thumbnail: null,
    venueName: "House",
  };
  expect([reply.status, reply.body]).toEqual([200, expected]);
  expect((await server.call("GET", `${SCHEMAS}${schemaId}`, { key })).body).toEqual(expected);
});

test("PUT /api/private/v2.0/schemas/ refuses what is no schema of the caller's", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const body = { id: a.schemaId, name: "New", venueId: a.venueId };
  const cases: [unknown, object][] = [
    [
      { ...body, id: undefined },
      { ...INVALID, errors: ["id NOT_NULL"] },
    ],
    [
      { ...body, name: "x".repeat(256) },
      { ...INVALID, errors: ["name SIZE"] },
    ],
    [
      { ...body, venueId: b.venueId },
      { ...INVALID, errors: ["venueId NOT_FOUND"] },
    ],
    [{ ...body, id: 999_999 }, NOT_FOUND],
    [{ ...body, id: b.schemaId }, DENIED],
  ];
  const before = server.digest;
  for (const [sent, expected] of cases) {
    const reply = await server.call("PUT", SCHEMAS, { key: a.key, body: sent });
    expectProblem(reply, { ...(expected as typeof NOT_FOUND), path: SCHEMAS });
  }
  expect(server.digest).toBe(before);
});

test("DELETE /api/private/v2.0/schemas/{id} leaves its events readable", async () => {
  const server = new TestServer();
  const { schemaId, eventId, key } = server.a;
  const path = `${SCHEMAS}${schemaId}`;
  const reply = await server.call("DELETE", path, { key });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectProblem(await server.call("GET", path, { key }), { ...NOT_FOUND, path });
  const event = await server.call("GET", `${V2}/events/${eventId}`, { key });
  const gone = { schemaName: null, venueId: null, venueName: null };
  expect(event.body).toMatchObject({ id: eventId, schemaId, ...gone });
  expect(await server.seats()).toEqual([]);
  const areas = await server.call("GET", `${V2}/events/${eventId}/areas/`, { key });
  expect(areas.body).toEqual([]);
});

test.each(["A1", "Pit:1"])(
  "DELETE /api/private/v2.0/schemas/{id} is 409 while %s is held",
  async (object) => {
    const booth = new Booth();
    const { server } = booth;
    await booth.book("lock", "s", object);
    const before = server.digest;
    const path = `${SCHEMAS}${server.a.schemaId}`;
    const reply = await server.call("DELETE", path, { key: server.a.key });
    expectProblem(reply, { status: 409, errorCode: "INVENTORY_IN_USE", path });
    expect(server.digest).toBe(before);
    await booth.book("unlock", "s", object);
    expect((await server.call("DELETE", path, { key: server.a.key })).status).toBe(204);
  },
);

test.each([
  ["DELETE", "/api/private/v2.0/schemas/{id}", SCHEMAS],
  ["POST", "/api/private/v2.0/schemas/clone/{id}", `${SCHEMAS}clone/`],
])("%s %s is 404, 403 and 400 for what it cannot name", async (method, _, prefix) => {
  const server = new TestServer();
  const before = server.digest;
  for (const [id, expected] of [
    [999_999, NOT_FOUND],
    [server.b.schemaId, DENIED],
    ["x", { ...INVALID, errors: ["id TYPE"] }],
  ] as const) {
    const path = `${prefix}${id}`;
    const reply = await server.call(method, path, { key: server.a.key });
    expectProblem(reply, { ...expected, path });
  }
  expect(server.digest).toBe(before);
});

test("POST /api/private/v2.0/schemas/clone/{id} gives an operation that is completed", async () => {
  const server = new TestServer();
  const { schemaId, key, labels } = server.a;
  const cloned = await server.call<string>("POST", `${SCHEMAS}clone/${schemaId}`, { key });
  expect(cloned.status).toBe(200);
  expect(cloned.text).toBe(JSON.stringify(cloned.body));
  expect(cloned.body).toMatch(UUID);
  const result = await server.call<CloneBody>("GET", `${SCHEMAS}clone/${cloned.body}`, { key });
  const { schemaId: copyId } = result.body;
  const expected = { id: cloned.body, status: "COMPLETED", schemaId: copyId, errorMessage: null };
  expect([result.status, result.body]).toEqual([200, expected]);
  const list = await server.call<PageBody<SchemaBody>>("GET", SCHEMAS, { key });
  expect(list.body.content.map(({ id, name }) => [id, name])).toEqual([
    [schemaId, "Plan"],
    [copyId, "Plan (copy)"],
  ]);
  const path = `${SCHEMAS}${copyId}/layout`;
  const layout = await server.call<{ seats: { name: string }[] }>("GET", path, { key });
  expect(layout.body.seats.length).toBe(labels.seats.length);
});

test(`GET ${V2}/schemas/clone/{id} is 404, 403 and 400 for what it cannot name`, async () => {
  const server = new TestServer();
  const { a, b } = server;
  const cloned = await server.call<string>("POST", `${SCHEMAS}clone/${b.schemaId}`, { key: b.key });
  for (const [id, expected] of [
    [NOWHERE, NOT_FOUND],
    [cloned.body, DENIED],
    ["7", { ...INVALID, errors: ["id FORMAT"] }],
  ] as const) {
    const path = `${SCHEMAS}clone/${id}`;
    expectProblem(await server.call("GET", path, { key: a.key }), { ...expected, path });
  }
});
