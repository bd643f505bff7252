/** The listing of seats, polling for changes, and the counters of areas. */
import { expect, test } from "vitest";
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

test("polling reports a new status, bookingEnabled and the new name of a price", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const { eventId, priceId: id } = a;
  const rename = () =>
    world.must("updatePrices", a.caller, { eventId, body: [{ id, name: "New", eventId }] });
  const changes = [
    () => server.setStatus("ARCHIVED"),
    () => world.change({ bookingEnabled: false }),
    () => void rename(),
  ];
  for (const change of changes) {
    world.clock.timeMs += 1_000;
    change();
    const now = new Date(world.clock.timeMs).toISOString().slice(0, -1);
    const seats = await list(server, `?lastUpdated=${now}&sort=updatedAt,desc`);
    expect(seats.map(({ updatedAt }) => updatedAt)).toEqual(Array(SEATS).fill(now));
    world.clock.timeMs += 1_000;
    const later = new Date(world.clock.timeMs).toISOString().slice(0, -1);
    expect(await list(server, `?lastUpdated=${later}`)).toEqual([]);
  }
  const [seat] = await list(server, "?size=1");
  expect(seat).toMatchObject({ available: false, priceName: "New" });
});

test("a seat that never had a price is listed without a state and a price", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const eventId = world.createEvent(a.caller, a.schemaId);
  const { body } = await server.get<PageBody<SeatBody>>(`${pathOf(server, eventId)}?size=1`);
  const none = { state: null, available: false };
  expect(body.content[0]).toMatchObject(none);
  expect(body.totalElements).toBe(SEATS);
});

const idOf = (label: string) => unchanged.a.labels.idOf(label);
const FILTERS: readonly (readonly [string, number])[] = [
  [`sectionId=${idOf("Stalls")}`, 10],
  [`sectionId=${idOf("Round")}`, 2],
  [`rowId=${idOf("row A")}`, 6],
  [`sectionId=${idOf("Stalls")}&rowId=${idOf("row B")}`, 4],
  [`sectionId=${idOf("Round")}&rowId=${idOf("row B")}`, 0],
  [`sectionId=${unchanged.b.labels.idOf("Stalls")}`, 0],
  ["sectionId=999999", 0],
  ["lastUpdated=", SEATS],
  ["lastUpdated=2026-03-19", SEATS],
  ["lastUpdated=2026-03-20", 0],
  ["lastUpdated=2026-03-19T10:00", SEATS],
  ["lastUpdated=2026-03-19T10:00:00", SEATS],
  ["lastUpdated=2026-03-19T10:00:00.0", SEATS],
  ["lastUpdated=2026-03-19T10:00:00.000", SEATS],
  ["lastUpdated=2026-03-19T10:00:00.001", 0],
  ["lastUpdated=9999-12-31T23:59:59.999999999", 0],
  ["lastUpdated=0001-01-01", SEATS],
];

test.each(FILTERS)("the listing with %s has %d seats", async (query, count) => {
  expect(await list(unchanged, `?${query}`)).toHaveLength(count);
});

const PROPERTIES = [
  "seatId",
  "seatName",
  "rowId",
  "rowName",
  "sectionId",
  "sectionName",
  "state",
  "priceId",
  "priceName",
  "updatedAt",
] as const;

test("the listing can be sorted by each property, both ways; ties are sorted by id", async () => {
  const server = new TestServer();
  server.world.clock.timeMs += 5;
  await server.book("lock", "s", "B2");
  server.world.clock.timeMs += 5;
  await server.book("directsale", "s", "A4");
  type Value = string | number | null | undefined;
  const compare = (a: Value, b: Value) => (a === b ? 0 : (a ?? "") < (b ?? "") ? -1 : 1);
  for (const property of PROPERTIES) {
    for (const [direction, sign] of [
      ["asc", 1],
      ["desc", -1],
    ] as const) {
      const seats = await list(server, `?sort=${property},${direction}`);
      const expected = [...seats].sort(
        (a, b) => sign * compare(a[property], b[property]) || a.seatId - b.seatId,
      );
      expect([property, direction, seats]).toEqual([property, direction, expected]);
    }
  }
  const newest = await list(server, "?sort=updatedAt,desc&size=2");
  expect(labelsOf(newest)).toEqual(["A4", "B2"]);
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
  ["rowId=9007199254740992", "rowId RANGE"],
  ["lastUpdated=now", "lastUpdated FORMAT"],
  ["lastUpdated=1773914400000", "lastUpdated FORMAT"],
  ["lastUpdated=2026-03-19T10:00:00Z", "lastUpdated FORMAT"],
  ["lastUpdated=2026-03-19T10:00:00%2B01:00", "lastUpdated FORMAT"],
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

test("the places of an expired hold are active when the areas are read", async () => {
  const server = new TestServer();
  await server.book("lock", "s", "Pit:2");
  server.world.clock.timeMs += 15 * 60_000;
  expect(await server.pit()).toEqual([100, 0, 0, 0]);
});
