/** Booking requests that are invalid: each gets a problem that names the field. */
import { expect, test } from "vitest";
import { BOOKING_KINDS } from "../../support/engine.ts";
import { TestServer } from "../../support/server.ts";
import { expectProblem, invalid } from "../wire/wire.ts";

/** No request of this file changes it. */
const server = new TestServer();
const { a } = server;

const SEAT = { id: a.labels.idOf("A1") };
const area = (capacity: unknown) => ({
  groupOfSeats: [{ id: a.labels.idOf("Pit"), capacity }],
});

/** Bodies by what is wrong with them. */
const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["an empty object", {}, "seats NOT_NULL"],
  ["empty lists", { seats: [], groupOfSeats: [] }, "seats NOT_NULL"],
  ["null for the lists", { seats: null, groupOfSeats: null }, "seats NOT_NULL"],
  ["a list", [], " TYPE"],
  ["null", null, " NOT_NULL"],
  ["a number", 7, " TYPE"],
  ["a string", '"lock"', " TYPE"],
  ["true", true, " TYPE"],
  ["an object for the seats", { seats: {} }, "seats TYPE"],
  ["a number for a seat", { seats: [1] }, "seats[0] TYPE"],
  ["null for a seat", { seats: [null] }, "seats[0] NOT_NULL"],
  ["a seat without an id", { seats: [{}] }, "seats[0].id NOT_NULL"],
  ["a seat with id null", { seats: [{ id: null }] }, "seats[0].id NOT_NULL"],
  ["a seat with id 0", { seats: [{ id: 0 }] }, "seats[0].id RANGE"],
  ["a seat with id -1", { seats: [{ id: -1 }] }, "seats[0].id RANGE"],
  ["a seat with id 1.5", { seats: [{ id: 1.5 }] }, "seats[0].id TYPE"],
  ["a seat with a string for the id", { seats: [{ id: "1" }] }, "seats[0].id TYPE"],
  ["a seat with id true", { seats: [{ id: true }] }, "seats[0].id TYPE"],
  ["a seat with id 2^53", { seats: [{ id: 2 ** 53 }] }, "seats[0].id RANGE"],
  ["a seat with id 2^53+1", '{"seats":[{"id":9007199254740993}]}', "seats[0].id RANGE"],
  ["a seat with id 2^63", '{"seats":[{"id":9223372036854775808}]}', "seats[0].id RANGE"],
  ["a seat with id 1e400", '{"seats":[{"id":1e400}]}', "seats[0].id TYPE"],
  ["a seat with a capacity", { seats: [{ ...SEAT, capacity: 1 }] }, "seats[0].capacity NULL"],
  ["a wrong second seat", { seats: [SEAT, { id: "x" }] }, "seats[1].id TYPE"],
  ["a seat twice", { seats: [SEAT, SEAT] }, "seats[1].id DUPLICATE"],
  [
    "an area twice",
    { groupOfSeats: [...area(1).groupOfSeats, ...area(2).groupOfSeats] },
    "groupOfSeats[1].id DUPLICATE",
  ],
  ["an area without a capacity", area(undefined), "groupOfSeats[0].capacity NOT_NULL"],
  ["capacity null", area(null), "groupOfSeats[0].capacity NOT_NULL"],
  ["capacity 0", area(0), "groupOfSeats[0].capacity RANGE"],
  ["capacity -1", area(-1), "groupOfSeats[0].capacity RANGE"],
  ["capacity 1.5", area(1.5), "groupOfSeats[0].capacity TYPE"],
  ["capacity 2^31", area(2 ** 31), "groupOfSeats[0].capacity RANGE"],
  ["capacity 2^53", area(2 ** 53), "groupOfSeats[0].capacity RANGE"],
  ["a string for the capacity", area("1"), "groupOfSeats[0].capacity TYPE"],
  ["true for the capacity", area(true), "groupOfSeats[0].capacity TYPE"],
  ["a list for the capacity", area([1]), "groupOfSeats[0].capacity TYPE"],
  ["an object for the capacity", area({}), "groupOfSeats[0].capacity TYPE"],
  ["a number for the session", { sessionId: 7, seats: [SEAT] }, "sessionId TYPE"],
  ["a session of 256", { sessionId: "s".repeat(256), seats: [SEAT] }, "sessionId SIZE"],
  ["a session of two lines", { sessionId: "a\nb", seats: [SEAT] }, "sessionId FORMAT"],
  ["a list for the hold type", { holdType: [], seats: [SEAT] }, "holdType TYPE"],
  ["a hold type of 65", { holdType: "h".repeat(65), seats: [SEAT] }, "holdType SIZE"],
  [
    "1,001 seats",
    { seats: Array.from({ length: 1_001 }, (_, i) => ({ id: i + 1 })) },
    "seats SIZE",
  ],
];

test.each(INVALID)("every booking command refuses %s", async (_, body, error) => {
  const before = server.digest;
  for (const kind of BOOKING_KINDS) {
    expectProblem(await server.post(server.bookingPath(kind), body), invalid(error));
  }
  expect(server.digest).toBe(before);
});

test("a refused capacity is shown as rejectedValue, unless it is a list or an object", async () => {
  for (const [capacity, shown] of [
    [0, 0],
    ["1", "1"],
    [true, true],
    [[1], null],
    [{}, null],
  ]) {
    const { body } = await server.post(server.bookingPath("lock"), area(capacity));
    expect([capacity, body.errors[0]?.rejectedValue]).toEqual([capacity, shown]);
  }
});

test("a request with exactly 1,000 seats and areas is valid", async () => {
  const seats = Array.from({ length: 999 }, (_, i) => ({ id: 10_000 + i }));
  const lock = (body: object) => server.post(server.bookingPath("lock"), body);
  const taken = await lock({ seats, ...area(1) });
  expect(taken.body.errorCode).toBe("INVENTORY_NOT_AVAILABLE");
  expect(taken.body.errors.length).toBe(999);
  const more = await lock({ seats: [...seats, { id: 1 }], ...area(1) });
  expect(more.body.errorCode).toBe("VALIDATION_FAILED");
});

const EVENT_IDS: readonly (readonly [string, string])[] = [
  ["", "eventId NOT_NULL"],
  ["eventId=", "eventId NOT_NULL"],
  ["eventId=7", "eventId FORMAT"],
  ["eventId=null", "eventId FORMAT"],
  ["eventId=00000000-0000-4000-8000-00000000000g", "eventId FORMAT"],
  ["eventId=00000000-0000-4000-8000-0000000000011", "eventId FORMAT"],
  ["eventid=00000000-0000-4000-8000-000000000001", "eventId NOT_NULL"],
  [`eventId=${a.eventId}&eventId=${a.eventId.replace("1", "2")}`, "eventId TYPE"],
];

test.each(EVENT_IDS)("every booking command refuses the query %j", async (query, error) => {
  for (const kind of BOOKING_KINDS) {
    const [path] = server.bookingPath(kind).split("?");
    const reply = await server.post(`${path}?${query}`, server.selection("s1", "A1"));
    expectProblem(reply, invalid(error));
  }
});

const TYPES: readonly (readonly [string, number])[] = [
  ["application/json", 200],
  ["application/json; charset=utf-8", 200],
  ["Application/JSON ;charset=UTF-8", 200],
  ["", 200],
  ["text/plain", 415],
  ["text/json", 415],
  ["application/x-www-form-urlencoded", 415],
  ["application/jsonp", 415],
  ["application/json, text/plain", 415],
  ["multipart/form-data; boundary=application/json", 415],
];

test.each(TYPES)("a body with the content type %j gets %d", async (type, status) => {
  const by = { ...a, headers: { "content-type": type } };
  const reply = await server.post(server.bookingPath("unlock"), server.selection("s1", "A1"), by);
  if (status === 200) expect(reply.text).toBe("true");
  else expectProblem(reply, { status, errorCode: "UNSUPPORTED_MEDIA_TYPE" });
});

test("members that are not documented are ignored", async () => {
  const fresh = new TestServer();
  const body = {
    ...fresh.selection("s1", "A1"),
    properties: [{ any: "thing" }],
    cartSeatIds: null,
    extra: { state: "SOLD" },
  };
  expect((await fresh.post(fresh.bookingPath("lock"), body)).text).toBe("true");
  expect(await fresh.states("A1")).toEqual(["LOCKED"]);
});
