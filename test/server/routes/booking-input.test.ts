/**
 * Bad input at the booking border: each is refused by a documented problem that names the field,
 * and nothing has changed, on every command alike.
 */
import { expect, test } from "vitest";
import { V2 } from "../../support/server.ts";
import { Booth, KINDS } from "../onsale/booth.ts";
import { expectProblem } from "../wire/wire.ts";

/** For all that is refused: nothing here may change it. */
const booth = new Booth();

const SEAT = 1;
const AREA = 2;
/** Bodies by what is wrong with them: seat id 1 and area id 2 stand for those of the layout. */
const INVALID: readonly (readonly [string, unknown, string])[] = [
  ["nothing at all", {}, "seats NOT_NULL"],
  ["empty lists", { seats: [], groupOfSeats: [] }, "seats NOT_NULL"],
  ["null lists", { seats: null, groupOfSeats: null }, "seats NOT_NULL"],
  ["a list", [], " TYPE"],
  ["a null", null, " NOT_NULL"],
  ["a number", 7, " TYPE"],
  ["a text", '"lock"', " TYPE"],
  ["a truth", true, " TYPE"],
  ["seats as an object", { seats: {} }, "seats TYPE"],
  ["a seat as a number", { seats: [SEAT] }, "seats[0] TYPE"],
  ["a seat as null", { seats: [null] }, "seats[0] NOT_NULL"],
  ["a seat without id", { seats: [{}] }, "seats[0].id NOT_NULL"],
  ["a seat of id null", { seats: [{ id: null }] }, "seats[0].id NOT_NULL"],
  ["a seat of id 0", { seats: [{ id: 0 }] }, "seats[0].id RANGE"],
  ["a seat of id -1", { seats: [{ id: -1 }] }, "seats[0].id RANGE"],
  ["a seat of id 1.5", { seats: [{ id: 1.5 }] }, "seats[0].id TYPE"],
  ["a seat of id as text", { seats: [{ id: "1" }] }, "seats[0].id TYPE"],
  ["a seat of id true", { seats: [{ id: true }] }, "seats[0].id TYPE"],
  ["a seat of id 2^53", { seats: [{ id: 2 ** 53 }] }, "seats[0].id RANGE"],
  ["a seat of id 2^53+1", '{"seats":[{"id":9007199254740993}]}', "seats[0].id RANGE"],
  ["a seat of id 2^63", '{"seats":[{"id":9223372036854775808}]}', "seats[0].id RANGE"],
  ["a seat of id 1e400", '{"seats":[{"id":1e400}]}', "seats[0].id TYPE"],
  ["a seat with capacity", { seats: [{ id: SEAT, capacity: 1 }] }, "seats[0].capacity NULL"],
  ["the second seat", { seats: [{ id: SEAT }, { id: "x" }] }, "seats[1].id TYPE"],
  ["a seat twice", { seats: [{ id: SEAT }, { id: SEAT }] }, "seats[1].id DUPLICATE"],
  [
    "an area twice",
    {
      groupOfSeats: [
        { id: AREA, capacity: 1 },
        { id: AREA, capacity: 2 },
      ],
    },
    "groupOfSeats[1].id DUPLICATE",
  ],
  ["an area without count", { groupOfSeats: [{ id: AREA }] }, "groupOfSeats[0].capacity NOT_NULL"],
  ["a session as a number", { sessionId: 7, seats: [{ id: SEAT }] }, "sessionId TYPE"],
  ["a session of 256", { sessionId: "s".repeat(256), seats: [{ id: SEAT }] }, "sessionId SIZE"],
  ["a session of two lines", { sessionId: "a\nb", seats: [{ id: SEAT }] }, "sessionId FORMAT"],
  ["a hold type as a list", { holdType: [], seats: [{ id: SEAT }] }, "holdType TYPE"],
  ["a hold type of 65", { holdType: "h".repeat(65), seats: [{ id: SEAT }] }, "holdType SIZE"],
  [
    "1,001 objects",
    { seats: Array.from({ length: 1_001 }, (_, i) => ({ id: i + 1 })) },
    "seats SIZE",
  ],
];

const CAPACITIES: readonly (readonly [unknown, string])[] = [
  [0, "RANGE"],
  [-1, "RANGE"],
  [1.5, "TYPE"],
  [2 ** 53, "RANGE"],
  [2_147_483_648, "RANGE"],
  ["1", "TYPE"],
  [null, "NOT_NULL"],
  [true, "TYPE"],
  [[1], "TYPE"],
  [{}, "TYPE"],
];

/** The body with the ids of the layout in it. */
function placed(body: unknown): unknown {
  if (typeof body === "string") return body;
  return JSON.parse(
    JSON.stringify(body)
      .replaceAll(/"id":1(?=[,}])/g, `"id":${booth.id("A1")}`)
      .replaceAll(/"id":2(?=[,}])/g, `"id":${booth.id("Pit")}`),
  ) as unknown;
}

test.each(INVALID)("%s is refused by every command", async (_, body, error) => {
  const before = booth.server.digest;
  for (const kind of KINDS) {
    const reply = await booth.send(kind, placed(body));
    const path = `${V2}/booking/${kind}`;
    const errors = [error];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  }
  expect(booth.server.digest).toBe(before);
});

test.each(CAPACITIES)("a capacity of %j is refused by every command", async (capacity, code) => {
  const before = booth.server.digest;
  for (const kind of KINDS) {
    const reply = await booth.send(kind, { groupOfSeats: [{ id: booth.id("Pit"), capacity }] });
    const errors = [`groupOfSeats[0].capacity ${code}`];
    const path = `${V2}/booking/${kind}`;
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
    const rejectedValue = typeof capacity === "object" ? null : capacity;
    expect(reply.body.errors[0]?.rejectedValue).toEqual(rejectedValue);
  }
  expect(booth.server.digest).toBe(before);
});

test("exactly 1,000 objects are taken, areas counted too", async () => {
  const seats = Array.from({ length: 999 }, (_, i) => ({ id: 10_000 + i }));
  const groupOfSeats = [{ id: booth.id("Pit"), capacity: 1 }];
  const taken = await booth.send("lock", { seats, groupOfSeats });
  expect(taken.body.errorCode).toBe("INVENTORY_NOT_AVAILABLE");
  expect(taken.body.errors.length).toBe(999);
  const more = await booth.send("lock", { seats: [...seats, { id: 1 }], groupOfSeats });
  expect(more.body.errorCode).toBe("VALIDATION_FAILED");
});

const EVENT_IDS: readonly (readonly [string, string])[] = [
  ["", "eventId NOT_NULL"],
  ["?eventId=", "eventId FORMAT"],
  ["?eventId=7", "eventId FORMAT"],
  ["?eventId=null", "eventId FORMAT"],
  ["?eventId=00000000-0000-4000-8000-00000000000g", "eventId FORMAT"],
  ["?eventId=00000000-0000-4000-8000-0000000000011", "eventId FORMAT"],
  ["?eventid=00000000-0000-4000-8000-000000000001", "eventId NOT_NULL"],
];

test.each(EVENT_IDS)("the query %j names no event", async (query, error) => {
  const { key } = booth.server.a;
  for (const kind of KINDS) {
    const path = `${V2}/booking/${kind}`;
    const body = booth.selection("s1", "A1");
    const reply = await booth.server.call("POST", path + query, { key, body });
    const errors = [error];
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  }
});

test("an event named twice is refused, even twice the same", async () => {
  const { key, eventId } = booth.server.a;
  const target = `${booth.path("lock")}&eventId=${eventId}`;
  const body = booth.selection("s1", "A1");
  const reply = await booth.server.call("POST", target, { key, body });
  expect([reply.status, reply.body.errors[0]?.field]).toEqual([400, "eventId"]);
});

const MALFORMED: readonly (readonly [string, string | Buffer])[] = [
  ["nothing", ""],
  ["half an object", '{"seats":['],
  ["a word", "lock"],
  ["a trailing comma", '{"seats":[{"id":1},]}'],
  ["two values", "{}{}"],
  ["bytes that are not UTF-8", Buffer.from([0x22, 0xff, 0x22])],
  ["a byte order mark", Buffer.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d])],
  ["half a character", '{"sessionId":"\\ud800"}'],
  ["a forbidden member", '{"__proto__":{"seats":[]}}'],
];

test.each(MALFORMED)("%s is no request for any command", async (_, body) => {
  const before = booth.server.digest;
  for (const kind of KINDS) {
    const reply = await booth.send(kind, body);
    const path = `${V2}/booking/${kind}`;
    expectProblem(reply, { status: 400, errorCode: "MALFORMED_REQUEST", path });
  }
  expect(booth.server.digest).toBe(before);
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

test.each(TYPES)("a body of type %j is answered %d", async (type, status) => {
  const body = booth.selection("s1", "A1");
  const reply = await booth.send("unlock", body, { "content-type": type });
  if (status === 200) {
    expect(reply.text).toBe("true");
    return;
  }
  const path = `${V2}/booking/unlock`;
  expectProblem(reply, { status, errorCode: "UNSUPPORTED_MEDIA_TYPE", path });
});

test("members that nobody asked for are ignored", async () => {
  const open = new Booth();
  const body = {
    ...open.selection("s1", "A1"),
    properties: [{ any: "thing" }],
    cartSeatIds: null,
    extra: { state: "SOLD" },
  };
  expect((await open.send("lock", body)).text).toBe("true");
  expect(await open.states("A1")).toEqual(["LOCKED"]);
});
