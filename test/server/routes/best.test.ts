/** The best places over HTTP and the JSON command socket. */
import { expect, test } from "vitest";
import { type Best, searchBest } from "../../sim/model/best.ts";
import { Random } from "../../sim/workload/random.ts";
import type { CallOptions, ProblemBody } from "../../support/answers/exchange.ts";
import { RandomHouse, requestOf } from "../../support/random-hall.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { CommandStage } from "../commands/stage.ts";
import { NOWHERE } from "../wire/wire.ts";

interface BestBody {
  readonly sequence: number;
  readonly together: boolean;
  readonly seats: readonly { readonly id: number }[];
  readonly areas: readonly object[];
  readonly groupOfSeats: readonly { readonly id: number }[];
  readonly largestTogether?: number;
  readonly available?: number;
}

const PATH = `${V2}/booking/best`;

function best(server: TestServer, body: object, options: CallOptions = {}) {
  const target = `${PATH}?eventId=${server.a.eventId}`;
  return server.post<BestBody & ProblemBody>(target, body, { key: server.a.key, ...options });
}

test("the best places are locked, and shown along the row with the end of their hold", async () => {
  const server = new TestServer();
  const check = `${V2}/booking/check?eventId=${server.a.eventId}&call=best`;
  const wish = { sessionId: "ann", quantity: 2, groupOfSeatsIds: null };
  const dry = await server.post<BestBody>(check, wish);
  const seats = dry.body.seats.map(({ id }) => ({ id, state: "ACTIVE" }));
  expect(dry.body).toMatchObject({ together: true, seats, areas: [], groupOfSeats: [] });
  expect(dry.text).not.toMatch(/expiresAt|fence/);
  const { status, body } = await best(server, wish);
  expect([status, body]).toMatchObject([
    200,
    {
      sequence: server.engine.sequence,
      together: true,
      seats: seats.map(({ id }) => ({
        id,
        state: "LOCKED",
        label: expect.stringMatching(/^Stalls;;A;;\d$/) as string,
        expiresAt: "2026-03-19T10:15:00.000",
        fence: body.sequence,
      })),
      areas: [],
      groupOfSeats: [],
    },
  ]);
  const pit = server.a.labels.idOf("Pit");
  const places = await best(server, { sessionId: "ann", quantity: 3, groupOfSeatsIds: [pit] });
  expect(places.body).toMatchObject({
    together: true,
    seats: [],
    areas: [{ groupOfSeatsId: pit, locked: 3, hold: { capacity: 3 } }],
    groupOfSeats: [{ id: pit, capacity: 3 }],
  });
  const sold = await server.post(server.bookingPath("sale"), {
    sessionId: "ann",
    seats: body.seats.map(({ id }) => ({ id })),
    groupOfSeats: places.body.groupOfSeats,
  });
  expect(sold.text).toBe("true");
});

test("where nothing is suitable, the answer says how many are together and in all", async () => {
  const server = new TestServer();
  const reply = await best(server, { quantity: 50 });
  const errors = [{ field: "quantity", code: "NOTHING_SUITABLE", rejectedValue: 50 }];
  const refusal = { errorCode: "NOTHING_SUITABLE", path: PATH, largestTogether: 6, available: 12 };
  expect([reply.status, reply.body]).toMatchObject([409, { ...refusal, errors }]);
  const { largestTogether } = reply.body;
  expect((await best(server, { quantity: largestTogether! + 1 })).status).toBe(409);
  expect((await best(server, { quantity: largestTogether! })).status).toBe(200);
  const check = `${V2}/booking/check?eventId=${server.a.eventId}&call=best`;
  const dry = await server.post(check, { quantity: 50 });
  expect(dry.body).toMatchObject({ errorCode: "NOTHING_SUITABLE", path: PATH });
});

test("when several refusals apply, the documented order decides", async () => {
  const server = new TestServer();
  const { a, b } = server;
  const order: [string, object, () => void][] = [
    ["409 NOTHING_SUITABLE", { quantity: 50 }, () => {}],
    [
      "400 INVENTORY_NOT_AVAILABLE",
      { quantity: 50 },
      () => server.world.change({ heldPerSession: 49 }),
    ],
    ["422 EVENT_NOT_PUBLISHED", { quantity: 50 }, () => server.setStatus("ARCHIVED")],
    [
      "402 ORGANIZATION_DISABLED",
      { quantity: 50 },
      () => server.world.change({ bookingEnabled: false }),
    ],
    ["400 VALIDATION_FAILED", { quantity: 50, priceIds: [b.priceId] }, () => {}],
    ["400 VALIDATION_FAILED", { quantity: 51 }, () => {}],
  ];
  for (const [expected, body, worsen] of order) {
    worsen();
    const reply = await best(server, body);
    expect(`${reply.status} ${reply.body.errorCode}`).toBe(expected);
  }
  for (const eventId of [NOWHERE, b.eventId]) {
    const reply = await server.post(`${PATH}?eventId=${eventId}`, { quantity: 1, priceIds: [1] });
    expect([reply.status, reply.body.errorCode]).toEqual([403, "EVENT_ACCESS_DENIED"]);
  }
  expect((await best(server, {}, a)).body.errors[0]).toMatchObject({ field: "quantity" });
});

test("a repeated key gets the first answer; a refusal of the moment is not kept", async () => {
  const server = new TestServer();
  const once = (key: string) => ({ headers: { "idempotency-key": key } });
  const first = await best(server, { quantity: 2 }, once("one"));
  const again = await best(server, { quantity: 2 }, once("one"));
  expect([again.status, again.text]).toEqual([200, first.text]);
  expect((await best(server, { quantity: 2 })).text).not.toBe(first.text);
  const body = { sessionId: "bob", quantity: 5 };
  expect((await best(server, body, once("two"))).status).toBe(409);
  server.world.book("unlock", { seats: first.body.seats.map(({ id }) => ({ id })) });
  expect((await best(server, body, once("two"))).status).toBe(200);
});

test("the JSON socket answers with the body of HTTP", async () => {
  const stage = await CommandStage.start();
  const client = await stage.open();
  const { eventId } = stage.server.a;
  const wish = { call: "best", eventId, sessionId: "ann" };
  const [granted, refused, invalid] = await client.ask(
    { n: 1, ...wish, quantity: 2 },
    { n: 2, ...wish, quantity: 50 },
    { n: 3, ...wish, quantity: 0 },
  );
  expect(granted).toMatchObject({ n: 1, status: 200, body: { together: true, areas: [] } });
  expect((granted!.body as BestBody).seats).toHaveLength(2);
  expect(refused).toMatchObject({
    status: 409,
    body: { errorCode: "NOTHING_SUITABLE", path: PATH, instance: PATH },
  });
  expect(invalid).toMatchObject({ status: 400, body: { errorCode: "VALIDATION_FAILED" } });
  const keyed = { ...wish, quantity: 1, idempotencyKey: "once" };
  const [first, again] = await client.ask({ n: 4, ...keyed }, { n: 5, adjacent: null, ...keyed });
  expect(again).toEqual({ ...first, n: 5 });
  const headers = { "idempotency-key": "once" };
  const overHttp = await best(stage.server, { sessionId: "ann", quantity: 1 }, { headers });
  expect(overHttp.body).toEqual(first!.body);
});

test("on random halls the answer over HTTP is what an exhaustive search finds", async () => {
  const server = new TestServer();
  const { world } = server;
  for (let seed = 1; seed <= 60; seed++) {
    const house = new RandomHouse(new Random(seed), world);
    for (let turn = 0; turn < 4; turn++) {
      const { hall } = house;
      const wish = house.wish(hall);
      const target = `${PATH}?eventId=${house.eventId}`;
      const { status, body } = await server.post<BestBody>(target, requestOf(wish));
      const expected = searchBest(hall, wish);
      expect([seed, turn, status, foundIn(body)]).toEqual([
        seed,
        turn,
        expected.kind === "none" ? 409 : 200,
        expected,
      ]);
      house.disturb();
    }
  }
});

function foundIn({ seats, ...body }: BestBody): Best {
  const { together, groupOfSeats, largestTogether, available } = body;
  if (seats === undefined) {
    return { kind: "none", largestTogether: largestTogether!, available: available! };
  }
  if (groupOfSeats.length > 0) return { kind: "area", id: groupOfSeats[0]!.id };
  return { kind: "seats", together, ids: seats.map(({ id }) => id) };
}
