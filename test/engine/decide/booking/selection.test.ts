/** Booking requests that are refused whatever the state of the inventory. */
import { expect, test } from "vitest";
import { NONE } from "../../../../engine/constants.ts";
import { checkSelection, choicesOf, seatIndexes } from "../../../../engine/booking.ts";
import { Result } from "../../../../engine/results.ts";
import type { StateSelection } from "../../../../engine/bodies.ts";
import { World } from "../../../support/engine.ts";
import { area, section } from "../../../support/layout.ts";
import { check } from "../../../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3" }), area("Pit", 10)];

const errorsOf = (selection: StateSelection) =>
  checkSelection(selection).map(({ field, code }) => `${field} ${code}`);

test("every error of a request is reported with its field", () => {
  const seat = (id: number, capacity?: number) => ({ id, capacity });
  const cases: [StateSelection, string[]][] = [
    [{}, ["seats NOT_NULL"]],
    [{ seats: [], groupOfSeats: null }, ["seats NOT_NULL"]],
    [{ seats: [seat(1)] }, []],
    [{ seats: [seat(1), seat(2), seat(1)] }, ["seats[2].id DUPLICATE"]],
    [{ seats: [seat(1, 1)] }, ["seats[0].capacity NULL"]],
    [{ seats: [{ id: 1, capacity: null }] }, []],
    [{ groupOfSeats: [seat(7)] }, ["groupOfSeats[0].capacity NOT_NULL"]],
    [{ groupOfSeats: [{ id: 7, capacity: null }] }, ["groupOfSeats[0].capacity NOT_NULL"]],
    [{ groupOfSeats: [seat(7, 0)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, -1)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, 1.5)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, 2 ** 31)] }, ["groupOfSeats[0].capacity RANGE"]],
    [{ groupOfSeats: [seat(7, 2 ** 31 - 1)] }, []],
    [{ groupOfSeats: [seat(7, 1), seat(7, 2)] }, ["groupOfSeats[1].id DUPLICATE"]],
    [{ seats: [seat(7)], groupOfSeats: [seat(7, 1)] }, []],
    [
      { seats: [seat(1, 1), seat(1)], groupOfSeats: [seat(7, 0)] },
      ["seats[1].id DUPLICATE", "seats[0].capacity NULL", "groupOfSeats[0].capacity RANGE"],
    ],
  ];
  for (const [selection, errors] of cases) {
    expect(errorsOf(selection), JSON.stringify(selection)).toEqual(errors);
  }
});

test("a request without seats and areas is told what to name", () => {
  const [error] = checkSelection({});
  expect(error?.message).toBe("must name a seat, unless groupOfSeats names an area");
});

test("a request with more than a thousand seats and areas is refused", () => {
  const choices = (count: number) => Array.from({ length: count }, (_, i) => ({ id: i + 1 }));
  const areas = choices(500).map(({ id }) => ({ id, capacity: 1 }));
  expect(errorsOf({ seats: choices(1_000) })).toEqual([]);
  expect(errorsOf({ seats: choices(1_001) })).toEqual(["seats SIZE"]);
  expect(errorsOf({ seats: choices(500), groupOfSeats: areas })).toEqual([]);
  expect(errorsOf({ seats: choices(501), groupOfSeats: areas })).toEqual(["seats SIZE"]);
});

test("every booking command refuses an invalid request and changes nothing", () => {
  check(
    HALL,
    `
    lock        A  A1 A1      invalid  seats[1].id DUPLICATE
    unlock      A  A1 A1      invalid  seats[1].id DUPLICATE
    sale        A  A1 A1      invalid  seats[1].id DUPLICATE
    revertsale  A  A1 A1      invalid  seats[1].id DUPLICATE
    directsale  A  A1 A1      invalid  seats[1].id DUPLICATE
    block       A  A1 A1      invalid  seats[1].id DUPLICATE
    unblock     A  Pit:0      invalid  groupOfSeats[0].capacity RANGE
    lock        A  Pit:1 Pit:1  invalid  groupOfSeats[1].id DUPLICATE
    `,
  );
});

test("an unknown hold type is reported together with the other errors of a lock", () => {
  const world = new World(HALL);
  expect(world.book("lock", { seats: [], holdType: "NIGHT" })).toMatchObject({
    refused: Result.VALIDATION_FAILED,
    errors: [{ field: "seats" }, { field: "holdType", rejectedValue: "NIGHT" }],
  });
});

test("ids are translated to indexes of the layout, in the order of the request", () => {
  const world = new World(HALL);
  const { layout } = world.partition;
  const seats = [{ id: world.labels.idOf("A3") }, { id: 987_654 }, { id: world.labels.idOf("A1") }];
  expect([...seatIndexes(layout, seats)]).toEqual([world.seat("A3"), NONE, world.seat("A1")]);
  expect(choicesOf({ seats: null })).toEqual({ seats: [], areas: [] });
});
