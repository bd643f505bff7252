/** v1 assignments of prices: each entry on its own, by composite key. */
import { expect, test } from "vitest";
import { expectProblem } from "../../wire/wire.ts";
import { Desk, type Entry, V1, WRONG_EVENTS } from "./desk.ts";

class PriceDesk extends Desk {
  readonly half = this.server.world.createPrice("Half");
  readonly full = this.server.a.priceId;

  priced(price: number, ...objects: readonly string[]): Entry[] {
    return this.entries(...objects).map((entry) => ({ ...entry, price }));
  }

  /** Assigns and expects that only the entries at these positions come back. */
  async assigns(
    entries: readonly Entry[],
    failed: readonly number[] = [],
    query = "",
  ): Promise<void> {
    const path = `/assignments/?id=${this.server.a.eventId}${query}`;
    const reply = await this.call("POST", path, entries);
    expect([reply.status, reply.body]).toEqual([200, failed.map((i) => entries[i])]);
    this.check();
  }

  async unassigns(objects: readonly string[], failed: readonly string[] = []): Promise<void> {
    const path = `/assignments/?id=${this.server.a.eventId}`;
    const reply = await this.call("DELETE", path, this.entries(...objects));
    expect([reply.status, reply.body]).toEqual([200, this.entries(...failed)]);
    this.check();
  }

  async cleans(): Promise<void> {
    const reply = await this.call("POST", `/assignments/clean?id=${this.server.a.eventId}`);
    expect([reply.status, reply.text]).toEqual([200, "true"]);
    this.check();
  }

  /** `label state price`, of the seats that are listed. */
  async listed(...labels: readonly string[]): Promise<string[]> {
    const seats = await this.server.seats();
    return labels.flatMap((label) => {
      const seat = seats.find(({ seatId }) => seatId === this.id(label));
      return seat === undefined ? [] : [`${label} ${seat.state} ${seat.priceName}`];
    });
  }
}

test("POST /api/private/v1.0/assignments/ gives seats and areas their price", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A2", "Pit:4");
  await desk.assigns(desk.priced(desk.half, "A1", "A2", "Pit:30"));
  const expected = ["A1 ACTIVE Half", "A2 LOCKED Half", "A3 ACTIVE Full"];
  expect(await desk.listed("A1", "A2", "A3")).toEqual(expected);
  expect(await desk.pit()).toEqual([26, 4, 0, 0]);
});

test("POST /api/private/v1.0/assignments/ gives back what fails, all of it", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "Pit:4");
  const entries = [
    { compositeKey: "Nowhere", price: desk.half, properties: { colour: "red" } },
    ...desk.priced(desk.half, "A1", "Pit", "Pit:3", "B9"),
    ...desk.priced(999_999, "A2"),
    ...desk.priced(desk.server.b.priceId, "A3", "Pit:50"),
    { compositeKey: "Stalls;;A;;4", price: desk.half, properties: null },
  ];
  await desk.assigns(entries, [0, 2, 3, 4, 5, 6, 7]);
  const expected = ["A1 ACTIVE Half", "A2 ACTIVE Full", "A3 ACTIVE Full", "A4 ACTIVE Half"];
  expect(await desk.listed("A1", "A2", "A3", "A4")).toEqual(expected);
  expect(await desk.pit()).toEqual([96, 4, 0, 0]);
});

test("POST /api/private/v1.0/assignments/ lets the later of two entries win", async () => {
  const desk = new PriceDesk();
  const { half, full } = desk;
  await desk.assigns([...desk.priced(half, "A1", "Pit:9"), ...desk.priced(full, "A1", "Pit:7")]);
  expect(await desk.listed("A1")).toEqual(["A1 ACTIVE Full"]);
  expect(await desk.pit()).toEqual([7, 0, 0, 0]);
});

test("POST /api/private/v1.0/assignments/ with clean leaves only what it assigns", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A1", "Pit:4");
  await desk.book("directsale", undefined, "A2", "Pit:5");
  await desk.book("block", undefined, "A3", "Pit:6");
  const entries = desk.priced(desk.half, "A1", "A4", "Nowhere", "Pit:5");
  await desk.assigns(entries, [2], "&clean=true");
  expect(await desk.listed("A1", "A2", "A3", "A4", "A5")).toEqual([
    "A1 ACTIVE Half",
    "A2 SOLD null",
    "A4 ACTIVE Half",
  ]);
  expect(await desk.pit()).toEqual([0, 0, 5, 0]);
});

test("POST /api/private/v1.0/assignments/ with clean cleans, whatever is assigned", async () => {
  for (const objects of [[], ["Nowhere"]]) {
    const desk = new PriceDesk();
    const entries = desk.priced(desk.half, ...objects);
    await desk.assigns(entries, [...entries.keys()], "&clean=true");
    expect(await desk.server.seats()).toEqual([]);
  }
});

test("POST /api/private/v1.0/assignments/ without entries assigns nothing", async () => {
  const desk = new PriceDesk();
  const before = desk.server.digest;
  await desk.assigns([]);
  expect(desk.server.digest).toBe(before);
});

test("POST /api/private/v1.0/assignments/clean takes the price of what is locked too", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A1", "Pit:4");
  await desk.book("directsale", undefined, "A2", "Pit:5");
  await desk.book("block", undefined, "A3", "Pit:6");
  await desk.cleans();
  expect(await desk.listed("A1", "A2", "A3", "A4")).toEqual(["A2 SOLD null"]);
  expect(await desk.pit()).toEqual([0, 0, 5, 0]);
  const before = desk.server.digest;
  await desk.cleans();
  expect(desk.server.digest).toBe(before);
});

test("DELETE /api/private/v1.0/assignments/ takes prices away", async () => {
  const desk = new PriceDesk();
  await desk.unassigns(["A1", "Pit", "A1"]);
  await desk.unassigns(["A1", "Pit:7"]);
  expect(await desk.listed("A1", "A2")).toEqual(["A2 ACTIVE Full"]);
  expect(await desk.pit()).toEqual([0, 0, 0, 0]);
  await desk.books("lock", ["A1", "Pit:1"], ["A1", "Pit:1"]);
});

test("DELETE /api/private/v1.0/assignments/ gives back what is in use or nowhere", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A1");
  await desk.book("directsale", undefined, "A2", "Pit:1");
  await desk.book("block", undefined, "A3");
  const failed = ["A1", "Stalls", "A3", "Pit", "A2"];
  await desk.unassigns(["A1", "Stalls", "A4", "A3", "Pit", "A2"], failed);
  expect(await desk.listed("A1", "A2", "A3", "A4")).toEqual([
    "A1 LOCKED Full",
    "A2 SOLD Full",
    "A3 BLOCKED Full",
  ]);
});

const ROWS = [
  ["POST", "/assignments/", [{ compositeKey: "Stalls;;A;;1", price: 1 }]],
  ["POST", "/assignments/clean", undefined],
  ["DELETE", "/assignments/", [{ compositeKey: "Stalls;;A;;1" }]],
] as const;

test.each(ROWS)("%s /api/private/v1.0%s is 400 or 403 for a wrong event", async (...row) => {
  const [method, path, body] = row;
  const desk = new Desk();
  const before = desk.server.digest;
  for (const [query, status, errorCode] of WRONG_EVENTS(desk.server)) {
    const reply = await desk.call<never>(method, `${path}?${query}`, body);
    expect([query, reply.status, reply.body["errorCode"]]).toEqual([query, status, errorCode]);
  }
  expect(desk.server.digest).toBe(before);
});

test.each(ROWS)("%s /api/private/v1.0%s is 403 with a wrong key", async (method, path, body) => {
  const desk = new Desk();
  const target = `${path}?id=${desk.server.a.eventId}`;
  const reply = await desk.call<never>(method, target, body, "nobody's");
  expectProblem(reply, { status: 403, errorCode: "ACCESS_DENIED", path: `${V1}${path}` });
  expect(reply.body["detail"]).toMatch(/correct private key/);
});

test.each([
  [{}, "[0].compositeKey NOT_NULL"],
  [{ compositeKey: "Pit" }, "[0].price NOT_NULL"],
  [{ compositeKey: "Pit", price: "1" }, "[0].price TYPE"],
  [{ compositeKey: "Pit", price: 0 }, "[0].price RANGE"],
  [{ compositeKey: "Pit", price: 1, capacity: -1 }, "[0].capacity RANGE"],
])("POST /api/private/v1.0/assignments/ refuses %j", async (entry, error) => {
  const desk = new Desk();
  const reply = await desk.call("POST", `/assignments/?id=${desk.server.a.eventId}`, [entry]);
  const { errors } = reply.body as unknown as { errors: { field: string; code: string }[] };
  expect(reply.status).toBe(400);
  expect(errors.map(({ field, code }) => `${field} ${code}`)).toContain(error);
});
