/** The seats listing, its polling, and the counters of the areas. */
import { expect, test } from "vitest";
import { type PageBody, type SeatBody, TestServer, V2 } from "../../support/server.ts";
import { Booth } from "../onsale/booth.ts";
import { expectPage, expectProblem, LOCAL_DATE_TIME } from "../wire/wire.ts";

const SEATS = 12;

function pathOf(server: TestServer, eventId: string = server.a.eventId): string {
  return `${V2}/events/${eventId}/seats/`;
}

async function list(server: TestServer, query = ""): Promise<readonly SeatBody[]> {
  const { key } = server.a;
  const path = pathOf(server) + query;
  const reply = await server.call<PageBody<SeatBody>>("GET", path, { key });
  expect([query, reply.status]).toEqual([query, 200]);
  return reply.body.content;
}

async function labels(server: TestServer, query: string): Promise<string[]> {
  const seats = await list(server, query);
  return seats.map(({ rowName, seatName }) => rowName + seatName);
}

test("the list has one flat record for each seat, in order of id", async () => {
  const server = new TestServer();
  const { key, priceId, labels: plan } = server.a;
  const reply = await server.call<PageBody<SeatBody>>("GET", pathOf(server), { key });
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

test("a seat shows its state, its price and whether it can be booked", async () => {
  const booth = new Booth();
  const { server } = booth;
  await booth.book("lock", "s", "A1");
  await booth.book("directsale", "s", "A2");
  await booth.book("block", "s", "A3");
  const seen = async () =>
    (await list(server, "?size=4")).map(({ state, available }) => [state, available]);
  expect(await seen()).toEqual([
    ["LOCKED", false],
    ["SOLD", false],
    ["BLOCKED", false],
    ["ACTIVE", true],
  ]);
  booth.setStatus("ARCHIVED");
  expect((await seen()).at(-1)).toEqual(["ACTIVE", false]);
});

test("a seat that never had a price is listed without state and price", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const eventId = world.createEvent(a.caller, a.schemaId);
  const path = `${pathOf(server, eventId)}?size=1`;
  const { body } = await server.call<PageBody<SeatBody>>("GET", path, { key: a.key });
  expect(body.content[0]).toMatchObject({ state: null, available: false, priceId: null });
  expect(body.content[0]).toMatchObject({ priceName: null });
  expect(body.totalElements).toBe(SEATS);
});

test("sectionId and rowId narrow the list, to nothing where they are unknown", async () => {
  const server = new TestServer();
  const id = (label: string) => server.a.labels.idOf(label);
  const cases: [string, number][] = [
    [`sectionId=${id("Stalls")}`, 10],
    [`sectionId=${id("Round")}`, 2],
    [`rowId=${id("row A")}`, 6],
    [`sectionId=${id("Stalls")}&rowId=${id("row B")}`, 4],
    [`sectionId=${id("Round")}&rowId=${id("row B")}`, 0],
    [`sectionId=${server.b.labels.idOf("Stalls")}`, 0],
    ["sectionId=999999", 0],
  ];
  for (const [query, count] of cases) {
    expect([query, (await list(server, `?${query}`)).length]).toEqual([query, count]);
  }
});

test("each sortable property sorts, both ways, and seatId breaks ties", async () => {
  const booth = new Booth();
  const { server } = booth;
  server.world.clock.timeMs += 5;
  await booth.book("lock", "s", "B2");
  server.world.clock.timeMs += 5;
  await booth.book("directsale", "s", "A4");
  const properties = [
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
  for (const property of properties) {
    for (const direction of ["asc", "desc"]) {
      const seats = await list(server, `?sort=${property},${direction}`);
      const sign = direction === "asc" ? 1 : -1;
      const expected = [...seats].sort(
        (a, b) => sign * compare(a[property], b[property]) || a.seatId - b.seatId,
      );
      expect([property, direction, seats]).toEqual([property, direction, expected]);
    }
  }
  const newest = await labels(server, "?sort=updatedAt,desc&size=2");
  expect(newest).toEqual(["A4", "B2"]);
});

function compare(a: string | number | null, b: string | number | null): number {
  if (a === b) return 0;
  return (a ?? "") < (b ?? "") ? -1 : 1;
}

test("several criteria sort one after the other", async () => {
  const server = new TestServer();
  expect(await labels(server, "?sort=seatName,desc&sort=rowName&size=4")).toEqual([
    "A6",
    "A5",
    "A4",
    "B4",
  ]);
  expect(await labels(server, "?sort=sectionName&sort=rowName,desc&size=3")).toEqual([
    "Round1",
    "Round2",
    "B1",
  ]);
});

test("pages follow each other without gap or repetition", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const found: number[] = [];
  for (let number = 0; number < 4; number++) {
    const target = `${pathOf(server)}?size=5&page=${number}&sort=sectionName,desc`;
    const reply = await server.call<PageBody<SeatBody>>("GET", target, { key });
    const count = [5, 5, 2, 0][number]!;
    expectPage(reply, { number, size: 5, total: SEATS, count, isSorted: true });
    found.push(...reply.body.content.map(({ seatId }) => seatId));
  }
  expect(new Set(found).size).toBe(SEATS);
});

const BAD_QUERIES: readonly (readonly [string, string])[] = [
  ["sort=available", "sort UNKNOWN"],
  ["sort=id", "sort UNKNOWN"],
  ["sort=seatId&sort=nothing,asc", "sort UNKNOWN"],
  ["sort=seatId,", "sort UNKNOWN"],
  ["size=0", "size RANGE"],
  ["size=101", "size RANGE"],
  ["size=abc", "size TYPE"],
  ["page=-1", "page RANGE"],
  ["sectionId=Stalls", "sectionId TYPE"],
  ["rowId=-7", "rowId RANGE"],
  ["rowId=9007199254740992", "rowId RANGE"],
  ["lastUpdated=now", "lastUpdated FORMAT"],
  ["lastUpdated=", "lastUpdated FORMAT"],
  ["lastUpdated=1773914400000", "lastUpdated FORMAT"],
  ["lastUpdated=2026-03-19T10:00:00Z", "lastUpdated FORMAT"],
  ["lastUpdated=2026-03-19T10:00:00%2B01:00", "lastUpdated FORMAT"],
];

test("a query that is not valid is refused", async () => {
  const server = new TestServer();
  const { key } = server.a;
  const path = pathOf(server);
  for (const [query, error] of BAD_QUERIES) {
    const reply = await server.call("GET", `${path}?${query}`, { key });
    const errors = [error];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  }
});

test("polling with the largest updatedAt gives every change, that time's again", async () => {
  const booth = new Booth();
  const { server } = booth;
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
  await booth.book("lock", "s", "A1", "A2");
  clock.timeMs += 1;
  await booth.book("sale", "s", "A2");
  mark = "2026-03-19T10:00:00.001";
  expect(await poll()).toEqual(["A1 LOCKED", "A2 SOLD"]);
  expect(await poll()).toEqual(["A2 SOLD"]);
  await booth.book("lock", "s", "A3");
  expect(await poll()).toEqual(["A2 SOLD", "A3 LOCKED"]);
  clock.timeMs += 15 * 60_000;
  expect(await poll()).toEqual(["A2 SOLD", "A1 ACTIVE", "A3 ACTIVE"]);
});

test("lastUpdated may be a date, with or without fraction, and far in the future", async () => {
  const server = new TestServer();
  const cases: [string, number][] = [
    ["2026-03-19", SEATS],
    ["2026-03-20", 0],
    ["2026-03-19T10:00", SEATS],
    ["2026-03-19T10:00:00", SEATS],
    ["2026-03-19T10:00:00.0", SEATS],
    ["2026-03-19T10:00:00.000", SEATS],
    ["2026-03-19T10:00:00.001", 0],
    ["9999-12-31T23:59:59.999999999", 0],
    ["0001-01-01", SEATS],
  ];
  for (const [text, count] of cases) {
    const seats = await list(server, `?lastUpdated=${text}`);
    expect([text, seats.length]).toEqual([text, count]);
  }
});

test("updatedAt never goes back when the machine's clock does", async () => {
  const booth = new Booth();
  const { server } = booth;
  server.world.clock.timeMs += 60_000;
  await booth.book("lock", "s", "A1");
  server.world.clock.timeMs -= 3_600_000;
  await booth.book("lock", "s", "A2");
  const [first, second] = await list(server, "?size=2");
  expect(second!.updatedAt).toBe(first!.updatedAt);
});

test("every general-admission area is listed with its counters", async () => {
  const booth = new Booth();
  const { server } = booth;
  const { key, eventId, priceId, labels: plan } = server.a;
  await booth.book("lock", "s", "Pit:2");
  await booth.book("directsale", "s", "Pit:3");
  await booth.book("block", "s", "Pit:4");
  const reply = await server.call<unknown>("GET", `${V2}/events/${eventId}/areas/`, { key });
  expect([reply.status, reply.body]).toEqual([
    200,
    [
      {
        groupOfSeatsId: plan.idOf("Pit"),
        name: "Pit",
        priceId,
        priceName: "Full",
        capacity: 100,
        active: 91,
        locked: 2,
        sold: 3,
        blocked: 4,
        updatedAt: "2026-03-19T10:00:00.000",
      },
    ],
  ]);
});

test("places of a hold that ran out are back when the areas are read", async () => {
  const booth = new Booth();
  await booth.book("lock", "s", "Pit:2");
  booth.server.world.clock.timeMs += 15 * 60_000;
  expect(await booth.pit()).toEqual([100, 0, 0, 0]);
});
