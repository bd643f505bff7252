/** Carts: calls on several events, each on what those before it leave, all of them or none. */
import { describe, expect, test } from "vitest";
import type { CartItem } from "../../engine/bodies.ts";
import { copyPartition, packImage } from "../../engine/inventory/image.ts";
import { cartFacts } from "../../engine/queries/holds.ts";
import { RecordType } from "../../engine/records.ts";
import { isRefused, Result } from "../../engine/results.ts";
import { digest } from "../../engine/verify.ts";
import { NO_EVENT, World, type WorldOptions } from "../support/engine.ts";
import { area, section } from "../support/layout.ts";
import { checkMore, expectConsistent } from "../support/table.ts";

const HALL = [section("Stalls", { A: "1 2 3 4 5 6" }), area("Pit", 10)];
const MINUTE_MS = 60_000;

type Call = CartItem["call"];
type Rest = Partial<Omit<CartItem, "call">>;

/** Two published events with everything on sale. */
class TwoNights extends World {
  readonly other: string;

  constructor(options: WorldOptions = {}) {
    super(HALL, { settings: { salesControl: true }, ...options });
    this.other = this.createEvent();
    const eventId = this.other;
    const assignmentId = this.createPrice("Full", eventId);
    const items = (names: readonly string[]) =>
      names.map((name) => ({ objectId: this.labels.idOf(name), assignmentId }));
    const body = { seats: items(this.labels.seats), groupOfSeats: items(this.labels.areas) };
    this.must("assignPrices", this.caller, { eventId, body });
  }

  best(quantity: number, rest: Rest = {}): CartItem {
    return { eventId: this.eventId, call: "best", quantity, ...rest };
  }

  item(call: Call, objects: string, rest: Rest = {}): CartItem {
    const labels = objects === "" ? [] : objects.split(" ");
    const { seats, groupOfSeats } = this.selection(null, ...labels);
    const named = call === "extend" ? { seats: seats ?? null } : { seats, groupOfSeats };
    return { eventId: this.eventId, call, ...named, ...rest };
  }

  cart(sessionId: string | null, ...items: CartItem[]) {
    const { sequence } = this.engine;
    const [before, images] = [this.texts(), this.images()];
    const outcome = this.submit("cart", this.caller, { body: { sessionId, items } });
    expectConsistent(this);
    const isWritten = !isRefused(outcome) && this.lastRecord?.type === RecordType.CART;
    if (this.engine.sequence > sequence && !isWritten) {
      // Ends of holds alone.
      expect(this.lastRecord).toMatchObject({ holdType: "CART" });
    }
    if (isRefused(outcome) && this.engine.sequence === sequence) {
      expect(this.texts()).toEqual(before);
      expect(this.images()).toEqual(images);
    }
    return outcome;
  }

  /** Everything that a snapshot has of both events. */
  images() {
    const { state } = this.engine;
    return [this.eventId, this.other].map((id) => {
      const event = state.catalog.events.get(id)!;
      return packImage(copyPartition(state.partitionOf(event)));
    });
  }

  /** @returns The sequence of the cart. */
  granted(sessionId: string | null, ...items: CartItem[]): number {
    const outcome = this.cart(sessionId, ...items);
    if (isRefused(outcome)) throw new Error(JSON.stringify(outcome));
    return cartFacts(this.engine.state, outcome.value).sequence;
  }

  /** @returns The refusal as its code and `field CODE` of each error. */
  refused(sessionId: string | null, ...items: CartItem[]): unknown[] {
    const outcome = this.cart(sessionId, ...items);
    if (!isRefused(outcome)) throw new Error("it was granted");
    return [outcome.refused, ...outcome.errors.map(({ field, code }) => `${field} ${code}`)];
  }

  /** Seats in another state than ACTIVE, and places, of both events. */
  texts(): string[][] {
    const { state } = this.engine;
    return [this.eventId, this.other].map((id) => {
      const partition = state.partitionOf(state.catalog.events.get(id)!);
      const { layout, areas, holds } = partition;
      const seats = Array.from(partition.state, (current, seat) => {
        if (current === 2) return "";
        const label = this.labels.labelOf(layout.seatIds[seat]!);
        const slot = partition.holdOf(seat);
        return `${label} ${"?WALSB"[current]}${slot < 2 ** 32 - 1 ? holds.get(slot).session : ""}`;
      }).filter((text) => text !== "");
      const places = [2, 3, 4, 5].map((each) => areas.places(0, each as never));
      return [...seats, places.join(" ")];
    });
  }
}

const FREE = "10 0 0 0";

test("calls on two events → one record with all of them, of one sequence and one time", () => {
  const world = new TwoNights();
  const { sequence } = world.engine;
  const outcome = world.cart(
    "S",
    world.item("lock", "A1 A2 Pit:2"),
    world.item("directsale", "A3", { eventId: world.other }),
  );
  expect(world.engine.sequence).toBe(sequence + 1);
  expect(world.lastRecord).toMatchObject({ type: RecordType.CART, session: "S" });
  expect(world.texts()).toEqual([
    ["A1 LS", "A2 LS", "8 2 0 0"],
    ["A3 S", FREE],
  ]);
  if (isRefused(outcome)) throw new Error("it was refused");
  const facts = cartFacts(world.engine.state, outcome.value);
  expect(facts).toMatchObject({
    sequence: sequence + 1,
    items: [
      {
        eventId: world.eventId,
        seats: [{ state: 3, fence: sequence + 1 }, { state: 3 }],
        areas: [{ locked: 2, hold: { fence: sequence + 1, places: 2 } }],
      },
      { eventId: world.other, seats: [{ state: 4, fence: sequence + 1 }], areas: [] },
    ],
  });
  const { sequences } = world.engine.state;
  expect([...sequences.values()]).toEqual([sequence + 1, sequence + 1]);
});

test("an item finds what those before it leave: unlock, then lock beside it", () => {
  const world = new TwoNights();
  world.granted("S", world.item("lock", "A1 A2"));
  const beside = world.item("lock", "A2 A3");
  expect(world.refused("S", beside)).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[0].seats[0].id HELD_BY_THIS_SESSION",
  ]);
  world.granted("S", world.item("unlock", "A1 A2"), beside);
  expect(world.texts()[0]).toEqual(["A2 LS", "A3 LS", FREE]);
});

test("a sale that is reverted → held in the same cart", () => {
  const world = new TwoNights();
  const sold = world.granted("S", world.item("directsale", "A1 Pit:3"));
  const items = [world.item("revertsale", "A1 Pit:3"), world.item("lock", "A1 Pit:2")];
  const fence = world.granted("T", ...items);
  expect(world.texts()[0]).toEqual(["A1 LT", "8 2 0 0"]);
  expect(world.partition.fenceOf(world.seat("A1"))).toBe(fence);
  expect(fence).toBeGreaterThan(sold);
});

test("the last item refused → nothing of the cart is there, in no event", () => {
  const world = new TwoNights();
  world.granted("T", world.item("lock", "A6", { eventId: world.other }));
  const { sequence } = world.engine;
  const items = [
    world.item("lock", "A1"),
    world.item("unlock", "A1"),
    world.item("lock", "A2 Pit:10"),
    world.item("lock", "A5 A6", { eventId: world.other }),
  ];
  expect(world.refused("S", ...items)).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[3].seats[1].id LOCKED",
  ]);
  expect(world.engine.sequence).toBe(sequence);
  expect(world.texts()).toEqual([[FREE], ["A6 LT", FREE]]);
});

test("the first refused item in order → its refusal alone, however many follow", () => {
  const world = new TwoNights();
  world.granted("T", world.item("lock", "A1 A2"));
  const items = [world.item("lock", "A3"), world.item("lock", "A2"), world.item("lock", "A1")];
  expect(world.refused("S", ...items)).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[1].seats[0].id LOCKED",
  ]);
});

test("a direct sale that cannot be → refuses the cart, and does not answer false", () => {
  const world = new TwoNights();
  world.granted("T", world.item("lock", "A1"));
  const items = [world.item("lock", "A2"), world.item("directsale", "A1 Pit:11")];
  expect(world.refused("S", ...items)).toEqual([
    Result.INVENTORY_NOT_AVAILABLE,
    "items[1].seats[0].id LOCKED",
    "items[1].groupOfSeats[0].capacity INSUFFICIENT_CAPACITY",
  ]);
});

describe("the locks of a cart in one event", () => {
  test("several → one hold, whose number is the sequence of the cart", () => {
    const world = new TwoNights();
    const fence = world.granted(
      "S",
      world.item("lock", "A1 Pit:2"),
      world.item("lock", "A2", { eventId: world.other }),
      world.item("lock", "A3 Pit:1"),
    );
    const { holds, areas } = world.partition;
    expect(holds.slots().map((slot) => holds.get(slot).fence)).toEqual([fence]);
    expect([holds.held, holds.size(0), areas.held(0, 0)]).toEqual([5, 5, 3]);
    expect(Array.from(world.partition.seatsOf(0))).toEqual([0, 2]);
  });

  test.each<[string, Rest, Rest, string[]]>([
    ["another session of the item", {}, { sessionId: "T" }, ["items[1].sessionId CONFLICT"]],
    ["no session beside one of its own", { sessionId: "T" }, {}, ["items[1].sessionId CONFLICT"]],
    ["another hold type", {}, { holdType: "RESERVED" }, ["items[1].holdType CONFLICT"]],
    ["an equal session and hold type", { sessionId: "S" }, { holdType: "CART" }, []],
  ])("%s", (_, first, second, errors) => {
    const world = new TwoNights();
    const items = [world.item("lock", "A1", first), world.item("lock", "A2", second)];
    if (errors.length === 0) world.granted("S", ...items);
    else expect(world.refused("S", ...items)).toEqual([Result.VALIDATION_FAILED, ...errors]);
  });

  test("another session in another event → two holds", () => {
    const world = new TwoNights();
    const other = world.item("lock", "A2", { eventId: world.other, sessionId: "T" });
    world.granted("S", world.item("lock", "A1"), other);
    expect(world.texts()).toEqual([
      ["A1 LS", FREE],
      ["A2 LT", FREE],
    ]);
  });

  test("the event in another letter case → the same event", () => {
    const world = new TwoNights();
    const upper = { eventId: world.eventId.toUpperCase(), sessionId: "T" };
    expect(world.refused("S", world.item("lock", "A1"), world.item("lock", "A2", upper))).toEqual([
      Result.VALIDATION_FAILED,
      "items[1].sessionId CONFLICT",
    ]);
  });

  test("all of it unlocked in between, or sold → the hold opens again with the same number", () => {
    const world = new TwoNights();
    world.granted("T", world.item("lock", "A6"));
    const fence = world.granted(
      "S",
      world.item("lock", "A1 Pit:1"),
      world.item("unlock", "A1 Pit:1"),
      world.item("lock", "A2 Pit:2"),
      world.item("sale", "A2 Pit:2"),
      world.item("lock", "A3 A1"),
    );
    const { holds } = world.partition;
    expect(world.texts()[0]).toEqual(["A1 LS", "A2 S", "A3 LS", "A6 LT", "8 0 2 0"]);
    expect(holds.slotOf(fence)).not.toBe(holds.slotOf(fence - 1));
    expect(world.partition.fenceOf(world.seat("A2"))).toBe(fence);
    expect(holds.slots()).toHaveLength(2);
  });

  test("a seat that leaves the hold and comes back → once in it", () => {
    const world = new TwoNights();
    world.granted(
      "S",
      world.item("lock", "A1 A2"),
      world.item("unlock", "A1"),
      world.item("lock", "A1"),
    );
    expect(Array.from(world.partition.seatsOf(0))).toEqual([0, 1]);
    expect(world.partition.holds.size(0)).toBe(2);
  });

  test("a hold that an earlier item extends → has that end for what joins it", () => {
    const world = new TwoNights();
    const body = [{ name: "SHORT", ttlSeconds: 60, maxSeconds: 600 }];
    world.must("replaceHoldTypes", world.caller, { body });
    world.granted(
      "S",
      world.item("lock", "A1", { holdType: "SHORT" }),
      world.item("extend", "", { seats: null, sessionId: "S", seconds: 300 }),
      world.item("lock", "A2", { holdType: "SHORT" }),
    );
    const { holds } = world.partition;
    const [slot] = holds.slots();
    expect(holds.get(slot!).expiresAtMs - world.clock.timeMs).toBe(5 * MINUTE_MS);
    world.clock.timeMs += 5 * MINUTE_MS;
    world.engine.expireAll();
    expectConsistent(world);
    expect(world.texts()[0]).toEqual([FREE]);
  });
});

describe("an item", () => {
  test("its sessionId beats that of the cart", () => {
    const world = new TwoNights();
    world.granted("S", world.item("lock", "A1", { sessionId: "T" }), world.item("block", "A2"));
    expect(world.texts()[0]).toEqual(["A1 LT", "A2 B", FREE]);
    expect(world.refused("S", world.item("sale", "A1"))).toEqual([
      Result.INVENTORY_NOT_AVAILABLE,
      "items[0].seats[0].id HELD_BY_ANOTHER_SESSION",
    ]);
  });

  test("fences, prices and moves from and to BLOCKED are those of its call", () => {
    const world = new TwoNights();
    const fence = world.granted("S", world.item("lock", "A1 A2"), world.item("block", "A3"));
    const late = world.item("sale", "A1", { fence: fence - 1 });
    expect(world.refused("S", late)).toEqual([
      Result.INVENTORY_NOT_AVAILABLE,
      "items[0].seats[0].id HELD_BY_ANOTHER_SESSION",
    ]);
    const { A1 } = { A1: world.labels.idOf("A1") };
    const dear = world.item("lock", "A4", { priceIds: { [world.labels.idOf("A4")]: 1 } });
    expect(world.refused("S", dear)).toEqual([
      Result.INVENTORY_NOT_AVAILABLE,
      "items[0].seats[0].id PRICE_CHANGED",
    ]);
    expect(world.refused("S", world.item("block", "A4", { fences: { [A1]: 1 } }))).toEqual([
      Result.VALIDATION_FAILED,
      "items[0].fences NULL",
    ]);
    world.granted(
      "S",
      world.item("sale", "A1", { fence }),
      world.item("unlock", "A2", { toBlocked: true }),
      world.item("lock", "A3", { fromBlocked: true }),
    );
    expect(world.texts()[0]).toEqual(["A1 S", "A2 B", "A3 LS", FREE]);
  });

  test("all of a session → also what an earlier item has locked", () => {
    const world = new TwoNights();
    world.granted("S", world.item("lock", "A1"));
    const all = { all: true, seats: null, groupOfSeats: null };
    const outcome = world.cart("S", world.item("lock", "A2 Pit:2"), world.item("sale", "", all));
    expect(world.texts()[0]).toEqual(["A1 S", "A2 S", "8 0 2 0"]);
    if (isRefused(outcome)) throw new Error("it was refused");
    const [, sale] = cartFacts(world.engine.state, outcome.value).items;
    expect(sale).toMatchObject({ seats: [{ state: 4 }, { state: 4 }], areas: [{ sold: 2 }] });
  });

  test("limits on holds count what earlier items hold", () => {
    const world = new TwoNights({ settings: { heldPerSession: 3 } });
    const items = [world.item("lock", "A1 A2"), world.item("lock", "A3 A4")];
    expect(world.refused("S", ...items)).toEqual([
      Result.INVENTORY_NOT_AVAILABLE,
      "items[1].seats[1].id HELD_LIMIT",
    ]);
    world.granted("S", items[0]!, world.item("unlock", "A1"), items[1]!);
    expect(world.partition.holds.heldBy("S", 9)).toBe(3);
  });

  test("an orphan that an earlier item makes → refused with the item", () => {
    const world = new TwoNights({ settings: { orphanPrevention: true } });
    const items = [world.item("lock", "A1 A2"), world.item("lock", "A4")];
    expect(world.refused("S", ...items)).toEqual([
      Result.ORPHAN_SEAT,
      "items[1].seats[0].id ORPHAN_SEAT",
    ]);
  });

  test.each<[string, (world: TwoNights) => CartItem, string[]]>([
    ["extend without seconds", (w) => w.item("extend", "A1"), ["items[0].seconds NOT_NULL"]],
    [
      "extend of places",
      (w) => ({ ...w.item("extend", "A1"), seconds: 9, groupOfSeats: [] }),
      ["items[0].groupOfSeats NULL"],
    ],
    ["no object", (w) => w.item("block", ""), ["items[0].seats NOT_NULL"]],
    [
      "an unknown hold type",
      (w) => w.item("lock", "A1", { holdType: "X" }),
      ["items[0].holdType UNKNOWN"],
    ],
  ])("%s → 400", (_, item, errors) => {
    const world = new TwoNights();
    expect(world.refused("S", item(world))).toEqual([Result.VALIDATION_FAILED, ...errors]);
  });

  test("more than 1,000 objects in all → 400 SIZE", () => {
    const world = new TwoNights();
    const seats = Array.from({ length: 501 }, (_, i) => ({ id: i + 1 }));
    const items = [world.item("lock", "", { seats }), world.item("block", "", { seats })];
    expect(world.refused("S", ...items)).toEqual([Result.VALIDATION_FAILED, "items SIZE"]);
  });
});

describe("whole holds", () => {
  /** A session that holds 300 seats. */
  function holding() {
    const seats = Array.from({ length: 300 }, (_, i) => `${i + 1}`).join(" ");
    const world = new World([section("Stalls", { A: seats })]);
    const labels = seats.split(" ").map((seat) => `A${seat}`);
    const selection = { ...world.selection("S", ...labels) };
    expect(
      world.submit("lock", world.caller, { eventId: world.eventId, body: selection }).refused,
    ).toBe(Result.OK);
    const item = (call: "extend" | "unlock", more: object = {}) => ({
      eventId: world.eventId,
      call,
      ...more,
    });
    const cart = (...items: ReturnType<typeof item>[]) =>
      world.submit("cart", world.caller, { body: { sessionId: "S", items } });
    return { world, item, cart };
  }

  test("their seats count as objects of the cart, each time that an item means them", () => {
    const { item, cart } = holding();
    const extend = item("extend", { seconds: 1 });
    expect(cart(extend, extend, extend).refused).toBe(Result.OK);
    expect(cart(extend, extend, extend, extend)).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "items", code: "SIZE", rejectedValue: 1_200 }],
    });
  });

  test("too many of them after an item that changed something → nothing is changed", () => {
    const { world, item, cart } = holding();
    const before = digest(world.engine.state);
    const extend = item("extend", { seconds: 60 });
    const many = [extend, extend, extend, item("unlock", { all: true })];
    expect(cart(...many).refused).toBe(Result.VALIDATION_FAILED);
    expect(digest(world.engine.state)).toBe(before);
  });
});

describe("best", () => {
  /** Labels of the seats of each item of a granted cart, and the places that a lock holds. */
  function places(world: TwoNights, ...items: CartItem[]): string[] {
    const outcome = world.cart("S", ...items);
    if (isRefused(outcome)) throw new Error(JSON.stringify(outcome));
    return cartFacts(world.engine.state, outcome.value).items.map(({ seats, areas }) => {
      const held = areas.map(({ hold }) => `Pit:${hold!.places}`);
      return [...seats.map(({ id }) => world.labels.labelOf(id)), ...held].join(" ");
    });
  }

  test("after a lock → the best of what it leaves, in the same hold", () => {
    const world = new TwoNights();
    expect(places(world, world.best(2))).toEqual(["A3 A4"]);
    world.granted("S", world.item("unlock", "A3 A4"));
    const found = places(world, world.item("lock", "A4"), world.best(2), world.best(1));
    expect(found).toEqual(["A4", "A5 A6", "A3"]);
    const { holds } = world.partition;
    const fence = world.engine.sequence;
    expect(holds.slots().map((slot) => holds.get(slot).fence)).toEqual([fence]);
    expect(world.texts()[0]).toEqual(["A3 LS", "A4 LS", "A5 LS", "A6 LS", FREE]);
  });

  test("after an unlock, a revertsale and an unblock → what they give back", () => {
    const world = new TwoNights();
    world.granted("S", world.item("lock", "A3 A4"));
    expect(places(world, world.item("unlock", "A3 A4"), world.best(2))).toEqual(["A3 A4", "A3 A4"]);
    world.granted("S", world.item("sale", "A3 A4"));
    expect(places(world, world.item("revertsale", "A4"), world.best(1))).toEqual(["A4", "A4"]);
    world.granted("S", world.item("block", "A1 A2 A5 A6"));
    expect(places(world, world.item("unblock", "A1"), world.best(1))).toEqual(["A1", "A1"]);
  });

  test("places of an area → after those of an earlier lock, held as one", () => {
    const world = new TwoNights();
    const groupOfSeatsIds = [world.labels.idOf("Pit")];
    const found = places(
      world,
      world.item("lock", "Pit:4"),
      world.best(3, { groupOfSeatsIds }),
      world.best(3, { groupOfSeatsIds }),
    );
    expect(found).toEqual(["Pit:10", "Pit:10", "Pit:10"]);
    expect(world.refused("S", world.best(1, { groupOfSeatsIds }))).toEqual([
      Result.NOTHING_SUITABLE,
      "items[0].quantity NOTHING_SUITABLE",
    ]);
  });

  test("seats kept for a channel → for items that name it", () => {
    const world = new TwoNights();
    const { caller, eventId } = world;
    const seats = ["A3", "A4", "A5"].map((name) => world.labels.idOf(name));
    const command = { eventId, key: "agency", body: { name: "Agency", seats } };
    world.must("putChannel", caller, command);
    expect(world.refused("S", world.item("lock", "A1"), world.best(2))).toEqual([
      Result.NOTHING_SUITABLE,
      "items[1].quantity NOTHING_SUITABLE",
    ]);
    const channel = "agency";
    const items = [world.item("lock", "A4", { channel }), world.best(2, { channel })];
    expect(places(world, ...items)).toEqual(["A4", "A5 A6"]);
  });

  test("nothing suitable → 409 at the item, with the members of what the items before it leave", () => {
    const world = new TwoNights();
    const items = [world.item("lock", "A3"), world.best(4)];
    expect(world.cart("S", ...items)).toMatchObject({
      refused: Result.NOTHING_SUITABLE,
      errors: [{ field: "items[1].quantity", code: "NOTHING_SUITABLE", rejectedValue: 4 }],
      members: { largestTogether: 3, available: 5 },
    });
    expect(world.texts()[0]).toEqual([FREE]);
  });

  test("a cart refused after its best → the next best is as before it", () => {
    const world = new TwoNights();
    const ask = () => {
      const body = { sessionId: "T", quantity: 2 };
      const kind = "best" as const;
      return world.engine.check({ kind, caller: world.caller, eventId: world.eventId, body });
    };
    const before = ask();
    const gone = world.item("sale", "A1");
    const items = [world.item("lock", "A4"), world.best(2), world.item("block", "A3"), gone];
    expect(world.refused("S", ...items)).toEqual([
      Result.INVENTORY_NOT_AVAILABLE,
      "items[3].seats[0].id ACTIVE",
    ]);
    expect(ask()).toEqual(before);
    // The hall as the cart would have left it, and the same questions again.
    world.granted("S", ...items.slice(0, 3));
    const labels = () => {
      const outcome = ask();
      if (isRefused(outcome)) throw new Error(JSON.stringify(outcome));
      return outcome.value.seats.map(({ id }) => world.labels.labelOf(id)).join(" ");
    };
    expect(labels()).toBe("A1 A2");
    world.granted("S", world.item("unblock", "A3"));
    expect(labels()).toBe("A2 A3");
  });

  test("limits on holds count what earlier items hold", () => {
    const world = new TwoNights({ settings: { heldPerSession: 3 } });
    expect(world.refused("S", world.item("lock", "A1 A2"), world.best(2))).toEqual([
      Result.INVENTORY_NOT_AVAILABLE,
      "items[1].quantity HELD_LIMIT",
    ]);
    world.granted("S", world.best(2), world.best(1));
  });

  test.each<[string, (w: TwoNights) => CartItem[], string[]]>([
    ["no quantity", (w) => [{ eventId: w.eventId, call: "best" }], ["items[0].quantity NOT_NULL"]],
    [
      "more accessible seats than places",
      (w) => [w.best(1, { accessible: 2 })],
      ["items[0].accessible RANGE"],
    ],
    ["a fence", (w) => [w.best(1, { fence: 1 })], ["items[0].fence NULL"]],
    ["an unknown hold type", (w) => [w.best(1, { holdType: "X" })], ["items[0].holdType UNKNOWN"]],
    ["guards of prices", (w) => [w.best(1, { priceIds: { 1: 1 } })], ["items[0].priceIds TYPE"]],
    [
      "wished prices for a lock",
      (w) => [w.item("lock", "A1", { priceIds: [1] })],
      ["items[0].priceIds TYPE"],
    ],
    [
      "the session of another lock",
      (w) => [w.item("lock", "A1"), w.best(1, { sessionId: "T" })],
      ["items[1].sessionId CONFLICT"],
    ],
    [
      "another hold type than an earlier best",
      (w) => [w.best(1), w.item("lock", "A1", { holdType: "RESERVED" })],
      ["items[1].holdType CONFLICT"],
    ],
    [
      "prices and groups of nowhere, of two items",
      (w) => [w.best(1, { priceIds: [999] }), w.best(1, { groupOfSeatsIds: [998, 999] })],
      [
        "items[0].priceIds[0] NOT_FOUND",
        "items[1].groupOfSeatsIds[0] NOT_FOUND",
        "items[1].groupOfSeatsIds[1] NOT_FOUND",
      ],
    ],
    [
      "more than 1,000 places in all",
      (w) => Array.from({ length: 21 }, () => w.best(50)),
      ["items SIZE"],
    ],
  ])("%s → 400", (_, itemsOf, errors) => {
    const world = new TwoNights();
    expect(world.refused("S", ...itemsOf(world))).toEqual([Result.VALIDATION_FAILED, ...errors]);
  });

  test("searches of more than 500,000 seats in all → 400 SIZE", () => {
    const seats = Array.from({ length: 12_000 }, (_, i) => `${i + 1}`).join(" ");
    const world = new World([section("Stalls", { A: seats })]);
    const best = { eventId: world.eventId, call: "best", quantity: 1 } as const;
    const cart = (count: number) => {
      const items = Array.from({ length: count }, () => best);
      return world.submit("cart", world.caller, { body: { items } });
    };
    expect(cart(42)).toMatchObject({
      refused: Result.VALIDATION_FAILED,
      errors: [{ field: "items", code: "SIZE", rejectedValue: 504_000 }],
    });
    expect(cart(41).refused).toBe(Result.OK);
  });

  test("ids of nowhere → after the events, before the organization", () => {
    const world = new TwoNights();
    world.change({ bookingEnabled: false });
    const odd = world.best(1, { priceIds: [999] });
    expect(world.cart("S", odd)).toMatchObject({ refused: Result.VALIDATION_FAILED });
    const items = [odd, world.best(1, { eventId: NO_EVENT })];
    expect(world.cart("S", ...items)).toMatchObject({ refused: Result.EVENT_ACCESS_DENIED });
    expect(world.cart("S", world.best(1))).toMatchObject({ refused: Result.ORGANIZATION_DISABLED });
  });
});

describe("guards of all items come before the inventory of any", () => {
  /** The first item would be refused for its seat. */
  const beside = (world: TwoNights, ...items: CartItem[]) => {
    world.granted("T", world.item("lock", "A6"));
    return [world.item("lock", "A6"), ...items];
  };

  test("validation, with the errors of all items", () => {
    const world = new TwoNights();
    const items = beside(world, world.item("lock", ""), world.item("sale", "Pit:0"));
    expect(world.refused("S", ...items)).toEqual([
      Result.VALIDATION_FAILED,
      "items[1].seats NOT_NULL",
      "items[2].groupOfSeats[0].capacity RANGE",
    ]);
  });

  test.each(["an event that is not there", "an event of another organization"])("%s", (what) => {
    const world = new TwoNights();
    let eventId = NO_EVENT;
    if (what.includes("another")) {
      const foreign = world.createOrganization(world.tenant, "Foreign");
      const venueId = world.must("createVenue", foreign, { body: { name: "Barn" } }).id;
      const schema = world.must("createSchema", foreign, { body: { name: "Plan", venueId } });
      eventId = world.createEvent(foreign, schema.id);
    }
    const items = beside(world, world.item("lock", "A1", { eventId }));
    const outcome = world.cart("S", ...items);
    expect(outcome).toMatchObject({ refused: Result.EVENT_ACCESS_DENIED });
    if (isRefused(outcome)) expect(outcome.detail).toMatch(/^items\[1\]: There is no such event/);
  });

  test.each<[string, Result, (world: TwoNights) => void, Call]>([
    [
      "a disabled organization",
      Result.ORGANIZATION_DISABLED,
      (world) => world.change({ bookingEnabled: false }),
      "block",
    ],
    [
      "sales control",
      Result.SALES_CONTROL_REQUIRED,
      (world) => world.change({ salesControl: false }),
      "revertsale",
    ],
    [
      "publication",
      Result.EVENT_NOT_PUBLISHED,
      (world) => setStatus(world, "ARCHIVED"),
      "directsale",
    ],
  ])("%s", (_, refused, change, call) => {
    const world = new TwoNights();
    const items = beside(world, world.item(call, "A1", { eventId: world.other }));
    change(world);
    expect(world.cart("S", ...items)).toMatchObject({ refused });
  });

  test("of two guards the one that comes first in precedence, at whichever item", () => {
    const world = new TwoNights();
    setStatus(world, "ARCHIVED");
    world.change({ salesControl: false });
    const { other: eventId } = world;
    const items = [world.item("directsale", "A1", { eventId }), world.item("sale", "A1")];
    const outcome = world.cart("S", ...items);
    expect(outcome).toMatchObject({ refused: Result.SALES_CONTROL_REQUIRED });
    if (isRefused(outcome)) expect(outcome.detail).toMatch(/^items\[1\]: /);
  });

  test("ifSequence: one error for each event that has changed", () => {
    const world = new TwoNights();
    const { sequences } = world.engine.state;
    const [first, second] = sequences.values();
    const { other: eventId } = world;
    const items = beside(
      world,
      world.item("lock", "A1", { ifSequence: first! }),
      world.item("lock", "A2", { ifSequence: first! }),
      world.item("lock", "A1", { eventId, ifSequence: second! + 1 }),
      world.item("lock", "A2", { eventId, ifSequence: second! }),
    );
    const outcome = world.cart("S", ...items);
    expect(outcome).toMatchObject({
      refused: Result.CHANGED,
      errors: [
        { field: "items[1].ifSequence", code: "CHANGED", rejectedValue: first },
        { field: "items[3].ifSequence", code: "CHANGED", rejectedValue: second! + 1 },
      ],
    });
    const now = world.engine.state.sequenceOf(world.event);
    world.granted("S", world.item("lock", "A1", { ifSequence: now }));
  });

  test("archived event: carts with unlock, revertsale, block and unblock alone go on", () => {
    const world = new TwoNights();
    world.granted("S", world.item("lock", "A1"), world.item("directsale", "A2"));
    world.granted("S", world.item("block", "A3"));
    setStatus(world, "ARCHIVED", world.eventId);
    for (const call of ["lock", "sale", "directsale"] as const) {
      const items = [world.item("unlock", "A1"), world.item(call, "A4")];
      expect(world.cart("S", ...items)).toMatchObject({ refused: Result.EVENT_NOT_PUBLISHED });
    }
    const extension = world.item("extend", "A1", { seconds: 9 });
    expect(world.cart("S", extension)).toMatchObject({ refused: Result.EVENT_NOT_PUBLISHED });
    const items = [world.item("unlock", "A1"), world.item("revertsale", "A2")];
    world.granted("S", ...items, world.item("unblock", "A3"), world.item("block", "A4"));
    expect(world.texts()[0]).toEqual(["A4 B", FREE]);
  });
});

test("a cart that changes nothing → no record, and the highest sequence of its events", () => {
  const world = new TwoNights();
  const last = world.granted("S", world.item("lock", "A1", { eventId: world.other }));
  const { sequence } = world.engine;
  const idle = world.granted(
    "S",
    world.item("unlock", "A1"),
    world.item("unblock", "A2", { eventId: world.other }),
    world.item("extend", "", { eventId: world.other, seats: null, seconds: 1 }),
  );
  expect([world.engine.sequence, idle]).toEqual([sequence, last]);
});

test("holds of all events that ran out → ended before the cart, each by a record of its own", () => {
  const world = new TwoNights();
  const { other: eventId } = world;
  world.granted("T", world.item("lock", "A1"), world.item("lock", "A1", { eventId }));
  const before = world.engine.sequence;
  world.clock.timeMs += 15 * MINUTE_MS;
  const items = [world.item("lock", "A1"), world.item("lock", "A1", { eventId })];
  expect(world.granted("S", ...items)).toBe(before + 3);
  expect(world.texts()).toEqual([
    ["A1 LS", FREE],
    ["A1 LS", FREE],
  ]);
});

test("events beside one another in a table: a cart is an ordinary record for what follows", () => {
  const world = new TwoNights();
  world.granted("S", world.item("lock", "A1 A2 Pit:4"), world.item("lock", "A3"));
  checkMore(
    world,
    `
    sale    S  A1 Pit:1   ok
    unlock  T  A2         not_available  A2 HELD_BY_ANOTHER_SESSION
    unlock  S  A2         ok
    wait    15m
    lock    T  A3 Pit:9   ok
    places  Pit  active 0 locked 9 sold 1 blocked 0
    seats   A1 SOLD  A2 ACTIVE  A3 LOCKED
    `,
  );
});

function setStatus(world: TwoNights, status: "ARCHIVED", eventId = world.other): void {
  world.must("changeEventStatus", world.caller, { eventId, body: { status } });
}
