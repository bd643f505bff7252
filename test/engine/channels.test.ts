/** Channels: seats kept for the calls that name them. */
import { expect, test } from "vitest";
import type { BestRequest, Cart, ChannelBody, StateSelection } from "../../engine/bodies.ts";
import { withAlternatives } from "../../engine/queries/alternatives.ts";
import { summarizeChannels } from "../../engine/queries/summary.ts";
import { isRefused, Result } from "../../engine/results.ts";
import { NO_EVENT, World } from "../support/engine.ts";
import { area, section, table } from "../support/layout.ts";
import { checkMore, errorsOf, expectConsistent } from "../support/table.ts";

const HALL = [
  section("Stalls", { A: "1 2 3 4 5 6", B: "1 2 3 4" }),
  table("Round", "1 2 3"),
  area("Pit", 10),
];

function bodyOf(world: World, names: readonly string[]): ChannelBody {
  const isSeat = (name: string) => world.labels.seats.includes(name);
  const ids = (wanted: boolean) =>
    names.filter((name) => isSeat(name) === wanted).map((name) => world.labels.idOf(name));
  return { name: "Agency", seats: ids(true), groupOfSeatsIds: ids(false) };
}

function put(world: World, key: string, ...names: readonly string[]) {
  const { caller, eventId } = world;
  const outcome = world.submit("putChannel", caller, { eventId, key, body: bodyOf(world, names) });
  expectConsistent(world);
  return outcome;
}

function drop(world: World, key: string) {
  const { caller, eventId } = world;
  const outcome = world.submit("deleteChannel", caller, { eventId, key });
  expectConsistent(world);
  return outcome;
}

/** Labels of seats by the key of their channel. */
function kept(world: World): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { key, slot } of world.event.channels ?? []) {
    const labels = world.labels.seats.filter(
      (label) => world.partition.channelOf(world.seat(label)) === slot,
    );
    found[key] = labels.join(" ");
  }
  return found;
}

/** The granted answer, or the errors. */
function book(
  world: World,
  kind: "lock" | "directsale" | "block" | "sale" | "unlock" | "revertsale" | "unblock",
  channel: string | null,
  ...objects: readonly string[]
): unknown {
  const outcome = world.book(kind, { ...world.selection("A", ...objects), channel });
  expectConsistent(world);
  return isRefused(outcome) ? errorsOf(outcome).join() : outcome.value;
}

test("a channel keeps seats by id, of sections, of tables and of rows; a put replaces name and seats", () => {
  const world = new World(HALL);
  expect(put(world, "agency", "A1", "A2", "Round")).toMatchObject({ value: true });
  expect(kept(world)).toEqual({ agency: "A1 A2 Round1 Round2 Round3" });
  const { rows } = world.partition.layout;
  const body = { name: "Press", groupOfSeatsIds: [rows[1]!.id], seats: [world.labels.idOf("A1")] };
  const { caller, eventId } = world;
  const given = { eventId, key: "agency", body };
  expect(world.submit("putChannel", caller, given)).toMatchObject({ value: false });
  expect(kept(world)).toEqual({ agency: "A1 B1 B2 B3 B4" });
  expect(world.event.channels).toEqual([{ key: "agency", name: "Press", slot: 1 }]);
  expectConsistent(world);
});

test("a put of the same seats under the same name → no record", () => {
  const world = new World(HALL);
  put(world, "agency", "A1", "A2");
  const { sequence } = world.engine;
  expect(put(world, "agency", "A2", "A1", "A1")).toMatchObject({
    refused: Result.OK,
    value: false,
  });
  expect(world.engine.sequence).toBe(sequence);
});

test("without a seat in any channel there is no column of them", () => {
  const world = new World(HALL);
  put(world, "empty");
  expect(world.partition.channels).toBeNull();
  put(world, "agency", "A1");
  expect(world.partition.channels).toHaveLength(7);
  drop(world, "agency");
  expect(world.partition.channels).toBeNull();
  expect(kept(world)).toEqual({ empty: "" });
  drop(world, "empty");
  expect(world.event).not.toHaveProperty("channels");
});

test("ids outside the layout, and areas → NOT_FOUND at their place", () => {
  const world = new World(HALL);
  const { caller, eventId, labels } = world;
  const body = {
    name: "X",
    seats: [labels.idOf("A1"), 999_999, labels.idOf("Stalls")],
    groupOfSeatsIds: [labels.idOf("Pit"), labels.idOf("A1"), 7_777_777],
  };
  const outcome = world.submit("putChannel", caller, { eventId, key: "x", body });
  expect(outcome.refused).toBe(Result.VALIDATION_FAILED);
  expect(errorsOf(outcome)).toEqual([
    "seats[1] NOT_FOUND",
    "seats[2] NOT_FOUND",
    "groupOfSeatsIds[0] NOT_FOUND",
    "groupOfSeatsIds[1] NOT_FOUND",
    "groupOfSeatsIds[2] NOT_FOUND",
  ]);
});

test("seats of another channel → INVENTORY_IN_USE with seat and channel, nothing changes", () => {
  const world = new World(HALL);
  put(world, "press", "A2", "B1");
  const outcome = put(world, "agency", "A1", "A2", "Stalls");
  expect(outcome).toMatchObject({
    refused: Result.INVENTORY_IN_USE,
    errors: [
      { field: "seats[1]", code: "CHANNEL", rejectedValue: world.labels.idOf("A2") },
      { field: "groupOfSeatsIds[0]", code: "CHANNEL", rejectedValue: world.labels.idOf("B1") },
    ],
  });
  if (isRefused(outcome)) expect(outcome.errors[0]!.message).toContain("channel press");
  expect(kept(world)).toEqual({ press: "A2 B1" });
});

test("an event has fifteen channels; a deleted one makes room, and its slot is free again", () => {
  const world = new World([
    section("Stalls", { A: Array.from({ length: 20 }, (_, i) => i + 1).join(" ") }),
  ]);
  for (let i = 1; i <= 15; i++) expect(put(world, `c${i}`, `A${i}`).refused).toBe(Result.OK);
  const beyond = put(world, "c16", "A16");
  expect(beyond.refused).toBe(Result.VALIDATION_FAILED);
  expect(errorsOf(beyond)).toEqual([" SIZE"]);
  expect(put(world, "c15", "A15", "A16").refused).toBe(Result.OK);
  drop(world, "c7");
  expect(put(world, "c16", "A7", "A17").refused).toBe(Result.OK);
  expect(kept(world)).toMatchObject({ c15: "A15 A16", c16: "A7 A17", c6: "A6" });
});

test("an unknown event or channel → ENTITY_NOT_FOUND, one of another organization → ACCESS_DENIED", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  const body = { name: "X" };
  expect(world.submit("putChannel", caller, { eventId: NO_EVENT, key: "x", body }).refused).toBe(
    Result.ENTITY_NOT_FOUND,
  );
  expect(drop(world, "x").refused).toBe(Result.ENTITY_NOT_FOUND);
  const other = world.createOrganization(world.tenant, "Other");
  for (const kind of ["putChannel", "deleteChannel"] as const) {
    const outcome = world.submit(kind, other, { eventId, key: "x", body } as never);
    expect(outcome.refused, kind).toBe(Result.ACCESS_DENIED);
  }
});

test("a lock of a kept seat without its channel, or with another one → CHANNEL; with it → granted", () => {
  const world = new World(HALL);
  put(world, "agency", "A1", "A2");
  put(world, "press", "A3");
  expect(book(world, "lock", null, "A1", "A3", "A4")).toBe(
    "seats[0].id CHANNEL,seats[1].id CHANNEL",
  );
  expect(book(world, "lock", "press", "A1", "A3")).toBe("seats[0].id CHANNEL");
  expect(book(world, "lock", "nobody", "A1")).toBe("seats[0].id CHANNEL");
  const outcome = world.book("lock", world.selection("A", "A1"));
  expect(outcome).toMatchObject({
    errors: [{ message: expect.stringContaining("channel agency") }],
  });
  expect(book(world, "lock", "agency", "A1", "A4", "Pit:2")).toBe(true);
  // The state comes first.
  expect(book(world, "lock", null, "A1")).toBe("seats[0].id HELD_BY_THIS_SESSION");
  expect(book(world, "block", null, "A2")).toBe(true);
  expect(book(world, "lock", null, "A2")).toBe("seats[0].id BLOCKED");
});

test("sale, unlock, extend, revertsale, block and unblock do not ask for the channel", () => {
  const world = new World(HALL);
  const { caller, eventId } = world;
  put(world, "agency", "A1", "A2", "A3");
  expect(book(world, "lock", "agency", "A1", "A2")).toBe(true);
  const extension = { sessionId: "A", seconds: 60 };
  expect(world.submit("extend", caller, { eventId, body: extension }).refused).toBe(Result.OK);
  expect(book(world, "sale", null, "A1")).toBe(true);
  expect(book(world, "unlock", null, "A2")).toBe(true);
  expect(book(world, "revertsale", null, "A1")).toBe(true);
  expect(book(world, "block", null, "A1", "A3")).toBe(true);
  expect(book(world, "unblock", null, "A1", "A3")).toBe(true);
  expect(kept(world)).toEqual({ agency: "A1 A2 A3" });
  expect(book(world, "lock", null, "A1")).toBe("seats[0].id CHANNEL");
});

test("a direct sale of a kept seat without its channel → false, as of one that is not on sale", () => {
  const world = new World(HALL);
  put(world, "agency", "A1");
  expect(book(world, "directsale", null, "A1", "A2")).toBe(false);
  expect(book(world, "directsale", "agency", "A1", "A2")).toBe(true);
});

test("fromBlocked takes a blocked seat of a channel with that channel alone", () => {
  const world = new World(HALL);
  put(world, "agency", "A1");
  checkMore(world, "block  -  A1 A2  ok");
  const lock = (channel: string | null) => {
    const body = { ...world.selection("A", "A1", "A2"), fromBlocked: true, channel };
    return errorsOf(world.book("lock", body));
  };
  expect(lock(null)).toEqual(["seats[0].id CHANNEL"]);
  expect(lock("agency")).toEqual([]);
});

test("an item of a cart is refused with CHANNEL, a direct sale too; with the channel it is granted", () => {
  const world = new World(HALL);
  const { caller, eventId, labels } = world;
  put(world, "agency", "A1", "A2");
  const item = (call: "lock" | "directsale", label: string, channel?: string) => ({
    eventId,
    call,
    seats: [{ id: labels.idOf(label) }],
    ...(channel === undefined ? {} : { channel }),
  });
  const cart = (...items: Cart["items"]) => {
    const outcome = world.submit("cart", caller, { body: { sessionId: "A", items } });
    expectConsistent(world);
    return errorsOf(outcome);
  };
  expect(cart(item("lock", "A3"), item("lock", "A1"))).toEqual(["items[1].seats[0].id CHANNEL"]);
  expect(cart(item("directsale", "A2"))).toEqual(["items[0].seats[0].id CHANNEL"]);
  expect(cart(item("lock", "A1", "agency"), item("directsale", "A2", "agency"))).toEqual([]);
});

test("best-effort leaves kept seats out, and offers seats that the call could have", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5 6" })]);
  put(world, "agency", "A2", "A3");
  put(world, "press", "A4");
  const lock = (channel: string | null, ...labels: readonly string[]) => {
    const { caller, eventId, event, engine } = world;
    const body: StateSelection = { ...world.selection("A", ...labels), channel };
    const outcome = world.submit("lockBestEffort", caller, { eventId, body });
    const refused = isRefused(outcome) ? outcome.errors : outcome.value.refused;
    return withAlternatives(engine.state, event, body, refused).map(
      ({ field, code, alternatives = [] }) =>
        `${field} ${code} ${alternatives.map(({ id }) => world.labels.labelOf(id)).join(" ")}`,
    );
  };
  expect(lock(null, "A1", "A2")).toEqual(["seats[1].id CHANNEL A5 A6"]);
  world.must("unlock", world.caller, { eventId: world.eventId, body: world.selection("A", "A1") });
  expect(lock("agency", "A4", "A1")).toEqual(["seats[0].id CHANNEL A3 A5 A2"]);
});

test("best takes seats of no channel; with a channel those of it and of none", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5 6 7 8 9" })]);
  const { caller, eventId, labels } = world;
  put(world, "agency", "A4", "A5", "A6");
  const check = (request: BestRequest) => {
    const outcome = world.engine.check({ kind: "best", caller, eventId, body: request });
    if (isRefused(outcome)) return outcome.members ?? errorsOf(outcome);
    return outcome.value.seats.map(({ id }) => labels.labelOf(id)).join(" ");
  };
  expect(check({ quantity: 3 })).toBe("A1 A2 A3");
  expect(check({ quantity: 4 })).toEqual({ largestTogether: 3, available: 6 });
  expect(check({ quantity: 3, channel: "agency" })).toBe("A4 A5 A6");
  expect(check({ quantity: 5, channel: "agency" })).toBe("A3 A4 A5 A6 A7");
  expect(check({ quantity: 3, channel: "press" })).toBe("A1 A2 A3");
  expect(check({ quantity: 6, adjacent: "preferred" })).toBe("A1 A2 A3 A7 A8 A9");
  // The rankings and censuses that are kept follow the channel.
  put(world, "agency", "A1", "A9");
  expect(check({ quantity: 3 })).toBe("A4 A5 A6");
  expect(check({ quantity: 7 })).toBe("A2 A3 A4 A5 A6 A7 A8");
  expect(check({ quantity: 9, channel: "agency" })).toBe("A1 A2 A3 A4 A5 A6 A7 A8 A9");
  drop(world, "agency");
  put(world, "press", "A5");
  expect(check({ quantity: 4, channel: "agency" })).toBe("A1 A2 A3 A4");
  expect(check({ quantity: 3, channel: "press" })).toBe("A4 A5 A6");
});

test("for the orphan rule a kept seat is as ACTIVE as it is", () => {
  const world = new World([section("Stalls", { A: "1 2 3 4 5 6" })], {
    settings: { orphanMode: "strict" },
  });
  const { caller, eventId } = world;
  put(world, "agency", "A4", "A5");
  // A3 has the kept A4 beside it, so it is no orphan.
  checkMore(world, "lock  A  A1 A2  ok");
  const outcome = world.book("lock", { ...world.selection("B", "A4", "A5"), channel: "agency" });
  expect(errorsOf(outcome)).toEqual(["seats[0].id ORPHAN_SEAT", "seats[1].id ORPHAN_SEAT"]);
  const best = world.submit("best", caller, { eventId, body: { quantity: 1 } });
  expect(isRefused(best) ? best.refused : best.value.seats).toEqual([
    { id: world.labels.idOf("A3") },
  ]);
});

test("a layout change keeps the channel of seats that stay, whatever their index", () => {
  const world = new World(HALL);
  put(world, "agency", "A2", "A3", "Round");
  put(world, "press", "B1");
  const { document } = world.engine.state.catalog.layouts.get(world.schemaId)!;
  const seats = document.seats
    .filter(({ id }) =>
      [world.labels.idOf("A1"), world.labels.idOf("A3"), world.labels.idOf("B1")].includes(id),
    )
    .map((seat) => ({ ...seat, toRemove: true }));
  const before = world.seat("A2");
  world.putLayout({ seats }, true);
  expect(world.seat("A2")).toBe(before - 1);
  expectConsistent(world);
  expect(kept(world)).toEqual({ agency: "A2 Round1 Round2 Round3", press: "" });
});

test("a clone of the event has no channels", () => {
  const world = new World(HALL);
  put(world, "agency", "A2");
  const cloneId = "0000abcd-0000-4000-8000-0000000000ff";
  const clone = world.must("cloneEvent", world.caller, {
    eventId: world.eventId,
    cloneId,
    body: {},
  });
  expect(clone).not.toHaveProperty("channels");
  expect(world.engine.state.partitionOf(clone).channels).toBeNull();
  expectConsistent(world);
});

test("a change of the event keeps its channels; another schema empties them", () => {
  const world = new World(HALL);
  const { caller, eventId, venueId } = world;
  put(world, "agency", "A1");
  const times = { start: "2026-05-01T20:00", endDate: "2026-05-01T23:00" };
  const change = (schemaId: number) => {
    const body = { name: "Gala", ...times, schemaId };
    world.must("updateEvent", caller, { eventId, body, force: false });
    expectConsistent(world);
  };
  change(world.schemaId);
  expect(kept(world)).toEqual({ agency: "A1" });
  change(world.must("createSchema", caller, { body: { name: "Other", venueId } }).id);
  expect(world.event.channels).toHaveLength(1);
  expect(world.partition.channels).toBeNull();
  change(world.schemaId);
  expect(kept(world)).toEqual({ agency: "" });
});

test("figures count the seats of each channel by state, in order of key", () => {
  const world = new World(HALL, { unpriced: ["B1"] });
  const { engine } = world;
  put(world, "press", "B1", "B2");
  put(world, "agency", "A1", "A2", "A3", "A4");
  checkMore(world, "block  -  A3  ok");
  expect(book(world, "lock", "agency", "A1", "A2")).toBe(true);
  expect(book(world, "sale", null, "A1")).toBe(true);
  const counts = (active: number, locked: number, sold: number, blocked: number) => {
    return { active, locked, sold, blocked };
  };
  expect(summarizeChannels(engine.state, world.event)).toEqual([
    { key: "agency", name: "Agency", ...counts(1, 1, 1, 1), unpriced: 0 },
    { key: "press", name: "Agency", ...counts(1, 0, 0, 0), unpriced: 1 },
  ]);
});
