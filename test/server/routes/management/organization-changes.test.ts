/** The rows that update and delete organizations, and configure their public sessions. */
import { expect, test } from "vitest";
import { actingFor, type CallOptions } from "../../../support/answers/exchange.ts";
import { MANAGEMENT, TestServer, V2 } from "../../../support/server.ts";
import {
  DENIED,
  type ExpectedProblem,
  expectProblem,
  invalid,
  NO_ID,
  NOT_FOUND,
} from "../../wire/wire.ts";

const ORGANIZATIONS = `${MANAGEMENT}/organizations/`;
const SESSIONS = `${MANAGEMENT}/session-config/`;
const EVENTS = `${V2}/events/`;

const unchanged = new TestServer();
const { a, b, c, tenantToken } = unchanged;
const TENANT = { key: tenantToken };

test(`PUT ${MANAGEMENT}/organizations/ changes everything except keys and tenant`, async () => {
  const server = new TestServer();
  const { id, eventId } = server.a;
  const by = { key: server.tenantToken };
  const before = (await server.get<object>(`${ORGANIZATIONS}${id}`, by)).body;
  const changes = { name: "New", domain: "new.example", autologinEnabled: true, type: "VENUE" };
  const ignored = { publicKey: eventId, privateKey: eventId, tenantId: 99, secretKey: "x" };
  const reply = await server.put(ORGANIZATIONS, { id, ...changes, ...ignored }, by);
  expect([reply.status, reply.body]).toEqual([200, { ...before, ...changes }]);
  expect((await server.get(EVENTS)).status).toBe(200);
});

const DUPLICATE = { status: 409, errorCode: "DUPLICATE_NAME", errors: ["name DUPLICATE"] };
const REFUSED: readonly (readonly [string, object, ExpectedProblem, CallOptions])[] = [
  ["no id", { name: "New" }, invalid("id NOT_NULL"), TENANT],
  ["no name", { id: a.id }, invalid("name NOT_NULL"), TENANT],
  ["an unknown type", { id: a.id, name: "New", type: "CIRCUS" }, invalid("type ENUM"), TENANT],
  ["an unknown organization", { id: NO_ID, name: "New" }, NOT_FOUND, TENANT],
  ["an organization of another tenant", { id: c.id, name: "New" }, DENIED, TENANT],
  ["the name of another organization", { id: a.id, name: b.name }, DUPLICATE, TENANT],
  ["the key of the organization", { id: a.id, name: "New" }, DENIED, a],
];

test.each(REFUSED)("PUT /api/private/management/v2.0/organizations/ refuses %s", async (...row) => {
  const [, body, expected, by] = row;
  const before = unchanged.digest;
  expectProblem(await unchanged.put(ORGANIZATIONS, body, by), expected);
  expect(unchanged.digest).toBe(before);
});

test(`DELETE ${MANAGEMENT}/organizations/{id} ends its keys and all that it owns`, async () => {
  const server = new TestServer();
  const by = { key: server.tenantToken };
  const path = `${ORGANIZATIONS}${server.a.id}`;
  expect((await server.get(EVENTS)).status).toBe(200);
  const reply = await server.delete(path, by);
  expect([reply.status, reply.text]).toEqual([204, ""]);
  expectProblem(await server.get(path, by), NOT_FOUND);
  expectProblem(await server.get(EVENTS), DENIED);
  expectProblem(await server.get(EVENTS, actingFor(server.tenantToken, server.a)), DENIED);
  expect((await server.seats(server.b)).length).toBe(server.b.labels.seats.length);
});

test(`DELETE ${MANAGEMENT}/organizations/{id} is 409 while seats are held`, async () => {
  const server = new TestServer();
  await server.book("lock", "s", "A1");
  const before = server.digest;
  const reply = await server.delete(`${ORGANIZATIONS}${server.a.id}`, { key: server.tenantToken });
  expectProblem(reply, { status: 409, errorCode: "ENTITY_IN_USE" });
  expect(server.digest).toBe(before);
});

test(`PUT ${MANAGEMENT}/session-config/ switches public sessions on and off`, async () => {
  const server = new TestServer();
  const by = actingFor(server.tenantToken, server.a);
  const { organizations } = server.engine.state.catalog;
  for (const publicSessionsEnabled of [true, false]) {
    const body = { publicSessionsEnabled };
    const reply = await server.put(SESSIONS, body, by);
    expect([reply.status, reply.body]).toEqual([200, body]);
    expect(organizations.get(server.a.id)).toMatchObject(body);
  }
});

const ON = { publicSessionsEnabled: true };
const OWN = actingFor(tenantToken, a);
const SESSIONS_REFUSED: readonly (readonly [string, object, ExpectedProblem, CallOptions])[] = [
  ["no value", {}, invalid("publicSessionsEnabled NOT_NULL"), OWN],
  ["a number", { publicSessionsEnabled: 1 }, invalid("publicSessionsEnabled TYPE"), OWN],
  ["a token that names no organization", ON, DENIED, TENANT],
  ["a token that names an organization of another tenant", ON, DENIED, actingFor(tenantToken, c)],
  ["the key of the organization", ON, DENIED, a],
];

test.each(SESSIONS_REFUSED)(`PUT ${MANAGEMENT}/session-config/ refuses %s`, async (...row) => {
  const [, body, expected, by] = row;
  expectProblem(await unchanged.put(SESSIONS, body, by), expected);
});
