/** Amounts of prices: kept by every price call of v2, unknown to v1, and summed by currency. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { expectConsistent } from "../../support/table.ts";
import { expectProblem, invalid } from "../wire/wire.ts";
import { V1 } from "./desk.ts";

interface Price {
  readonly id: number;
  readonly name: string;
  readonly eventId: string;
  readonly externalId: string | null;
  readonly amount?: number;
  readonly currency?: string;
}

interface Summary {
  readonly byPrice: readonly (Omit<Price, "id"> & { priceId: number; sold: number })[];
  readonly revenue: readonly { readonly currency: string; readonly sold: number }[];
}

const pricesOf = (eventId: string) => `${V2}/event/${eventId}/prices/`;
const EUR = { amount: 4_500, currency: "EUR" };

async function create(server: TestServer, prices: readonly object[]): Promise<readonly Price[]> {
  const { eventId } = server.a;
  const body = prices.map((price) => ({ eventId, ...price }));
  const reply = await server.post<readonly Price[]>(pricesOf(eventId), body);
  expect(reply.status).toBe(201);
  return reply.body;
}

async function summary(server: TestServer, eventId = server.a.eventId): Promise<Summary> {
  return (await server.get<Summary>(`${V2}/events/${eventId}/summary/`)).body;
}

test("an amount and its currency are kept by create, update, read and list of v2", async () => {
  const server = new TestServer();
  const { eventId, priceId } = server.a;
  const free = { amount: 0, currency: "CHF" };
  const [full, comp, none] = await create(server, [
    { name: "Stalls", ...EUR },
    { name: "Comp", ...free },
    { name: "Later", amount: null, currency: null },
  ]);
  expect(full).toEqual({ id: full!.id, name: "Stalls", eventId, externalId: null, ...EUR });
  expect(comp).toMatchObject(free);
  expect(none).toEqual({ id: none!.id, name: "Later", eventId, externalId: null });
  const path = pricesOf(eventId);
  const read = await server.get<Price>(path + full!.id);
  expect(read.body).toEqual(full);
  const list = await server.get<PageBody<Price>>(`${path}?sort=amount,desc&sort=id`);
  expect(list.body.content.map(({ id }) => id)).toEqual([full!.id, comp!.id, priceId, none!.id]);

  const dear = { amount: 1_000_000_000_000, currency: "JPY" };
  const changes = [
    { id: none!.id, name: "Later", eventId, ...dear },
    { id: full!.id, name: "Stalls", eventId },
  ];
  const changed = await server.put<readonly Price[]>(path, changes);
  expect(changed.body.map(({ amount, currency }) => [amount, currency])).toEqual([
    [dear.amount, dear.currency],
    [undefined, undefined],
  ]);
  expect((await server.get<Price>(path + full!.id)).body).not.toHaveProperty("amount");
  expectConsistent(server.world);
});

const WRONG: readonly (readonly [string, object, string])[] = [
  ["an amount alone", { amount: 1 }, "[1].currency NOT_NULL"],
  ["a currency alone", { currency: "EUR" }, "[1].amount NOT_NULL"],
  ["an amount beside null", { amount: 1, currency: null }, "[1].currency NOT_NULL"],
  ["a negative amount", { ...EUR, amount: -1 }, "[1].amount RANGE"],
  ["a fraction", { ...EUR, amount: 0.5 }, "[1].amount TYPE"],
  ["an amount as text", { ...EUR, amount: "1" }, "[1].amount TYPE"],
  ["an amount beyond the bound", { ...EUR, amount: 1_000_000_000_001 }, "[1].amount RANGE"],
  ["an unsafe amount", { ...EUR, amount: 2 ** 53 }, "[1].amount RANGE"],
  ["a currency in small letters", { ...EUR, currency: "eur" }, "[1].currency FORMAT"],
  ["a currency of two letters", { ...EUR, currency: "EU" }, "[1].currency FORMAT"],
  ["a currency of four letters", { ...EUR, currency: "EURO" }, "[1].currency FORMAT"],
  ["other capitals than A to Z", { ...EUR, currency: "ÄÖÜ" }, "[1].currency FORMAT"],
  ["no currency", { ...EUR, currency: "" }, "[1].currency FORMAT"],
  ["a currency as number", { ...EUR, currency: 978 }, "[1].currency TYPE"],
];

const unchanged = new TestServer();

test.each(WRONG)("%s → 400 at its member, nothing is stored", async (_, half, error) => {
  const { eventId, priceId } = unchanged.a;
  const before = unchanged.digest;
  const news = [
    { name: "A", ...EUR },
    { name: "B", ...half },
  ].map((price) => ({ eventId, ...price }));
  expectProblem(await unchanged.post(pricesOf(eventId), news), invalid(error));
  const change = [{ id: unchanged.a.priceId, name: "Full", eventId, ...half }];
  expectProblem(
    await unchanged.put(pricesOf(eventId), change),
    invalid(error.replace("[1]", "[0]")),
  );
  expect(priceId).toBe(change[0]!.id);
  expect(unchanged.digest).toBe(before);
});

test("v1 neither takes nor shows an amount, and its update keeps that of v2", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  const path = `${V1}/prices/`;
  const made = await server.post<Price>(path, { name: "Old", eventId, amount: -1, currency: 7 });
  expect([made.status, made.body]).toEqual([
    200,
    { id: made.body.id, name: "Old", eventId, externalId: null },
  ]);
  expect((await server.get<Price>(pricesOf(eventId) + made.body.id)).body).toEqual(made.body);

  const [price] = await create(server, [{ name: "New", ...EUR }]);
  const change = { id: price!.id, name: "Newer", eventId, amount: 7, currency: "USD" };
  const changed = await server.put<Price>(path, change);
  expect(changed.body).toEqual({ id: price!.id, name: "Newer", eventId, externalId: null });
  const listed = await server.get<readonly Price[]>(`${path}?id=${eventId}`);
  expect(listed.body.filter((one) => "amount" in one || "currency" in one)).toEqual([]);
  const read = await server.get<Price>(pricesOf(eventId) + price!.id);
  expect(read.body).toMatchObject({ name: "Newer", ...EUR });
});

test("revenue is what is sold at the amounts of now, by currency in alphabetical order", async () => {
  const server = new TestServer();
  const { a, world } = server;
  expect((await summary(server)).revenue).toEqual([]);
  const made = await create(server, [
    { name: "Euro", ...EUR },
    { name: "Swiss", amount: 5_000, currency: "CHF" },
    { name: "More euro", amount: 1, currency: "EUR" },
    { name: "Yen", amount: 9_000, currency: "JPY" },
  ]);
  const [euro, swiss, more] = made.map(({ id }) => id);
  const item = (label: string, price: number) => ({
    objectId: a.labels.idOf(label),
    assignmentId: price,
  });
  const body = {
    groupOfSeats: [item("Pit", swiss!)],
    seats: [item("A1", euro!), item("A2", euro!), item("A3", more!)],
  };
  world.must("assignPrices", a.caller, { eventId: a.eventId, body });
  await server.book("directsale", "s", "A1", "A2", "A3", "Pit:3");
  await server.book("lock", "s", "Pit:2");
  // Without an amount: B1 is at the price "Full".
  await server.book("directsale", "s", "B1");
  const sold = (euros: number, francs: number) => [
    { currency: "CHF", sold: francs },
    { currency: "EUR", sold: euros },
    { currency: "JPY", sold: 0 },
  ];
  const { byPrice, revenue } = await summary(server);
  expect(
    byPrice.map(({ priceId, amount, currency, sold: places }) => [
      priceId,
      amount,
      currency,
      places,
    ]),
  ).toEqual([
    [a.priceId, undefined, undefined, 1],
    [euro, 4_500, "EUR", 2],
    [swiss, 5_000, "CHF", 3],
    [more, 1, "EUR", 1],
    [made[3]!.id, 9_000, "JPY", 0],
  ]);
  expect(revenue).toEqual(sold(9_001, 15_000));
  await server.book("revertsale", "s", "A1", "Pit:1");
  expect((await summary(server)).revenue).toEqual(sold(4_501, 10_000));
  const change = [{ id: euro, name: "Euro", eventId: a.eventId, amount: 5_000, currency: "EUR" }];
  await server.put(pricesOf(a.eventId), change);
  expect((await summary(server)).revenue).toEqual(sold(5_001, 10_000));
});

test("a clone has the amounts of its event, and nothing sold", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  await create(server, [{ name: "Stalls", ...EUR }]);
  const clone = await server.post<{ readonly id: string }>(`${V2}/events/${eventId}/clone`, {});
  const { byPrice, revenue } = await summary(server, clone.body.id);
  expect(byPrice.map(({ amount, currency }) => ({ amount, currency }))).toEqual([
    { amount: undefined, currency: undefined },
    EUR,
  ]);
  expect(revenue).toEqual([{ currency: "EUR", sold: 0 }]);
});

test("an amount changes → the event has a change with the call prices, its seats stay as they are", async () => {
  const server = new TestServer();
  const { eventId, priceId } = server.a;
  const since = server.engine.sequence;
  await server.put(pricesOf(eventId), [{ id: priceId, name: "Full", eventId, ...EUR }]);
  const changes = await server.get<{ changes: readonly object[] }>(
    `${V2}/events/${eventId}/changes/?since=${since}`,
  );
  expect(changes.body.changes).toMatchObject([{ call: "prices", seats: [], areas: [] }]);
});
