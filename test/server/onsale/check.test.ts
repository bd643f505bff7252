/** The final check finds each way in which a server may be wrong. The ledger holds every call. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import {
  type AreaCounters,
  type Basket,
  createBooking,
  type ListedSeat,
} from "../../../server/onsale/contract.ts";
import { checkSale, Ledger, type SaleData, SalesRecord } from "../../../server/onsale/books.ts";
import { FatalError } from "../../../server/onsale/client.ts";

const AREA_ID = 9;

function seats(...states: ListedSeat["state"][]): ListedSeat[] {
  const shared = { seatName: "", rowId: 1, rowName: "A", sectionName: "Stalls", updatedAt: null };
  return states.map((state, index) => ({ ...shared, seatId: index + 1, state }));
}

function area(active: number, sold: number): AreaCounters {
  const zero = { locked: 0, blocked: 0, priceId: 1 };
  return { groupOfSeatsId: AREA_ID, name: "Pit", capacity: 10, active, sold, ...zero };
}

function seatBasket(...seatIds: number[]): Basket {
  return { seatIds, areas: [] };
}

function placeBasket(capacity: number): Basket {
  return { seatIds: [], areas: [{ id: AREA_ID, capacity }] };
}

/** A correct sale: seat 1 was sold before; seats 2 and 3 and four places were bought. */
function correctSale(): SaleData {
  const record = new SalesRecord();
  record.add(seatBasket(2, 3));
  record.add(placeBasket(4));
  return {
    record,
    before: { seats: seats("SOLD", "ACTIVE", "ACTIVE", "ACTIVE"), areas: [area(9, 1)] },
    after: { seats: seats("SOLD", "SOLD", "SOLD", "ACTIVE"), areas: [area(5, 5)] },
    holdsLost: 0,
    serverErrors: new Map(),
  };
}

function failures(data: SaleData): Record<string, string> {
  const failed = checkSale(data).filter(({ passed }) => !passed);
  return Object.fromEntries(failed.map(({ name, detail }) => [name, detail]));
}

test("a correct sale passes every check", () => {
  expect(failures(correctSale())).toEqual({});
});

test("a seat sold to two buyers fails the check", () => {
  const data = correctSale();
  data.record.add(seatBasket(3));
  expect(failures(data)).toEqual({
    "no seat was sold to two buyers": "seat 3",
    "SOLD seats = sold before + bought": "3 ≠ 1 + 3",
  });
});

test("a bought seat that is ACTIVE afterwards fails the check", () => {
  const after = { seats: seats("SOLD", "SOLD", "ACTIVE", "ACTIVE"), areas: [area(5, 5)] };
  expect(failures({ ...correctSale(), after })).toEqual({
    "every seat bought is SOLD": "seat 3",
    "SOLD seats = sold before + bought": "2 ≠ 1 + 2",
  });
});

test("a SOLD seat that nobody bought fails the check", () => {
  const after = { seats: seats("SOLD", "SOLD", "SOLD", "SOLD"), areas: [area(5, 5)] };
  expect(failures({ ...correctSale(), after })).toEqual({
    "SOLD seats = sold before + bought": "4 ≠ 1 + 2",
  });
});

test("area counters that do not add up to the capacity fail the check", () => {
  const after = { seats: correctSale().after.seats, areas: [area(4, 5)] };
  expect(failures({ ...correctSale(), after })).toEqual({
    "area counters add up to the capacity": "area 9: 4 + 0 + 5 + 0 ≠ 10",
  });
});

test("sold places that nobody bought fail the check", () => {
  const after = { seats: correctSale().after.seats, areas: [area(4, 6)] };
  expect(failures({ ...correctSale(), after })).toEqual({
    "sold places = sold before + bought": "area 9: 6 ≠ 1 + 4",
  });
});

test("a lost hold and an answer 500 fail the check, an answer 503 does not", () => {
  const serverErrors = new Map([
    [500, 2],
    [503, 7],
  ]);
  expect(failures({ ...correctSale(), serverErrors, holdsLost: 1 })).toEqual({
    "every acknowledged hold could be bought": "lost: 1",
    "no 5xx answer except 503": "500 × 2",
  });
});

test("a failed check names ten seats and counts the others", () => {
  const data = correctSale();
  data.record.add(seatBasket(...Array.from({ length: 14 }, (_, index) => index + 10)));
  expect(failures(data)["every seat bought is SOLD"]).toMatch(/seat 19; and 4 more$/);
});

test("the ledger holds each step with its session, seats and areas, in order", () => {
  const folder = mkdtempSync(join(tmpdir(), "onsale-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "ledger.jsonl");
  const ledger = new Ledger(path);
  ledger.write("lock", "asked", createBooking("a", seatBasket(2, 3)));
  ledger.write("sale", "answered", createBooking("b", placeBasket(4)));
  ledger.close();
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const time = expect.any(String);
  const areas = [{ id: AREA_ID, capacity: 4 }];
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    { time, op: "lock", step: "asked", session: "a", seats: [2, 3], areas: [] },
    { time, op: "sale", step: "answered", session: "b", seats: [], areas },
  ]);
});

test("a ledger that cannot be created ends the run with a FatalError", () => {
  expect(() => new Ledger(join(tmpdir(), "no-such-folder", "ledger"))).toThrow(FatalError);
});
