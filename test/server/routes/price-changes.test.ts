/** The rows that read, update and delete prices by id. */
import { expect, test } from "vitest";
import { type House, TestServer, V2 } from "../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectProblem,
  IN_USE,
  invalid,
  NOT_FOUND,
  NOWHERE,
} from "../wire/wire.ts";

const pricesOf = ({ eventId }: Pick<House, "eventId">) => `${V2}/event/${eventId}/prices/`;

test("GET /api/private/v2.0/event/{eventId}/prices/{id} reads a price", async () => {
  const server = new TestServer();
  const { eventId, priceId } = server.a;
  const reply = await server.get(`${pricesOf(server.a)}${priceId}`);
  const expected = { id: priceId, name: "Full", eventId, externalId: null };
  expect([reply.status, reply.body]).toEqual([200, expected]);
});

test.each(["GET", "DELETE"])(
  "%s /api/private/v2.0/event/{eventId}/prices/{id} is 404 for a price of another event",
  async (method) => {
    const server = new TestServer();
    const { a, b } = server;
    const second = { eventId: server.world.createEvent(a.caller) };
    const before = server.digest;
    for (const path of [`${pricesOf(a)}${b.priceId}`, `${pricesOf(second)}${a.priceId}`]) {
      expectProblem(await server.call(method, path, a), NOT_FOUND);
    }
    expect(server.digest).toBe(before);
  },
);

test(`PUT ${V2}/event/{eventId}/prices/ changes names and external ids`, async () => {
  const server = new TestServer();
  const { eventId, priceId } = server.a;
  const body = [{ id: priceId, name: "Adult", eventId, externalId: "x1" }];
  const reply = await server.put(pricesOf(server.a), body);
  expect([reply.status, reply.body]).toEqual([200, body]);
  const [seat] = await server.seats();
  expect([seat!.priceId, seat!.priceName]).toEqual([priceId, "Adult"]);
});

const unchanged = new TestServer();
const { a, b } = unchanged;
const price = { id: a.priceId, name: "New", eventId: a.eventId };

const REFUSED: readonly (readonly [string, object[], ExpectedProblem])[] = [
  ["null for an id", [{ ...price, id: null }], invalid("[0].id NOT_NULL")],
  ["an empty name", [{ ...price, name: "" }], invalid("[0].name SIZE")],
  ["another event", [{ ...price, eventId: b.eventId }], invalid("[0].eventId MISMATCH")],
  ["a price twice", [price, price], invalid("[1].id DUPLICATE")],
  [
    "a price of another event",
    [price, { ...price, id: b.priceId }],
    { ...NOT_FOUND, errors: ["[1].id NOT_FOUND"] },
  ],
];

test.each(REFUSED)("PUT /api/private/v2.0/event/{eventId}/prices/ refuses %s", async (...row) => {
  const [, body, expected] = row;
  const before = unchanged.digest;
  expectProblem(await unchanged.put(pricesOf(a), body), expected);
  expect(unchanged.digest).toBe(before);
});

test(`PUT ${V2}/event/{eventId}/prices/ is 404 or 403 for the event of the path`, async () => {
  for (const [eventId, expected] of [
    [NOWHERE, NOT_FOUND],
    [b.eventId, DENIED],
  ] as const) {
    expectProblem(await unchanged.put(pricesOf({ eventId }), [{ ...price, eventId }]), expected);
  }
});

test(`DELETE ${V2}/event/{eventId}/prices/{id} deletes a price and its assignments`, async () => {
  const server = new TestServer();
  const path = `${pricesOf(server.a)}${server.a.priceId}`;
  const reply = await server.delete(path);
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expect(await server.seats()).toEqual([]);
  expectProblem(await server.get(path), NOT_FOUND);
});

test(`DELETE ${V2}/event/{eventId}/prices/{id} is 409 while a seat is held`, async () => {
  const server = new TestServer();
  await server.book("lock", "s", "A1");
  const before = server.digest;
  expectProblem(await server.delete(`${pricesOf(server.a)}${server.a.priceId}`), IN_USE);
  expect(server.digest).toBe(before);
});
