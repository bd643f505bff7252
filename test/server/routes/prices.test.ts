/** The rows that create, list and assign prices. */
import { expect, test } from "vitest";
import { type PageBody, TestServer, V2 } from "../../support/server.ts";
import { EVENT_DENIED, expectPage, expectProblem, IN_USE, invalid, NOWHERE } from "../wire/wire.ts";

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

test("two prices may have the same name, and an empty list is accepted", async () => {
  const server = new TestServer();
  const made = await create(server, { name: "Full" }, { name: "Full" });
  expect(new Set(made.map(({ id }) => id)).size).toBe(2);
  expect(await create(server)).toEqual([]);
});

const { eventId } = unchanged.a;
const price = { name: "x", eventId };
const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["an object", {}, " TYPE"],
  ["null", null, " NOT_NULL"],
  ["a list of null", [null], "[0] NOT_NULL"],
  ["a price with an id", [{ id: 7, ...price }], "[0].id TYPE"],
  ["a price without a name", [{ eventId }], "[0].name NOT_NULL"],
  ["an empty name", [{ name: "", eventId }], "[0].name SIZE"],
  ["a name of 256 characters", [{ name: "x".repeat(256), eventId }], "[0].name SIZE"],
  ["a price without an event", [{ name: "x" }], "[0].eventId NOT_NULL"],
  ["an event that is not a UUID", [{ name: "x", eventId: "7" }], "[0].eventId FORMAT"],
  ["a price of another event", [price, { ...price, eventId: NOWHERE }], "[1].eventId MISMATCH"],
  ["a number for the external id", [{ ...price, externalId: 7 }], "[0].externalId TYPE"],
];

test.each(INVALID)("new prices are refused: %s", async (_, body, error) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.post(pathOf(eventId), body), invalid(error));
  expect(unchanged.digest).toBe(before);
});

test("the event of a price may be written in upper case", async () => {
  const server = new TestServer();
  const [made] = await create(server, { name: "x", eventId: server.a.eventId.toUpperCase() });
  expect(made!.eventId).toBe(server.a.eventId);
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

test("a seat that is held, sold or blocked gets the new price and keeps its state", async () => {
  const server = new TestServer();
  await server.book("lock", "s", "A1");
  await server.book("directsale", "s", "A2");
  await server.book("block", "s", "A3");
  const [made] = await create(server, { name: "New" });
  await assign(server, { groupOfSeats: [itemOf(server, "Stalls", made!.id)] });
  expect(await server.states("A1", "A2", "A3")).toEqual(["LOCKED", "SOLD", "BLOCKED"]);
  expect((await server.seats())[1]).toMatchObject({ priceName: "New", state: "SOLD" });
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

const { priceId } = unchanged.a;
const item = (label: string, activeCount?: number) =>
  itemOf(unchanged, label, priceId, activeCount);
const foreignSeat = unchanged.b.labels.idOf("A1");

const BAD_ASSIGNMENTS: readonly (readonly [string, unknown, string])[] = [
  ["a list", [], " TYPE"],
  ["null for a seat", { seats: [null] }, "seats[0] NOT_NULL"],
  ["an empty seat", { seats: [{}] }, "seats[0].seatId NOT_NULL, seats[0].assignmentId NOT_NULL"],
  [
    "a second seat without a price",
    { seats: [item("A1"), { objectId: idOf(unchanged, "A2") }] },
    "seats[1].assignmentId NOT_NULL",
  ],
  [
    "an empty group",
    { groupOfSeats: [{}] },
    "groupOfSeats[0].objectId NOT_NULL, groupOfSeats[0].assignmentId NOT_NULL",
  ],
  [
    "a string for a seat id",
    { seats: [{ objectId: "1", assignmentId: 1 }] },
    "seats[0].objectId TYPE",
  ],
  [
    "a seat id beyond 2^53",
    { seats: [{ objectId: 2 ** 53, assignmentId: 1 }] },
    "seats[0].objectId RANGE",
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
  ["a negative count", { groupOfSeats: [item("Pit", -1)] }, "groupOfSeats[0].activeCount RANGE"],
  ["a count of 1.5", { groupOfSeats: [item("Pit", 1.5)] }, "groupOfSeats[0].activeCount TYPE"],
];

test.each(BAD_ASSIGNMENTS)("an assignment is refused as a whole: %s", async (_, body, errors) => {
  const before = unchanged.digest;
  expectProblem(await assign(unchanged, body), invalid(...errors.split(", ")));
  expect(unchanged.digest).toBe(before);
});

test("an empty assignment changes nothing", async () => {
  const before = unchanged.digest;
  for (const body of [{}, { seats: [], groupOfSeats: null }]) {
    expect((await assign(unchanged, body)).text).toBe("true");
  }
  expect(unchanged.digest).toBe(before);
});
