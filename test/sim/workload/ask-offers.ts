/** Random requests about what is offered to whom: amounts of prices, and channels. */
import type { Money } from "../model/facts.ts";
import { callerFor, priced } from "./ask-booking.ts";
import { anyOf, type Ask, commandOf, eventsOf, type House, type Scene } from "./ask.ts";
import { UNKNOWN_ID } from "./houses.ts";
import type { Random } from "./random.ts";

const PRICES_MAX = 4;
/** Fewer than most events may have: seats of several channels meet. */
export const CHANNEL_KEYS = ["agency", "press", "house"] as const;

/** @returns null without an event. */
export function askOffers(scene: Scene, house: House): Ask | null {
  const { random, model } = scene;
  const eventId = anyOf(random, eventsOf(model, house.caller.organizationId));
  if (eventId === undefined) return null;
  return random.once(3) ? askMoney(scene, house, eventId) : askChannel(scene, house, eventId);
}

type MoneyBody = Partial<Money>;
/** The highest amount, and one below it. */
const AMOUNTS = [0, 4_500, 999_999_999_999, 1_000_000_000_000];

function askMoney({ random, model }: Scene, { caller }: House, eventId: string): Ask | null {
  const { prices } = model.events.get(eventId)!;
  const { body: money, isHalf } = drawMoney(random);
  const id = anyOf(random, prices.keys());
  if (id === undefined || (random.once(3) && prices.size < PRICES_MAX)) {
    const body = [{ name: "New", eventId, ...money }];
    return {
      command: commandOf("createPrices", caller, { eventId, body }),
      isForeign: isHalf,
      twin: () => ({ effect: priced(eventId, money) }),
    };
  }
  const body = [{ id, name: "Changed", eventId, ...money }];
  return {
    command: commandOf("updatePrices", caller, { eventId, body }),
    twin: () => ({ expect: (twin) => twin.putPrice(eventId, id, money) }),
  };
}

/** Half of them have an amount; now and then one without the other half is refused. */
function drawMoney(random: Random): { body: MoneyBody; isHalf: boolean } {
  if (random.once(2)) return { body: {}, isHalf: false };
  const money = { amount: random.pick(AMOUNTS), currency: random.pick(["EUR", "CHF", "JPY"]) };
  if (!random.once(8)) return { body: money, isHalf: false };
  const { amount, currency } = money;
  return { body: random.once(2) ? { amount } : { currency }, isHalf: true };
}

function askChannel(scene: Scene, house: House, eventId: string): Ask {
  const { random, model } = scene;
  const { caller, isForeign } = callerFor(scene, house, 12);
  const { organizationId } = caller;
  const key = random.pick(CHANNEL_KEYS);
  if (random.once(5)) {
    return {
      command: commandOf("deleteChannel", caller, { eventId, key }),
      isForeign,
      twin: () => ({
        expect: (twin, nowMs) => twin.deleteChannel(eventId, organizationId, key, nowMs),
      }),
    };
  }
  const { seats, areas } = model.events.get(eventId)!;
  const all = [...seats.values()];
  const groups = [...all.flatMap(({ row, section }) => [row, section]), ...areas.keys()];
  const some = (ids: readonly number[], most: number) =>
    ids.length === 0 ? [] : Array.from({ length: random.below(most) }, () => random.pick(ids));
  const body = {
    name: random.pick(["One", "Other"]),
    seats: [...some([...seats.keys()], 5), ...(random.once(40) ? [UNKNOWN_ID] : [])],
    groupOfSeatsIds: random.once(4) ? some(groups, 2) : [],
  };
  return {
    command: commandOf("putChannel", caller, { eventId, key, body }),
    isForeign,
    twin: () => ({
      expect: (twin, nowMs) => twin.putChannel(eventId, organizationId, { key, ...body }, nowMs),
    }),
  };
}
