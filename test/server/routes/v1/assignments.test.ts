/** Price assignments over v1: each entry on its own, by composite key. */
import { expect, test } from "vitest";
import { expectConsistent } from "../../../support/table.ts";
import { expectProblem, invalid } from "../../wire/wire.ts";
import { Desk, type Entry, V1 } from "./desk.ts";

class PriceDesk extends Desk {
  readonly half = this.world.createPrice("Half");
  readonly full = this.a.priceId;

  priced(price: number, ...objects: readonly string[]): Entry[] {
    return this.entries(...objects).map((entry) => ({ ...entry, price }));
  }

  path(rest = "/"): string {
    return `${V1}/assignments${rest}?id=${this.a.eventId}`;
  }

  /** Assigns, and expects that the entries at these positions are returned. */
  async assigns(entries: readonly Entry[], failed: readonly number[] = [], query = "") {
    const reply = await this.post(this.path() + query, entries);
    expect([reply.status, reply.body]).toEqual([200, failed.map((i) => entries[i])]);
    expectConsistent(this.world);
  }

  async unassigns(objects: readonly string[], failed: readonly string[] = []) {
    const options = { ...this.a, body: this.entries(...objects) };
    const reply = await this.call("DELETE", this.path(), options);
    expect([reply.status, reply.body]).toEqual([200, this.entries(...failed)]);
    expectConsistent(this.world);
  }

  async cleans() {
    const reply = await this.post(this.path("/clean"));
    expect([reply.status, reply.text]).toEqual([200, "true"]);
    expectConsistent(this.world);
  }

  /** `label state price` of the seats of row A that are listed. */
  async rowA(): Promise<string[]> {
    const seats = (await this.seats()).filter(({ rowName }) => rowName === "A");
    return seats.map(
      ({ seatName, state, priceName }) => `A${seatName} ${state} ${priceName ?? null}`,
    );
  }
}

/** The rest of row A, which nothing happened to. */
const active = (from: number) =>
  [1, 2, 3, 4, 5, 6].slice(from - 1).map((number) => `A${number} ACTIVE Full`);

test("v1 assigns a price to seats and areas", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A2", "Pit:4");
  await desk.assigns(desk.priced(desk.half, "A1", "A2", "Pit:30"));
  expect(await desk.rowA()).toEqual(["A1 ACTIVE Half", "A2 LOCKED Half", ...active(3)]);
  expect(await desk.pit()).toEqual([26, 4, 0, 0]);
});

test("v1 returns the assignments that fail, with all their members", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "Pit:4");
  const entries = [
    { compositeKey: "Nowhere", price: desk.half, properties: { colour: "red" } },
    ...desk.priced(desk.half, "A1", "Pit", "Pit:3", "B9"),
    ...desk.priced(999_999, "A2"),
    ...desk.priced(desk.b.priceId, "A3", "Pit:50"),
    { compositeKey: "Stalls;;A;;4", price: desk.half, properties: null },
  ];
  await desk.assigns(entries, [0, 2, 3, 4, 5, 6, 7]);
  const [, second, third] = active(1);
  const rowA = ["A1 ACTIVE Half", second, third, "A4 ACTIVE Half", ...active(5)];
  expect(await desk.rowA()).toEqual(rowA);
  expect(await desk.pit()).toEqual([96, 4, 0, 0]);
});

test("of two v1 assignments to one object the later one counts", async () => {
  const desk = new PriceDesk();
  const { half, full } = desk;
  await desk.assigns([...desk.priced(half, "A1", "Pit:9"), ...desk.priced(full, "A1", "Pit:7")]);
  expect(await desk.rowA()).toEqual(active(1));
  expect(await desk.pit()).toEqual([7, 0, 0, 0]);
});

test("v1 assignments with clean remove all other prices, except of what is sold", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A1", "Pit:4");
  await desk.book("directsale", null, "A2", "Pit:5");
  await desk.book("block", null, "A3", "Pit:6");
  const entries = desk.priced(desk.half, "A1", "A4", "Nowhere", "Pit:15");
  await desk.assigns(entries, [2], "&clean=true");
  expect(await desk.rowA()).toEqual(["A1 ACTIVE Half", "A2 SOLD Full", "A4 ACTIVE Half"]);
  expect(await desk.pit()).toEqual([0, 4, 5, 6]);
});

test("v1 assignments with clean take prices away even when nothing is assigned", async () => {
  for (const objects of [[], ["Nowhere"]]) {
    const desk = new PriceDesk();
    const entries = desk.priced(desk.half, ...objects);
    await desk.assigns(entries, [...entries.keys()], "&clean=true");
    expect(await desk.seats()).toEqual([]);
  }
});

test("v1 assignments without entries change nothing", async () => {
  const desk = new PriceDesk();
  const before = desk.digest;
  await desk.assigns([]);
  expect(desk.digest).toBe(before);
});

test("v1 clean removes prices of locked seats too, but not of what is sold", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A1", "Pit:4");
  await desk.book("directsale", null, "A2", "Pit:5");
  await desk.book("block", null, "A3", "Pit:6");
  await desk.cleans();
  expect(await desk.rowA()).toEqual(["A2 SOLD Full"]);
  expect(await desk.pit()).toEqual([85, 4, 5, 6]);
  expectProblem(await desk.delete(`${V1}/prices/?id=${desk.full}`), {
    status: 409,
    errorCode: "INVENTORY_IN_USE",
  });
  const before = desk.digest;
  await desk.cleans();
  expect(desk.digest).toBe(before);
});

test("v1 deletes assignments, whatever the capacity in the request", async () => {
  const desk = new PriceDesk();
  await desk.unassigns(["A1", "Pit", "A1"]);
  await desk.unassigns(["A1", "Pit:7"]);
  expect(await desk.rowA()).toEqual(active(2));
  expect(await desk.pit()).toEqual([0, 0, 0, 0]);
  await desk.books("lock", ["A1", "Pit:1"], ["A1", "Pit:1"]);
});

test("v1 does not delete assignments of objects that are in use or unknown", async () => {
  const desk = new PriceDesk();
  await desk.book("lock", "s", "A1");
  await desk.book("directsale", null, "A2", "Pit:1");
  await desk.book("block", null, "A3");
  const failed = ["A1", "Stalls", "A3", "Pit", "A2"];
  await desk.unassigns(["A1", "Stalls", "A4", "A3", "Pit", "A2"], failed);
  const taken = ["A1 LOCKED Full", "A2 SOLD Full", "A3 BLOCKED Full"];
  expect(await desk.rowA()).toEqual([...taken, ...active(5)]);
});

test("v1 does not delete the assignment of an area that has only blocked places", async () => {
  const desk = new PriceDesk();
  await desk.book("block", null, "Pit:2");
  await desk.unassigns(["Pit"], ["Pit"]);
  expect((await desk.pit())[3]).toBe(2);
});

test.each([
  [{ price: 1 }, "[0].compositeKey NOT_NULL"],
  [{ compositeKey: "Pit" }, "[0].price NOT_NULL"],
  [{ compositeKey: "Pit", price: "1" }, "[0].price TYPE"],
  [{ compositeKey: "Pit", price: 0 }, "[0].price RANGE"],
  [{ compositeKey: "Pit", price: 1, capacity: -1 }, "[0].capacity RANGE"],
])("v1 refuses the assignment %j", async (entry, error) => {
  const desk = new PriceDesk();
  expectProblem(await desk.post(desk.path(), [entry]), invalid(error));
});
