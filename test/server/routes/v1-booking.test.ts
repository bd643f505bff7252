/** Booking over v1: each entry on its own, by composite keys and by the ids that stand for them. */
import { expect, test } from "vitest";
import type { LayoutBody } from "../../../engine/bodies.ts";
import { Admission } from "../../../engine/ports.ts";
import { area, layoutOf, section } from "../../support/layout.ts";
import { V2 } from "../../support/server.ts";
import { EVENT_DENIED, expectProblem, invalid } from "../wire/wire.ts";
import { Desk, V1 } from "./desk.ts";

const KINDS = ["lock", "sale", "unlock"] as const;

const pathOf = (desk: Desk, kind: (typeof KINDS)[number]) =>
  `${V1}/booking/${kind}?id=${desk.a.eventId}`;

test("a v1 lock takes seats and places by their composite keys", async () => {
  const desk = new Desk();
  await desk.books("lock", ["A1", "B4", "Round;;Round;;2", "Pit:3"]);
  const states = await desk.states("A1", "A2", "B4", "Round2");
  expect(states).toEqual(["LOCKED", "ACTIVE", "LOCKED", "LOCKED"]);
  expect(await desk.pit()).toEqual([97, 3, 0, 0]);
});

test("a v1 lock returns the entries that fail and locks the rest", async () => {
  const desk = new Desk();
  await desk.book("lock", "other", "A1");
  await desk.book("directsale", null, "A2");
  await desk.book("block", null, "A3");
  const failed = ["A3", "Pit:101", "A1", "A2"];
  await desk.books("lock", ["A3", "A4", "Pit:101", "A1", "A5", "A2"], failed);
  expect(await desk.states("A4", "A5")).toEqual(["LOCKED", "LOCKED"]);
});

test("a v1 lock returns entries with unknown keys", async () => {
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
    String(desk.a.labels.idOf("row A")),
  ];
  await desk.books("lock", [...keys, "A2", ...keys], [...keys, ...keys]);
  expect(await desk.states("A1", "A2")).toEqual(["ACTIVE", "LOCKED"]);
});

test("a v1 lock returns areas without a capacity and seats with one", async () => {
  const desk = new Desk();
  await desk.books("lock", ["Pit", "Pit:0", "A1:1", "A2:0", "Pit:2"], ["Pit", "Pit:0", "A1:1"]);
  expect(await desk.pit()).toEqual([98, 2, 0, 0]);
});

test("a v1 lock tries an entry twice when it is sent twice", async () => {
  const desk = new Desk();
  await desk.books("lock", ["A1", "Pit:60", "A1", "Pit:60", "Pit:40"], ["A1", "Pit:60"]);
  expect(await desk.pit()).toEqual([0, 100, 0, 0]);
});

test("a v1 lock returns the entries for which the log has no room", async () => {
  const desk = new Desk();
  desk.journal.takes = (_, isFollowUp) => (isFollowUp ? Admission.OVERLOADED : Admission.OPEN);
  await desk.books("lock", ["Pit:60", "A1", "Pit:40"], ["Pit:40"]);
  expect(await desk.pit()).toEqual([40, 60, 0, 0]);
});

test("a v1 lock is 503 when the log takes no record at all", async () => {
  const desk = new Desk();
  desk.world.change({ orphanPrevention: true });
  desk.journal.takes = () => Admission.OVERLOADED;
  const before = desk.digest;
  // They are refused together, and then tried one by one.
  const { status } = await desk.post(pathOf(desk, "lock"), desk.entries("B1", "B3"));
  expect(status).toBe(503);
  expect(desk.digest).toBe(before);
});

test("a v1 lock of which everything failed is 200 and changes nothing", async () => {
  const desk = new Desk();
  const before = desk.digest;
  await desk.books("lock", ["Nowhere", "A99"], ["Nowhere", "A99"]);
  expect(desk.digest).toBe(before);
});

test("a v1 sale sells what is locked, by any session", async () => {
  const desk = new Desk();
  await desk.book("lock", "somebody", "A1", "Pit:2");
  await desk.books("lock", ["A2"]);
  await desk.books("sale", ["A1", "A2", "A3", "Pit:2", "Pit:1"], ["A3", "Pit:1"]);
  expect(await desk.states("A1", "A2", "A3")).toEqual(["SOLD", "SOLD", "ACTIVE"]);
  expect(await desk.pit()).toEqual([98, 0, 2, 0]);
});

test("a v1 unlock unlocks seats and places, and accepts seats that are ACTIVE", async () => {
  const desk = new Desk();
  await desk.book("lock", "somebody", "A1", "Pit:5");
  await desk.book("directsale", null, "A3");
  const sent = ["A1", "A2", "A3", "Pit:3", "Pit:3", "Pit"];
  await desk.books("unlock", sent, ["A3", "Pit:3", "Pit"]);
  expect(await desk.states("A1", "A2", "A3")).toEqual(["ACTIVE", "ACTIVE", "SOLD"]);
  expect(await desk.pit()).toEqual([98, 2, 0, 0]);
});

/** Locks and sales with orphan prevention: bookings before, the request, and what it returns. */
const ORPHANS: readonly (readonly [string, "lock" | "sale", string, string, string])[] = [
  ["the seat that leaves a seat alone", "lock", "", "A2", "A2"],
  ["one of several entries", "lock", "", "A5 B1 Pit:1", "A5"],
  // B2 would leave B1 alone if the entries were tried one by one.
  ["nothing when the whole request leaves no seat alone", "lock", "", "B2 B1", ""],
  ["nothing when whole rows are taken in any order", "lock", "", "A3 A2 A1 A6 A5 A4", ""],
  // All three leave A3 alone; without A4 they do not.
  ["as few entries as possible", "lock", "", "A1 A2 A4", "A4"],
  ["the later of two entries that leave a seat alone", "lock", "", "B1 B3", "B3"],
  ["a sold seat that leaves a seat alone", "sale", "A2 B1 B2", "B2 A2 B1", "A2"],
];

test.each(ORPHANS)("orphan prevention in v1 returns %s", async (...row) => {
  const [, kind, before, sent, failed] = row;
  const desk = new Desk();
  const split = (text: string) => (text === "" ? [] : text.split(" "));
  if (before !== "") await desk.books("lock", split(before));
  desk.world.change({ orphanPrevention: true });
  await desk.books(kind, split(sent), split(failed));
});

test("a v1 lock expires like a cart", async () => {
  const desk = new Desk();
  await desk.books("lock", ["A1"]);
  desk.world.clock.timeMs += 15 * 60_000;
  await desk.books("sale", ["A1"], ["A1"]);
  await desk.books("lock", ["A1"]);
});

const plainEntry = { compositeKey: "Stalls;;A;;1", capacity: null };
const BAD_ENTRIES: readonly (readonly [string, unknown, string])[] = [
  ["an empty list", [], " SIZE"],
  ["an entry without a key", [{}], "[0].compositeKey NOT_NULL"],
  ["a number for a key", [plainEntry, { compositeKey: 7 }], "[1].compositeKey TYPE"],
  ["a negative capacity", [{ ...plainEntry, capacity: -1 }], "[0].capacity RANGE"],
  ["1,001 entries", Array.from({ length: 1_001 }, () => plainEntry), " SIZE"],
];

test.each(BAD_ENTRIES)("booking over v1 refuses %s", async (_, body, error) => {
  const desk = new Desk();
  const before = desk.digest;
  for (const kind of KINDS) {
    expectProblem(await desk.post(pathOf(desk, kind), body), invalid(error));
  }
  expect(desk.digest).toBe(before);
});

test("booking over v1 is 402 while booking is off, whatever the request names", async () => {
  const desk = new Desk();
  desk.world.change({ bookingEnabled: false });
  for (const kind of KINDS) {
    for (const object of ["A1", "Nowhere", "Pit"]) {
      const reply = await desk.post(pathOf(desk, kind), desk.entries(object));
      expectProblem(reply, { status: 402, errorCode: "ORGANIZATION_DISABLED" });
    }
  }
});

test("a v1 sale is 403 without sales control; lock and unlock are not", async () => {
  const desk = new Desk();
  desk.world.change({ salesControl: false });
  const reply = await desk.post(pathOf(desk, "sale"), desk.entries("A1"));
  expectProblem(reply, { status: 403, errorCode: "SALES_CONTROL_REQUIRED" });
  await desk.books("lock", ["A1"]);
  await desk.books("unlock", ["A1"]);
});

test("a v1 lock or sale of an event that is not published is 400; an unlock is not", async () => {
  const desk = new Desk();
  desk.setStatus("ARCHIVED");
  for (const kind of ["lock", "sale"] as const) {
    for (const object of ["A1", "Nowhere"]) {
      const reply = await desk.post(pathOf(desk, kind), desk.entries(object));
      expectProblem(reply, { status: 400, errorCode: "EVENT_NOT_PUBLISHED" });
    }
  }
  await desk.books("unlock", ["A1"]);
});

test("booking over v1 with the key of another organization is 403", async () => {
  const desk = new Desk();
  for (const kind of KINDS) {
    const reply = await desk.post(pathOf(desk, kind), desk.entries("A1"), desk.b);
    expectProblem(reply, EVENT_DENIED);
  }
});

test("a v1 lock with the same Idempotency-Key gets the first answer again", async () => {
  const desk = new Desk();
  const by = { ...desk.a, headers: { "idempotency-key": "once" } };
  const lock = (label: string) => desk.post(pathOf(desk, "lock"), desk.entries(label), by);
  for (const expected of ["[]", "[]"]) {
    const { status, text } = await lock("A1");
    expect([status, text]).toEqual([200, expected]);
  }
  expect((await lock("A2")).status).toBe(422);
});

interface KeysBody {
  readonly sectors: readonly {
    readonly key: string;
    readonly name: string;
    readonly rows: readonly {
      readonly key: string;
      readonly seats: readonly { readonly key: string }[];
    }[];
  }[];
}

async function keysOf(desk: Desk, schemaId = desk.a.schemaId) {
  const path = `${V1}/venues/schemas/${schemaId}/?useInternalIds=true&numberedSections=true`;
  return (await desk.get<KeysBody>(path)).body.sectors;
}

/** Adds a part to the plan and gives it a price, over v1. */
async function price(desk: Desk, layout: LayoutBody, entry: object): Promise<void> {
  const { schemaId, eventId, priceId } = desk.a;
  const { status } = await desk.put(`${V2}/schemas/${schemaId}/layout`, layout);
  const path = `${V1}/assignments/?id=${eventId}`;
  const failed = await desk.post(path, [{ ...entry, price: priceId }]);
  expect([status, failed.body]).toEqual([200, []]);
}

test("keys that are ids work in every call that takes composite keys", async () => {
  const desk = new Desk();
  const { labels, eventId, priceId } = desk.a;
  const sectors = await keysOf(desk);
  expect(sectors.map(({ name }) => name)).toEqual(["1. Stalls", "2. Round", "3. Pit"]);
  const seat = sectors[0]!.rows[0]!.seats[0]!.key;
  const pit = sectors[2]!.key;
  expect([seat, pit]).toEqual([String(labels.idOf("A1")), String(labels.idOf("Pit"))]);
  await desk.books("lock", [seat, `${pit}:2`]);
  expect([await desk.states("A1"), await desk.pit()]).toEqual([["LOCKED"], [98, 2, 0, 0]]);
  await desk.books("sale", [seat, `${pit}:1`]);
  await desk.books("unlock", [`${pit}:1`]);
  const path = `${V1}/assignments/?id=${eventId}`;
  const other = String(labels.idOf("A2"));
  const entry = { compositeKey: other, price: priceId };
  expect((await desk.post(path, [entry])).body).toEqual([]);
  expect((await desk.call("DELETE", path, { ...desk.a, body: [entry] })).body).toEqual([]);
});

test("ids of rows and sections are no keys, and neither are other numbers", async () => {
  const desk = new Desk();
  const sectors = await keysOf(desk);
  const ids = [sectors[0]!.key, sectors[0]!.rows[0]!.key, "0", "-1", "999999999"];
  const keys = [...ids, ` ${desk.a.labels.idOf("A1")}`];
  await desk.books("lock", keys, keys);
});

test("a key that names something by its label comes before an id", async () => {
  const desk = new Desk();
  const key = String(desk.a.labels.idOf("A1"));
  await price(desk, layoutOf(area(key, 5)), { compositeKey: key, capacity: 5 });
  await desk.books("lock", [`${key}:2`, key], [key]);
  expect(await desk.states("A1")).toEqual(["ACTIVE"]);
});

test("an empty key fails its entry, and a missing key fails the call", async () => {
  const desk = new Desk();
  await desk.books("lock", ["", "A1"], [""]);
  const long = "x".repeat(5_000);
  await desk.books("lock", [long, "A2"], [long]);
  const path = `${V1}/booking/lock?id=${desk.a.eventId}`;
  const assignments = `${V1}/assignments/?id=${desk.a.eventId}`;
  for (const compositeKey of [undefined, null]) {
    const entries = [{ compositeKey: "Stalls;;A;;3" }, { compositeKey }];
    const error = invalid("[1].compositeKey NOT_NULL");
    expectProblem(await desk.post(path, entries), error);
    const priced = entries.map((entry) => ({ ...entry, price: desk.a.priceId }));
    expectProblem(await desk.post(assignments, priced), error);
  }
  expect(await desk.states("A1", "A2", "A3")).toEqual(["LOCKED", "LOCKED", "ACTIVE"]);
});

test("a key in decomposed letters names the label in composed letters", async () => {
  const desk = new Desk();
  const compositeKey = "Cafe\u0301;;A;;1";
  await price(desk, layoutOf(section("Caf\u00e9", { A: "1" })), { compositeKey });
  await desk.books("lock", [compositeKey]);
});
