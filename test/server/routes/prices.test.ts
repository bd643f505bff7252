/** The rows that create, list and assign prices. */
import { expect, test } from "vitest";
import { type House, type PageBody, TestServer, V2 } from "../../support/server.ts";
import {
  EVENT_DENIED,
  type ExpectedProblem,
  expectPage,
  expectProblem,
  IN_USE,
  invalid,
  NOT_FOUND,
  NOWHERE,
} from "../wire/wire.ts";

/** For requests that are refused: it never changes. */
const unchanged = new TestServer();

interface PriceBody {
  readonly id: number;
  readonly name: string;
  readonly eventId: string;
  readonly externalId: string | null;
}

const pathOf = (eventId: string) => `${V2}/event/${eventId}/prices/`;
const idOf = ({ a }: TestServer, label: string) => a.labels.idOf(label);

async function create(server: TestServer, ...prices: object[]): Promise<readonly PriceBody[]> {
  const { eventId } = server.a;
  const body = prices.map((price) => ({ eventId, ...price }));
  const reply = await server.post<readonly PriceBody[]>(pathOf(eventId), body);
  expect(reply.status).toBe(201);
  return reply.body;
}

test("several prices are created at once and returned in order, with ids", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  const child = { id: null, name: "Child", externalId: "x1" };
  const made = await create(server, { name: "Adult" }, child);
  const id = expect.any(Number) as number;
  expect(made).toEqual([
    { id, name: "Adult", eventId, externalId: null },
    { id, name: "Child", eventId, externalId: "x1" },
  ]);
  expect(made[1]!.id).toBeGreaterThan(made[0]!.id);
});

const { eventId: unchangedEvent } = unchanged.a;
const price = { name: "x", eventId: unchangedEvent };
const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["a price with an id", [{ id: 7, ...price }], "[0].id TYPE"],
  ["a price without a name", [{ eventId: unchangedEvent }], "[0].name NOT_NULL"],
  ["a price without an event", [{ name: "x" }], "[0].eventId NOT_NULL"],
  ["a price of another event", [price, { ...price, eventId: NOWHERE }], "[1].eventId MISMATCH"],
];

test.each(INVALID)("new prices are refused: %s", async (_, body, error) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.post(pathOf(unchangedEvent), body), invalid(error));
  expect(unchanged.digest).toBe(before);
});

test("the prices of an unknown event and of a foreign event get the same 403", async () => {
  for (const id of [NOWHERE, unchanged.b.eventId, unchanged.c.eventId]) {
    const path = pathOf(id);
    expectProblem(await unchanged.post(path, [{ name: "x", eventId: id }]), EVENT_DENIED);
    expectProblem(await unchanged.get(path), EVENT_DENIED);
    expectProblem(await unchanged.get(`${path}?sort=x`), EVENT_DENIED);
    expectProblem(await unchanged.post(`${path}assignments/`, {}), EVENT_DENIED);
  }
});

test("the list shows the prices of the event, sorted as requested", async () => {
  const server = new TestServer();
  const { a } = server;
  const two = [
    { name: "B", externalId: "2" },
    { name: "A", externalId: "2" },
  ];
  const made = await create(server, ...two, { name: "C" });
  const read = (query: string) => server.get<PageBody<PriceBody>>(pathOf(a.eventId) + query);
  const all = await read("");
  expectPage(all, { total: 4, count: 4 });
  const full = { id: a.priceId, name: "Full", eventId: a.eventId, externalId: null };
  expect(all.body.content).toEqual([full, ...made]);
  for (const [query, names] of [
    ["?sort=name", ["A", "B", "C", "Full"]],
    ["?sort=name,desc", ["Full", "C", "B", "A"]],
    ["?sort=externalId,desc&sort=name", ["A", "B", "C", "Full"]],
    ["?sort=id,desc&size=2", ["C", "A"]],
    ["?sort=id,desc&size=2&page=1", ["B", "Full"]],
  ] as const) {
    const { body } = await read(query);
    expect([query, body.content.map(({ name }) => name)]).toEqual([query, names]);
  }
});

const assign = (server: TestServer, body: unknown) =>
  server.post(`${pathOf(server.a.eventId)}assignments/`, body);

const itemOf = (server: TestServer, label: string, assignmentId: number, activeCount?: number) => ({
  objectId: idOf(server, label),
  assignmentId,
  activeCount,
});

test("a price can be assigned to seats, rows, sections and tables; seats override", async () => {
  const server = new TestServer();
  const made = await create(server, { name: "r" }, { name: "s" }, { name: "t" });
  const [row, seat, table] = made.map(({ id }) => id);
  const reply = await assign(server, {
    seats: [itemOf(server, "A1", seat!), { seatId: idOf(server, "B1"), assignmentId: seat! }],
    groupOfSeats: [
      itemOf(server, "Stalls", table!),
      itemOf(server, "row A", row!),
      itemOf(server, "Round", table!),
    ],
  });
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  const seats = await server.seats();
  expect(seats.map((one) => one.rowName + one.seatName + one.priceName).join(" ")).toBe(
    "A1s A2r A3r A4r A5r A6r B1s B2t B3t B4t Round1t Round2t",
  );
});

test("activeCount sets the capacity of an area, but not below its taken places", async () => {
  const server = new TestServer();
  await server.book("lock", "s", "Pit:2");
  await server.book("directsale", "s", "Pit:3");
  await server.book("block", "s", "Pit:4");
  const set = (activeCount?: number) =>
    assign(server, { groupOfSeats: [itemOf(server, "Pit", server.a.priceId, activeCount)] });
  expect((await set(9)).text).toBe("true");
  expect(await server.pit()).toEqual([0, 2, 3, 4]);
  const errors = ["groupOfSeats[0].activeCount INVENTORY_IN_USE"];
  expectProblem(await set(8), { ...IN_USE, errors });
  expect((await set(1_000)).text).toBe("true");
  expect(await server.pit()).toEqual([991, 2, 3, 4]);
  expect((await set()).text).toBe("true");
  expect(await server.pit()).toEqual([91, 2, 3, 4]);
});

test("onlyActive → seats and places taken before the request comes keep their price", async () => {
  const server = new TestServer();
  const [half] = await create(server, { name: "Half" });
  await server.book("directsale", null, "A1", "Pit:1");
  const body = {
    seats: ["A1", "A2"].map((label) => itemOf(server, label, half!.id)),
    groupOfSeats: [itemOf(server, "Pit", half!.id, 0)],
    onlyActive: true,
  };
  const reply = await assign(server, body);
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  const [first, second] = await server.seats();
  expect([first!.priceName, second!.priceName]).toEqual(["Full", "Half"]);
  expect(await server.pit()).toEqual([99, 0, 1, 0]);
  expectProblem(await assign(server, { ...body, onlyActive: "yes" }), invalid("onlyActive TYPE"));
  const errors = ["groupOfSeats[0].activeCount INVENTORY_IN_USE"];
  expectProblem(await assign(server, { ...body, onlyActive: false }), { ...IN_USE, errors });
});

const { priceId: unchangedPrice } = unchanged.a;
const item = (label: string, activeCount?: number) =>
  itemOf(unchanged, label, unchangedPrice, activeCount);
const foreignSeat = unchanged.b.labels.idOf("A1");

const BAD_ASSIGNMENTS: readonly (readonly [string, unknown, string])[] = [
  ["an empty seat", { seats: [{}] }, "seats[0].seatId NOT_NULL, seats[0].assignmentId NOT_NULL"],
  [
    "an empty group",
    { groupOfSeats: [{}] },
    "groupOfSeats[0].objectId NOT_NULL, groupOfSeats[0].assignmentId NOT_NULL",
  ],
  [
    "the price of another event",
    { seats: [{ ...item("A1"), assignmentId: unchanged.b.priceId }] },
    "seats[0].assignmentId NOT_FOUND",
  ],
  [
    "the seat of another schema",
    { seats: [{ ...item("A1"), objectId: foreignSeat }] },
    "seats[0].objectId NOT_FOUND",
  ],
  ["a section among the seats", { seats: [item("Stalls")] }, "seats[0].objectId NOT_FOUND"],
  ["a seat among the groups", { groupOfSeats: [item("A1")] }, "groupOfSeats[0].objectId NOT_FOUND"],
];

test.each(BAD_ASSIGNMENTS)("an assignment is refused as a whole: %s", async (_, body, errors) => {
  const before = unchanged.digest;
  expectProblem(await assign(unchanged, body), invalid(...errors.split(", ")));
  expect(unchanged.digest).toBe(before);
});

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
const { a: houseA, b: houseB } = unchanged;
const renamed = { id: houseA.priceId, name: "New", eventId: houseA.eventId };

const REFUSED: readonly (readonly [string, object[], ExpectedProblem])[] = [
  ["null for an id", [{ ...renamed, id: null }], invalid("[0].id NOT_NULL")],
  ["an empty name", [{ ...renamed, name: "" }], invalid("[0].name SIZE")],
  ["another event", [{ ...renamed, eventId: houseB.eventId }], invalid("[0].eventId MISMATCH")],
  ["a price twice", [renamed, renamed], invalid("[1].id DUPLICATE")],
  [
    "a price of another event",
    [renamed, { ...renamed, id: houseB.priceId }],
    { ...NOT_FOUND, errors: ["[1].id NOT_FOUND"] },
  ],
];

test.each(REFUSED)("PUT /api/private/v2.0/event/{eventId}/prices/ refuses %s", async (...row) => {
  const [, body, expected] = row;
  const before = unchanged.digest;
  expectProblem(await unchanged.put(pricesOf(houseA), body), expected);
  expect(unchanged.digest).toBe(before);
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
