/** The figures of an event, and its holds. */
import { expect, test } from "vitest";
import { DOCUMENT } from "../../../support/answers/documented.ts";
import { type PageBody, TestServer, V2 } from "../../../support/server.ts";
import { expectPage, expectProblem, invalid } from "../../wire/wire.ts";

interface HoldBody {
  readonly fence: number;
  readonly sessionId?: string;
  readonly holdType: string;
  readonly since: string;
  readonly until: string | null;
  readonly seats: readonly number[];
  readonly areas: readonly { readonly groupOfSeatsId: number; readonly capacity: number }[];
}

const pathOf = ({ a }: TestServer, what: string) => `${V2}/events/${a.eventId}/${what}/`;

async function holds(server: TestServer, query = ""): Promise<readonly HoldBody[]> {
  const reply = await server.get<PageBody<HoldBody>>(pathOf(server, "holds") + query);
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
  const reply = await server.get(pathOf(server, "summary"));
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
  const reply = await server.get<PageBody<HoldBody>>(pathOf(server, "holds"));
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
  const refused = await server.get(`${pathOf(server, "holds")}?sort=sessionId`);
  expectProblem(refused, invalid("sort UNKNOWN"));
});

test("the sequence moves with every change of the event, and with nothing else", async () => {
  const server = new TestServer();
  const { world, a, engine } = server;
  const { eventId, priceId: id, caller } = a;
  const sequence = async () => {
    const { body } = await server.get<{ sequence: number }>(pathOf(server, "summary"));
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
    const { headers } = await server.get(pathOf(server, what));
    expect(headers["X-Sequence"]).toBe(String(server.engine.state.sequenceOf(server.world.event)));
    const { responses } = DOCUMENT.paths[`${V2}/events/{id}/${what}/`]!["get"]!;
    expect(responses["200"]).toHaveProperty(["headers", "X-Sequence"]);
  },
);
