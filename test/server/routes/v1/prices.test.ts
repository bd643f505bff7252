/** Prices over v1: one at a time, with names that do not repeat on an event. */
import { expect, test } from "vitest";
import { expectConsistent } from "../../../support/table.ts";
import {
  DENIED,
  EVENT_DENIED,
  type ExpectedProblem,
  expectProblem,
  IN_USE,
  invalid,
  NOT_FOUND,
  NOWHERE,
} from "../../wire/wire.ts";
import { Desk, V1 } from "./desk.ts";

interface PriceBody {
  readonly id: number;
  readonly name: string;
  readonly eventId: string;
  readonly externalId: string | null;
}

const PATH = `${V1}/prices/`;
const DUPLICATE = { status: 409, errorCode: "DUPLICATE_NAME", errors: ["name DUPLICATE"] };

class PriceDesk extends Desk {
  readonly eventId = this.a.eventId;

  async create(name: string): Promise<PriceBody> {
    const reply = await this.post<PriceBody>(PATH, { name, eventId: this.eventId });
    expect(reply.status).toBe(200);
    expectConsistent(this.world);
    return reply.body;
  }

  async list(): Promise<readonly PriceBody[]> {
    const reply = await this.get<readonly PriceBody[]>(`${PATH}?id=${this.eventId}`);
    expect(reply.status).toBe(200);
    return reply.body;
  }
}

test("v1 lists the prices of an event in order of id", async () => {
  const desk = new PriceDesk();
  const first = await desk.create("Child");
  await desk.create("Adult");
  desk.world.createPrice("Elsewhere", desk.b.eventId, desk.b.caller);
  const prices = await desk.list();
  expect(prices.map(({ name }) => name)).toEqual(["Full", "Child", "Adult"]);
  expect(prices[1]).toEqual(first);
});

test("v1 creates a price", async () => {
  const desk = new PriceDesk();
  const sent = { id: null, name: "Adult", eventId: desk.eventId.toUpperCase(), externalId: "x-1" };
  const reply = await desk.post(PATH, sent);
  const id = expect.any(Number) as number;
  const price = { id, name: "Adult", eventId: desk.eventId, externalId: "x-1" };
  expect([reply.status, reply.body]).toEqual([200, price]);
});

test("v1 refuses a name that a price of the event has, in the same letter case", async () => {
  const desk = new PriceDesk();
  const { eventId } = desk;
  const { id } = await desk.create("Child");
  const before = desk.digest;
  expectProblem(await desk.post(PATH, { name: "Full", eventId }), DUPLICATE);
  expectProblem(await desk.put(PATH, { id, name: "Full", eventId }), DUPLICATE);
  expect(desk.digest).toBe(before);
  await desk.create("full");
});

/** For requests that are refused: it never changes. */
const unchanged = new PriceDesk();
const { b, eventId } = unchanged;
const { priceId } = unchanged.a;

const REFUSED: readonly (readonly [string, object, ExpectedProblem])[] = [
  ["no name", { eventId }, invalid("name NOT_NULL")],
  ["no event", { name: "x" }, invalid("eventId NOT_NULL")],
  ["an id", { name: "x", eventId, id: 7 }, invalid("id TYPE")],
  ["an empty name", { name: "", eventId }, invalid("name SIZE")],
  ["a foreign event", { name: "Full", eventId: b.eventId }, EVENT_DENIED],
  ["an unknown event", { name: "Full", eventId: NOWHERE }, EVENT_DENIED],
];

test.each(REFUSED)("a new v1 price is refused: %s", async (_, body, expected) => {
  expectProblem(await unchanged.post(PATH, body), expected);
});

test("v1 updates a price, also without changing its name", async () => {
  const desk = new PriceDesk();
  const { id } = await desk.create("Child");
  for (const change of [{ name: "Youth" }, { name: "Youth", externalId: "y" }]) {
    const body = { id, eventId: desk.eventId, ...change };
    const reply = await desk.put(PATH, body);
    expect([reply.status, reply.body]).toEqual([200, { externalId: null, ...body }]);
    expectConsistent(desk.world);
  }
});

// The event has the name: that the price is unknown is reported first.
const full = { name: "Full", eventId };
const otherEvent = unchanged.world.createEvent();
const UPDATES: readonly (readonly [string, object, ExpectedProblem])[] = [
  ["no id", full, invalid("id NOT_NULL")],
  ["an unknown price", { ...full, id: 999_999 }, NOT_FOUND],
  ["a foreign price", { ...full, id: b.priceId }, NOT_FOUND],
  ["a price of another event", { ...full, id: priceId, eventId: otherEvent }, NOT_FOUND],
  ["an unknown event", { ...full, id: priceId, eventId: NOWHERE }, NOT_FOUND],
  ["a foreign event", { ...full, id: b.priceId, eventId: b.eventId }, DENIED],
];

test.each(UPDATES)("a v1 update of a price is refused: %s", async (_, body, expected) => {
  const before = unchanged.digest;
  expectProblem(await unchanged.put(PATH, body), expected);
  expect(unchanged.digest).toBe(before);
});

test("v1 deletes a price and its assignments", async () => {
  const desk = new PriceDesk();
  const reply = await desk.delete(`${PATH}?id=${desk.a.priceId}`);
  expect([reply.status, reply.text]).toEqual([200, "true"]);
  expectConsistent(desk.world);
  expect(await desk.list()).toEqual([]);
  expect(await desk.seats()).toEqual([]);
});

test.each([
  ["lock", "A1"],
  ["block", "Pit:1"],
] as const)("after %s of %s v1 does not delete the price: 409", async (kind, object) => {
  const desk = new PriceDesk();
  await desk.book(kind, null, object);
  const before = desk.digest;
  expectProblem(await desk.delete(`${PATH}?id=${desk.a.priceId}`), IN_USE);
  expect(desk.digest).toBe(before);
});

const DELETIONS: readonly (readonly [string, string, ExpectedProblem])[] = [
  ["no id", "", invalid("id NOT_NULL")],
  ["a malformed id", "?id=x", invalid("id TYPE")],
  ["an unknown price", "?id=999999", { status: 400, errorCode: "ENTITY_NOT_FOUND" }],
  ["a foreign price", `?id=${b.priceId}`, DENIED],
];

test.each(DELETIONS)("v1 refuses to delete %s", async (_, query, expected) => {
  expectProblem(await unchanged.delete(PATH + query), expected);
});
