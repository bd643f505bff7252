/** Large layouts over the interface: their thread runs in the test's process. */
import { beforeEach, expect, onTestFinished, test } from "vitest";
import type { CatalogRecord } from "../../../engine/records.ts";
import type { LayoutDocument } from "../../../engine/layout/document.ts";
import { buildLayout } from "../../../engine/layout/layout.ts";
import { PackedLayout, plainDocument } from "../../../engine/layout/packed.ts";
import { checkState, digest } from "../../../engine/verify.ts";
import { metadataView } from "../../../server/layouts/jobs.ts";
import { groupViews } from "../../../server/api/entities.ts";
import { replayed } from "../../support/engine.ts";
import { keepLayoutThreadBusy } from "../../support/layout-thread.ts";
import { guidOf } from "../../support/layout.ts";
import { type Reply } from "../../support/answers/exchange.ts";
import { TestServer, V2 } from "../../support/server.ts";

const ROWS = 30;
const SEATS_PER_ROW = 40;

let server: TestServer;
let schemaId = 0;
beforeEach(() => {
  server = new TestServer();
  const { a, world } = server;
  const body = { name: "Arena", venueId: a.venueId };
  schemaId = world.must("createSchema", a.caller, { body }).id;
});

/** Twelve hundred seats in one section, and an area. */
function arena(nameOf = (row: number, seat: number) => `${row * 100 + seat}`) {
  const rows = Array.from({ length: ROWS }, (_, row) => {
    return { guid: guidOf(`row ${row}`), sectorGuid: guidOf("Arena"), rowNumber: `${row}` };
  });
  const seats = rows.flatMap(({ guid }, row) =>
    Array.from({ length: SEATS_PER_ROW }, (_, seat) => ({
      guid: guidOf(`seat ${row} ${seat}`),
      rowGuid: guid,
      name: nameOf(row, seat),
      x: seat,
      y: row,
    })),
  );
  const sectors = [
    { guid: guidOf("Arena"), name: "Arena", ga: false },
    { guid: guidOf("Floor"), name: "Floor", ga: true, gaCapacity: 9 },
  ];
  return { sectors, rows, seats };
}

const layoutPath = () => `${V2}/schemas/${schemaId}/layout`;
const put = (body: unknown, options = {}) =>
  server.call<LayoutDocument>("PUT", layoutPath(), { ...server.a, body, ...options });
const stored = () => server.engine.state.catalog.layouts.get(schemaId)!.document;

/** Invariants after every step. */
function checkAll(): void {
  const { state } = server.engine;
  checkState(state);
  expect(digest(replayed(server.journal))).toBe(digest(state));
}

test("a large layout is stored packed, and answered and shown as a small one is", async () => {
  const answered = await put(arena());
  expect(answered.status).toBe(200);
  expect(stored()).toBeInstanceOf(PackedLayout);
  const document = plainDocument(stored());
  expect(answered.body).toEqual({ ...document, inUse: { renamed: 0, moved: 0 } });
  expect((await server.get<LayoutDocument>(layoutPath())).body).toEqual(document);
  const groups = await server.get(`${V2}/schemas/${schemaId}/seatmaps/?type=ROW`);
  const rows = groupViews(schemaId, document, new Map()).filter(({ type }) => type === "ROW");
  expect(groups.body).toEqual(JSON.parse(JSON.stringify(rows)));
  const shown = await server.get(`/api/private/v1.0/venues/schemas/${schemaId}/`);
  const options = { isNumbered: false, hasIds: false };
  const metadata = metadataView(document, buildLayout(document), options);
  expect(shown.body).toEqual(JSON.parse(JSON.stringify(metadata)));
  checkAll();
});

test("If-Match names another version of a large layout → 412, changed or not", async () => {
  const first = await put(arena(), { headers: { "if-match": '"v0"' } });
  expect([first.status, first.headers["ETag"]]).toEqual([200, '"v1"']);
  expect((await server.get(layoutPath())).headers["ETag"]).toBe('"v1"');
  const renamed = { seats: [{ ...arena().seats[0], name: "first" }] };
  const { length } = server.journal.kept;
  for (const body of [renamed, arena()]) {
    const refused = await put(body, { headers: { "if-match": '"v0", "v2"' } });
    expect(refused).toMatchObject({ status: 412, body: { errorCode: "PRECONDITION_FAILED" } });
  }
  expect(server.journal.kept).toHaveLength(length);
  const both = await Promise.all(
    ["second", "third"].map((name) => {
      const body = { seats: [{ ...arena().seats[0], name }] };
      return put(body, { headers: { "if-match": '"v1"' } });
    }),
  );
  expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 412]));
  const { status, headers } = await put(arena(), { headers: { "if-match": '"v2"' } });
  expect([status, headers["ETag"]]).toEqual([200, '"v3"']);
  checkAll();
});

test("events follow a large layout, and bookings on them go on", async () => {
  await put(arena());
  const { a, world } = server;
  const eventId = world.createEvent(a.caller, schemaId);
  const answered = await put({ seats: [{ ...arena().seats[0], name: "first" }] });
  const id = answered.body.seats.find(({ name }) => name === "first")!.id;
  const page = await server.get<{ content: { seatName: string }[] }>(
    `${V2}/events/${eventId}/seats/?lastUpdated=2020-01-01&sort=updatedAt,desc&size=1`,
  );
  expect(page.body.content[0]).toMatchObject({ seatName: "first", seatId: id });
  checkAll();
});

test("the same large layout, and an empty one, change nothing and write nothing", async () => {
  const first = await put(arena());
  const { length } = server.journal.kept;
  for (const body of [arena(), {}]) {
    const again = await put(body);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
  }
  expect(server.journal.kept).toHaveLength(length);
});

test("a large layout is refused for the same reasons as a small one", async () => {
  const body = arena();
  const seats = body.seats.map((seat) => ({ ...seat, x: "left" }));
  expect((await put({ ...body, seats })).body).toMatchObject({
    status: 400,
    errors: [{ field: "seats[0].x", rejectedValue: "left" }],
  });
  const doubled = [...body.seats, { ...body.seats[0]!, guid: guidOf("other") }];
  expect((await put({ ...body, seats: doubled })).body).toMatchObject({
    status: 400,
    errors: [{ field: `seats[${doubled.length - 1}].name`, code: "DUPLICATE" }],
  });
  const text = JSON.stringify(body);
  expect((await put(`${text.slice(0, -1)},`)).body).toMatchObject({
    errorCode: "MALFORMED_REQUEST",
  });
  const theirs = await put(body, server.b);
  expect(theirs.body).toMatchObject({ errorCode: "ACCESS_DENIED" });
  const invalid = await put({ ...body, seats }, server.b);
  expect(invalid.body).toMatchObject({ errorCode: "VALIDATION_FAILED" });
  expect(server.engine.state.catalog.layouts.has(schemaId)).toBe(false);
});

/** An event on the layout, with everything priced and these seats held. */
function holdSeats({ sectors }: LayoutDocument, seats: LayoutDocument["seats"]): void {
  const { a, world } = server;
  const eventId = world.createEvent(a.caller, schemaId);
  const priceId = world.createPrice("Seat", eventId, a.caller);
  const groupOfSeats = [{ objectId: sectors[0]!.id, assignmentId: priceId }];
  world.must("assignPrices", a.caller, { eventId, body: { groupOfSeats } });
  world.must("lock", a.caller, { eventId, body: { seats: seats.map(({ id }) => ({ id })) } });
}

test("a seat that is held is not removed by a large layout, unless by force", async () => {
  const { body } = await put(arena());
  const [seat] = body.seats;
  holdSeats(body, [seat!]);
  const removal = { rows: [{ ...arena().rows[0]!, toRemove: true }] };
  expect((await put(removal)).body).toMatchObject({
    errorCode: "INVENTORY_IN_USE",
    errors: [{ rejectedValue: seat!.id }],
  });
  const forced = await server.put<LayoutDocument>(`${layoutPath()}?forceDelete=true`, removal);
  expect(forced.body.seats).toHaveLength((ROWS - 1) * SEATS_PER_ROW);
  checkAll();
});

test("a large layout with held seats renamed and moved → their numbers, in a replay too", async () => {
  const { body: first } = await put(arena());
  for (let event = 0; event < 2; event++) holdSeats(first, first.seats.slice(0, 3));
  const [one, two, three, free] = arena().seats;
  const seats = [
    { ...one, name: "first" },
    { ...two, rowGuid: guidOf("row 1"), name: "moved" },
    { ...three, x: 9 },
    { ...free, name: "free" },
  ];
  const keyed = { headers: { "idempotency-key": "once" } };
  const changed = await put({ seats }, keyed);
  const inUse = { renamed: 2, moved: 2 };
  expect(changed.body).toEqual({ ...plainDocument(stored()), inUse });
  const again = await put({ seats }, keyed);
  expect([again.text, again.headers["ETag"]]).toEqual([changed.text, changed.headers["ETag"]]);
  expect((await server.get<LayoutDocument>(layoutPath())).body).toEqual(plainDocument(stored()));
  const sentBack = await put(changed.text);
  expect(sentBack.body).toEqual({ ...plainDocument(stored()), inUse: { renamed: 0, moved: 0 } });
  checkAll();
});

test("a layout that was changed meanwhile is prepared again", async () => {
  await put(arena());
  const before = stored();
  const late = put({ seats: [{ ...arena().seats[0], name: "late" }] });
  const { a, world } = server;
  const early = { seats: [{ ...arena().seats[1], name: "early" }] } as never;
  world.must("putLayout", a.caller, { schemaId, body: early, forceDelete: false });
  const names = (await late).body.seats.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["early", "late"]));
  expect(stored()).not.toBe(before);
  checkAll();
});

test("a body of more than a mebibyte is stored, prepared again and refused as others", async () => {
  const padded = (name: string) => {
    const seats = arena().seats.map((seat) => ({ ...seat, padding: "x".repeat(1_000) }));
    return { ...arena(), seats: [{ ...seats[0]!, name }, ...seats.slice(1)] };
  };
  const first = await put(padded("first"));
  expect(first.body).toEqual({ ...plainDocument(stored()), inUse: { renamed: 0, moved: 0 } });
  expect((await put(padded("first"))).body).toEqual(first.body);
  const late = put(padded("late"));
  const { a, world } = server;
  const early = { seats: [{ ...arena().seats[1], name: "early" }] } as never;
  world.must("putLayout", a.caller, { schemaId, body: early, forceDelete: false });
  expect((await late).body.seats[0]).toMatchObject({ name: "late", padding: "x".repeat(1_000) });
  expect((await late).body).toEqual({
    ...plainDocument(stored()),
    inUse: { renamed: 0, moved: 0 },
  });
  const invalid = { ...padded("late"), clientViewBox: 7 };
  expect((await put(invalid)).body).toMatchObject({ errorCode: "VALIDATION_FAILED" });
  expect((await put(`${JSON.stringify(padded("late"))}]`)).body).toMatchObject({
    errorCode: "MALFORMED_REQUEST",
  });
  checkAll();
});

test("ids that others take meanwhile are not given to a new layout", async () => {
  const late = put(arena());
  const { a, world } = server;
  const ids = Array.from({ length: 1_500 }, (_, i) => ({ name: `Zone ${i}`, schemaId }));
  const zones = world.must("createZones", a.caller, { schemaId, body: ids });
  const { seats } = (await late).body;
  const given = new Set([...zones, ...seats].map(({ id }) => id));
  expect(given.size).toBe(zones.length + seats.length);
  checkAll();
});

test("a layout and a clone are stored while others take thousands of ids each time", async () => {
  const { a, world } = server;
  const other = { name: "Other", venueId: a.venueId };
  const { id } = world.must("createSchema", a.caller, { body: other });
  const body = Array.from({ length: 1_500 }, (_, i) => ({ name: `Zone ${i}`, schemaId: id }));
  const take = () => void world.must("createZones", a.caller, { schemaId: id, body });
  const taking = setInterval(take, 1);
  onTestFinished(() => clearInterval(taking));
  expect((await put(arena())).status).toBe(200);
  expect((await server.post(`${V2}/schemas/clone/${schemaId}`)).status).toBe(200);
});

test("a schema that is deleted meanwhile gets no layout", async () => {
  const late = put(arena());
  server.world.must("deleteSchema", server.a.caller, { schemaId });
  expect((await late).status).toBe(404);
  checkAll();
});

test("a large layout is cloned with its zones", async () => {
  const { body } = await put(arena());
  const { a, world } = server;
  const zone = world.must("createZones", a.caller, {
    schemaId,
    body: [{ name: "Front", schemaId }],
  })[0]!;
  const objectId = body.rows[0]!.id;
  const groupOfSeats = [{ objectId, assignmentId: zone.id }];
  world.must("assignZones", a.caller, { schemaId, body: { groupOfSeats } });
  const cloned = server.post<string>(`${V2}/schemas/clone/${schemaId}`);
  // While the copy is made, another zone comes: then it is made again.
  world.must("createZones", a.caller, { schemaId, body: [{ name: "Back", schemaId }] });
  const operation = `${V2}/schemas/clone/${(await cloned).body}`;
  const { schemaId: copyId } = (await server.get<{ schemaId: number }>(operation)).body as never;
  const { layouts, zones, zoneAssignments } = server.engine.state.catalog;
  const copy = layouts.get(copyId)!.document;
  expect(copy).toBeInstanceOf(PackedLayout);
  expect(copy.seats.map(({ name }) => name)).toEqual(body.seats.map(({ name }) => name));
  const names = [...zones.values()].filter((each) => each.schemaId === copyId);
  expect(names.map(({ name }) => name)).toEqual(["Front", "Back"]);
  expect(zoneAssignments.get(copy.rows[0]!.id)?.schemaId).toBe(copyId);
  checkAll();
});

test("a retry with the same key gets the first answer, and writes nothing more", async () => {
  const keyed = { headers: { "idempotency-key": "once" } };
  const [first, second] = [put(arena(), keyed), put(arena(), keyed)];
  expect((await first).status).toBe(200);
  expect((await second).text).toBe((await first).text);
  const { length } = server.journal.kept;
  const again = await put(arena(), keyed);
  expect(again.text).toBe((await first).text);
  const other = await put({}, keyed);
  expect((other as Reply<unknown>).body).toMatchObject({ errorCode: "IDEMPOTENCY_KEY_REUSED" });
  expect(server.journal.kept).toHaveLength(length);
});

test("a change is one record, with the layout packed", async () => {
  const { length } = server.journal.kept;
  await put(arena());
  expect(server.journal.kept).toHaveLength(length + 1);
  const { puts } = server.journal.kept.at(-1)!.record as CatalogRecord;
  expect(puts.map(({ table }) => table)).toEqual(["schemas", "layouts"]);
});

test.each([
  ["the layout", () => layoutPath()],
  ["the layout for a tool", () => `/api/seatmap/${schemaId}/`],
  ["the groups", () => `${V2}/schemas/${schemaId}/seatmaps/`],
  ["the v1 metadata", () => `/api/private/v1.0/venues/schemas/${schemaId}/`],
])("of many reads of %s at once, some are refused, and another house's are not", async (_, at) => {
  await put(arena());
  const endLongJob = keepLayoutThreadBusy();
  const reads = Array.from({ length: 8 }, () => server.get(at()));
  const { world, b } = server;
  const body = { name: "Other arena", venueId: b.venueId };
  const { id } = world.must("createSchema", b.caller, { body });
  const other = server.call("PUT", `${V2}/schemas/${id}/layout`, { ...b, body: arena() });
  expect((await Promise.race(reads)).status).toBe(503);
  endLongJob();
  const statuses = (await Promise.all(reads)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect((await other).status).toBe(200);
});

test("layouts that the thread cannot keep up with are refused; later ones are not", async () => {
  const endLongJob = keepLayoutThreadBusy();
  const puts = Array.from({ length: 8 }, () => put(arena()));
  expect((await Promise.race(puts)).status).toBe(503);
  endLongJob();
  const statuses = (await Promise.all(puts)).map(({ status }) => status);
  expect(new Set(statuses)).toEqual(new Set([200, 503]));
  expect((await put({})).status).toBe(200);
});
