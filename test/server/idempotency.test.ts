/** `Idempotency-Key`: answers to retries, and requests without use of their key. */
import { expect, test } from "vitest";
import { Admission } from "../../engine/ports.ts";
import { replayed } from "../support/engine.ts";
import { actingFor, type CallOptions } from "../support/answers/exchange.ts";
import { MANAGEMENT, TestServer, V2 } from "../support/server.ts";
import { expectProblem, invalid } from "./wire/wire.ts";

const DAY_MS = 86_400_000;
const VENUES = `${V2}/venues/`;
const ORGANIZATIONS = `${MANAGEMENT}/organizations/`;
const NOVA = {
  name: "Nova",
  email: "nova@example.org",
  firstName: "N",
  lastName: "O",
  password: "a long password",
};
const REUSED = { status: 422, errorCode: "IDEMPOTENCY_KEY_REUSED" };

/** The options of a call with a key, as organization A or as another caller. */
const keyed = (server: TestServer, idempotencyKey: string, by: CallOptions = server.a) => ({
  key: by.key!,
  headers: { ...by.headers, "idempotency-key": idempotencyKey },
});

/** Locks a seat of the organization with a key. */
function lock(server: TestServer, key: string, label: string, house = server.a) {
  const body = { sessionId: "ann", seats: [{ id: house.labels.idOf(label) }] };
  const path = server.bookingPath("lock", house.eventId);
  return server.post(path, body, keyed(server, key, house));
}

test("a retry gets the first answer byte for byte, and changes nothing", async () => {
  const server = new TestServer();
  const create = () => server.post(VENUES, { name: "Odeon" }, keyed(server, "v-1"));
  const first = await create();
  const before = server.digest;
  const again = await create();
  expect([first.status, again.status]).toEqual([201, 201]);
  expect([again.text, again.type]).toEqual([first.text, first.type]);
  expect(server.digest).toBe(before);
});

test("a retry gets the first refusal again, even if the state has changed", async () => {
  const server = new TestServer();
  await server.book("lock", "bob", "A1");
  const first = await lock(server, "k", "A1");
  await server.book("unlock", null, "A1");
  const again = await lock(server, "k", "A1");
  expect(first.body.errorCode).toBe("INVENTORY_NOT_AVAILABLE");
  expect(again.text).toBe(first.text);
  expect((await lock(server, "another", "A1")).text).toBe("true");
});

test("the reply is in the log, so that it is known after a restart", async () => {
  const server = new TestServer();
  await lock(server, "k", "A1");
  const { catalog } = replayed(server.journal);
  expect(catalog.replies.get(`${server.a.id}:k`)).toMatchObject({ status: 200, body: "true" });
});

test("a key that is used again with another method, path, query or body is refused", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const body = { id: a.venueId, name: "Odeon" };
  const by = keyed(server, "v");
  expect((await server.post(VENUES, body, by)).status).toBe(201);
  expectProblem(await server.put(VENUES, body, by), REUSED);
  expectProblem(await server.post(`${V2}/series/`, body, by), REUSED);
  expectProblem(await server.post(VENUES, { ...body, name: "Other" }, by), REUSED);

  expect((await lock(server, "k", "A1")).text).toBe("true");
  const eventId = world.createEvent(a.caller, a.schemaId);
  expectProblem(await lock(server, "k", "A1", { ...a, eventId }), REUSED);
});

test("a key is known in its organization only, and for a day", async () => {
  const server = new TestServer();
  expect((await lock(server, "k", "A1")).text).toBe("true");
  expect((await lock(server, "k", "A2", server.b)).text).toBe("true");
  server.world.clock.timeMs += DAY_MS;
  expect((await lock(server, "k", "A3")).text).toBe("true");
});

test("a key is known in its tenant only, when no organization is named", async () => {
  const server = new TestServer();
  const create = (key: string, email: string) =>
    server.post(ORGANIZATIONS, { ...NOVA, email }, keyed(server, "k", { key }));
  const first = await create(server.tenantToken, "a@example.org");
  const other = await create(server.otherTenantToken, "b@example.org");
  expect([first.status, other.status]).toEqual([201, 201]);
  expect((await create(server.tenantToken, "a@example.org")).text).toBe(first.text);
});

test("an invalid request does not use up its key", async () => {
  const server = new TestServer();
  const send = (body: object) => server.post(server.bookingPath("lock"), body, keyed(server, "k"));
  expectProblem(await send({ seats: [] }), invalid("seats NOT_NULL"));
  expectProblem(await send({ seats: [{ id: "1" }] }), invalid("seats[0].id TYPE"));
  expect((await lock(server, "k", "A1")).text).toBe("true");
});

test("a conflict does not use up its key", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const remove = (id: number) => server.delete(`${VENUES}${id}`, keyed(server, "d"));
  expect((await remove(a.venueId)).body.errorCode).toBe("ENTITY_IN_USE");
  const { id } = world.must("createVenue", a.caller, { body: { name: "Free" } });
  expect((await remove(id)).status).toBe(204);
});

test("an unexpected error does not use up its key", async () => {
  const server = new TestServer();
  const value = () => {
    throw new TypeError("broken");
  };
  Object.defineProperty(server.engine, "submit", { value, configurable: true });
  expect((await lock(server, "k", "A1")).status).toBe(500);
  Reflect.deleteProperty(server.engine, "submit");
  expect((await lock(server, "k", "A1")).text).toBe("true");
});

test("a reply that the log has no room for is answered, but not kept", async () => {
  const server = new TestServer();
  const { journal } = server;
  const create = () => server.post(VENUES, { name: "Odeon" }, keyed(server, "v"));
  journal.takes = (_, isFollowUp) => (isFollowUp ? Admission.OVERLOADED : Admission.OPEN);
  const first = await create();
  expect(first.status).toBe(201);
  journal.takes = () => Admission.OPEN;
  const again = await create();
  expect(again.status).toBe(201);
  expect(again.text).not.toBe(first.text);
});

test.each(["é", "a\tb", "x".repeat(256)])("the key %j is refused", async (idempotencyKey) => {
  const server = new TestServer();
  const reply = await server.post(VENUES, { name: "V" }, keyed(server, idempotencyKey));
  expectProblem(reply, invalid("Idempotency-Key SIZE"));
});

test("a retry gets the same secret key, which is not stored in clear", async () => {
  const server = new TestServer();
  const by = keyed(server, "org", actingFor(server.tenantToken, server.a));
  const create = () => server.post<{ secretKey: string }>(ORGANIZATIONS, NOVA, by);
  const first = await create();
  expect((await create()).text).toBe(first.text);
  const kept = JSON.stringify(server.journal.kept.map(({ record }) => record));
  expect(kept).not.toContain(first.body.secretKey);
  expect(kept).not.toContain(NOVA.password);
});

test.each([`${V2}/keys/rotate`, `${MANAGEMENT}/keys/rotate`])(
  "the new key of POST %s is not stored in clear",
  async (path) => {
    const server = new TestServer();
    const by = path.startsWith(V2) ? server.a : { key: server.tenantToken };
    const { status, body } = await server.post<object>(path, {}, keyed(server, "k", by));
    expect(status).toBe(200);
    const kept = JSON.stringify(server.journal.kept.map(({ record }) => record));
    expect(kept).not.toContain(Object.values(body)[0]);
  },
);

test("reads and logins ignore the key", async () => {
  const server = new TestServer();
  expect((await server.get(VENUES, keyed(server, "é"))).status).toBe(200);
  const body = { username: "nobody@example.org", password: "nothing" };
  const login = await server.post("/api/auth/login", body, { headers: { "idempotency-key": "k" } });
  expect(login.status).toBe(401);
  expect(server.engine.state.catalog.replies.size).toBe(0);
});
