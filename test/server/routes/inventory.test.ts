/** Seats, areas, figures and holds of an event, and polling for their changes. */
import { expect, test } from "vitest";
import { DOCUMENT } from "../../support/answers/documented.ts";
import { type PageBody, type SeatBody, TestServer, V2 } from "../../support/server.ts";
import { expectPage, expectProblem, invalid, LOCAL_DATE_TIME } from "../wire/wire.ts";

const SEATS = 12;
/** For requests that only read. */
const unchanged = new TestServer();

const pathOf = ({ a }: TestServer, eventId = a.eventId) => `${V2}/events/${eventId}/seats/`;

async function list(server: TestServer, query = ""): Promise<readonly SeatBody[]> {
  const reply = await server.get<PageBody<SeatBody>>(pathOf(server) + query);
  expect([query, reply.status]).toEqual([query, 200]);
  return reply.body.content;
}

const labelsOf = (seats: readonly SeatBody[]) =>
  seats.map(({ rowName, seatName }) => rowName + seatName);

test("the listing has a flat record for each seat, in order of id", async () => {
  const { priceId, labels: plan } = unchanged.a;
  const reply = await unchanged.get<PageBody<SeatBody>>(pathOf(unchanged));
  expectPage(reply, { total: SEATS, count: SEATS });
  const ids = reply.body.content.map(({ seatId }) => seatId);
  expect(ids).toEqual([...ids].sort((a, b) => a - b));
  expect(reply.body.content[0]).toEqual({
    seatId: plan.idOf("A1"),
    seatName: "1",
    rowId: plan.idOf("row A"),
    rowName: "A",
    sectionId: plan.idOf("Stalls"),
    sectionName: "Stalls",
    state: "ACTIVE",
    available: true,
    priceId,
    priceName: "Full",
    updatedAt: expect.stringMatching(LOCAL_DATE_TIME) as string,
  });
});

test("a seat shows its state, and is available when it can be booked", async () => {
  const server = new TestServer();
  await server.book("lock", "s", "A1");
  await server.book("directsale", "s", "A2");
  await server.book("block", "s", "A3");
  const seen = async () =>
    (await list(server, "?size=4")).map(({ state, available }) => [state, available]);
  expect(await seen()).toEqual([
    ["LOCKED", false],
    ["SOLD", false],
    ["BLOCKED", false],
    ["ACTIVE", true],
  ]);
  server.world.change({ bookingEnabled: false });
  expect((await seen()).at(-1)).toEqual(["ACTIVE", false]);
  server.world.change({ bookingEnabled: true });
  expect((await seen()).at(-1)).toEqual(["ACTIVE", true]);
  server.setStatus("ARCHIVED");
  expect((await seen()).at(-1)).toEqual(["ACTIVE", false]);
});

const idOf = (label: string) => unchanged.a.labels.idOf(label);
const FILTERS: readonly (readonly [string, number])[] = [
  [`sectionId=${idOf("Stalls")}`, 10],
  [`sectionId=${idOf("Round")}`, 2],
  [`rowId=${idOf("row A")}`, 6],
  [`sectionId=${idOf("Stalls")}&rowId=${idOf("row B")}`, 4],
  [`sectionId=${idOf("Round")}&rowId=${idOf("row B")}`, 0],
  [`sectionId=${unchanged.b.labels.idOf("Stalls")}`, 0],
  ["lastUpdated=", SEATS],
  ["lastUpdated=2026-03-19", SEATS],
  ["lastUpdated=2026-03-20", 0],
  ["lastUpdated=2026-03-19T10:00:00.000", SEATS],
  ["lastUpdated=2026-03-19T10:00:00.001", 0],
  ["lastUpdated=9999-12-31T23:59:59.999999999", 0],
  ["lastUpdated=0001-01-01", SEATS],
];

test.each(FILTERS)("the listing with %s has %d seats", async (query, count) => {
  expect(await list(unchanged, `?${query}`)).toHaveLength(count);
});

test.each([
  ["sort=seatName,desc&sort=rowName&size=4", "A6 A5 A4 B4"],
  ["sort=sectionName&sort=rowName,desc&size=3", "Round1 Round2 B1"],
])("the listing with %s begins with %s", async (query, expected) => {
  expect(labelsOf(await list(unchanged, `?${query}`)).join(" ")).toBe(expected);
});

test("the pages of the listing contain each seat once", async () => {
  const found: number[] = [];
  for (const [number, count] of [5, 5, 2, 0].entries()) {
    const target = `${pathOf(unchanged)}?size=5&page=${number}&sort=sectionName,desc`;
    const reply = await unchanged.get<PageBody<SeatBody>>(target);
    expectPage(reply, { number, size: 5, total: SEATS, count, isSorted: true });
    found.push(...reply.body.content.map(({ seatId }) => seatId));
  }
  expect(new Set(found).size).toBe(SEATS);
});

const BAD_QUERIES: readonly (readonly [string, string])[] = [
  ["sort=available", "sort UNKNOWN"],
  ["sort=seatId&sort=nothing,asc", "sort UNKNOWN"],
  ["sectionId=Stalls", "sectionId TYPE"],
  ["rowId=-7", "rowId RANGE"],
  ["lastUpdated=now", "lastUpdated FORMAT"],
];

test.each(BAD_QUERIES)("the listing refuses %s", async (query, error) => {
  expectProblem(await unchanged.get(`${pathOf(unchanged)}?${query}`), invalid(error));
});

test("polling with the largest updatedAt returns every change at or after that time", async () => {
  const server = new TestServer();
  const { clock } = server.world;
  clock.timeMs += 1;
  const largest = (seats: readonly SeatBody[]) =>
    seats
      .map(({ updatedAt }) => updatedAt)
      .sort()
      .at(-1)!;
  let mark = largest(await list(server));
  const poll = async () => {
    const seats = await list(server, `?lastUpdated=${mark}&sort=updatedAt`);
    mark = largest(seats);
    return seats.map(({ rowName, seatName, state }) => `${rowName}${seatName} ${state}`);
  };
  expect((await poll()).length).toBe(SEATS);
  clock.timeMs += 1;
  await server.book("lock", "s", "A1", "A2");
  clock.timeMs += 1;
  await server.book("sale", "s", "A2");
  mark = "2026-03-19T10:00:00.001";
  expect(await poll()).toEqual(["A1 LOCKED", "A2 SOLD"]);
  expect(await poll()).toEqual(["A2 SOLD"]);
  await server.book("lock", "s", "A3");
  expect(await poll()).toEqual(["A2 SOLD", "A3 LOCKED"]);
  clock.timeMs += 15 * 60_000;
  expect(await poll()).toEqual(["A2 SOLD", "A1 ACTIVE", "A3 ACTIVE"]);
});

test("updatedAt does not go back when the machine's clock does", async () => {
  const server = new TestServer();
  server.world.clock.timeMs += 60_000;
  await server.book("lock", "s", "A1");
  server.world.clock.timeMs -= 3_600_000;
  await server.book("lock", "s", "A2");
  const [first, second] = await list(server, "?size=2");
  expect(second!.updatedAt).toBe(first!.updatedAt);
});

test("every general-admission area is listed with its counters", async () => {
  const server = new TestServer();
  const { eventId, priceId, labels } = server.a;
  await server.book("lock", "s", "Pit:2");
  await server.book("directsale", "s", "Pit:3");
  await server.book("block", "s", "Pit:4");
  const reply = await server.get(`${V2}/events/${eventId}/areas/`);
  const pit = {
    groupOfSeatsId: labels.idOf("Pit"),
    name: "Pit",
    priceId,
    priceName: "Full",
    capacity: 100,
    active: 91,
    locked: 2,
    sold: 3,
    blocked: 4,
    updatedAt: "2026-03-19T10:00:00.000",
  };
  expect([reply.status, reply.body]).toEqual([200, [pit]]);
});

interface HoldBody {
  readonly fence: number;
  readonly sessionId?: string;
  readonly holdType: string;
  readonly since: string;
  readonly until: string | null;
  readonly seats: readonly number[];
  readonly areas: readonly { readonly groupOfSeatsId: number; readonly capacity: number }[];
}

const inventoryPath = ({ a }: TestServer, what: string) => `${V2}/events/${a.eventId}/${what}/`;

async function holds(server: TestServer, query = ""): Promise<readonly HoldBody[]> {
  const reply = await server.get<PageBody<HoldBody>>(inventoryPath(server, "holds") + query);
  expect([query, reply.status]).toEqual([query, 200]);
  return reply.body.content;
}

test("a summary counts seats and places together, by price and by section", async () => {
  const server = new TestServer();
  const { a, world } = server;
  const half = world.createPrice("Half");
  const seats = [{ objectId: a.labels.idOf("B4"), assignmentId: half }];
  world.must("assignPrices", a.caller, { eventId: a.eventId, body: { seats } });
  await server.book("lock", "s", "A1", "A2", "Pit:2");
  await server.book("directsale", "s", "A3", "Pit:3");
  await server.book("block", "s", "B4", "Pit:4");
  const reply = await server.get(inventoryPath(server, "summary"));
  const { sequence } = server.engine;
  expect(reply.status).toBe(200);
  expect(reply.headers["X-Sequence"]).toBe(String(sequence));
  const counts = (active: number, locked: number, sold: number, blocked: number) => {
    return { active, locked, sold, blocked, unpriced: 0 };
  };
  expect(reply.body).toEqual({
    sequence,
    total: counts(99, 4, 4, 5),
    byPrice: [
      { priceId: a.priceId, priceName: "Full", ...counts(99, 4, 4, 4) },
      { priceId: half, priceName: "Half", ...counts(0, 0, 0, 1) },
    ],
    bySection: [
      { groupOfSeatsId: a.labels.idOf("Stalls"), name: "Stalls", ...counts(6, 2, 1, 1) },
      { groupOfSeatsId: a.labels.idOf("Round"), name: "Round", ...counts(2, 0, 0, 0) },
      { groupOfSeatsId: a.labels.idOf("Pit"), name: "Pit", ...counts(91, 2, 3, 4) },
    ],
    revenue: [],
  });
});

test("seats and places without a price are unpriced", async () => {
  const server = new TestServer();
  const { a, world } = server;
  const eventId = world.createEvent();
  const summary = async () =>
    (await server.get<{ total: object; byPrice: unknown[] }>(`${V2}/events/${eventId}/summary/`))
      .body;
  const none = { active: 0, locked: 0, sold: 0, blocked: 0 };
  expect(await summary()).toMatchObject({ total: { ...none, unpriced: 112 }, byPrice: [] });
  const priceId = world.createPrice("Late", eventId);
  const groupOfSeats = ["A1", "Pit"].map((label) => ({
    objectId: a.labels.idOf(label),
    assignmentId: priceId,
  }));
  const [seat, pit] = groupOfSeats;
  const body = { seats: [seat!], groupOfSeats: [pit!] };
  world.must("assignPrices", a.caller, { eventId, body });
  expect(await summary()).toMatchObject({ total: { ...none, active: 101, unpriced: 11 } });
  world.must("deletePrice", a.caller, { eventId, priceId });
  expect(await summary()).toMatchObject({ total: { ...none, unpriced: 112 }, byPrice: [] });
});

test("each lock that still holds something is a row, with its end", async () => {
  const server = new TestServer();
  const { labels } = server.a;
  await server.book("lock", "ann", "A1", "A2", "Pit:2");
  const first = server.engine.sequence;
  await server.post(`${V2}/booking/lock?eventId=${server.a.eventId}`, {
    seats: [{ id: labels.idOf("B1") }],
    holdType: "RESERVED",
  });
  const second = server.engine.sequence;
  await server.book("lock", "bob", "B2");
  await server.book("unlock", "bob", "B2");
  await server.book("unlock", "ann", "A1", "Pit:1");
  const reply = await server.get<PageBody<HoldBody>>(inventoryPath(server, "holds"));
  expectPage(reply, { total: 2, count: 2 });
  expect(reply.headers["X-Sequence"]).toBe(String(server.engine.sequence));
  expect(reply.body.content).toEqual([
    {
      fence: first,
      sessionId: "ann",
      holdType: "CART",
      since: "2026-03-19T10:00:00.000",
      until: "2026-03-19T10:15:00.000",
      seats: [labels.idOf("A2")],
      areas: [{ groupOfSeatsId: labels.idOf("Pit"), capacity: 1 }],
    },
    {
      fence: second,
      holdType: "RESERVED",
      since: "2026-03-19T10:00:00.000",
      until: null,
      seats: [labels.idOf("B1")],
      areas: [],
    },
  ]);
  server.world.clock.timeMs += 15 * 60_000;
  expect((await holds(server)).map(({ fence }) => fence)).toEqual([second]);
});

test("holds are filtered by session, sorted and paged", async () => {
  const server = new TestServer();
  for (const [session, seat] of [
    ["ann", "A1"],
    ["bob", "A2"],
    ["ann", "A3"],
  ] as const) {
    await server.book("lock", session, seat);
    server.world.clock.timeMs += 1_000;
  }
  await server.post(`${V2}/booking/lock?eventId=${server.a.eventId}`, {
    sessionId: "desk",
    seats: [{ id: server.a.labels.idOf("B1") }],
    holdType: "RESERVED",
  });
  const sessions = async (query: string) =>
    (await holds(server, query)).map(({ sessionId }) => sessionId);
  expect(await sessions("")).toEqual(["ann", "bob", "ann", "desk"]);
  expect(await sessions("?sessionId=ann&sort=since,desc")).toEqual(["ann", "ann"]);
  expect(await sessions("?sort=holdType,desc")).toEqual(["desk", "ann", "bob", "ann"]);
  expect(await sessions("?sort=until,desc&size=2")).toEqual(["desk", "ann"]);
  expect(await sessions("?sort=fence,desc&size=3&page=1")).toEqual(["ann"]);
  expect(await sessions("?sessionId=nobody")).toEqual([]);
  const refused = await server.get(`${inventoryPath(server, "holds")}?sort=sessionId`);
  expectProblem(refused, invalid("sort UNKNOWN"));
});

test("the sequence moves with every change of the event, and with nothing else", async () => {
  const server = new TestServer();
  const { world, a, engine } = server;
  const { eventId, priceId: id, caller } = a;
  const sequence = async () => {
    const { body } = await server.get<{ sequence: number }>(inventoryPath(server, "summary"));
    return body.sequence;
  };
  const changes = [
    () => world.book("lock", world.selection("s", "A1")),
    () => server.setStatus("ARCHIVED"),
    () => world.change({ bookingEnabled: false }),
    () => world.must("updatePrices", caller, { eventId, body: [{ id, name: "New", eventId }] }),
    () => world.must("clearPrices", caller, { eventId }),
    () => world.must("deletePrice", caller, { eventId, priceId: id }),
  ];
  for (const change of changes) {
    change();
    expect(await sequence()).toBe(engine.sequence);
  }
  const before = engine.sequence;
  world.createEvent();
  world.change({ salesControl: true });
  await server.book("lock", "s", "A1");
  expect(engine.sequence).toBeGreaterThan(before);
  expect(await sequence()).toBe(before);
});

test.each(["seats", "areas", "summary", "holds"])(
  "the answer of %s names the sequence in a documented header",
  async (what) => {
    const server = new TestServer();
    const { headers } = await server.get(inventoryPath(server, what));
    expect(headers["X-Sequence"]).toBe(String(server.engine.state.sequenceOf(server.world.event)));
    const { responses } = DOCUMENT.paths[`${V2}/events/{id}/${what}/`]!["get"]!;
    expect(responses["200"]).toHaveProperty(["headers", "X-Sequence"]);
  },
);
