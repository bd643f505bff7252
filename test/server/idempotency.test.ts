/** `Idempotency-Key`: what a retry gets, and what does not use up a key. */
import { expect, test } from "vitest";
import { Admission } from "../../engine/ports.ts";
import { replayed } from "../support/engine.ts";
import {
  actingFor,
  type CallOptions,
  type House,
  MANAGEMENT,
  type Reply,
  TestServer,
  V2,
} from "../support/server.ts";
import { expectProblem } from "./wire/wire.ts";

const DAY_MS = 86_400_000;
const ORGANIZATION = {
  name: "Nova",
  email: "nova@example.org",
  firstName: "N",
  lastName: "O",
  password: "a long password",
};

function keyed(house: House, idempotencyKey: string, body: unknown): CallOptions {
  return { key: house.key, body, headers: { "idempotency-key": idempotencyKey } };
}

const lockPath = ({ eventId }: House) => `${V2}/booking/lock?eventId=${eventId}`;

function lock(server: TestServer, key: string, label: string, house = server.a): Promise<Reply> {
  const seats = [{ id: house.labels.idOf(label) }];
  return server.call("POST", lockPath(house), keyed(house, key, { sessionId: "ann", seats }));
}

test("a retry gets the first answer byte for byte, and changes nothing", async () => {
  const server = new TestServer();
  const body = { name: "Odeon" };
  const first = await server.call("POST", `${V2}/venues/`, keyed(server.a, "v-1", body));
  const before = server.digest;
  const again = await server.call("POST", `${V2}/venues/`, keyed(server.a, "v-1", body));
  expect([first.status, again.status]).toEqual([201, 201]);
  expect([again.text, again.type]).toEqual([first.text, first.type]);
  expect(server.digest).toBe(before);
});

test("a refusal by state is given again, even when the state has changed since", async () => {
  const server = new TestServer();
  const { world, a } = server;
  world.book("lock", { sessionId: "bob", seats: [{ id: a.labels.idOf("A1") }] });
  const first = await lock(server, "k", "A1");
  world.book("unlock", { seats: [{ id: a.labels.idOf("A1") }] });
  const again = await lock(server, "k", "A1");
  expect(first.body.errorCode).toBe("INVENTORY_NOT_AVAILABLE");
  expect(again.text).toBe(first.text);
  expect((await lock(server, "another", "A1")).text).toBe("true");
});

test("the reply is in the log with its effect, so a restart gives it again", async () => {
  const server = new TestServer();
  await lock(server, "k", "A1");
  const { catalog } = replayed(server.journal);
  expect(catalog.replies.get(`${server.a.id}:k`)).toMatchObject({ status: 200, body: "true" });
});

test("a key that comes with another method, path, query or body is refused", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const [venues, series] = [`${V2}/venues/`, `${V2}/series/`];
  const body = { id: a.venueId, name: "Odeon" };
  const send = (method: string, path: string, sent: unknown = body) =>
    server.call(method, path, keyed(a, "v", sent));
  expect((await send("POST", venues)).status).toBe(201);
  const expected = { status: 422, errorCode: "IDEMPOTENCY_KEY_REUSED", errors: [] };
  expectProblem(await send("PUT", venues), { ...expected, path: venues });
  expectProblem(await send("POST", series), { ...expected, path: series });
  const otherBody = { ...body, name: "Other" };
  expectProblem(await send("POST", venues, otherBody), { ...expected, path: venues });

  expect((await lock(server, "k", "A1")).text).toBe("true");
  const eventId = world.createEvent(a.caller, a.schemaId);
  const sameSeat = await lock(server, "k", "A1", { ...a, eventId });
  expectProblem(sameSeat, { ...expected, path: `${V2}/booking/lock` });
});

test("a key is known within its organization only, and for a day", async () => {
  const server = new TestServer();
  expect((await lock(server, "k", "A1")).text).toBe("true");
  expect((await lock(server, "k", "A2", server.b)).text).toBe("true");
  server.world.clock.timeMs += DAY_MS;
  expect((await lock(server, "k", "A3")).text).toBe("true");
});

test("tenants that act for no organization do not share their keys", async () => {
  const server = new TestServer();
  const create = (key: string, email: string) =>
    server.call("POST", `${MANAGEMENT}/organizations/`, {
      key,
      body: { ...ORGANIZATION, email },
      headers: { "idempotency-key": "k" },
    });
  const first = await create(server.tenantToken, "a@example.org");
  const other = await create(server.otherTenantToken, "b@example.org");
  expect([first.status, other.status]).toEqual([201, 201]);
  expect((await create(server.tenantToken, "a@example.org")).text).toBe(first.text);
});

test("a request that is not valid does not use up its key", async () => {
  const server = new TestServer();
  const { a } = server;
  const empty = await server.call("POST", lockPath(a), keyed(a, "k", { seats: [] }));
  expect(empty.body.errorCode).toBe("VALIDATION_FAILED");
  const wrong = await server.call("POST", lockPath(a), keyed(a, "k", { seats: [{ id: "1" }] }));
  expect(wrong.body.errorCode).toBe("VALIDATION_FAILED");
  expect((await lock(server, "k", "A1")).text).toBe("true");
});

test("a conflict is not stored: the same key may be tried again", async () => {
  const server = new TestServer();
  const { world, a } = server;
  const path = `${V2}/venues/${a.venueId}`;
  const taken = await server.call("DELETE", path, keyed(a, "d", undefined));
  expect(taken.body.errorCode).toBe("ENTITY_IN_USE");
  const free = world.must("createVenue", a.caller, { body: { name: "Free" } });
  const other = await server.call("DELETE", `${V2}/venues/${free.id}`, keyed(a, "d", undefined));
  expect(other.status).toBe(204);
});

test("a reply for which the log has no room is not kept, and its answer leaves", async () => {
  const server = new TestServer();
  const { journal, a } = server;
  journal.takes = (_, isFollowUp) => (isFollowUp ? Admission.OVERLOADED : Admission.OPEN);
  const first = await server.call("POST", `${V2}/venues/`, keyed(a, "v", { name: "Odeon" }));
  expect(first.status).toBe(201);
  journal.takes = () => Admission.OPEN;
  const again = await server.call("POST", `${V2}/venues/`, keyed(a, "v", { name: "Odeon" }));
  expect(again.status).toBe(201);
  expect(again.text).not.toBe(first.text);
});

const BAD_KEYS = ["é", "a\tb", "x".repeat(256)];

test.each(BAD_KEYS)(
  "a key of other characters or length is refused: %j",
  async (idempotencyKey) => {
    const server = new TestServer();
    const body = { name: "V" };
    const reply = await server.call("POST", `${V2}/venues/`, keyed(server.a, idempotencyKey, body));
    const errors = ["Idempotency-Key SIZE"];
    const path = `${V2}/venues/`;
    expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path, errors });
  },
);

test("a secret that was answered is not stored in clear, yet given again", async () => {
  const server = new TestServer();
  const create = () => {
    const { key, headers } = actingFor(server.tenantToken, server.a);
    const withKey = { ...headers, "idempotency-key": "org" };
    return server.call<{ secretKey: string }>("POST", `${MANAGEMENT}/organizations/`, {
      key: key!,
      body: ORGANIZATION,
      headers: withKey,
    });
  };
  const first = await create();
  expect((await create()).text).toBe(first.text);
  const kept = JSON.stringify(server.journal.kept.map(({ record }) => record));
  expect(kept).not.toContain(first.body.secretKey);
  expect(kept).not.toContain(ORGANIZATION.password);
});

test("a read and a login take no notice of the key", async () => {
  const server = new TestServer();
  const path = `${V2}/venues/`;
  expect((await server.call("GET", path, keyed(server.a, "é", undefined))).status).toBe(200);
  const login = await server.call("POST", "/api/auth/login", {
    body: { username: "nobody@example.org", password: "nothing" },
    headers: { "idempotency-key": "k" },
  });
  expect(login.status).toBe(401);
  expect(server.engine.state.catalog.replies.size).toBe(0);
});
