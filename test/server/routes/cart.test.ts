/** Carts over HTTP and the JSON command socket: answers, refusals, retries, and every view of them. */
import { expect, test } from "vitest";
import type { CallOptions, ProblemBody } from "../../support/answers/exchange.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { CommandStage } from "../commands/stage.ts";
import { expectProblem, NOWHERE } from "../wire/wire.ts";

interface CartBody {
  readonly sequence: number;
  readonly items: readonly {
    readonly eventId: string;
    readonly seats: readonly { readonly id: number; readonly state: string | null }[];
    readonly areas: readonly object[];
  }[];
}

const PATH = `${V2}/booking/cart`;

/** Two events of house A, both on sale. */
class Nights {
  readonly server: TestServer;
  readonly first: string;
  readonly second: string;
  readonly #priceId: number;

  constructor(server = new TestServer()) {
    this.server = server;
    const { world, a } = server;
    this.first = a.eventId;
    this.second = world.createEvent(a.caller, a.schemaId);
    const eventId = this.second;
    const assignmentId = world.createPrice("Late", eventId, a.caller);
    this.#priceId = assignmentId;
    const seats = ["A1", "A2", "A3"].map((label) => ({
      objectId: a.labels.idOf(label),
      assignmentId,
    }));
    world.must("assignPrices", a.caller, { eventId, body: { seats, groupOfSeats: [] } });
  }

  get secondPriceId(): number {
    return this.#priceId;
  }

  item(call: string, eventId: string, ...labels: string[]) {
    const { seats, groupOfSeats } = this.server.selection(null, ...labels);
    return { eventId, call, seats, groupOfSeats };
  }

  send(body: object, options: CallOptions = {}) {
    return this.server.post<CartBody & ProblemBody>(PATH, body, {
      key: this.server.a.key,
      ...options,
    });
  }
}

test("a cart over two events → its items as the whole cart leaves them, in order", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  const { labels, priceId } = server.a;
  const before = server.engine.sequence;
  const reply = await nights.send({
    sessionId: "ann",
    items: [
      nights.item("lock", first, "A1", "Pit:2"),
      nights.item("directsale", second, "A2"),
      nights.item("lock", first, "A2"),
      nights.item("unlock", first, "A1"),
    ],
  });
  const sequence = before + 1;
  const expiresAt = "2026-03-19T10:15:00.000";
  const at = (label: string) => {
    const seat = label.slice(1);
    return {
      id: labels.idOf(label),
      label: `Stalls;;A;;${seat}`,
      section: "Stalls",
      row: "A",
      seat,
    };
  };
  const hold = { fence: sequence, expiresAt, capacity: 2 };
  const counts = { capacity: 100, active: 98, locked: 2, sold: 0, blocked: 0 };
  const free = { ...at("A1"), state: "ACTIVE", priceId };
  expect([reply.status, reply.headers["Preference-Applied"]]).toEqual([200, undefined]);
  expect(reply.body).toEqual({
    sequence,
    items: [
      {
        eventId: first,
        seats: [free],
        areas: [{ groupOfSeatsId: labels.idOf("Pit"), ...counts, hold }],
      },
      {
        eventId: second,
        seats: [{ ...at("A2"), state: "SOLD", priceId: nights.secondPriceId, fence: sequence }],
        areas: [],
      },
      {
        eventId: first,
        seats: [{ ...at("A2"), state: "LOCKED", priceId, expiresAt, fence: sequence }],
        areas: [],
      },
      { eventId: first, seats: [free], areas: [] },
    ],
  });
});

test("each event that a cart changes → one change, in changes, map, holds and the audit trail", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  const { labels, priceId } = server.a;
  const before = server.engine.sequence;
  const items = [
    { ...nights.item("lock", first, "A1", "A2"), sessionId: "bob" },
    nights.item("unlock", first, "A1"),
    { ...nights.item("lock", second, "A3"), holdType: "RESERVED" },
    nights.item("unblock", second, "A1"),
  ];
  expect((await nights.send({ sessionId: "ann", items })).status).toBe(400);
  items[1] = { ...items[1]!, sessionId: "bob" } as never;
  const { body } = await nights.send({ sessionId: "ann", items });
  const sequence = before + 1;
  expect(body.sequence).toBe(sequence);
  const changesOf = async (id: string) => {
    const target = `${V2}/events/${id}/changes/?since=${before}`;
    return (await server.get<{ changes: object[] }>(target)).body.changes;
  };
  const time = "2026-03-19T10:00:00.000";
  const change = { sequence, time, call: "cart", sessionId: "ann", areas: [] };
  const expiresAt = "2026-03-19T10:15:00.000";
  expect(await changesOf(first)).toMatchObject([
    {
      ...change,
      seats: [
        { id: labels.idOf("A1"), state: "ACTIVE", priceId },
        { id: labels.idOf("A2"), state: "LOCKED", priceId, expiresAt },
      ],
    },
  ]);
  const [there, ...others] = await changesOf(second);
  expect(others).toEqual([]);
  expect(there).not.toHaveProperty("holdType");
  expect(there).toMatchObject({
    ...change,
    seats: [{ id: labels.idOf("A3"), state: "LOCKED", priceId: nights.secondPriceId }],
  });
  for (const id of [first, second]) {
    const map = await server.get<{ sequence: number }>(`${V2}/events/${id}/map/`);
    expect(map.body.sequence).toBe(sequence);
    const holds = await server.get(`${V2}/events/${id}/holds/`);
    expect(holds.body).toMatchObject({ content: [{ fence: sequence }] });
  }
  const trail = async (id: string) =>
    (await server.get(`${V2}/events/${id}/audit/?fromSequence=${sequence}`)).body;
  const row = { sequence, call: "cart", actorType: "ORGANIZATION", holdSequence: sequence };
  expect(await trail(first)).toMatchObject({
    content: [
      { ...row, seatId: labels.idOf("A1"), toState: "LOCKED", sessionId: "bob", holdType: "CART" },
      { ...row, seatId: labels.idOf("A2"), toState: "LOCKED", sessionId: "bob" },
      { ...row, seatId: labels.idOf("A1"), fromState: "LOCKED", toState: "ACTIVE" },
    ],
  });
  expect(await trail(second)).toMatchObject({
    content: [{ ...row, sessionId: "ann", holdType: "RESERVED" }],
  });
});

test("when several refusals apply, the documented order decides", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  const { world, b } = server;
  const items: object[] = [
    nights.item("lock", first, "A2"),
    { ...nights.item("lock", second, "A1"), ifSequence: 1 },
    nights.item("sale", first, "A5"),
  ];
  const order: [string, () => void][] = [
    ["409 CHANGED", () => {}],
    ["422 EVENT_NOT_PUBLISHED", () => server.setStatus("ARCHIVED")],
    ["403 SALES_CONTROL_REQUIRED", () => world.change({ salesControl: false })],
    ["402 ORGANIZATION_DISABLED", () => world.change({ bookingEnabled: false })],
    ["403 EVENT_ACCESS_DENIED", () => items.push(nights.item("lock", b.eventId, "A1"))],
    ["400 VALIDATION_FAILED", () => items.push(nights.item("lock", NOWHERE))],
  ];
  for (const [expected, worsen] of order) {
    worsen();
    const { status, body } = await nights.send({ items });
    expect(`${status} ${body.errorCode}`).toBe(expected);
  }
});

test("a refusal names the item, and nothing of the cart is there", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  await server.book("lock", "bob", "A2");
  const before = server.digest;
  const lock = nights.item("lock", second, "A1");
  const cart = (...items: object[]) => nights.send({ sessionId: "ann", items: [lock, ...items] });
  const unavailable = { status: 400, errorCode: "INVENTORY_NOT_AVAILABLE", path: PATH };
  expectProblem(await cart(nights.item("lock", first, "A1", "A2")), {
    ...unavailable,
    errors: ["items[1].seats[1].id LOCKED"],
  });
  expectProblem(await cart(nights.item("directsale", first, "A2")), {
    ...unavailable,
    errors: ["items[1].seats[0].id LOCKED"],
  });
  const changed = { status: 409, errorCode: "CHANGED", path: PATH };
  expectProblem(await cart({ ...nights.item("lock", first, "A3"), ifSequence: 1 }), {
    ...changed,
    errors: ["items[1].ifSequence CHANGED"],
  });
  const invalid = { status: 400, errorCode: "VALIDATION_FAILED", path: PATH };
  const wrong: [object, string][] = [
    [{ ...lock, sessionId: "bob" }, "items[1].sessionId CONFLICT"],
    [{ ...lock, holdType: "RESERVED" }, "items[1].holdType CONFLICT"],
    [{ ...lock, call: "cart" }, "items[1].call ENUM"],
    [{ ...lock, call: null }, "items[1].call NOT_NULL"],
    [{ ...lock, eventId: "x" }, "items[1].eventId FORMAT"],
    [{ ...lock, ifSequence: 0 }, "items[1].ifSequence RANGE"],
    [{ ...lock, call: "extend", seconds: 0 }, "items[1].seconds RANGE"],
  ];
  for (const [item, error] of wrong) {
    expectProblem(await cart(item), { ...invalid, errors: [error] });
  }
  const many = Array.from({ length: 51 }, () => lock);
  expectProblem(await nights.send({ items: many }), { ...invalid, errors: ["items SIZE"] });
  expectProblem(await nights.send({ items: [] }), { ...invalid, errors: ["items SIZE"] });
  expectProblem(await nights.send({}), { ...invalid, errors: ["items NOT_NULL"] });
  expect(server.digest).toBe(before);
});

test("a cart of orphans → 422 at the item", async () => {
  const nights = new Nights();
  nights.server.world.change({ orphanPrevention: true });
  const items = [nights.item("lock", nights.second, "A1"), nights.item("lock", nights.first, "A2")];
  expectProblem(await nights.send({ sessionId: "ann", items }), {
    status: 422,
    errorCode: "ORPHAN_SEAT",
    path: PATH,
    errors: ["items[1].seats[0].id ORPHAN_SEAT"],
  });
});

test("a repeated key gets the first answer; a refusal of the moment is not kept", async () => {
  const nights = new Nights();
  const { server, first } = nights;
  const once = (key: string) => ({ headers: { "idempotency-key": key } });
  const lock = nights.item("lock", first, "A1");
  const body = { sessionId: "ann", items: [lock] };
  const granted = await nights.send(body, once("one"));
  const { sequence } = server.engine;
  // The same request in other words.
  const again = {
    items: [{ ...lock, eventId: first.toUpperCase(), fence: null }],
    sessionId: "ann",
  };
  expect((await nights.send(again, once("one"))).text).toBe(granted.text);
  expect(server.engine.sequence).toBe(sequence);
  const other = { sessionId: "ann", items: [{ ...lock, call: "unlock" }] };
  expect((await nights.send(other, once("one"))).body.errorCode).toBe("IDEMPOTENCY_KEY_REUSED");
  const late = { items: [{ ...nights.item("lock", first, "A2"), ifSequence: sequence + 1 }] };
  expect((await nights.send(late, once("two"))).status).toBe(409);
  await server.book("block", null, "A6");
  const present = server.engine.state.sequenceOf(server.world.event);
  const ahead = { items: [{ ...nights.item("lock", first, "A2"), ifSequence: present }] };
  expect((await nights.send(ahead, once("two"))).status).toBe(200);
});

test("a cart that changes nothing → 200 and no record", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  const last = server.engine.state.sequenceOf(server.engine.state.catalog.events.get(second)!);
  const before = server.digest;
  const items = [nights.item("unlock", first, "A1"), nights.item("unblock", second, "A1")];
  const { status, body } = await nights.send({ items });
  expect([status, body.sequence]).toEqual([200, last]);
  expect(server.digest).toBe(before);
});

test("a check of a cart → 400: its call is not one of those", async () => {
  const nights = new Nights();
  const target = `${V2}/booking/check?eventId=${nights.first}&call=cart`;
  const items = [nights.item("lock", nights.first, "A1")];
  const { status, body } = await nights.server.post(target, { items });
  expect([status, body.errors[0]]).toMatchObject([400, { field: "call", code: "ENUM" }]);
});

test("a limit on booking calls counts a cart once for each of its events", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  server.world.change({ bookingsPerSecond: 1 });
  const items = [
    nights.item("lock", first, "A1"),
    nights.item("lock", first, "A2"),
    nights.item("lock", second, "A1"),
  ];
  expect((await nights.send({ sessionId: "ann", items })).status).toBe(200);
  const { status, body } = await nights.send({ items: [nights.item("lock", second, "A2")] });
  expect([status, body.errorCode]).toEqual([429, "RATE_LIMITED"]);
});

test("Prefer: handling=strict → an unknown member of an item is named", async () => {
  const nights = new Nights();
  const item = { ...nights.item("lock", nights.first, "A1"), colour: "red" };
  const headers = { prefer: "handling=strict" };
  expectProblem(await nights.send({ sesionId: "ann", items: [item] }, { headers }), {
    status: 400,
    errorCode: "VALIDATION_FAILED",
    path: PATH,
    errors: ["sesionId UNKNOWN", "items[0].colour UNKNOWN"],
  });
});

test("the JSON socket answers with the body of HTTP, and shares its keys", async () => {
  const stage = await CommandStage.start();
  const nights = new Nights(stage.server);
  const client = await stage.open();
  const { first, second } = nights;
  const items = [nights.item("lock", first, "A1"), nights.item("lock", second, "A1")];
  const keyed = { call: "cart", sessionId: "ann", items, idempotencyKey: "once" };
  const [granted, again, refused, invalid] = await client.ask(
    { n: 1, ...keyed },
    { n: 2, ...keyed },
    { n: 3, call: "cart", sessionId: "bob", items },
    { n: 4, call: "cart", items: [] },
  );
  expect(granted).toMatchObject({
    n: 1,
    status: 200,
    body: { items: [{ seats: [{ state: "LOCKED" }] }, { seats: [{ state: "LOCKED" }] }] },
  });
  expect(again).toEqual({ ...granted, n: 2 });
  expect(refused).toMatchObject({
    status: 400,
    body: {
      errorCode: "INVENTORY_NOT_AVAILABLE",
      path: PATH,
      instance: PATH,
      errors: [{ field: "items[0].seats[0].id", code: "LOCKED" }],
    },
  });
  expect(invalid).toMatchObject({ status: 400, body: { errors: [{ field: "items" }] } });
  const headers = { "idempotency-key": "once" };
  const overHttp = await nights.send({ sessionId: "ann", items }, { headers });
  expect(overHttp.body).toEqual(granted!.body);
});

test("an item that cannot be had → the code of its call, in front of the item", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  await server.book("block", null, "A1");
  await server.book("lock", "ann", "A2");
  await server.book("directsale", null, "A3");
  const rules = `${V2}/events/${second}/rules`;
  const limit = { heldPerSession: 1 };
  await server.call("PUT", rules, { key: server.a.key, body: limit });
  const [seat] = nights.item("lock", first, "A4").seats!;
  const wanted = { eventId: first, call: "lock" };
  const refused: readonly (readonly [string, object])[] = [
    ["BLOCKED", nights.item("lock", first, "A1")],
    ["ACTIVE", nights.item("sale", first, "A4")],
    ["HELD_BY_THIS_SESSION", nights.item("lock", first, "A2")],
    ["NOT_FOUND", { ...wanted, seats: [{ id: 999_999 }] }],
    ["NO_PRICE", nights.item("lock", second, "B1")],
    ["INSUFFICIENT_CAPACITY", nights.item("lock", first, "Pit:1000")],
    ["STALE_FENCE", { ...nights.item("revertsale", first, "A3"), fence: 1 }],
    ["PRICE_CHANGED", { ...wanted, seats: [seat], priceIds: { [seat!.id]: 1 } }],
    ["HELD_LIMIT", nights.item("lock", second, "A1", "A2")],
  ];
  for (const [code, item] of refused) {
    const { status, body } = await nights.send({ sessionId: "ann", items: [item] });
    expect([code, status, body.errorCode]).toEqual([code, 400, "INVENTORY_NOT_AVAILABLE"]);
    expect(body.errors[0]).toMatchObject({ code });
    expect(body.errors[0]!.field).toMatch(/^items\[0\]\./);
  }
});

test("best as an item → its seats and area as they are held, over HTTP and the socket alike", async () => {
  const stage = await CommandStage.start();
  const nights = new Nights(stage.server);
  const { server, first } = nights;
  const { labels, priceId } = server.a;
  const pit = labels.idOf("Pit");
  const best = { eventId: first, call: "best" };
  const items = [
    nights.item("lock", first, "Pit:1"),
    { ...best, quantity: 2, priceIds: [priceId] },
    { ...best, quantity: 3, groupOfSeatsIds: [pit] },
  ];
  const headers = { "idempotency-key": "best" };
  const { status, body } = await nights.send({ sessionId: "ann", items }, { headers });
  const sequence = server.engine.state.sequenceOf(server.world.event);
  const held = { state: "LOCKED", fence: sequence };
  const area = { groupOfSeatsId: pit, locked: 4, hold: { fence: sequence, capacity: 4 } };
  expect([status, body]).toMatchObject([
    200,
    {
      sequence,
      items: [
        { seats: [], areas: [area] },
        { seats: [held, held], areas: [] },
        { seats: [], areas: [area] },
      ],
    },
  ]);
  const client = await stage.open();
  const command = { call: "cart", sessionId: "ann", items, idempotencyKey: "best" };
  const other = { ...command, items: [...items.slice(0, 2), { ...items[2]!, quantity: 2 }] };
  const [again, reused] = await client.ask({ n: 1, ...command }, { n: 2, ...other });
  expect([again!.body, reused!.status]).toEqual([body, 422]);
});

test("best as an item finds nothing → 409 with the quantity of the item and what there is", async () => {
  const nights = new Nights();
  const { server, first, second } = nights;
  const before = server.digest;
  const best = { eventId: second, call: "best", quantity: 3, accessible: 1 };
  const reply = await nights.send({ items: [nights.item("lock", first, "A1"), best] });
  expect([reply.status, reply.body]).toMatchObject([
    409,
    {
      errorCode: "NOTHING_SUITABLE",
      path: PATH,
      largestTogether: 0,
      available: 3,
      errors: [{ field: "items[1].quantity", code: "NOTHING_SUITABLE", rejectedValue: 3 }],
    },
  ]);
  expect(server.digest).toBe(before);
  const wrong: [object, string][] = [
    [{ quantity: 51 }, "items[0].quantity RANGE"],
    [{ quantity: null }, "items[0].quantity NOT_NULL"],
    [{ quantity: 2, priceIds: { 1: 1 } }, "items[0].priceIds TYPE"],
    [{ quantity: 2, priceIds: [0] }, "items[0].priceIds[0] RANGE"],
    [{ quantity: 2, priceIds: [1] }, "items[0].priceIds[0] NOT_FOUND"],
    [{ quantity: 2, adjacent: "no" }, "items[0].adjacent ENUM"],
  ];
  for (const [members, error] of wrong) {
    const { status, body } = await nights.send({
      items: [{ eventId: first, call: "best", ...members }],
    });
    const errors = body.errors.map(({ field, code }) => `${field} ${code}`);
    expect([status, errors]).toEqual([400, [error]]);
  }
});
