/** Carts on an event with a door: tokens of their locks, and the places that visitors take. */
import { expect, test } from "vitest";
import type { CartItem } from "../../engine/bodies.ts";
import { isRefused, Result } from "../../engine/results.ts";
import { DoorWorld } from "../support/door.ts";
import { area, section } from "../support/layout.ts";
import { expectConsistent } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)];

class DoorCarts extends DoorWorld {
  /** Two visitors are inside. */
  static open(body: object = {}): DoorCarts {
    const world = new DoorCarts(HALL, { settings: { salesControl: true } });
    world.put({ draw: false, ...body });
    for (const name of ["ann", "bob"]) world.join(name);
    world.open();
    for (let i = 0; i < 3; i++) world.wait(1_000);
    for (const name of ["ann", "bob"]) expect(world.enter(name).refused).toBe(Result.OK);
    return world;
  }

  item(call: CartItem["call"], objects: string, admission: string | null = null): CartItem {
    const { seats, groupOfSeats } = this.selection(null, ...objects.split(" "));
    return { eventId: this.eventId, call, seats, groupOfSeats, admission };
  }

  cart(...items: CartItem[]) {
    const { sequence } = this.engine;
    const outcome = this.submit("cart", this.caller, { body: { sessionId: "S", items } });
    expectConsistent(this);
    if (isRefused(outcome)) expect(this.engine.sequence).toBe(sequence);
    return outcome;
  }

  refused(...items: CartItem[]): unknown[] {
    const outcome = this.cart(...items);
    if (!isRefused(outcome)) throw new Error("it was granted");
    return [outcome.refused, ...outcome.errors.map(({ field, code }) => `${field} ${code}`)];
  }
}

test("a lock without a token, or with another one → refused before the inventory of any item", () => {
  const world = DoorCarts.open();
  world.book("directsale", world.selection(null, "A1"));
  const ann = world.token("ann");
  const taken = world.item("lock", "A1", ann);
  const required = world.cart(taken, world.item("lock", "A2"));
  expect(required).toMatchObject({ refused: Result.ADMISSION_REQUIRED });
  if (isRefused(required)) expect(required.detail).toMatch(/^items\[1\]: /);
  expect(world.refused(taken, world.item("lock", "A2", `${ann}x`))).toEqual([
    Result.ADMISSION_INVALID,
    "items[1].admission SIGNATURE",
  ]);
  const late = { ...world.item("lock", "A2"), ifSequence: 1 };
  expect(world.cart(late)).toMatchObject({ refused: Result.ADMISSION_REQUIRED });
  expect(world.cart({ ...late, admission: ann })).toMatchObject({ refused: Result.CHANGED });
});

test("other calls, and locks of an exempt hold type → no token is asked for", () => {
  const world = DoorCarts.open({ exemptHoldTypes: ["RESERVED"] });
  const house = { ...world.item("lock", "A1"), holdType: "RESERVED" };
  const items = [house, world.item("block", "A2"), world.item("directsale", "A3")];
  expect(world.cart(...items).refused).toBe(Result.OK);
  const ends = [world.item("unblock", "A2"), world.item("revertsale", "A3")];
  expect(world.cart(world.item("sale", "A1"), ...ends).refused).toBe(Result.OK);
  expect(world.facts("ann").taken).toBe(0);
});

test("places of a visitor over several locks of a cart → counted together, and held as one", () => {
  const world = DoorCarts.open({ seatsPerVisitor: 4 });
  const ann = world.token("ann");
  const [two, places] = [world.item("lock", "A1 A2", ann), world.item("lock", "Pit:2", ann)];
  expect(world.refused(two, places, world.item("lock", "A3", ann))).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[2].seats[0].id VISITOR_LIMIT",
  ]);
  expect(world.refused(two, world.item("lock", "Pit:3", ann))).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[1].groupOfSeats[0].capacity VISITOR_LIMIT",
  ]);
  expect(world.cart(two, places).refused).toBe(Result.OK);
  expect(world.facts("ann").taken).toBe(4);
  expect(world.book("unlock", world.selection("S", "A1")).refused).toBe(Result.OK);
  expect(world.facts("ann").taken).toBe(3);
});

test("places given back in the cart are free again, sold ones are not", () => {
  const world = DoorCarts.open({ seatsPerVisitor: 2 });
  const ann = world.token("ann");
  const both = world.item("lock", "A1 A2", ann);
  const more = world.item("lock", "A3", ann);
  expect(world.refused(both, world.item("sale", "A1"), more)).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[2].seats[0].id VISITOR_LIMIT",
  ]);
  expect(world.cart(both, world.item("unlock", "A1"), more).refused).toBe(Result.OK);
  expect(world.facts("ann").taken).toBe(2);
  // Of an earlier hold.
  expect(world.refused(world.item("sale", "A2 A3"), more)).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[1].seats[0].id SOLD",
  ]);
  const fourth = world.item("lock", "A4", ann);
  expect(world.refused(world.item("sale", "A2 A3"), fourth)).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[1].seats[0].id VISITOR_LIMIT",
  ]);
  expect(world.cart(world.item("sale", "A2"), world.item("unlock", "A3"), fourth).refused).toBe(
    Result.OK,
  );
  expect(world.facts("ann").taken).toBe(2);
});

test("locks under the tokens of two visitors → refused: they are one hold", () => {
  const world = DoorCarts.open();
  const [ann, bob] = [world.token("ann"), world.token("bob")];
  expect(world.refused(world.item("lock", "A1", ann), world.item("lock", "A2", bob))).toEqual([
    Result.ADMISSION_INVALID,
    "items[1].admission SESSION",
  ]);
});

test("a cart binds the visitor to its session", () => {
  const world = DoorCarts.open();
  const ann = world.token("ann");
  expect(world.cart(world.item("lock", "A1", ann)).refused).toBe(Result.OK);
  const other = { ...world.item("lock", "A2", ann), sessionId: "T" };
  expect(world.refused(other)).toEqual([Result.ADMISSION_INVALID, "items[0].admission SESSION"]);
});

test("best as an item → asked for the token, counted and bound like a lock", () => {
  const world = DoorCarts.open({ seatsPerVisitor: 3 });
  const [ann, bob] = [world.token("ann"), world.token("bob")];
  const best = (quantity: number, admission: string | null): CartItem => {
    return { eventId: world.eventId, call: "best", quantity, admission };
  };
  expect(world.cart(best(2, null))).toMatchObject({ refused: Result.ADMISSION_REQUIRED });
  expect(world.refused(world.item("lock", "A1", ann), best(1, bob))).toEqual([
    Result.ADMISSION_INVALID,
    "items[1].admission SESSION",
  ]);
  expect(world.refused(world.item("lock", "A1 A2", ann), best(2, ann))).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[1].quantity VISITOR_LIMIT",
  ]);
  expect(world.cart(best(2, ann), best(1, ann)).refused).toBe(Result.OK);
  expect(world.facts("ann").taken).toBe(3);
  expect(world.refused({ ...best(1, ann), sessionId: "T" })).toEqual([
    Result.ADMISSION_INVALID,
    "items[0].admission SESSION",
  ]);
});
