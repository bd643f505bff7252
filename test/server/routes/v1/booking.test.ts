/** v1 booking: each entry on its own, by composite key. */
import { expect, test } from "vitest";
import { Admission } from "../../../../engine/ports.ts";
import { expectProblem } from "../../wire/wire.ts";
import { Desk, V1, WRONG_EVENTS } from "./desk.ts";

const KINDS = ["lock", "sale", "unlock"] as const;

test("POST /api/private/v1.0/booking/lock locks seats and places by their keys", async () => {
  const desk = new Desk();
  await desk.books("lock", ["A1", "B4", "Round;;Round;;2", "Pit:3"]);
  expect(await desk.states("A1", "A2", "B4", "Round2")).toEqual([
    "LOCKED",
    "ACTIVE",
    "LOCKED",
    "LOCKED",
  ]);
  expect(await desk.pit()).toEqual([97, 3, 0, 0]);
});

test("POST /api/private/v1.0/booking/lock gives back what fails and locks the rest", async () => {
  const desk = new Desk();
  await desk.book("lock", "other", "A1");
  await desk.book("directsale", undefined, "A2");
  await desk.book("block", undefined, "A3");
  const failed = ["A3", "Pit:101", "A1", "A2"];
  await desk.books("lock", ["A3", "A4", "Pit:101", "A1", "A5", "A2"], failed);
  expect(await desk.states("A4", "A5")).toEqual(["LOCKED", "LOCKED"]);
});

test("POST /api/private/v1.0/booking/lock gives back keys that name nothing", async () => {
  const desk = new Desk();
  const keys = [
    "Nowhere",
    "Stalls",
    "Stalls;;A",
    "Stalls;;A;;99",
    "Stalls;;A;;1;;x",
    "stalls;;a;;1",
    ";;;;",
    "Pit;;1;;1",
    "__proto__",
    String(desk.id("A1")),
  ];
  await desk.books("lock", [...keys, "A2", ...keys], [...keys, ...keys]);
  expect(await desk.states("A1", "A2")).toEqual(["ACTIVE", "LOCKED"]);
});

test("POST /api/private/v1.0/booking/lock gives back an area without a capacity", async () => {
  const desk = new Desk();
  await desk.books("lock", ["Pit", "Pit:0", "A1:1", "A2:0", "Pit:2"], ["Pit", "Pit:0", "A1:1"]);
  expect(await desk.pit()).toEqual([98, 2, 0, 0]);
});

test("POST /api/private/v1.0/booking/lock tries what is named twice twice", async () => {
  const desk = new Desk();
  await desk.books("lock", ["A1", "Pit:60", "A1", "Pit:60", "Pit:40"], ["A1", "Pit:60"]);
  expect(await desk.pit()).toEqual([0, 100, 0, 0]);
});

test("POST /api/private/v1.0/booking/lock gives back what the log has no room for", async () => {
  const desk = new Desk();
  const { journal } = desk.server;
  journal.takes = (_, isFollowUp) => (isFollowUp ? Admission.OVERLOADED : Admission.OPEN);
  await desk.books("lock", ["Pit:60", "A1", "Pit:40"], ["Pit:40"]);
  expect(await desk.pit()).toEqual([40, 60, 0, 0]);
});

test("POST /api/private/v1.0/booking/lock is refused by a log that takes nothing", async () => {
  const desk = new Desk();
  desk.change({ orphanPrevention: true });
  desk.server.journal.takes = () => Admission.OVERLOADED;
  const before = desk.server.digest;
  // Refused together, and tried by themselves then.
  const path = `/api/private/v1.0/booking/lock?id=${desk.server.a.eventId}`;
  const { status } = await desk.server.call("POST", path, {
    key: desk.server.a.key,
    body: desk.entries("B1", "B3"),
  });
  expect(status).toBe(503);
  expect(desk.server.digest).toBe(before);
});

test("POST /api/private/v1.0/booking/lock answers 200 when everything failed", async () => {
  const desk = new Desk();
  const before = desk.server.digest;
  await desk.books("lock", ["Nowhere", "A99"], ["Nowhere", "A99"]);
  expect(desk.server.digest).toBe(before);
});

test("POST /api/private/v1.0/booking/sale sells what is locked, by whomever", async () => {
  const desk = new Desk();
  await desk.book("lock", "somebody", "A1", "Pit:2");
  await desk.books("lock", ["A2"]);
  await desk.books("sale", ["A1", "A2", "A3", "Pit:2", "Pit:1"], ["A3", "Pit:1"]);
  expect(await desk.states("A1", "A2", "A3")).toEqual(["SOLD", "SOLD", "ACTIVE"]);
  expect(await desk.pit()).toEqual([98, 0, 2, 0]);
});

test("POST /api/private/v1.0/booking/unlock unlocks, and leaves what is on sale", async () => {
  const desk = new Desk();
  await desk.book("lock", "somebody", "A1", "Pit:5");
  await desk.book("directsale", undefined, "A3");
  const given = ["A1", "A2", "A3", "Pit:3", "Pit:3", "Pit"];
  await desk.books("unlock", given, ["A3", "Pit:3", "Pit"]);
  expect(await desk.states("A1", "A2", "A3")).toEqual(["ACTIVE", "ACTIVE", "SOLD"]);
  expect(await desk.pit()).toEqual([98, 2, 0, 0]);
});

test("POST /api/private/v1.0/booking/lock gives back who leaves a seat alone", async () => {
  const desk = new Desk();
  desk.change({ orphanPrevention: true });
  await desk.books("lock", ["A2"], ["A2"]);
  await desk.books("lock", ["A5", "B1", "Pit:1"], ["A5"]);
  expect(await desk.states("A5", "B1")).toEqual(["ACTIVE", "LOCKED"]);
});

test("POST /api/private/v1.0/booking/lock judges the whole request first", async () => {
  const desk = new Desk();
  desk.change({ orphanPrevention: true });
  // B2 alone would leave B1 alone; B2 and then B1 would never come to be.
  await desk.books("lock", ["B2", "B1"]);
  await desk.books("lock", ["A3", "A2", "A1", "A6", "A5", "A4"]);
});

test("POST /api/private/v1.0/booking/lock takes as much as leaves nothing alone", async () => {
  const desk = new Desk();
  desk.change({ orphanPrevention: true });
  // Together A1, A2 and A4 leave A3 alone. Without A4 they leave nothing alone.
  await desk.books("lock", ["A1", "A2", "A4"], ["A4"]);
  // B1 and B3 leave B2 alone, so the earlier of the two is taken and the later is not.
  await desk.books("lock", ["B1", "B3"], ["B3"]);
});

test("POST /api/private/v1.0/booking/sale gives back who leaves a seat alone", async () => {
  const desk = new Desk();
  await desk.books("lock", ["A2", "B1", "B2"]);
  desk.change({ orphanPrevention: true });
  await desk.books("sale", ["B2", "A2", "B1"], ["A2"]);
  expect(await desk.states("A1", "A2", "B1", "B2")).toEqual(["ACTIVE", "LOCKED", "SOLD", "SOLD"]);
});

test("POST /api/private/v1.0/booking/lock holds as long as a cart does", async () => {
  const desk = new Desk();
  await desk.books("lock", ["A1"]);
  desk.server.world.clock.timeMs += 15 * 60_000;
  await desk.books("sale", ["A1"], ["A1"]);
  await desk.books("lock", ["A1"]);
});

test.each(KINDS)("POST /api/private/v1.0/booking/%s refuses what is no request", async (kind) => {
  const desk = new Desk();
  const { eventId } = desk.server.a;
  const path = `/booking/${kind}?id=${eventId}`;
  const entry = { compositeKey: "Stalls;;A;;1", capacity: null };
  const wrong: readonly (readonly [unknown, string])[] = [
    [[], " SIZE"],
    [[{}], "[0].compositeKey NOT_NULL"],
    [[entry, { compositeKey: 7 }], "[1].compositeKey TYPE"],
    [[{ ...entry, capacity: "1" }], "[0].capacity TYPE"],
    [[{ ...entry, capacity: 1.5 }], "[0].capacity TYPE"],
    [[{ ...entry, capacity: -1 }], "[0].capacity RANGE"],
    [Array.from({ length: 1_001 }, () => entry), " SIZE"],
    [entry, " TYPE"],
  ];
  const before = desk.server.digest;
  for (const [body, error] of wrong) {
    const reply = await desk.call<never>("POST", path, body);
    const problem = { status: 400, errorCode: "VALIDATION_FAILED", errors: [error] };
    expectProblem(reply, { ...problem, path: `${V1}/booking/${kind}` });
  }
  for (const [query, status, errorCode] of WRONG_EVENTS(desk.server)) {
    const reply = await desk.call<never>("POST", `/booking/${kind}?${query}`, [entry]);
    expect([query, reply.status, reply.body["errorCode"]]).toEqual([query, status, errorCode]);
  }
  expect(desk.server.digest).toBe(before);
});

test.each(KINDS)(
  "POST /api/private/v1.0/booking/%s is 402 while booking is off, whatever it names",
  async (kind) => {
    const desk = new Desk();
    desk.change({ bookingEnabled: false });
    const path = `${V1}/booking/${kind}`;
    for (const object of ["A1", "Nowhere", "Pit"]) {
      const query = `?id=${desk.server.a.eventId}`;
      const reply = await desk.call<never>(
        "POST",
        `/booking/${kind}${query}`,
        desk.entries(object),
      );
      expectProblem(reply, { status: 402, errorCode: "ORGANIZATION_DISABLED", path });
    }
  },
);

test("POST /api/private/v1.0/booking/sale is 403 without sales control", async () => {
  const desk = new Desk();
  desk.change({ salesControl: false });
  const target = `/booking/sale?id=${desk.server.a.eventId}`;
  const reply = await desk.call<never>("POST", target, desk.entries("A1"));
  const path = `${V1}/booking/sale`;
  expectProblem(reply, { status: 403, errorCode: "SALES_CONTROL_REQUIRED", path });
  await desk.books("lock", ["A1"]);
  await desk.books("unlock", ["A1"]);
});

test.each(["lock", "sale"] as const)(
  "POST /api/private/v1.0/booking/%s is 400 on an event that is not published",
  async (kind) => {
    const desk = new Desk();
    desk.setStatus("ARCHIVED");
    const path = `${V1}/booking/${kind}`;
    for (const object of ["A1", "Nowhere"]) {
      const query = `?id=${desk.server.a.eventId}`;
      const reply = await desk.call<never>(
        "POST",
        `/booking/${kind}${query}`,
        desk.entries(object),
      );
      expectProblem(reply, { status: 400, errorCode: "EVENT_NOT_PUBLISHED", path });
    }
    await desk.books("unlock", ["A1"]);
  },
);

test.each(KINDS)("POST /api/private/v1.0/booking/%s is 403 with a wrong key", async (kind) => {
  const desk = new Desk();
  const path = `${V1}/booking/${kind}`;
  const target = `/booking/${kind}?id=${desk.server.a.eventId}`;
  for (const key of ["", "nobody's", desk.server.b.key]) {
    const reply = await desk.call<never>("POST", target, desk.entries("A1"), key);
    const errorCode = key === desk.server.b.key ? "EVENT_ACCESS_DENIED" : "ACCESS_DENIED";
    expectProblem(reply, { status: 403, errorCode, path });
    expect(reply.body["detail"]).toMatch(/correct private key/);
  }
});

test("POST /api/private/v1.0/booking/lock answers an Idempotency-Key again", async () => {
  const desk = new Desk();
  const { key, eventId } = desk.server.a;
  const options = { key, body: desk.entries("A1"), headers: { "idempotency-key": "once" } };
  for (const expected of ["[]", "[]"]) {
    const target = `${V1}/booking/lock?id=${eventId}`;
    const reply = await desk.server.call("POST", target, options);
    expect([reply.status, reply.text]).toEqual([200, expected]);
  }
  const target = `${V1}/booking/lock?id=${eventId}`;
  const reused = { ...options, body: desk.entries("A2") };
  expect((await desk.server.call("POST", target, reused)).status).toBe(422);
});
