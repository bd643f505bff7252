/**
 * An on-sale over v1, by a client that was written from the documents only. It takes the first
 * schema with seats and an area, creates an event, sells some seats and places, and deletes it.
 *
 * BASE_URL=http://127.0.0.1:8080 API_KEY=… node test/clients/v1.mjs
 */
import assert from "node:assert/strict";

const { BASE_URL, API_KEY } = process.env;
const UNKNOWN = "No such section;;A;;1";

async function call(method, path, body, key = API_KEY) {
  const response = await fetch(`${BASE_URL}/api/private/v1.0${path}`, {
    method,
    headers: { "X-API-Key": key, "Content-Type": "application/json" },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  return { status: response.status, body: await response.json() };
}

/** Expects a success, and returns its body. */
async function ok(method, path, body) {
  const reply = await call(method, path, body);
  assert.equal(reply.status, 200, `${method} ${path}: ${JSON.stringify(reply.body)}`);
  return reply.body;
}

/** Expects a refusal, and returns its body. */
async function refused(status, method, path, body) {
  const reply = await call(method, path, body);
  assert.equal(reply.status, status, `${method} ${path}: ${JSON.stringify(reply.body)}`);
  assert.equal(reply.body.status, status);
  return reply.body;
}

async function findPlan() {
  for (const schema of await ok("GET", "/venues/schemas/?limit=1000")) {
    const { sectors } = await ok("GET", `/venues/schemas/${schema.id}/`);
    const rows = sectors.flatMap((sector) => sector.rows);
    const area = sectors.find((sector) => sector.rows.length === 0);
    if (rows.some((row) => row.seats.length >= 4) && area) return { schema, rows, area };
  }
  throw new Error("there is no schema with a row of four seats and an area");
}

const seatsOf = (keys) => keys.map((compositeKey) => ({ compositeKey, capacity: null }));

async function createEvent(schemaId) {
  const times = { start: "2031-05-01T20:00:00", killAfter: "2031-05-01T21:00:00" };
  const created = await ok("POST", "/events/", { id: null, name: "First", schemaId, ...times });
  assert.equal(created.endDate, times.killAfter);
  const changed = await ok("PUT", "/events/", { ...created, name: "Second" });
  assert.deepEqual(changed, { ...created, name: "Second" });
  const events = await ok("GET", "/events/?limit=1000&offset=0");
  assert.deepEqual(
    events.find(({ id }) => id === created.id),
    changed,
  );
  await refused(400, "PUT", "/events/", { ...created, id: "00000000-0000-4000-8000-000000000000" });
  return created.id;
}

async function createPrices(eventId) {
  const stalls = await ok("POST", "/prices/", { id: null, name: "Stalls", eventId });
  await refused(409, "POST", "/prices/", { id: null, name: "Stalls", eventId });
  const pit = await ok("POST", "/prices/", { id: null, name: "Floor", eventId });
  assert.equal((await ok("PUT", "/prices/", { ...pit, name: "Pit" })).name, "Pit");
  await refused(404, "PUT", "/prices/", { ...pit, id: stalls.id + 1_000_000 });
  const names = (await ok("GET", `/prices/?id=${eventId}`)).map(({ name }) => name);
  assert.deepEqual(names, ["Stalls", "Pit"]);
  return { stalls: stalls.id, pit: pit.id };
}

async function assignPrices(eventId, prices, keys, area) {
  const seats = keys.map((compositeKey) => ({ compositeKey, price: prices.stalls }));
  const places = { compositeKey: area, capacity: 20, price: prices.pit };
  const unknown = { compositeKey: UNKNOWN, price: prices.stalls };
  const path = `/assignments/?id=${eventId}&clean=true`;
  assert.deepEqual(await ok("POST", path, [...seats, unknown, places]), [unknown]);
}

async function sell(eventId, keys, area) {
  const book = (kind, entries) => ok("POST", `/booking/${kind}?id=${eventId}`, entries);
  const [first, second, third] = seatsOf(keys);
  const places = { compositeKey: area, capacity: 12 };
  const nowhere = { compositeKey: UNKNOWN, capacity: null };
  assert.deepEqual(await book("lock", [first, second, places]), []);
  assert.deepEqual(await book("lock", [third, nowhere, first, places]), [nowhere, first, places]);
  assert.deepEqual(await book("unlock", [third]), []);
  assert.deepEqual(await book("unlock", [{ ...places, capacity: 2 }]), []);
  const sold = [first, second, { ...places, capacity: 10 }];
  assert.deepEqual(await book("sale", [...sold, third]), [third]);
  assert.deepEqual(await book("sale", sold), sold);
  return sold;
}

async function takePricesAway(eventId, prices, sold, free) {
  await refused(409, "DELETE", `/prices/?id=${prices.stalls}`);
  const [first] = sold;
  const path = `/assignments/?id=${eventId}`;
  assert.deepEqual(await ok("DELETE", path, [free, first]), [first]);
  assert.deepEqual(await ok("POST", `/booking/lock?id=${eventId}`, [free]), [free]);
  assert.equal(await ok("POST", `/assignments/clean?id=${eventId}`), true);
  await refused(409, "DELETE", `/prices/?id=${prices.pit}`);
  const late = await ok("POST", "/prices/", { id: null, name: "Late", eventId });
  const { compositeKey } = free;
  assert.deepEqual(await ok("POST", path, [{ compositeKey, price: late.id }]), []);
  assert.equal(await ok("DELETE", `/prices/?id=${late.id}`), true);
}

const { schema, rows, area } = await findPlan();
const details = await ok("GET", `/venues/schemas/${schema.id}/details/`);
assert.equal(details.name, schema.name);
assert.ok(details.capacity >= 4);
const keys = rows.find((row) => row.seats.length >= 4).seats.map(({ key }) => key);

const eventId = await createEvent(schema.id);
const prices = await createPrices(eventId);
await assignPrices(eventId, prices, keys, area.key);
const sold = await sell(eventId, keys, area.key);
await takePricesAway(eventId, prices, sold, seatsOf(keys)[2]);
const denied = await call("GET", "/events/", undefined, "not a key");
assert.equal(denied.status, 403);
assert.match(denied.body.detail, /correct private key/);
assert.equal(await ok("DELETE", `/events/${eventId}`), true);
await refused(403, "POST", `/booking/lock?id=${eventId}`, seatsOf(keys));
console.log(`sold ${sold.length} entries of event ${eventId}`);
