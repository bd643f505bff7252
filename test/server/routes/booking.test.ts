/** The booking rows of the interface: what they answer, what they refuse and how they say it. */
import { expect, test } from "vitest";
import { actingFor, V2 } from "../../support/server.ts";
import { Booth, type Kind, KINDS } from "../onsale/booth.ts";
import { expectProblem, NOWHERE } from "../wire/wire.ts";

test("a lock, a sale and their way back answer true and move the seats and places", async () => {
  const booth = new Booth();
  const steps: [Kind, string, number[]][] = [
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
    const reply = await booth.book(kind, "s1", "A1", "A2", "Pit:3");
    expect([kind, reply.status, reply.text]).toEqual([kind, 200, "true"]);
    expect(reply.type).toBe("application/json; charset=utf-8");
    expect(await booth.states("A1", "A2", "A3")).toEqual([state, state, "ACTIVE"]);
    expect([kind, await booth.pit()]).toEqual([kind, places]);
  }
});

test("unlock and unblock of what is ACTIVE answer true and change nothing", async () => {
  const booth = new Booth();
  const before = booth.server.digest;
  for (const kind of ["unlock", "unblock"] as const) {
    expect((await booth.book(kind, undefined, "A1")).text).toBe("true");
    expect(booth.server.digest).toBe(before);
  }
});

test("a direct sale answers false, no problem, when anything is not ACTIVE", async () => {
  const booth = new Booth();
  await booth.book("lock", "s1", "A1");
  await booth.book("directsale", "s1", "A2");
  await booth.book("block", "s1", "A3");
  const before = booth.server.digest;
  const taken = [["A1"], ["A2"], ["A3"], ["A4", "A1"], ["Pit:101"], ["A4", "Pit:101"]];
  for (const objects of taken) {
    const reply = await booth.book("directsale", "s1", ...objects);
    expect([objects, reply.status, reply.text]).toEqual([objects, 200, "false"]);
  }
  expect(booth.server.digest).toBe(before);
});

test("a refusal by inventory carries every documented member and names each object", async () => {
  const booth = new Booth();
  await booth.book("lock", "other", "A1");
  await booth.book("directsale", undefined, "A2");
  await booth.book("block", undefined, "A3");
  const body = {
    sessionId: "mine",
    seats: ["A4", "A1", "A2", "A3"].map((label) => ({ id: booth.id(label) })),
    groupOfSeats: [{ id: booth.id("Pit"), capacity: 101 }],
  };
  const reply = await booth.send("lock", body);
  const path = `${V2}/booking/lock`;
  expectProblem(reply, {
    status: 400,
    errorCode: "INVENTORY_NOT_AVAILABLE",
    path,
    errors: [
      "seats[1].id LOCKED",
      "seats[2].id SOLD",
      "seats[3].id BLOCKED",
      "groupOfSeats[0].capacity INSUFFICIENT_CAPACITY",
    ],
  });
  const rejected = reply.body.errors.map(({ rejectedValue }) => rejectedValue);
  expect(rejected).toEqual([booth.id("A1"), booth.id("A2"), booth.id("A3"), 101]);
  expect(reply.body.timestamp).toBe("2026-03-19T10:00:00.000Z");
});

/** What each command refuses of a seat in each state, and of one that it cannot know. */
const REFUSALS: readonly (readonly [Kind, string, string])[] = [
  ["lock", "A1", "LOCKED"],
  ["lock", "A2", "SOLD"],
  ["lock", "A3", "BLOCKED"],
  ["unlock", "A2", "SOLD"],
  ["unlock", "A3", "BLOCKED"],
  ["unlock", "B1", "HELD_BY_ANOTHER_SESSION"],
  ["unlock", "Pit:1", "INSUFFICIENT_CAPACITY"],
  ["sale", "A4", "ACTIVE"],
  ["sale", "A2", "SOLD"],
  ["sale", "A3", "BLOCKED"],
  ["sale", "B1", "HELD_BY_ANOTHER_SESSION"],
  ["revertsale", "A4", "ACTIVE"],
  ["revertsale", "A1", "LOCKED"],
  ["revertsale", "A3", "BLOCKED"],
  ["revertsale", "Pit:1", "INSUFFICIENT_CAPACITY"],
  ["block", "A1", "LOCKED"],
  ["block", "A2", "SOLD"],
  ["block", "A3", "BLOCKED"],
  ["unblock", "A1", "LOCKED"],
  ["unblock", "A2", "SOLD"],
  ["lock", "Round1", "NO_PRICE"],
  ["unlock", "Round1", "NO_PRICE"],
  ["block", "Round1", "NO_PRICE"],
];

test("each command refuses the states that it does not leave, and changes nothing", async () => {
  const booth = new Booth();
  const { world, a } = booth.server;
  const second = world.createEvent(a.caller, a.schemaId);
  const priceId = world.createPrice("Full", second, a.caller);
  const items = ["Stalls", "Pit"].map((label) => ({
    objectId: booth.id(label),
    assignmentId: priceId,
  }));
  world.must("assignPrices", a.caller, { eventId: second, body: { groupOfSeats: items } });
  const send = (kind: Kind, session: string, object: string) =>
    booth.server.call("POST", booth.path(kind, second), {
      key: a.key,
      body: booth.selection(session, object),
    });
  await send("lock", "mine", "A1");
  await send("lock", "other", "B1");
  await send("directsale", "mine", "A2");
  await send("block", "mine", "A3");
  const before = booth.server.digest;
  for (const [kind, object, code] of REFUSALS) {
    const { status, body } = await send(kind, "mine", object);
    const found = [kind, object, status, body.errorCode, body.errors.map((error) => error.code)];
    expect(found).toEqual([kind, object, 400, "INVENTORY_NOT_AVAILABLE", [code]]);
    expect(booth.server.digest).toBe(before);
  }
});

test("an id that is not in the layout is refused on every command, direct sale too", async () => {
  const booth = new Booth();
  const foreign = booth.server.b.labels;
  const ids = [1_000_000, Number.MAX_SAFE_INTEGER, foreign.idOf("A1"), booth.id("Stalls")];
  const before = booth.server.digest;
  for (const kind of KINDS) {
    for (const id of ids) {
      const { status, body } = await booth.send(kind, { seats: [{ id }] });
      expect([kind, id, status, body.errorCode]).toEqual([
        kind,
        id,
        400,
        "INVENTORY_NOT_AVAILABLE",
      ]);
      const message = expect.any(String) as string;
      const error = { field: "seats[0].id", code: "NOT_FOUND", rejectedValue: id, message };
      expect(body.errors).toEqual([error]);
    }
    const { body } = await booth.send(kind, {
      groupOfSeats: [{ id: booth.id("A1"), capacity: 1 }],
    });
    expect(body.errors[0]).toMatchObject({ field: "groupOfSeats[0].id", code: "NOT_FOUND" });
  }
  expect(booth.server.digest).toBe(before);
});

test("unlock and sale without a session act on any hold, with one only on its own", async () => {
  const booth = new Booth();
  await booth.book("lock", "s1", "A1", "A2", "Pit:2");
  expect((await booth.book("sale", "s2", "A1")).body.errors[0]?.code).toBe(
    "HELD_BY_ANOTHER_SESSION",
  );
  expect((await booth.book("unlock", "s2", "Pit:2")).body.errors[0]?.code).toBe(
    "HELD_BY_ANOTHER_SESSION",
  );
  expect((await booth.book("sale", undefined, "A1", "Pit:1")).text).toBe("true");
  expect((await booth.book("unlock", undefined, "A2", "Pit:1")).text).toBe("true");
});

test("a hold that has run out is sold to nobody and locked by anybody", async () => {
  const booth = new Booth();
  await booth.book("lock", "s1", "A1");
  booth.server.world.clock.timeMs += 15 * 60_000 - 1;
  expect(await booth.states("A1")).toEqual(["LOCKED"]);
  booth.server.world.clock.timeMs += 1;
  expect(await booth.states("A1")).toEqual(["ACTIVE"]);
  expect((await booth.book("sale", "s1", "A1")).body.errors[0]?.code).toBe("ACTIVE");
  expect((await booth.book("lock", "s2", "A1")).text).toBe("true");
});

test("an unknown hold type is refused on lock, and only noted on a direct sale", async () => {
  const booth = new Booth();
  const seats = [{ id: booth.id("A1") }];
  const { status, body } = await booth.send("lock", { seats, holdType: "VIP" });
  expect([status, body.errorCode]).toEqual([400, "VALIDATION_FAILED"]);
  expect(body.errors[0]).toMatchObject({ field: "holdType", rejectedValue: "VIP" });
  expect((await booth.send("directsale", { seats, holdType: "VIP" })).text).toBe("true");
  expect((await booth.send("revertsale", { seats, holdType: null })).text).toBe("true");
  expect((await booth.send("lock", { seats, holdType: "RESERVED" })).text).toBe("true");
});

test("an event that is nobody's and one of another organization answer alike", async () => {
  const booth = new Booth();
  const { server } = booth;
  const before = server.digest;
  for (const kind of KINDS) {
    const bodies: unknown[] = [];
    for (const eventId of [NOWHERE, server.b.eventId, server.c.eventId]) {
      const reply = await server.call("POST", booth.path(kind, eventId), {
        key: server.a.key,
        body: booth.selection("s1", "A1"),
      });
      expect([kind, reply.status, reply.body.errorCode]).toEqual([
        kind,
        403,
        "EVENT_ACCESS_DENIED",
      ]);
      bodies.push(reply.body);
    }
    expect(bodies[1]).toEqual(bodies[0]);
    expect(bodies[2]).toEqual(bodies[0]);
  }
  expect(server.digest).toBe(before);
});

test("an event id in capitals is the same event", async () => {
  const booth = new Booth();
  const { a } = booth.server;
  const event = { name: "N", start: "2026-05-01T20:00", endDate: "2026-05-01T21:00" };
  const made = await booth.server.call<{ id: string }>("POST", `${V2}/events/`, {
    key: a.key,
    body: { ...event, schemaId: a.schemaId },
  });
  const path = booth.path("lock", made.body.id.toUpperCase());
  const body = booth.selection("s1", "A1");
  const reply = await booth.server.call("POST", path, { key: a.key, body });
  expect(reply.body.errors[0]?.code).toBe("NO_PRICE");
});

test("a tenant token books for the organization that it names", async () => {
  const booth = new Booth();
  const { server } = booth;
  const body = booth.selection("s1", "A1");
  const options = { ...actingFor(server.tenantToken, server.a), body };
  expect((await server.call("POST", booth.path("lock"), options)).text).toBe("true");
  const other = { ...actingFor(server.tenantToken, server.b), body };
  const refused = await server.call("POST", booth.path("unlock"), other);
  expect([refused.status, refused.body.errorCode]).toEqual([403, "EVENT_ACCESS_DENIED"]);
});

test("refusals answer in the documented order", async () => {
  const booth = new Booth();
  const { server } = booth;
  await booth.book("lock", "other", "A1");
  const order: [string, () => void][] = [
    ["400 INVENTORY_NOT_AVAILABLE", () => {}],
    ["422 EVENT_NOT_PUBLISHED", () => booth.setStatus("ARCHIVED")],
    ["403 SALES_CONTROL_REQUIRED", () => booth.change({ salesControl: false })],
    ["402 ORGANIZATION_DISABLED", () => booth.change({ bookingEnabled: false })],
  ];
  for (const [expected, worsen] of order) {
    worsen();
    const { status, body } = await booth.book("sale", "s1", "A1");
    expect(`${status} ${body.errorCode}`).toBe(expected);
  }
  const path = booth.path("sale", server.b.eventId);
  const selection = booth.selection("s1", "A1");
  const foreign = await server.call("POST", path, { key: server.a.key, body: selection });
  expect(foreign.body.errorCode).toBe("EVENT_ACCESS_DENIED");
  const invalid = await server.call("POST", path, { key: server.a.key, body: {} });
  expect(invalid.body.errorCode).toBe("VALIDATION_FAILED");
  const malformed = await server.call("POST", path, { key: server.a.key, body: "{" });
  expect(malformed.body.errorCode).toBe("MALFORMED_REQUEST");
  const keyless = await server.call("POST", path, { body: "{" });
  expect(keyless.body.errorCode).toBe("ACCESS_DENIED");
  const headers = { "content-type": "text/plain" };
  const untyped = await server.call("POST", path, { body: "{", headers });
  expect(untyped.body.errorCode).toBe("UNSUPPORTED_MEDIA_TYPE");
});

const OPEN = "200";
/** Answers of each command: not published, sales control off, booking off. */
const CLOSED: readonly (readonly [Kind, string, string, string])[] = [
  ["lock", "422 EVENT_NOT_PUBLISHED", OPEN, "402 ORGANIZATION_DISABLED"],
  ["unlock", OPEN, OPEN, "402 ORGANIZATION_DISABLED"],
  ["sale", "422 EVENT_NOT_PUBLISHED", "403 SALES_CONTROL_REQUIRED", "402 ORGANIZATION_DISABLED"],
  ["revertsale", OPEN, "403 SALES_CONTROL_REQUIRED", "402 ORGANIZATION_DISABLED"],
  ["directsale", "422 EVENT_NOT_PUBLISHED", OPEN, "402 ORGANIZATION_DISABLED"],
  ["block", OPEN, OPEN, "402 ORGANIZATION_DISABLED"],
  ["unblock", OPEN, OPEN, "402 ORGANIZATION_DISABLED"],
];
/** What brings seat A1 to where the command takes it from. */
const PREPARE: Readonly<Record<Kind, readonly Kind[]>> = {
  lock: [],
  unlock: ["lock"],
  sale: ["lock"],
  revertsale: ["directsale"],
  directsale: [],
  block: [],
  unblock: ["block"],
};

test.each(CLOSED)(
  "%s: %s unless published, %s without sales control, %s when disabled",
  async (kind, unpublished, uncontrolled, disabled) => {
    const cases: [string, (booth: Booth) => void][] = [
      [unpublished, (booth) => booth.setStatus("ARCHIVED")],
      [unpublished, (booth) => booth.setStatus("ARCHIVED", "DRAFT")],
      [uncontrolled, (booth) => booth.change({ salesControl: false })],
      [disabled, (booth) => booth.change({ bookingEnabled: false })],
    ];
    for (const [expected, close] of cases) {
      const booth = new Booth();
      for (const first of PREPARE[kind]) await booth.book(first, "s1", "A1");
      close(booth);
      const before = booth.server.digest;
      const reply = await booth.book(kind, "s1", "A1");
      if (expected === OPEN) {
        expect([reply.status, reply.text]).toEqual([200, "true"]);
      } else {
        const [status, errorCode = ""] = expected.split(" ");
        const path = `${V2}/booking/${kind}`;
        expectProblem(reply, { status: Number(status), errorCode, path });
        expect(booth.server.digest).toBe(before);
      }
    }
  },
);

test("an orphan is refused with the seats beside it, on lock and sale alone", async () => {
  const booth = new Booth();
  await booth.book("lock", "s1", "A2");
  booth.change({ orphanPrevention: true });
  const before = booth.server.digest;
  for (const [kind, label] of [
    ["lock", "A5"],
    ["sale", "A2"],
  ] as const) {
    const reply = await booth.book(kind, "s1", label);
    const path = `${V2}/booking/${kind}`;
    const errors = ["seats[0].id ORPHAN_SEAT"];
    expectProblem(reply, { status: 422, errorCode: "ORPHAN_SEAT", path, errors });
    expect(reply.body.errors[0]?.rejectedValue).toBe(booth.id(label));
  }
  expect(booth.server.digest).toBe(before);
  expect((await booth.book("directsale", "s1", "A5")).text).toBe("true");
});
