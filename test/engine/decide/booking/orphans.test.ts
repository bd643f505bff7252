/** Orphan prevention: no request may leave a single ACTIVE seat without an ACTIVE neighbour. */
import { expect, test } from "vitest";
import { Result } from "../../../../engine/results.ts";
import { World } from "../../../support/engine.ts";
import { section, table } from "../../../support/layout.ts";
import { check } from "../../../support/table.ts";

const ON = { settings: { orphanPrevention: true } };
const ROW = [section("Stalls", { A: "1 2 3 4 5 6" })];

test("a lock that leaves one seat alone at the end of a row is refused", () => {
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

test("a request is judged as a whole: its own seats are never left alone", () => {
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

test("a seat that leaves two seats alone is named once for each", () => {
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

test("a seat that is already alone may be taken", () => {
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

test("a seat next to the neighbour of an existing orphan may be taken", () => {
  check(
    [section("Stalls", { A: "1 2 3 4 5 6 7" })],
    `
    set     orphanPrevention off
    block   -  A2 A4          ok
    set     orphanPrevention on
    // A3 is already alone; A5 is next to A4, not next to A3.
    lock    A  A5             ok
    lock    B  A3             ok
    `,
    ON,
  );
});

test("an aisle counts as the end of a row", () => {
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

test("without coordinates the seats of a row sit in the order of a sorted list", () => {
  const { seats, ...row } = section("Stalls", { A: "A b C é f" });
  check(
    [{ ...row, seats: seats.map(({ guid, rowGuid, name }) => ({ guid, rowGuid, name })) }],
    `
    lock    A  Ab             orphan  Ab leaves AA
    lock    A  AA             ok
    lock    A  Aé             orphan  Aé leaves Af
    lock    A  Ab AC          ok
    lock    B  Aé Af          ok
    `,
    ON,
  );
});

test("a seat whose only neighbour is LOCKED, SOLD, BLOCKED or unpriced counts as alone", () => {
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

test("seats of different rows are not neighbours, and seats of a table never orphans", () => {
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

test("commands other than lock and sale may leave a seat alone", () => {
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

test("seats that are not available are reported before orphans", () => {
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

test("the refusal names the requested seat, and the seat that it would leave alone", () => {
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
