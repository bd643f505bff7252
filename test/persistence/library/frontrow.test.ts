/** The library: its calls, its results, and what happens after `close` and on a second open. */
import { readFileSync } from "node:fs";
import { expect, expectTypeOf, test } from "vitest";
import type { PriceRow } from "../../../engine/catalog.ts";
import {
  type AnyCommand,
  type Frontrow,
  open,
  Refused,
  type Result,
  StoreClosed,
  valueOf,
} from "../../../persistence/library/library.ts";
import { BoxOffice, LAYOUT, newFolder } from "../../support/box-office.ts";
import { OPEN_KINDS } from "../../support/samples.ts";

const statesOf = async ({ frontrow, eventId }: BoxOffice) =>
  valueOf(await frontrow.seats(eventId)).seats.map(({ state }) => state);

test("bookings move seats and places through states that have names", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId } = office;
  const two = office.selection("ann", ["A1", "A2"], 4);
  expect(await statesOf(office)).toEqual(["ACTIVE", "ACTIVE", "ACTIVE"]);
  expect(await frontrow.lock(eventId, two)).toEqual({ ok: true, value: true });
  expect(await statesOf(office)).toEqual(["LOCKED", "LOCKED", "ACTIVE"]);
  const longer = valueOf(await frontrow.extend(eventId, { sessionId: "ann", seconds: 1 }));
  const [first, second, pit] = ["A1", "A2", "Pit"].map((label) => office.labels.idOf(label));
  expect(longer.seats.map(({ id, state }) => [id, state])).toEqual([
    [first, "LOCKED"],
    [second, "LOCKED"],
  ]);
  expect(longer.areas).toMatchObject([{ id: pit, locked: 4 }]);
  expect(await frontrow.unlock(eventId, office.selection("ann", ["A2"], 1))).toMatchObject({
    ok: true,
  });
  await frontrow.sell(eventId, office.selection("ann", ["A1"], 3));
  await frontrow.block(eventId, office.selection("", ["A3"]));
  expect(await statesOf(office)).toEqual(["SOLD", "ACTIVE", "BLOCKED"]);
  const { areas } = valueOf(await frontrow.areas(eventId));
  expect(areas).toMatchObject([{ name: "Pit", capacity: 10, active: 7, locked: 0, sold: 3 }]);
  await frontrow.unblock(eventId, office.selection("", ["A3"]));
  await frontrow.revertSale(eventId, office.selection("", ["A1"]));
  expect(await frontrow.sellDirectly(eventId, office.selection("", ["A2"]))).toMatchObject({
    value: true,
  });
  expect(await statesOf(office)).toEqual(["ACTIVE", "SOLD", "ACTIVE"]);
});

test("two calls for the best places at once → each gets its own, as they are held", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId } = office;
  const [a1, a2, a3, pit] = ["A1", "A2", "A3", "Pit"].map((label) => office.labels.idOf(label));
  const ask = (sessionId: string, quantity: number, more = {}) =>
    frontrow.lockBest(eventId, { sessionId, quantity, avoidOrphans: false, ...more });
  const results = await Promise.all([
    ask("ann", 2),
    ask("ben", 1),
    ask("eve", 3, { groupOfSeatsIds: [pit] }),
  ]);
  const [ann, ben, eve] = results.map((result) => valueOf(result));
  const ids = [...ann!.seats, ...ben!.seats].map(({ id }) => id);
  expect(ids.toSorted((one, other) => one - other)).toEqual([a1, a2, a3]);
  for (const { sequence, seats, together } of [ann!, ben!]) {
    const held = { state: "LOCKED", section: "Stalls", row: "A", fence: sequence };
    expect([together, seats]).toMatchObject([true, seats.map(() => held)]);
  }
  const hold = { fence: eve!.sequence, places: 3, expiresAtMs: expect.any(Number) };
  expect(eve).toMatchObject({
    seats: [],
    areas: [{ id: pit, locked: 3, hold }],
    groupOfSeats: [{ id: pit, capacity: 3 }],
  });
  const sold = { sessionId: "ann", seats: ann!.seats.map(({ id }) => ({ id })) };
  expect(await frontrow.sell(eventId, sold)).toEqual({ ok: true, value: true });
  expect(await ask("dan", 1)).toMatchObject({
    ok: false,
    code: "NOTHING_SUITABLE",
    members: { largestTogether: 0, available: 0 },
  });
});

test("what can be had of a selection → held in one hold, with the refused objects and places on sale", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId } = office;
  const [a1, a2, pit] = ["A1", "A2", "Pit"].map((label) => office.labels.idOf(label));
  await frontrow.sellDirectly(eventId, { seats: [{ id: a2! }] });
  const groupOfSeats = [{ id: pit!, capacity: 100_000 }];
  const seats = [{ id: a1! }, { id: a2! }];
  const ask = frontrow.lockBestEffort(eventId, { sessionId: "ann", seats, groupOfSeats });
  // The program may use its list again at once.
  seats.length = 0;
  const { sequence, ...held } = valueOf(await ask);
  expect(held).toMatchObject({
    seats: [{ id: a1, state: "LOCKED", fence: sequence }],
    areas: [],
    groupOfSeats: [],
    refused: [
      { field: "seats[1].id", code: "SOLD", alternatives: expect.any(Array) },
      { field: "groupOfSeats[0].capacity", available: expect.any(Number) },
    ],
  });
  const again = { sessionId: "ann", seats: [{ id: a1! }] };
  expect(await frontrow.lockBestEffort(eventId, again)).toMatchObject({
    ok: false,
    code: "INVENTORY_NOT_AVAILABLE",
    errors: [{ code: "HELD_BY_THIS_SESSION" }],
  });
  await frontrow.unlock(eventId, again);
  const gone = { seats: [{ id: a2! }], groupOfSeats };
  expect(await frontrow.lockBestEffort(eventId, gone)).toMatchObject({
    ok: false,
    code: "INVENTORY_NOT_AVAILABLE",
    errors: [
      { field: "seats[0].id", code: "SOLD", alternatives: [{ id: a1 }, {}] },
      { field: "groupOfSeats[0].capacity", available: expect.any(Number) },
    ],
  });
  expect(await frontrow.lockBestEffort("nothing", gone)).toMatchObject({
    ok: false,
    code: "VALIDATION_FAILED",
  });
});

test("a refusal is a result with the name of its code and every refused object", async () => {
  const office = await BoxOffice.open();
  const { frontrow, eventId } = office;
  await frontrow.lock(eventId, office.selection("ann", ["A2"]));
  const result = await frontrow.lock(eventId, office.selection("ben", ["A1", "A2"]));
  expect(result).toMatchObject({
    ok: false,
    code: "INVENTORY_NOT_AVAILABLE",
    detail: expect.stringMatching(/./),
    errors: [{ field: "seats[1].id", code: "LOCKED", rejectedValue: office.labels.idOf("A2") }],
  });
  expect(await statesOf(office)).toEqual(["ACTIVE", "LOCKED", "ACTIVE"]);
  expect(() => valueOf(result)).toThrow(Refused);
  expect(() => valueOf(result)).toThrow(/seats\[1\].id LOCKED: /);
});

test("a call of another form is refused and names the member", async () => {
  const { frontrow, eventId } = await BoxOffice.open();
  const venues = frontrow.venues as unknown as { create(venue: unknown): Promise<unknown> };
  const prices = frontrow.prices as unknown as { create(...given: unknown[]): Promise<unknown> };
  const invalid = (field: string, code: string) => ({
    ok: false,
    code: "VALIDATION_FAILED",
    errors: [{ field, code }],
  });
  expect(await venues.create({})).toMatchObject(invalid("name", "NOT_NULL"));
  expect(await venues.create(undefined)).toMatchObject(invalid("body", "NOT_NULL"));
  expect(await prices.create(eventId, "Full")).toMatchObject(invalid("body", "TYPE"));
});

test("a query with arguments of another form is refused and names each", async () => {
  const { frontrow, eventId } = await BoxOffice.open();
  const { venues, schemas, layouts, zones, prices, events, organizations } = frontrow;
  const none = undefined as never;
  const filter = { limit: -1, sort: [{ property: "colour", descending: true }] } as never;
  const refused: readonly (readonly [Promise<Result<unknown>>, ...string[]])[] = [
    [venues.get(none), "venueId NOT_NULL"],
    [schemas.get("7" as never), "schemaId TYPE"],
    [schemas.getClone("7"), "cloneId FORMAT"],
    [layouts.get(1.5), "schemaId TYPE"],
    [zones.list(0), "schemaId RANGE"],
    [zones.get(1, none), "zoneId NOT_NULL"],
    [organizations.get(-1), "organizationId RANGE"],
    [events.get(7 as never), "eventId TYPE"],
    [events.get(eventId.toUpperCase()), "eventId FORMAT"],
    [prices.get(eventId, Number.NaN), "priceId TYPE"],
    [prices.list(none), "eventId NOT_NULL"],
    [frontrow.seats(none, null as never), "eventId NOT_NULL", "seatFilter NOT_NULL"],
    [frontrow.seats(eventId, filter), "seatFilter.sort[0].property ENUM"],
    [frontrow.areas("opening"), "eventId FORMAT"],
    [frontrow.subscribe(none, 0), "eventId NOT_NULL"],
  ];
  for (const [call, ...errors] of refused) {
    const result = await call;
    expect(result).toMatchObject({ ok: false, code: "VALIDATION_FAILED" });
    const found = result.ok ? [] : result.errors.map(({ field, code }) => `${field} ${code}`);
    expect(found).toEqual(errors);
  }
});

test("a filter whose members are undefined is an empty one", async () => {
  const { frontrow, eventId } = await BoxOffice.open();
  const filter = { sort: undefined, limit: undefined } as never;
  expect(valueOf(await frontrow.seats(eventId, filter)).total).toBe(3);
});

test.each([[undefined], [{}], [{ folder: null }]])(
  "open(%j) asks for the folder",
  async (given) => {
    await expect(open(given as never)).rejects.toThrow(/folder NOT_NULL: must be given/);
  },
);

test("the codes of a call's refusals are in its type", () => {
  type Value<Call extends (...given: never[]) => Promise<unknown>> = Awaited<ReturnType<Call>>;
  expectTypeOf<Value<Frontrow["prices"]["create"]>>().toEqualTypeOf<
    Result<PriceRow[], AnyCommand | "EVENT_ACCESS_DENIED">
  >();
  type Unblock = "EVENT_ACCESS_DENIED" | "ORGANIZATION_DISABLED" | "INVENTORY_NOT_AVAILABLE";
  expectTypeOf<Value<Frontrow["unblock"]>>().toEqualTypeOf<Result<boolean, AnyCommand | Unblock>>();
  type Admission = "ADMISSION_REQUIRED" | "ADMISSION_INVALID";
  expectTypeOf<Value<Frontrow["lock"]>>().toEqualTypeOf<
    Result<boolean, AnyCommand | Unblock | "EVENT_NOT_PUBLISHED" | Admission | "ORPHAN_SEAT">
  >();
  expectTypeOf<Value<Frontrow["venues"]["create"]>>().not.toExtend<Result<unknown, never>>();
});

test("every command can be given", () => {
  const source = readFileSync("persistence/library/library.ts", "utf8");
  const given = [...source.matchAll(/\brun\(\s*"(\w+)"/g)].map(([, kind]) => kind!);
  expect(given.sort()).toEqual([...OPEN_KINDS].sort());
});

test("the guide lists every call", async () => {
  const page = readFileSync("server/docs/guide/library.md", "utf8");
  const [, table = ""] = /^## All calls\n([^]*?)^## /m.exec(page) ?? [];
  const rows = [...table.matchAll(/^\| (?:`(\w+)`|[^`|]*(?:`audit`)?) \| (`.*`) \|$/gm)];
  const listed = rows.flatMap(([, group, calls]) =>
    calls!.split(", ").map((call) => [...(group === undefined ? [] : [group]), call].join(".")),
  );
  const { frontrow } = await BoxOffice.open();
  const groups = Object.entries(frontrow).flatMap(([group, calls]) =>
    Object.keys(calls as object).map((call) => `${group}.\`${call}\``),
  );
  const { constructor, ...methods } = Object.getOwnPropertyDescriptors(
    Object.getPrototypeOf(frontrow) as object,
  );
  expect(constructor).toBeDefined();
  const own = Object.keys(methods).map((call) => `\`${call}\``);
  expect(listed.sort()).toEqual([...groups, ...own].sort());
});

test("the catalog is created, read, changed and deleted", async () => {
  const { frontrow, eventId, schemaId, priceId, labels } = await BoxOffice.open();
  const { venues, schemas, layouts, zones, series, events, prices } = frontrow;
  const venue = valueOf(await venues.create({ name: "Annex" }));
  valueOf(await venues.update({ ...venue, name: "Cellar" }));
  expect(valueOf(await venues.get(venue.id)).name).toBe("Cellar");
  expect(valueOf(await venues.list()).map(({ name }) => name)).toEqual(["Odeon", "Cellar"]);
  valueOf(await venues.delete(venue.id));
  expect(await venues.get(venue.id)).toMatchObject({ ok: false, code: "ENTITY_NOT_FOUND" });

  const clone = valueOf(await schemas.clone(schemaId));
  expect(valueOf(await schemas.getClone(clone.id))).toEqual(clone);
  const copy = valueOf(await schemas.get(clone.schemaId));
  valueOf(await schemas.update({ id: copy.id, venueId: copy.venueId, name: "Copy" }));
  expect(valueOf(await schemas.list()).map(({ name }) => name)).toEqual(["Hall", "Copy"]);
  valueOf(await schemas.delete(copy.id));
  expect(valueOf(await layouts.get(schemaId)).seats).toHaveLength(3);

  const [zone] = valueOf(await zones.create(schemaId, [{ name: "Near" }]));
  valueOf(await zones.update(schemaId, [{ id: zone!.id, name: "Front" }]));
  const objectId = labels.idOf("A1");
  const near = { seats: [{ objectId, assignmentId: zone!.id }] };
  valueOf(await zones.assign(schemaId, near));
  expect(valueOf(await zones.assignments(schemaId))).toMatchObject([{ id: objectId }]);
  expect(valueOf(await zones.get(schemaId, zone!.id)).name).toBe("Front");
  valueOf(await zones.delete(schemaId, zone!.id));
  expect(valueOf(await zones.list(schemaId))).toEqual([]);

  const tour = valueOf(await series.create({ name: "Tour" }));
  valueOf(await events.bind(eventId, tour.id));
  expect(valueOf(await events.get(eventId)).seriesId).toBe(tour.id);
  expect(valueOf(await series.list())).toHaveLength(1);
  valueOf(await series.delete(tour.id));
  const { name: _, ...event } = valueOf(await events.get(eventId));
  valueOf(await events.update(eventId, { ...event, name: "Closing" }));
  valueOf(await events.changeStatus(eventId, "ARCHIVED"));
  expect(valueOf(await events.list())).toMatchObject([{ name: "Closing", status: "ARCHIVED" }]);

  valueOf(await prices.update(eventId, [{ id: priceId, name: "Half" }]));
  expect(valueOf(await prices.get(eventId, priceId)).name).toBe("Half");
  valueOf(await prices.unassign(eventId, { seats: [{ objectId }] }));
  valueOf(await prices.clear(eventId));
  valueOf(await prices.delete(eventId, priceId));
  expect(valueOf(await prices.list(eventId))).toEqual([]);
  valueOf(await events.delete(eventId));
  expect(await events.get(eventId)).toMatchObject({ ok: false, code: "ENTITY_NOT_FOUND" });
});

test("each organization has its own rows, and its tenant manages them all", async () => {
  const { frontrow, eventId, schemaId, priceId } = await BoxOffice.open();
  const { organizations, tenants } = frontrow;
  const roxy = valueOf(await organizations.create({ name: "Roxy" }));
  const other = frontrow.as(roxy);
  expect(valueOf(await other.events.list())).toEqual([]);
  const refused = await Promise.all([
    other.seats(eventId),
    other.areas(eventId),
    other.prices.list(eventId),
    other.prices.get(eventId, priceId),
    other.layouts.get(schemaId),
    other.zones.list(schemaId),
    other.subscribe(eventId, 0),
  ]);
  for (const result of refused) expect(result).toMatchObject({ ok: false, code: "ACCESS_DENIED" });
  valueOf(await organizations.changeSettings(roxy.id, { orphanPrevention: true }));
  valueOf(await organizations.update({ id: roxy.id, name: "Rex" }));
  valueOf(await other.organizations.configureSessions({ publicSessionsEnabled: true }));
  valueOf(await other.organizations.replaceHoldTypes([{ name: "DESK", ttlSeconds: 60 }]));
  valueOf(await other.organizations.rotateKey());
  expect(valueOf(await organizations.get(roxy.id))).toMatchObject({
    name: "Rex",
    orphanPrevention: true,
    publicSessionsEnabled: true,
    holdTypes: [{ name: "DESK", ttlSeconds: 60 }],
    keyVersion: roxy.keyVersion + 1,
  });
  valueOf(await organizations.delete(roxy.id));
  expect(valueOf(await organizations.list()).map(({ name }) => name)).toEqual(["Odeon"]);
  expect(await other.venues.create({ name: "Roxy" })).toMatchObject({ code: "ACCESS_DENIED" });

  const tenant = valueOf(await tenants.create({ name: "Second" }));
  const second = frontrow.as({ id: 0, tenantId: tenant.id });
  valueOf(await second.tenants.rotateToken());
  valueOf(await second.organizations.create({ name: "Odeon" }));
  expect(valueOf(await second.organizations.list())).toMatchObject([{ tenantId: tenant.id }]);
  expect(valueOf(await tenants.list()).map(({ name }) => name)).toEqual(["default", "Second"]);
});

test("changes of arguments and results after a call do not reach the store", async () => {
  const { frontrow, schemaId } = await BoxOffice.open();
  const thumbnail = { colour: "red" };
  const { venueId } = valueOf(await frontrow.schemas.get(schemaId));
  const body = { id: schemaId, venueId, name: "Hall", thumbnail };
  const schema = valueOf(await frontrow.schemas.update(body));
  thumbnail.colour = "green";
  (schema.thumbnail as typeof thumbnail).colour = "blue";
  const read = valueOf(await frontrow.schemas.get(schemaId));
  expect(read.thumbnail).toEqual({ colour: "red" });
  (read.thumbnail as typeof thumbnail).colour = "black";
  expect(valueOf(await frontrow.schemas.list())).toMatchObject([{ thumbnail: { colour: "red" } }]);
});

test("a value that JSON cannot represent is rejected, and the store keeps working", async () => {
  const { frontrow, schemaId } = await BoxOffice.open();
  const { venueId } = valueOf(await frontrow.schemas.get(schemaId));
  const circle: Record<string, unknown> = {};
  circle["self"] = circle;
  let deep: unknown = "deep";
  for (let depth = 0; depth < 20_000; depth++) deep = [deep];
  for (const thumbnail of [circle, deep, 1n]) {
    const call = frontrow.schemas.create({ name: "Hall", venueId, thumbnail });
    await expect(call).rejects.toThrow(/circular|call stack|BigInt/);
  }
  expect(valueOf(await frontrow.schemas.list())).toHaveLength(1);
});

test("seats are filtered, sorted and listed in pages", async () => {
  const { frontrow, eventId, labels } = await BoxOffice.open();
  const sort = [{ property: "seatName", descending: true }] as const;
  const { seats, total } = valueOf(await frontrow.seats(eventId, { sort, offset: 1, limit: 1 }));
  expect([seats.map(({ id }) => id), total]).toEqual([[labels.idOf("A2")], 3]);
  expect(valueOf(await frontrow.seats(eventId, { rowId: 1 })).seats).toEqual([]);
});

test("a store that is opened again has everything that was acknowledged", async () => {
  const { folder, frontrow, eventId, schemaId } = await BoxOffice.open();
  await Promise.all([frontrow.close(), frontrow.close()]);
  const again = await open({ folder, organization: "Odeon" });
  expect(valueOf(await again.seats(eventId)).total).toBe(3);
  expect(valueOf(await again.layouts.get(schemaId)).sectors).toHaveLength(LAYOUT.sectors!.length);
  expect(valueOf(await again.organizations.list())).toHaveLength(1);
  await again.close();
});

test("a call after close rejects and says so", async () => {
  const { frontrow, eventId, folder } = await BoxOffice.open();
  const answered = frontrow.venues.create({ name: "Just in time" });
  await frontrow.close();
  expect(await answered).toMatchObject({ ok: true });
  const calls = [
    () => frontrow.venues.create({ name: "Late" }),
    () => frontrow.venues.list(),
    () => frontrow.seats(eventId),
    () => frontrow.subscribe(eventId, 0),
    () => frontrow.as({ id: 1, tenantId: 1 }).events.list(),
  ];
  for (const call of calls) await expect(call()).rejects.toThrow(StoreClosed);
  await expect(frontrow.areas(eventId)).rejects.toThrow(
    `the store in ${folder} was closed; open it again`,
  );
});

test("an open folder cannot be opened a second time, and keeps working", async () => {
  const { folder, frontrow } = await BoxOffice.open();
  await expect(open({ folder })).rejects.toThrow(
    expect.objectContaining({
      name: "FolderRefused",
      message: expect.stringContaining(`cannot use the data folder ${folder}: `),
    }),
  );
  expect(await frontrow.venues.list()).toMatchObject({ ok: true });
});

test("an open that cannot create its organization leaves the folder free", async () => {
  const folder = newFolder();
  await expect(open({ folder, organization: "" })).rejects.toThrow(/name SIZE/);
  await (await open({ folder })).close();
});

test("without the option there is no audit trail to ask", async () => {
  const { frontrow, eventId } = await BoxOffice.open();
  await expect(frontrow.audit(eventId)).rejects.toThrow("without the option `audit`");
  await expect(frontrow.seatsAt(eventId, { sequence: 1 })).rejects.toThrow("option `audit`");
  await expect(frontrow.areasAt(eventId, { sequence: 1 })).rejects.toThrow("option `audit`");
});
