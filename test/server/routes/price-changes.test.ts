/** The rows that read, change and delete prices by id. */
import { expect, test } from "vitest";
import { type House, TestServer, V2 } from "../../support/server.ts";
import { Booth } from "../onsale/booth.ts";
import { expectProblem, NOWHERE } from "../wire/wire.ts";

const INVALID = { status: 400, errorCode: "VALIDATION_FAILED" };
const NOT_FOUND = { status: 404, errorCode: "ENTITY_NOT_FOUND" };
const DENIED = { status: 403, errorCode: "ACCESS_DENIED" };

function pricesOf({ eventId }: Pick<House, "eventId">): string {
  return `${V2}/event/${eventId}/prices/`;
}

test("GET /api/private/v2.0/event/{eventId}/prices/{id} reads a price", async () => {
  const server = new TestServer();
  const { a } = server;
  const reply = await server.call("GET", `${pricesOf(a)}${a.priceId}`, { key: a.key });
  const expected = { id: a.priceId, name: "Full", eventId: a.eventId, externalId: null };
  expect([reply.status, reply.body]).toEqual([200, expected]);
});

test.each(["GET", "DELETE"])(
  "%s /api/private/v2.0/event/{eventId}/prices/{id} is 404, 403 and 400 for what it cannot name",
  async (method) => {
    const server = new TestServer();
    const { a, b } = server;
    const second = server.world.createEvent(a.caller);
    const before = server.digest;
    const cases: [string, object][] = [
      [`${pricesOf(a)}999999`, NOT_FOUND],
      [`${pricesOf(a)}${b.priceId}`, NOT_FOUND],
      [`${pricesOf({ eventId: second })}${a.priceId}`, NOT_FOUND],
      [`${pricesOf({ eventId: NOWHERE })}${a.priceId}`, NOT_FOUND],
      [`${pricesOf(b)}${b.priceId}`, DENIED],
      [`${pricesOf(a)}x`, { ...INVALID, errors: ["id TYPE"] }],
      [`${pricesOf({ eventId: "7" })}1`, { ...INVALID, errors: ["eventId FORMAT"] }],
    ];
    for (const [path, expected] of cases) {
      const reply = await server.call(method, path, { key: a.key });
      expectProblem(reply, { ...(expected as typeof NOT_FOUND), path });
    }
    expect(server.digest).toBe(before);
  },
);

test("PUT /api/private/v2.0/event/{eventId}/prices/ changes names and external ids", async () => {
  const server = new TestServer();
  const { eventId, priceId, key } = server.a;
  const body = [{ id: priceId, name: "Adult", eventId, externalId: "x1" }];
  const reply = await server.call("PUT", pricesOf(server.a), { key, body });
  expect([reply.status, reply.body]).toEqual([200, body]);
  const [seat] = await server.seats();
  expect([seat!.priceId, seat!.priceName]).toEqual([priceId, "Adult"]);
});

test("PUT /api/private/v2.0/event/{eventId}/prices/ is all or nothing", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const before = server.digest;
  const item = (more: object) => ({ id: a.priceId, name: "New", eventId: a.eventId, ...more });
  const cases: [unknown, object][] = [
    [[item({ id: null })], { ...INVALID, errors: ["[0].id NOT_NULL"] }],
    [[item({ name: "" })], { ...INVALID, errors: ["[0].name SIZE"] }],
    [[item({ eventId: b.eventId })], { ...INVALID, errors: ["[0].eventId MISMATCH"] }],
    [[item({}), item({})], { ...INVALID, errors: ["[1].id DUPLICATE"] }],
    [[item({}), item({ id: b.priceId })], { ...NOT_FOUND, errors: ["[1].id NOT_FOUND"] }],
  ];
  for (const [body, expected] of cases) {
    const path = pricesOf(a);
    const reply = await server.call("PUT", path, { key: a.key, body });
    expectProblem(reply, { ...(expected as typeof NOT_FOUND), path });
  }
  for (const [eventId, expected] of [
    [NOWHERE, NOT_FOUND],
    [b.eventId, DENIED],
  ] as const) {
    const path = pricesOf({ eventId });
    const reply = await server.call("PUT", path, { key: a.key, body: [item({ eventId })] });
    expectProblem(reply, { ...expected, path });
  }
  expect(server.digest).toBe(before);
});

test(`DELETE ${V2}/event/{eventId}/prices/{id} takes its assignments along`, async () => {
  const server = new TestServer();
  const { priceId, key } = server.a;
  const path = `${pricesOf(server.a)}${priceId}`;
  const reply = await server.call("DELETE", path, { key });
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expect(await server.seats()).toEqual([]);
  expectProblem(await server.call("GET", path, { key }), { ...NOT_FOUND, path });
});

test.each([
  ["lock", "A1"],
  ["directsale", "A1"],
  ["block", "A1"],
  ["lock", "Pit:1"],
  ["directsale", "Pit:1"],
] as const)(
  "DELETE /api/private/v2.0/event/{eventId}/prices/{id} is 409 after %s of %s",
  async (kind, object) => {
    const booth = new Booth();
    const { server } = booth;
    await booth.book(kind, "s", object);
    const before = server.digest;
    const path = `${pricesOf(server.a)}${server.a.priceId}`;
    const reply = await server.call("DELETE", path, { key: server.a.key });
    expectProblem(reply, { status: 409, errorCode: "INVENTORY_IN_USE", path });
    expect(server.digest).toBe(before);
  },
);
