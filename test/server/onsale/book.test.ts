/** The final check of the player finds each way in which a server may have been wrong. */

import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bookingOf, type PlaceBasket, type SeatBasket } from "../../../server/onsale/basket.ts";
import { Book } from "../../../server/onsale/books/book.ts";
import { checkSale, type Evidence } from "../../../server/onsale/books/check.ts";
import { Ledger } from "../../../server/onsale/books/ledger.ts";
import type { AreaCounters, ListedSeat } from "../../../server/onsale/contract.ts";
import { HaltError } from "../../../server/onsale/http/halt.ts";

const AREA_ID = 9;

function seats(...states: ListedSeat["state"][]): ListedSeat[] {
  return states.map((state, index) => ({ seatId: index + 1, rowId: 1, state, updatedAt: null }));
}

function area(active: number, sold: number, more: Partial<AreaCounters> = {}): AreaCounters {
  const zero = { locked: 0, blocked: 0, priceId: 1 };
  return { groupOfSeatsId: AREA_ID, capacity: 10, active, sold, ...zero, ...more };
}

function seatBasket(...seatIds: number[]): SeatBasket {
  return { kind: "seats", indexes: [], seatIds };
}

function placeBasket(count: number): PlaceBasket {
  return { kind: "places", areaId: AREA_ID, count };
}

/** An honest sale: seat 1 was sold before; seats 2 and 3 and four places were bought. */
function honest(): Evidence {
  const book = new Book();
  book.enter(seatBasket(2, 3));
  book.enter(placeBasket(4));
  return {
    book,
    before: { seats: seats("SOLD", "ACTIVE", "ACTIVE", "ACTIVE"), areas: [area(9, 1)] },
    after: { seats: seats("SOLD", "SOLD", "SOLD", "ACTIVE"), areas: [area(5, 5)] },
    tally: { serverErrors: new Map(), holdsLost: 0 },
  };
}

function failures(evidence: Evidence): Record<string, string> {
  const failed = checkSale(evidence).filter(({ passed }) => !passed);
  return Object.fromEntries(failed.map(({ name, detail }) => [name, detail]));
}

test("an honest sale passes every check", () => {
  expect(failures(honest())).toEqual({});
});

test("a seat sold to two buyers is found", () => {
  const evidence = honest();
  evidence.book.enter(seatBasket(3));
  expect(failures(evidence)).toEqual({
    "no seat was sold to two buyers": "seat 3",
    "SOLD seats = sold before + bought": "1 before + 3 bought, 3 SOLD now",
  });
});

test("a sale that the server forgot is found", () => {
  const after = { seats: seats("SOLD", "SOLD", "ACTIVE", "ACTIVE"), areas: [area(5, 5)] };
  expect(failures({ ...honest(), after })).toEqual({
    "every seat bought is SOLD": "seat 3",
    "SOLD seats = sold before + bought": "1 before + 2 bought, 2 SOLD now",
  });
});

test("a seat that is SOLD and that nobody bought is found", () => {
  const after = { seats: seats("SOLD", "SOLD", "SOLD", "SOLD"), areas: [area(5, 5)] };
  expect(failures({ ...honest(), after })).toEqual({
    "SOLD seats = sold before + bought": "1 before + 2 bought, 4 SOLD now",
  });
});

test("area counters that do not add up are found", () => {
  const after = { seats: honest().after.seats, areas: [area(4, 5)] };
  expect(failures({ ...honest(), after })).toEqual({
    "area counters add up to the capacity": "area 9: 4 + 0 + 5 + 0, not 10",
  });
});

test("places sold without a buyer are found", () => {
  const after = { seats: honest().after.seats, areas: [area(4, 6)] };
  expect(failures({ ...honest(), after })).toEqual({
    "sold places = sold before + bought": "area 9: 1 before + 4 bought, 6 sold now",
  });
});

test("a lost hold and an answer 500 are faults, an answer 503 is not", () => {
  const serverErrors = new Map([
    [500, 2],
    [503, 7],
  ]);
  expect(failures({ ...honest(), tally: { serverErrors, holdsLost: 1 } })).toEqual({
    "every acknowledged hold could be bought": "1 holds were gone",
    "no answer 5xx but 503": "2 times 500",
  });
});

test("only the first culprits are named", () => {
  const evidence = honest();
  const many = Array.from({ length: 14 }, (_, index) => index + 10);
  evidence.book.enter(seatBasket(...many));
  expect(failures(evidence)["every seat bought is SOLD"]).toMatch(/seat 19; and 4 more$/);
});

test("the ledger keeps what was asked and what was said to it, in order", () => {
  const path = join(tmpdir(), `onsale-ledger-${process.pid}.jsonl`);
  const ledger = new Ledger(path);
  ledger.write("lock", "asked", bookingOf("a", seatBasket(2, 3)));
  ledger.write("sale", "answered", bookingOf("b", placeBasket(4)));
  ledger.close();
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    {
      time: expect.any(String),
      op: "lock",
      step: "asked",
      session: "a",
      seats: [2, 3],
      areas: [],
    },
    {
      time: expect.any(String),
      op: "sale",
      step: "answered",
      session: "b",
      seats: [],
      areas: [{ id: AREA_ID, capacity: 4 }],
    },
  ]);
});

test("a ledger that cannot be written ends the run with a clear line", () => {
  expect(() => new Ledger(join(tmpdir(), "no-such-folder", "ledger"))).toThrow(HaltError);
});
