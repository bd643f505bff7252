/** The price rows of the interface. */
import { expect, test } from "vitest";
import { type PageBody, type SeatBody, TestServer, V2 } from "../../support/server.ts";
import { Booth } from "../onsale/booth.ts";
import { expectPage, expectProblem, NOWHERE } from "../wire/wire.ts";

/** For what is refused: it never changes. */
const unchanged = new TestServer();

interface PriceBody {
  readonly id: number;
  readonly name: string;
  readonly eventId: string;
  readonly externalId: string | null;
}

function pathOf(eventId: string): string {
  return `${V2}/event/${eventId}/prices/`;
}

async function create(server: TestServer, ...prices: object[]): Promise<readonly PriceBody[]> {
  const { key, eventId } = server.a;
  const body = prices.map((price) => ({ eventId, ...price }));
  const reply = await server.call<readonly PriceBody[]>("POST", pathOf(eventId), { key, body });
  expect(reply.status).toBe(201);
  return reply.body;
}

test("prices are created together and come back with ids, in order", async () => {
  const server = new TestServer();
  const { eventId } = server.a;
  const made = await create(
    server,
    { name: "Adult" },
    { id: null, name: "Child", externalId: "x1" },
  );
  const id = expect.any(Number) as number;
  expect(made).toEqual([
    { id, name: "Adult", eventId, externalId: null },
    { id, name: "Child", eventId, externalId: "x1" },
  ]);
  expect(made[1]!.id).toBeGreaterThan(made[0]!.id);
});

test("two prices may have one name, and no prices are none", async () => {
  const server = new TestServer();
  const made = await create(server, { name: "Full" }, { name: "Full" });
  expect(new Set(made.map(({ id }) => id)).size).toBe(2);
  expect(await create(server)).toEqual([]);
});

const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["an object", {}, " TYPE"],
  ["a null", null, " NOT_NULL"],
  ["a list of null", [null], "[0] NOT_NULL"],
  ["an id", [{ id: 7, name: "x", eventId: "$" }], "[0].id TYPE"],
  ["no name", [{ eventId: "$" }], "[0].name NOT_NULL"],
  ["an empty name", [{ name: "", eventId: "$" }], "[0].name SIZE"],
  ["a name of 256", [{ name: "x".repeat(256), eventId: "$" }], "[0].name SIZE"],
  ["no event", [{ name: "x" }], "[0].eventId NOT_NULL"],
  ["an event that is no UUID", [{ name: "x", eventId: "7" }], "[0].eventId FORMAT"],
  [
    "an event that is not the path's",
    [
      { name: "x", eventId: "$" },
      { name: "y", eventId: NOWHERE },
    ],
    "[1].eventId MISMATCH",
  ],
  [
    "an external id as a number",
    [{ name: "x", eventId: "$", externalId: 7 }],
    "[0].externalId TYPE",
  ],
];

test.each(INVALID)("%s is refused in place of prices", async (_, body, error) => {
  const { key, eventId } = unchanged.a;
  const before = unchanged.digest;
  const path = pathOf(eventId);
  const sent = JSON.stringify(body).replaceAll('"$"', `"${eventId}"`);
  const reply = await unchanged.call("POST", path, { key, body: sent });
  const errors = [error];
  expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  expect(unchanged.digest).toBe(before);
});

test("the event of a price may be written in capitals", async () => {
  const server = new TestServer();
  const [price] = await create(server, { name: "x", eventId: server.a.eventId.toUpperCase() });
  expect(price!.eventId).toBe(server.a.eventId);
});

test("prices of an event that is nobody's, or another's, are refused alike", async () => {
  const server = new TestServer();
  const { key } = server.a;
  for (const eventId of [NOWHERE, server.b.eventId, server.c.eventId]) {
    const path = pathOf(eventId);
    const expected = { status: 403, errorCode: "EVENT_ACCESS_DENIED" };
    const body = [{ name: "x", eventId }];
    expectProblem(await server.call("POST", path, { key, body }), { ...expected, path });
    expectProblem(await server.call("GET", path, { key }), { ...expected, path });
    const assignments = `${path}assignments/`;
    const assigned = await server.call("POST", assignments, { key, body: {} });
    expectProblem(assigned, { ...expected, path: assignments });
  }
});

test("the list gives pages of the event's prices, sorted as asked", async () => {
  const server = new TestServer();
  const { key, eventId, priceId } = server.a;
  const made = await create(
    server,
    { name: "B", externalId: "2" },
    { name: "A", externalId: "2" },
    { name: "C" },
  );
  const path = pathOf(eventId);
  const reply = await server.call<PageBody<PriceBody>>("GET", path, { key });
  expectPage(reply, { total: 4, count: 4 });
  expect(reply.body.content).toEqual([
    { id: priceId, name: "Full", eventId, externalId: null },
    ...made,
  ]);
  const cases: [string, string[]][] = [
    ["sort=name", ["A", "B", "C", "Full"]],
    ["sort=name,desc", ["Full", "C", "B", "A"]],
    ["sort=externalId,desc&sort=name", ["A", "B", "C", "Full"]],
    ["sort=id,desc&size=2", ["C", "A"]],
    ["sort=id,desc&size=2&page=1", ["B", "Full"]],
    ["page=7", []],
  ];
  for (const [query, names] of cases) {
    const { body } = await server.call<PageBody<PriceBody>>("GET", `${path}?${query}`, { key });
    expect([query, body.content.map(({ name }) => name)]).toEqual([query, names]);
  }
  for (const query of [
    "size=0",
    "size=101",
    "size=abc",
    "page=-1",
    "sort=slot",
    "sort=eventId,up",
  ]) {
    const refused = await server.call("GET", `${path}?${query}`, { key });
    const field = query.split("=")[0]!;
    expect([query, refused.status, refused.body.errors.map((error) => error.field)]).toEqual([
      query,
      400,
      [field],
    ]);
  }
});

class Till extends Booth {
  async assign(body: object, eventId: string = this.server.a.eventId) {
    const { key } = this.server.a;
    return this.server.call("POST", `${pathOf(eventId)}assignments/`, { key, body });
  }

  item(label: string, assignmentId: number, activeCount?: number) {
    return { objectId: this.id(label), assignmentId, activeCount };
  }

  async prices(): Promise<string> {
    const seats: readonly SeatBody[] = await this.server.seats();
    return seats
      .map(({ rowName, seatName, priceName }) => rowName + seatName + priceName)
      .join(" ");
  }
}

test("a price goes to seats, rows, sections and tables; the seat's own wins", async () => {
  const till = new Till();
  const [row, seat, table] = await create(till.server, { name: "r" }, { name: "s" }, { name: "t" });
  const reply = await till.assign({
    seats: [till.item("A1", seat!.id), { seatId: till.id("B1"), assignmentId: seat!.id }],
    groupOfSeats: [
      till.item("Stalls", table!.id),
      till.item("row A", row!.id),
      till.item("Round", table!.id),
    ],
  });
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  expect(await till.prices()).toBe("A1s A2r A3r A4r A5r A6r B1s B2t B3t B4t Round1t Round2t");
});

test("a seat that is held, sold or blocked keeps its state and takes the new price", async () => {
  const till = new Till();
  await till.book("lock", "s", "A1");
  await till.book("directsale", "s", "A2");
  await till.book("block", "s", "A3");
  const [price] = await create(till.server, { name: "New" });
  await till.assign({ groupOfSeats: [till.item("Stalls", price!.id)] });
  expect(await till.states("A1", "A2", "A3")).toEqual(["LOCKED", "SOLD", "BLOCKED"]);
  expect((await till.server.seats())[1]).toMatchObject({ priceName: "New", state: "SOLD" });
});

test("activeCount sets an area's capacity, but not below what is taken", async () => {
  const till = new Till();
  const { priceId, eventId } = till.server.a;
  await till.book("lock", "s", "Pit:2");
  await till.book("directsale", "s", "Pit:3");
  await till.book("block", "s", "Pit:4");
  const set = (activeCount?: number) =>
    till.assign({ groupOfSeats: [till.item("Pit", priceId, activeCount)] });
  expect((await set(9)).text).toBe("true");
  expect(await till.pit()).toEqual([0, 2, 3, 4]);
  const path = `${pathOf(eventId)}assignments/`;
  const errors = ["groupOfSeats[0].activeCount INVENTORY_IN_USE"];
  const refused = await set(8);
  expectProblem(refused, { status: 409, errorCode: "INVENTORY_IN_USE", path, errors });
  expect((await set(1_000)).text).toBe("true");
  expect(await till.pit()).toEqual([991, 2, 3, 4]);
  expect((await set()).text).toBe("true");
  expect(await till.pit()).toEqual([91, 2, 3, 4]);
});

const BAD_ASSIGNMENTS: readonly (readonly [string, (till: Till) => unknown, readonly string[]])[] =
  [
    ["a list", () => [], [" TYPE"]],
    ["a seat as null", () => ({ seats: [null] }), ["seats[0] NOT_NULL"]],
    [
      "nothing of a seat",
      () => ({ seats: [{}] }),
      ["seats[0].seatId NOT_NULL", "seats[0].assignmentId NOT_NULL"],
    ],
    [
      "the second seat without price",
      (till) => ({ seats: [till.item("A1", till.server.a.priceId), { objectId: till.id("A2") }] }),
      ["seats[1].assignmentId NOT_NULL"],
    ],
    [
      "nothing of a group",
      () => ({ groupOfSeats: [{}] }),
      ["groupOfSeats[0].objectId NOT_NULL", "groupOfSeats[0].assignmentId NOT_NULL"],
    ],
    [
      "a seat as text",
      () => ({ seats: [{ objectId: "1", assignmentId: 1 }] }),
      ["seats[0].objectId TYPE"],
    ],
    [
      "a seat beyond 2^53",
      () => ({ seats: [{ objectId: 2 ** 53, assignmentId: 1 }] }),
      ["seats[0].objectId RANGE"],
    ],
    [
      "another event's price",
      (till) => ({ seats: [till.item("A1", till.server.b.priceId)] }),
      ["seats[0].assignmentId NOT_FOUND"],
    ],
    [
      "another schema's seat",
      (till) => ({
        seats: [{ objectId: till.server.b.labels.idOf("A1"), assignmentId: till.server.a.priceId }],
      }),
      ["seats[0].objectId NOT_FOUND"],
    ],
    [
      "a section among the seats",
      (till) => ({ seats: [till.item("Stalls", till.server.a.priceId)] }),
      ["seats[0].objectId NOT_FOUND"],
    ],
    [
      "a seat among the groups",
      (till) => ({ groupOfSeats: [till.item("A1", till.server.a.priceId)] }),
      ["groupOfSeats[0].objectId NOT_FOUND"],
    ],
    [
      "a negative count",
      (till) => ({ groupOfSeats: [till.item("Pit", till.server.a.priceId, -1)] }),
      ["groupOfSeats[0].activeCount RANGE"],
    ],
    [
      "half a place",
      (till) => ({ groupOfSeats: [till.item("Pit", till.server.a.priceId, 1.5)] }),
      ["groupOfSeats[0].activeCount TYPE"],
    ],
  ];

const idleTill = new Till();

test.each(BAD_ASSIGNMENTS)("an assignment with %s is refused whole", async (_, bodyOf, errors) => {
  const before = idleTill.server.digest;
  const reply = await idleTill.assign(bodyOf(idleTill) as object);
  const path = `${pathOf(idleTill.server.a.eventId)}assignments/`;
  expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  expect(idleTill.server.digest).toBe(before);
});

test("an assignment of nothing changes nothing", async () => {
  const till = new Till();
  const before = till.server.digest;
  for (const body of [{}, { seats: [], groupOfSeats: null }]) {
    expect((await till.assign(body)).text).toBe("true");
  }
  expect(till.server.digest).toBe(before);
});
