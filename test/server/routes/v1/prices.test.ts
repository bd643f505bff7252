/** v1 prices: one at a time, no name twice on an event. */
import { expect, test } from "vitest";
import { expectProblem, NOWHERE } from "../../wire/wire.ts";
import { Desk, V1, WRONG_EVENTS } from "./desk.ts";

interface PriceBody {
  readonly id: number;
  readonly name: string;
  readonly eventId: string;
  readonly externalId: string | null;
}

const PATH = `${V1}/prices/`;

class PriceDesk extends Desk {
  readonly eventId = this.server.a.eventId;

  async create(name: string): Promise<PriceBody> {
    const body = { name, eventId: this.eventId };
    const reply = await this.call<PriceBody>("POST", "/prices/", body);
    expect(reply.status).toBe(200);
    this.check();
    return reply.body;
  }

  async list(): Promise<readonly PriceBody[]> {
    const reply = await this.call<readonly PriceBody[]>("GET", `/prices/?id=${this.eventId}`);
    expect(reply.status).toBe(200);
    return reply.body;
  }
}

test("GET /api/private/v1.0/prices/ lists the prices of an event in order of id", async () => {
  const desk = new PriceDesk();
  const first = await desk.create("Child");
  await desk.create("Adult");
  desk.server.world.createPrice("Elsewhere", desk.server.b.eventId, desk.server.b.caller);
  const prices = await desk.list();
  expect(prices.map(({ name }) => name)).toEqual(["Full", "Child", "Adult"]);
  expect(prices[1]).toEqual(first);
});

test("GET /api/private/v1.0/prices/ is 400 or 403 for a wrong event", async () => {
  const desk = new PriceDesk();
  for (const [query, status, errorCode] of WRONG_EVENTS(desk.server)) {
    const reply = await desk.call<never>("GET", `/prices/?${query}`);
    expect([query, reply.status, reply.body["errorCode"]]).toEqual([query, status, errorCode]);
  }
});

test("POST /api/private/v1.0/prices/ creates a price", async () => {
  const desk = new PriceDesk();
  const eventId = desk.eventId.toUpperCase();
  const body = { id: null, name: "Adult", eventId, externalId: "x-1" };
  const reply = await desk.call("POST", "/prices/", body);
  const id = expect.any(Number) as number;
  const price = { id, name: "Adult", eventId: desk.eventId, externalId: "x-1" };
  expect([reply.status, reply.body]).toEqual([200, price]);
});

test("POST /api/private/v1.0/prices/ is 409 for a name that is on the event", async () => {
  const desk = new PriceDesk();
  const before = desk.server.digest;
  const body = { name: "Full", eventId: desk.eventId };
  const reply = await desk.call<never>("POST", "/prices/", body);
  const errors = ["name DUPLICATE"];
  expectProblem(reply, { status: 409, errorCode: "DUPLICATE_NAME", path: PATH, errors });
  expect(desk.server.digest).toBe(before);
  await desk.create("full");
});

test("POST /api/private/v1.0/prices/ is 400 for no price, 403 for no event", async () => {
  const desk = new PriceDesk();
  const { eventId } = desk;
  for (const [body, error] of [
    [{ eventId }, "name NOT_NULL"],
    [{ name: "x" }, "eventId NOT_NULL"],
    [{ name: "x", eventId, id: 7 }, "id TYPE"],
    [{ name: "", eventId }, "name SIZE"],
  ] as const) {
    const reply = await desk.call<never>("POST", "/prices/", body);
    const problem = { status: 400, errorCode: "VALIDATION_FAILED", errors: [error] };
    expectProblem(reply, { ...problem, path: PATH });
  }
  for (const foreign of [desk.server.b.eventId, NOWHERE]) {
    const reply = await desk.call<never>("POST", "/prices/", { name: "Full", eventId: foreign });
    expectProblem(reply, { status: 403, errorCode: "EVENT_ACCESS_DENIED", path: PATH });
  }
});

test("PUT /api/private/v1.0/prices/ changes a price, and may leave its name", async () => {
  const desk = new PriceDesk();
  const { id } = await desk.create("Child");
  for (const change of [{ name: "Youth" }, { name: "Youth", externalId: "y" }]) {
    const body = { id, eventId: desk.eventId, ...change };
    const reply = await desk.call("PUT", "/prices/", body);
    expect([reply.status, reply.body]).toEqual([200, { externalId: null, ...body }]);
    desk.check();
  }
});

test("PUT /api/private/v1.0/prices/ is 409 for the name of another price", async () => {
  const desk = new PriceDesk();
  const { id } = await desk.create("Child");
  const body = { id, name: "Full", eventId: desk.eventId };
  const reply = await desk.call<never>("PUT", "/prices/", body);
  const errors = ["name DUPLICATE"];
  expectProblem(reply, { status: 409, errorCode: "DUPLICATE_NAME", path: PATH, errors });
});

test("PUT /api/private/v1.0/prices/ is 404 for a price that is not on the event", async () => {
  const desk = new PriceDesk();
  const { eventId } = desk;
  const other = desk.server.world.createEvent();
  const { priceId } = desk.server.a;
  for (const [id, event] of [
    [999_999, eventId],
    [desk.server.b.priceId, eventId],
    [priceId, other],
    [priceId, NOWHERE],
  ]) {
    // Its name is on the event: that there is no such price comes first.
    const body = { id, name: "Full", eventId: event };
    const reply = await desk.call<never>("PUT", "/prices/", body);
    expectProblem(reply, { status: 404, errorCode: "ENTITY_NOT_FOUND", path: PATH });
  }
});

test("PUT /api/private/v1.0/prices/ is 400 without an id, 403 for another's event", async () => {
  const desk = new PriceDesk();
  const missing = { name: "x", eventId: desk.eventId };
  const errors = ["id NOT_NULL"];
  const reply = await desk.call<never>("PUT", "/prices/", missing);
  expectProblem(reply, { status: 400, errorCode: "VALIDATION_FAILED", path: PATH, errors });
  const { priceId, eventId } = desk.server.b;
  const foreign = await desk.call<never>("PUT", "/prices/", { id: priceId, name: "x", eventId });
  expectProblem(foreign, { status: 403, errorCode: "ACCESS_DENIED", path: PATH });
});

test("DELETE /api/private/v1.0/prices/ deletes a price and its assignments", async () => {
  const desk = new PriceDesk();
  const reply = await desk.call("DELETE", `/prices/?id=${desk.server.a.priceId}`);
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  desk.check();
  expect(await desk.list()).toEqual([]);
  expect(await desk.server.seats()).toEqual([]);
});

test.each([
  ["lock", "A1"],
  ["directsale", "A1"],
  ["block", "A1"],
  ["lock", "Pit:1"],
  ["directsale", "Pit:1"],
] as const)("DELETE /api/private/v1.0/prices/ is 409 after %s of %s", async (kind, object) => {
  const desk = new PriceDesk();
  await desk.book(kind, undefined, object);
  const before = desk.server.digest;
  const reply = await desk.call<never>("DELETE", `/prices/?id=${desk.server.a.priceId}`);
  expectProblem(reply, { status: 409, errorCode: "INVENTORY_IN_USE", path: PATH });
  expect(desk.server.digest).toBe(before);
});

test("DELETE /api/private/v1.0/prices/ is 400 for no price, 403 for another's", async () => {
  const desk = new PriceDesk();
  for (const [query, status, errorCode] of [
    ["", 400, "VALIDATION_FAILED"],
    ["?id=x", 400, "VALIDATION_FAILED"],
    ["?id=999999", 400, "ENTITY_NOT_FOUND"],
    [`?id=${desk.server.b.priceId}`, 403, "ACCESS_DENIED"],
  ] as const) {
    const reply = await desk.call<never>("DELETE", `/prices/${query}`);
    expect([query, reply.status, reply.body["errorCode"]]).toEqual([query, status, errorCode]);
  }
});

test.each(["GET", "POST", "PUT", "DELETE"])(
  "%s /api/private/v1.0/prices/ is 403 with a wrong key",
  async (method) => {
    const desk = new PriceDesk();
    const body = method === "POST" || method === "PUT" ? {} : undefined;
    const reply = await desk.call<never>(method, `/prices/?id=${desk.eventId}`, body, "nobody's");
    expectProblem(reply, { status: 403, errorCode: "ACCESS_DENIED", path: PATH });
    expect(reply.body["detail"]).toMatch(/correct private key/);
  },
);
