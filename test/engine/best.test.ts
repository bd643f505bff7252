/** The best places: scores, and the search against an exhaustive one on random halls. */
import { expect, test } from "vitest";
import type { BestRequest } from "../../engine/bodies.ts";
import { Result } from "../../engine/results.ts";
import { type BestWish, type Hall, scoresOf, searchBest } from "../sim/model/best.ts";
import { Random } from "../sim/workload/random.ts";
import { World } from "../support/engine.ts";
import { type RandomHall, randomHall } from "../support/random-hall.ts";

/** `FRONTROW_BEST_HALLS=10000` for the long form. */
const HALLS = Number(process.env["FRONTROW_BEST_HALLS"] ?? 1_000);
const WISHES = 6;
const STATE_NAMES = [null, null, "ACTIVE", "LOCKED", "SOLD", "BLOCKED"];

/** A hall with prices, sold by chance. */
class House {
  readonly world: World;
  readonly prices: readonly number[];
  readonly #drawn: RandomHall;
  readonly #random: Random;
  /** By guid. */
  readonly #ids: ReadonlyMap<string, number>;
  readonly seatIds: readonly number[];

  constructor(random: Random) {
    this.#random = random;
    this.#drawn = randomHall(random);
    this.world = new World([], { gaCapacity: null });
    const { world } = this;
    const { caller, schemaId, eventId, tenant } = world;
    const command = { schemaId, body: this.#drawn.body, forceDelete: false };
    const { sectors, rows, seats } = world.must("putLayout", caller, command);
    this.#ids = new Map([...sectors, ...rows, ...seats].map(({ guid, id }) => [guid, id]));
    this.seatIds = seats.map(({ id }) => id);
    this.prices = [world.priceId, world.createPrice("Other")];
    const price = () => (random.once(4) ? this.prices[1]! : this.prices[0]!);
    const priced = (objectId: number) => ({ objectId, assignmentId: price() });
    const body = {
      seats: this.seatIds.filter(() => !random.once(20)).map(priced),
      groupOfSeats: this.#drawn.areas.map((guid) => priced(this.#ids.get(guid)!)),
    };
    world.must("assignPrices", caller, { eventId, body });
    const { organizationId } = caller;
    const settings = { orphanPrevention: random.once(3) };
    world.must("changeSettings", tenant, { organizationId, body: settings });
    world.must("replaceHoldTypes", caller, { body: [{ name: "SHORT", ttlSeconds: 1 }] });
    const taken = random.pick([0, 2, 4, 8, 11]);
    for (const id of this.seatIds) if (random.below(12) < taken) this.take(id);
  }

  /** Locks, sells or blocks a seat, whatever its state. */
  take(id: number): void {
    const kind = this.#random.pick(["lock", "directsale", "block"] as const);
    const holdType = this.#random.pick([null, "SHORT"]);
    this.world.book(kind, { sessionId: "other", seats: [{ id }], holdType });
  }

  /** Frees or takes a few seats, or lets short holds run out. */
  disturb(): void {
    const { world, seatIds } = this;
    for (let i = this.#random.below(4); i > 0; i--) {
      const id = this.#random.pick(seatIds);
      const kind = this.#random.pick(["lock", "unlock", "unblock", "revertsale", "block"] as const);
      world.book(kind, { seats: [{ id }] });
    }
    if (this.#random.once(6)) world.clock.timeMs += 2_000;
  }

  get hall(): Hall {
    const { world } = this;
    const { engine, event, partition } = world;
    engine.expire(event);
    const { state, price, areas, layout } = partition;
    const slots = engine.state.catalog.pricesOf(event.id);
    const idOf = (guid: string) => this.#ids.get(guid)!;
    const seats = this.#drawn.seats.map(({ guid, sector, row, ...seat }) => {
      const index = layout.seatIndexes.get(idOf(guid))!;
      return {
        ...seat,
        id: idOf(guid),
        section: idOf(sector),
        row: idOf(row),
        state: STATE_NAMES[state[index]!]!,
        price: slots.get(price[index]!)?.id ?? 0,
      };
    });
    return {
      seats,
      focus: this.#drawn.focus,
      areas: this.#drawn.areas.map((guid) => {
        const area = layout.areaIndexes.get(idOf(guid))!;
        const active = areas.places(area, 2);
        return { id: idOf(guid), price: slots.get(areas.price[area]!)?.id ?? 0, active };
      }),
    };
  }

  wish(hall: Hall): BestWish {
    const random = this.#random;
    const quantity = 1 + random.below(random.pick([2, 5, 9]));
    const groups = [...hall.areas, ...hall.seats].flatMap((one) =>
      "section" in one ? [one.section, one.row] : [one.id],
    );
    const some = <T>(items: readonly T[]) => {
      return Array.from({ length: 1 + random.below(3) }, () => random.pick(items));
    };
    return {
      quantity,
      priceIds: random.once(3) ? some(this.prices) : [],
      groupIds: random.once(3) ? some(groups) : [],
      accessible: random.once(4) ? random.below(Math.min(quantity, 2) + 1) : 0,
      includeAccessible: random.once(4),
      isPreferred: random.once(2),
      avoidOrphans: !random.once(4),
      isStrict: this.world.engine.state.catalog.organizations.get(this.world.caller.organizationId)!
        .orphanPrevention,
    };
  }
}

function requestOf(wish: BestWish): BestRequest {
  const { quantity, priceIds, groupIds, accessible, includeAccessible } = wish;
  return {
    sessionId: "buyer",
    quantity,
    priceIds,
    groupOfSeatsIds: groupIds,
    accessible,
    includeAccessible,
    adjacent: wish.isPreferred ? "preferred" : "required",
    avoidOrphans: wish.avoidOrphans,
  };
}

test(`on ${HALLS} random halls best is what an exhaustive search finds`, () => {
  const kinds = { seats: 0, apart: 0, area: 0, none: 0 };
  for (let seed = 1; seed <= HALLS; seed++) {
    const random = new Random(seed);
    const house = new House(random);
    for (let turn = 0; turn < WISHES; turn++) {
      const { hall, world } = house;
      const { layout } = house.world.partition;
      const scores = scoresOf(hall);
      const wish = house.wish(hall);
      const expected = searchBest(hall, wish);
      const outcome = world.submit("best", world.caller, {
        eventId: world.eventId,
        body: requestOf(wish),
      });
      const label = `seed ${seed}, turn ${turn}: ${JSON.stringify(wish)}`;
      const scored = hall.seats.filter(({ id }) => {
        return layout.scores[layout.seatIndexes.get(id)!] !== scores.get(id);
      });
      if (scored.length > 0) expect(scored, `${label}: seats with another score`).toEqual([]);
      if (outcome.refused === Result.OK) {
        const { together, seats, groupOfSeats } = outcome.value;
        const ids = seats.map(({ id }) => id);
        const found =
          groupOfSeats.length > 0
            ? { kind: "area", id: groupOfSeats[0]!.id }
            : { kind: "seats", together, ids };
        expect(found, label).toEqual(expected);
      } else {
        expect(outcome.refused, `${label}: ${JSON.stringify(outcome)}`).toBe(
          Result.NOTHING_SUITABLE,
        );
        expect({ kind: "none", ...outcome.members }, label).toEqual(expected);
      }
      const isApart = expected.kind === "seats" && !expected.together;
      kinds[isApart ? "apart" : expected.kind] += 1;
      house.disturb();
    }
  }
  for (const [kind, count] of Object.entries(kinds)) {
    expect(count, kind).toBeGreaterThan((HALLS * WISHES) / 200);
  }
});
