/** Orphan seat prevention: no single ACTIVE seat may be left without an ACTIVE neighbour. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { section, table } from "../../../support/layout.ts";
import { check } from "../../../support/table.ts";

const ON = { settings: { orphanPrevention: true } };
const ROW = [section("Stalls", { A: "1 2 3 4 5 6" })];

test("a lock may not leave one seat alone at the end of a row", () => {
  check(
    ROW,
    `
    lock    A  A2             orphan  A2 leaves A1
    lock    A  A5             orphan  A5 leaves A6
    lock    A  A1             ok
    lock    A  A3             orphan  A3 leaves A2
    lock    A  A2 A3          ok
    `,
    ON,
  );
});

test("the request is judged as a whole: seats of it are not left alone", () => {
  check(
    ROW,
    `
    lock    A  A1 A3          orphan  A1 leaves A2  A3 leaves A2
    lock    A  A3 A2 A1       ok
    lock    A  A5             orphan  A5 leaves A4  A5 leaves A6
    lock    A  A4 A5 A6       ok
    `,
    ON,
  );
});

test("one seat that would leave two alone is named for each", () => {
  check(
    [section("Stalls", { A: "1 2 3" })],
    `
    lock    A  A2             orphan  A2 leaves A1  A2 leaves A3
    lock    A  A1 A2          orphan  A2 leaves A3
    lock    A  A1             ok
    `,
    ON,
  );
});

test("a single seat that was alone before may always be taken, and blames nobody", () => {
  check(
    ROW,
    `
    set     orphanPrevention off
    lock    A  A2 A4          ok
    set     orphanPrevention on
    lock    B  A1             ok
    lock    B  A3             ok
    lock    B  A5             orphan  A5 leaves A6
    lock    B  A5 A6          ok
    `,
    ON,
  );
});

test("taking a seat beside an orphan that was there already is no offence", () => {
  check(
    [section("Stalls", { A: "1 2 3 4 5 6 7" })],
    `
    set     orphanPrevention off
    block   -  A2 A4          ok
    set     orphanPrevention on
    // A3 is alone already; A5 stands beside A4, not beside A3.
    lock    A  A5             ok
    lock    B  A3             ok
    `,
    ON,
  );
});

test("an aisle counts as a row end", () => {
  check(
    [section("Stalls", { A: "1 2 3 _ 4 5 6" })],
    `
    lock    A  A5             orphan  A5 leaves A4  A5 leaves A6
    lock    A  A1 A2          orphan  A2 leaves A3
    lock    A  A3             ok
    lock    A  A1 A2          ok
    lock    A  A6             ok
    `,
    ON,
  );
});

test("LOCKED, SOLD, BLOCKED and unpriced neighbours are all not available", () => {
  check(
    [section("Stalls", { A: "1 2 3", B: "1 2 3", C: "1 2 3", D: "1 2 3" })],
    `
    lock        -  A1         ok
    directsale  -  B1         ok
    block       -  C1         ok
    lock        A  A3         orphan  A3 leaves A2
    lock        A  B3         orphan  B3 leaves B2
    lock        A  C3         orphan  C3 leaves C2
    lock        A  D3         orphan  D3 leaves D2
    `,
    { ...ON, unpriced: ["D1"] },
  );
});

test("rows do not touch each other, and seats of a table are never orphans", () => {
  check(
    [section("Stalls", { A: "1 2", B: "1 2" }), table("T", "1 2 3 4")],
    `
    lock    A  A1             orphan  A1 leaves A2
    lock    A  A1 A2          ok
    lock    A  T2             ok
    lock    A  T4             ok
    `,
    ON,
  );
});

test("a sale is judged as if its seats were still ACTIVE", () => {
  check(
    ROW,
    `
    set     orphanPrevention off
    lock    A  A2 A3          ok
    set     orphanPrevention on
    sale    A  A2             orphan  A2 leaves A1
    sale    A  A3             ok
    set     orphanPrevention off
    lock    B  A1             ok
    set     orphanPrevention on
    sale    A  A2             ok
    `,
    ON,
  );
});

test("lock and sale alone are judged", () => {
  check(
    ROW,
    `
    directsale  -  A2         ok
    revertsale  -  A2         ok
    block       -  A2         ok
    unblock     -  A2         ok
    set         orphanPrevention off
    lock        A  A2         ok
    set         orphanPrevention on
    unlock      A  A2         ok
    `,
    ON,
  );
});

test("what is not available is refused before orphans are looked for", () => {
  check(
    ROW,
    `
    lock    A  A1 A2          ok
    lock    B  A2 A4          not_available  A2 LOCKED
    lock    B  A4             orphan  A4 leaves A3
    `,
    ON,
  );
});

test("the refusal names the seat of the request and tells which seat would be alone", () => {
  const world = new World(ROW, ON);
  const id = world.labels.idOf("A2");
  expect(world.book("lock", { seats: [{ id }] })).toMatchObject({
    refused: Result.ORPHAN_SEAT,
    errors: [
      {
        field: "seats[0].id",
        code: "ORPHAN_SEAT",
        rejectedValue: id,
        message: `would leave seat ${world.labels.idOf("A1")} alone`,
      },
    ],
  });
});
