/** Booking over HTTP: answers, problems, and who may book. */
import { expect, test } from "vitest";
import type { BookingKind } from "../../../engine/commands.ts";
import { BOOKING_KINDS } from "../../support/engine.ts";
import { actingFor, type CallOptions } from "../../support/answers/exchange.ts";
import { TestServer, V2 } from "../../support/server.ts";
import { EVENT_DENIED, expectProblem, NOWHERE } from "../wire/wire.ts";

test("every booking command answers true and moves the seats and places", async () => {
  const server = new TestServer();
  const steps: [BookingKind, string, number[]][] = [
    ["lock", "LOCKED", [97, 3, 0, 0]],
    ["unlock", "ACTIVE", [100, 0, 0, 0]],
    ["lock", "LOCKED", [97, 3, 0, 0]],
    ["sale", "SOLD", [97, 0, 3, 0]],
    ["revertsale", "ACTIVE", [100, 0, 0, 0]],
    ["directsale", "SOLD", [97, 0, 3, 0]],
    ["revertsale", "ACTIVE", [100, 0, 0, 0]],
    ["block", "BLOCKED", [97, 0, 0, 3]],
    ["unblock", "ACTIVE", [100, 0, 0, 0]],
  ];
  for (const [kind, state, places] of steps) {
    const reply = await server.book(kind, "s1", "A1", "A2", "Pit:3");
    expect([kind, reply.status, reply.text]).toEqual([kind, 200, "true"]);
    expect(reply.type).toBe("application/json; charset=utf-8");
    expect(await server.states("A1", "A2", "A3")).toEqual([state, state, "ACTIVE"]);
    expect([kind, await server.pit()]).toEqual([kind, places]);
  }
});

test("a direct sale of seats that are not ACTIVE answers false, not a problem", async () => {
  const server = new TestServer();
  await server.book("lock", "s1", "A1");
  const before = server.digest;
  const { status, text } = await server.book("directsale", "s1", "A4", "A1");
  expect([status, text]).toEqual([200, "false"]);
  expect(server.digest).toBe(before);
});

test("a refusal names each seat and area that is not available, with its state", async () => {
  const server = new TestServer();
  await server.book("lock", "other", "A1");
  await server.book("directsale", null, "A2");
  await server.book("block", null, "A3");
  const before = server.digest;
  const reply = await server.book("lock", "mine", "A4", "A1", "A2", "A3", "Pit:101");
  expectProblem(reply, {
    status: 400,
    errorCode: "INVENTORY_NOT_AVAILABLE",
    errors: [
      "seats[1].id LOCKED",
      "seats[2].id SOLD",
      "seats[3].id BLOCKED",
      "groupOfSeats[0].capacity INSUFFICIENT_CAPACITY",
    ],
  });
  const ids = ["A1", "A2", "A3"].map((label) => server.a.labels.idOf(label));
  const rejected = reply.body.errors.map(({ rejectedValue }) => rejectedValue);
  expect(rejected).toEqual([...ids, 101]);
  expect(reply.body.timestamp).toBe("2026-03-19T10:00:00.000Z");
  expect(server.digest).toBe(before);
});

test.each(BOOKING_KINDS)(
  "%s of an unknown event and of a foreign event get the same 403",
  async (kind) => {
    const server = new TestServer();
    const before = server.digest;
    const body = server.selection("s1", "A1");
    const book = (eventId: string) => server.post(server.bookingPath(kind, eventId), body);
    const unknown = await book(NOWHERE);
    expectProblem(unknown, EVENT_DENIED);
    for (const { eventId } of [server.b, server.c]) {
      expect((await book(eventId)).body).toEqual(unknown.body);
    }
    expect(server.digest).toBe(before);
  },
);

test("an event id in upper case names the same event", async () => {
  const server = new TestServer();
  const times = { start: "2026-05-01T20:00", endDate: "2026-05-01T21:00" };
  const event = { name: "N", ...times, schemaId: server.a.schemaId };
  const { id } = (await server.post<{ id: string }>(`${V2}/events/`, event)).body;
  const path = server.bookingPath("lock", id.toUpperCase());
  const reply = await server.post(path, server.selection("s1", "A1"));
  expect(reply.body.errors[0]?.code).toBe("NO_PRICE");
});

test("a tenant token books for the organization that it names", async () => {
  const server = new TestServer();
  const { a, b, tenantToken } = server;
  const unlock = (by: CallOptions) =>
    server.post(server.bookingPath("unlock"), server.selection("s1", "A1"), by);
  expect((await unlock(actingFor(tenantToken, a))).text).toBe("true");
  expectProblem(await unlock(actingFor(tenantToken, b)), EVENT_DENIED);
});

test("when several refusals apply, the documented order decides", async () => {
  const server = new TestServer();
  await server.book("lock", "other", "A1");
  const order: [string, () => void][] = [
    ["400 INVENTORY_NOT_AVAILABLE", () => {}],
    ["422 EVENT_NOT_PUBLISHED", () => server.setStatus("ARCHIVED")],
    ["403 SALES_CONTROL_REQUIRED", () => server.world.change({ salesControl: false })],
    ["402 ORGANIZATION_DISABLED", () => server.world.change({ bookingEnabled: false })],
  ];
  for (const [expected, worsen] of order) {
    worsen();
    const { status, body } = await server.book("sale", "s1", "A1");
    expect(`${status} ${body.errorCode}`).toBe(expected);
  }
  const path = server.bookingPath("sale", server.b.eventId);
  const twice = server.selection("s1", "A1", "A1");
  const worse: [string, CallOptions][] = [
    ["EVENT_ACCESS_DENIED", { ...server.a, body: server.selection("s1", "A1") }],
    ["VALIDATION_FAILED", { ...server.a, body: twice }],
    ["VALIDATION_FAILED", { ...server.a, body: {} }],
    ["MALFORMED_REQUEST", { ...server.a, body: "{" }],
    ["ACCESS_DENIED", { body: "{" }],
    ["UNSUPPORTED_MEDIA_TYPE", { body: "{", headers: { "content-type": "text/plain" } }],
  ];
  for (const [expected, options] of worse) {
    expect((await server.call("POST", path, options)).body.errorCode).toBe(expected);
  }
});

/** What closes which commands, and the answer that they get then. */
const CLOSED: readonly (readonly [string, string, readonly BookingKind[]])[] = [
  ["a disabled organization", "402 ORGANIZATION_DISABLED", BOOKING_KINDS],
  ["no sales control", "403 SALES_CONTROL_REQUIRED", ["sale", "revertsale"]],
  ["an archived event", "422 EVENT_NOT_PUBLISHED", ["lock", "sale", "directsale"]],
];

test.each(CLOSED)("%s gets %s", async (_, refusal, kinds) => {
  const server = new TestServer();
  if (refusal.startsWith("402")) server.world.change({ bookingEnabled: false });
  else if (refusal.startsWith("403")) server.world.change({ salesControl: false });
  else server.setStatus("ARCHIVED");
  const before = server.digest;
  const [status, errorCode = ""] = refusal.split(" ");
  for (const kind of kinds) {
    const reply = await server.book(kind, "s1", "A1");
    expectProblem(reply, { status: Number(status), errorCode });
  }
  expect(server.digest).toBe(before);
});

test("a lock or sale that leaves a seat alone is 422 and names the requested seat", async () => {
  const server = new TestServer();
  await server.book("lock", "s1", "A2");
  server.world.change({ orphanPrevention: true });
  const before = server.digest;
  for (const [kind, label] of [
    ["lock", "A5"],
    ["sale", "A2"],
  ] as const) {
    const reply = await server.book(kind, "s1", label);
    const errors = ["seats[0].id ORPHAN_SEAT"];
    expectProblem(reply, { status: 422, errorCode: "ORPHAN_SEAT", errors });
    expect(reply.body.errors[0]?.rejectedValue).toBe(server.a.labels.idOf(label));
  }
  expect(server.digest).toBe(before);
});
