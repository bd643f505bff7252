// Topics of the v2 client: events, their statuses and series, update and deletion.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import {
  all,
  caller,
  done,
  invalid,
  isTrue,
  members,
  missing,
  page,
  problem,
  step,
} from "./v2-kit.mjs";
import { book, newEvent, newSchema, onSale, seats } from "./v2-stage.mjs";

const EVENT = {
  id: "uuid",
  createdDate: "stamp",
  start: "time",
  endDate: "time",
  name: "text",
  schemaId: "long",
  status: "text",
};
const EXPANDED = { ...EVENT, schemaName: "text", venueId: "text", venueName: "text" };

const sameTime = (left, right) => assert.equal(Date.parse(`${left}Z`), Date.parse(`${right}Z`));

export async function events(world) {
  const { api, schema, venue } = world;
  const play = (name, day, more) => ({
    name,
    schemaId: schema.id,
    start: `2031-06-${day}T20:00:00`,
    endDate: `2031-06-${day}T23:00:00`,
    ...more,
  });
  await step("an event is created and read with its schema and venue", async () => {
    world.event = done(await api.post("/events/", play("Hamlet", 10)), 201);
    members(world.event, EVENT);
    assert.equal(world.event.status, "PUBLISHED");
    const read = done(await api.get(`/events/${world.event.id}`));
    members(read, EXPANDED);
    assert.equal(read.schemaName, schema.name);
    assert.deepEqual([read.venueId, read.venueName], [String(venue.id), "Odeon"]);
    sameTime(read.start, "2031-06-10T20:00:00");
    sameTime(read.endDate, "2031-06-10T23:00:00");
    const shouted = await api.get(`/events/${world.event.id.toUpperCase()}`);
    assert.equal(done(shouted).id, world.event.id);
    missing(await api.get(`/events/${randomUUID()}`));
    problem(await api.get("/events/no-uuid"), 400, "VALIDATION_FAILED");
  });
  await step("events are sorted and paged", async () => {
    done(await api.post("/events/", play("Macbeth", 12)), 201);
    done(await api.post("/events/", play("King Lear", 14, { status: "DRAFT" })), 201);
    const pages = [0, 1, 2].map((number) =>
      api.get(`/events/?sort=status,asc&sort=name,desc&size=1&page=${number}`),
    );
    const found = (await Promise.all(pages)).map((answer, number) => {
      assert.equal(answer.body.sort.sorted, true);
      return page(answer, { number, size: 1, total: 3 })[0].name;
    });
    assert.deepEqual(found, ["King Lear", "Macbeth", "Hamlet"]);
    page(await api.get("/events/?page=7"), { number: 7, total: 3 });
    for (const event of await all(api, "/events/")) members(event, EXPANDED);
  });
}

export async function statuses(world) {
  const { api } = world;
  const event = await newEvent(world, "Not yet", { status: "DRAFT" });
  const move = (status) => api.post(`/events/${event.id}/status`, { status });
  await step(
    "an event goes from DRAFT to PUBLISHED to ARCHIVED to DRAFT, and no other way",
    async () => {
      assert.equal(event.status, "DRAFT");
      problem(await move("ARCHIVED"), 409, "INVALID_STATUS_TRANSITION");
      const published = done(await move("PUBLISHED"));
      members(published, { publishedAt: "text" });
      assert.deepEqual(
        [published.id, published.name, published.status],
        [event.id, "Not yet", "PUBLISHED"],
      );
      problem(await move("DRAFT"), 409, "INVALID_STATUS_TRANSITION");
      assert.equal(done(await move("ARCHIVED")).status, "ARCHIVED");
      problem(await move("PUBLISHED"), 409, "INVALID_STATUS_TRANSITION");
      assert.equal(done(await move("DRAFT")).status, "DRAFT");
      invalid(await move("OPEN"), "status");
      missing(await api.post(`/events/${randomUUID()}/status`, { status: "DRAFT" }));
    },
  );
  await step("an event has rules of its own", async () => {
    const rules = `/events/${event.id}/rules`;
    const own = {
      orphanMode: "lenient",
      orphanUntilSold: 90,
      heldPerSession: 4,
      heldPerEvent: null,
    };
    const set = done(await api.put(rules, own));
    assert.deepEqual(set, { ...own, effective: { ...own, heldPerEvent: null } });
    assert.deepEqual(done(await api.get(rules)), set);
    assert.equal(done(await api.put(rules, {})).orphanMode, null);
    invalid(await api.put(rules, { orphanMode: "some" }), "orphanMode");
    missing(await api.get(`/events/${randomUUID()}/rules`));
  });
}

/** Seats kept for the calls that name a channel. */
export async function channels(world) {
  const { api } = world;
  const show = await onSale(world, "A night with an agency");
  const path = `/events/${show.id}/channels/`;
  const [one, two, three] = show.a;
  const seatsOf = (...ids) => ({ seats: ids.map((id) => ({ id })) });
  await step("a channel keeps seats, which the list counts and the map names", async () => {
    const made = done(await api.put(`${path}agency`, { name: "Agency", seats: [one, two] }), 201);
    assert.deepEqual([made.key, made.name, made.active], ["agency", "Agency", 2]);
    const again = await api.put(`${path}agency`, { name: "Agents", seats: [one, two] });
    assert.deepEqual(done(again), { ...made, name: "Agents" });
    assert.deepEqual(done(await api.get(path)), [{ ...made, name: "Agents" }]);
    const { columns } = done(await api.get(`/events/${show.id}/map/`));
    const kept = columns.ids.filter((_, i) => columns.channels[i] === "agency");
    assert.deepEqual(kept, [one, two]);
    invalid(await api.put(`${path}press`, { seats: [one] }), "name");
    invalid(await api.put(`${path}press`, { name: "Press", seats: [1] }), "seats[0]");
    problem(
      await api.put(`${path}press`, { name: "Press", seats: [three, two] }),
      409,
      "INVENTORY_IN_USE",
      [{ field: "seats[1]", rejectedValue: two, code: "CHANNEL" }],
    );
    missing(await api.get(`/events/${randomUUID()}/channels/`));
  });
  await step("kept seats are locked with their channel alone, until it is deleted", async () => {
    const call = (kind, body) => book(api, kind, show.id, { sessionId: "cho", ...body });
    problem(await call("lock", seatsOf(one)), 400, "INVENTORY_NOT_AVAILABLE", [
      { field: "seats[0].id", rejectedValue: one, code: "CHANNEL" },
    ]);
    assert.equal(done(await call("directsale", seatsOf(one))), false);
    isTrue(await call("lock", { ...seatsOf(one, three), channel: "agency" }));
    isTrue(await call("unlock", seatsOf(one, three)));
    done(await api.delete(`${path}agency`), 204);
    missing(await api.delete(`${path}agency`));
    isTrue(await call("lock", seatsOf(one)));
    isTrue(await call("unlock", seatsOf(one)));
  });
}

export async function doors(world) {
  const { api } = world;
  const show = await onSale(world, "A night with a door");
  const admission = `/events/${show.id}/admission`;
  const settings = { opensAt: "2020-01-01T00:00:00", perMinute: 600, draw: false };
  await step("a door is set up, changed and shown", async () => {
    const set = done(await api.put(admission, settings), 201);
    members(set, { opensAt: "time", perMinute: "number", state: "string", tokenKey: "string" });
    assert.equal(done(await api.put(admission, { ...settings, seatsPerVisitor: 1 })).state, "open");
    assert.equal(done(await api.get(admission)).seatsPerVisitor, 1);
    invalid(await api.put(admission, { perMinute: 1 }), "opensAt");
    const later = { ...settings, opensAt: "2020-01-01T00:00:01" };
    problem(await api.put(admission, later), 409, "INVALID_STATUS_TRANSITION");
    missing(await api.get(`/events/${randomUUID()}/admission`));
  });
  await step("a visitor joins, enters, locks with the token and leaves", async () => {
    const joined = done(await api.post(`${admission}/visitors`, { customer: "ada" }), 201);
    members(joined, { visitor: "string", entry: "string", state: "string", taken: "number" });
    const again = done(await api.post(`${admission}/visitors`, { customer: "ada" }));
    assert.equal(again.visitor, joined.visitor);
    const own = `${admission}/visitors/${joined.visitor}`;
    problem(await book(api, "lock", show.id, seats(show.a)), 403, "ADMISSION_REQUIRED");
    const entered = done(await api.post(`${own}/enter`));
    assert.equal(entered.state, "inside");
    const lock = { ...seats(show.a.slice(0, 1)), admission: entered.admission };
    isTrue(await book(api, "lock", show.id, lock));
    assert.equal(done(await api.get(own)).taken, 1);
    const altered = await book(api, "lock", show.id, { ...lock, admission: "x" });
    problem(altered, 403, "ADMISSION_INVALID", [
      { field: "admission", rejectedValue: null, code: "SIGNATURE" },
    ]);
    const open = caller("", {});
    const door = `/door/${show.id}`;
    assert.equal((await open.get(door)).status, 200);
    assert.equal(done(await open.get(`${door}/status`)).joined, 1);
    assert.equal((await open.get(`${door}/entries`)).text, "");
    const mine = `${door}/visitors/${joined.visitor}`;
    assert.equal(done(await open.get(mine)).state, "inside");
    assert.equal(done(await open.post(`${mine}/enter`)).admission, entered.admission);
    done(await open.delete(mine), 204);
    done(await api.delete(own), 204);
    problem(await api.post(`${own}/enter`), 409, "INVALID_STATUS_TRANSITION");
    missing(await api.get(`${admission}/visitors/somebody-who-never-joined`));
    done(await api.delete(admission), 204);
    missing(await api.delete(admission));
  });
}

export async function clones(world) {
  const { api } = world;
  const show = await onSale(world, "First night");
  await step("an event is cloned with its prices and blocked seats, as a draft", async () => {
    isTrue(await book(api, "block", show.id, seats(show.a)));
    isTrue(await book(api, "directsale", show.id, seats(show.b)));
    const times = { start: "2031-07-01T20:00:00", endDate: "2031-07-01T23:00:00" };
    const next = done(await api.post(`/events/${show.id}/clone`, { name: "Next", ...times }), 201);
    members(next, EVENT);
    assert.deepEqual([next.name, next.status], ["Next", "DRAFT"]);
    const states = new Map(
      (await all(api, `/events/${next.id}/seats/`)).map(({ seatId, state }) => [seatId, state]),
    );
    assert.deepEqual([states.get(show.a[0]), states.get(show.b[0])], ["BLOCKED", "ACTIVE"]);
    const published = done(
      await api.post(`/events/${show.id}/clone`, { status: "PUBLISHED" }),
      201,
    );
    assert.equal(published.status, "PUBLISHED");
    invalid(await api.post(`/events/${show.id}/clone`, { status: "ARCHIVED" }), "status");
    invalid(await api.post(`/events/${show.id}/clone`, { endDate: "2001-01-01" }), "endDate");
    missing(await api.post(`/events/${randomUUID()}/clone`, {}));
  });
}

export async function series(world) {
  const { api } = world;
  const event = await newEvent(world, "Part one");
  const later = { ...event, start: "2031-05-01T20:30:00" };
  let ring;
  await step("a series is created and listed", async () => {
    ring = done(await api.post("/series/", { name: "The Ring" }), 201);
    members(ring, { id: "long", name: "text" });
    page(await api.get("/series/"), { total: 1 });
    invalid(await api.post("/series/", {}), "name");
  });
  await step("an event bound to a series keeps its start", async () => {
    done(await api.put(`/events/${event.id}/series`, { seriesId: ring.id }));
    problem(await api.put("/events/", later), 409, "EVENT_BOUND_TO_SERIES");
    const renamed = done(await api.put("/events/", { ...event, name: "Part 1" }));
    assert.equal(renamed.name, "Part 1");
  });
  await step("an event without its series may move, and the series can be deleted", async () => {
    done(await api.put(`/events/${event.id}/series`, { seriesId: null }));
    sameTime(done(await api.put("/events/", later)).start, later.start);
    done(await api.delete(`/series/${ring.id}`), 204);
    page(await api.get("/series/"), { total: 0 });
    missing(await api.delete(`/series/${ring.id}`));
  });
}

export async function echoes(world) {
  const { api, manage, event, schema } = world;
  await step("an object that was read can be sent back as an update", async () => {
    const read = done(await api.get(`/events/${event.id}`));
    assert.equal(done(await api.put("/events/", { ...read, name: "Hamlet II" })).name, "Hamlet II");
    const organization = done(await manage.get(`/organizations/${world.organization.id}`));
    assert.deepEqual(done(await manage.put("/organizations/", organization)), organization);
    const stored = done(await api.get(`/schemas/${schema.id}`));
    assert.deepEqual(done(await api.put("/schemas/", stored)), stored);
  });
}

export async function eventEnd(world) {
  const { api } = world;
  const other = await newSchema(world, "Other hall");
  const show = await onSale(world, "Moving");
  await step("an event is updated", async () => {
    const put = done(await api.put("/events/", { ...show.event, name: "Still moving" }));
    members(put, EVENT);
    assert.equal(put.name, "Still moving");
    assert.equal(put.createdDate, show.event.createdDate);
    const free = await newEvent(world, "Nothing sold");
    const moved = done(await api.put("/events/", { ...free, schemaId: other.id }));
    assert.equal(moved.schemaId, other.id);
    missing(await api.put("/events/", { ...show.event, id: randomUUID() }));
    invalid(await api.put("/events/", { ...show.event, id: undefined }), "id");
    invalid(await api.put("/events/", { ...show.event, name: "" }), "name");
  });
  await step("an event is deleted even if seats are sold", async () => {
    const sold = await onSale(world, "Cancelled");
    isTrue(await book(api, "directsale", sold.id, seats(sold.a)));
    done(await api.delete(`/events/${sold.id}`), 204);
    missing(await api.get(`/events/${sold.id}`));
    missing(await api.get(`/events/${sold.id}/seats/`));
    missing(await api.delete(`/events/${sold.id}`));
    const lock = await book(api, "lock", sold.id, seats(sold.b));
    problem(lock, 403, "EVENT_ACCESS_DENIED");
  });
}
