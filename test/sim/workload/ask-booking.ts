/** Random booking and pricing requests: usually possible ones, sometimes any. */
import type { Caller } from "../../../engine/bodies.ts";
import {
  type BestAsk,
  type BookingRequest,
  type Choice,
  type ExtendRequest,
  COMPARES_HOLDS,
  COMPARES_RECORDS,
  FROM,
  type ModelEvent,
  type Money,
  type PriceItem,
  type PriceRequest,
  type Word,
} from "../model/facts.ts";
import { anyOf, type Ask, commandOf, eventsOf, type House, type Scene, type Twin } from "./ask.ts";
import { UNKNOWN_ID } from "./houses.ts";

const UNKNOWN_EVENT = "00000000-0000-4000-8000-00000000beef";
const SESSIONS = [null, "A", "B", "C"] as const;
const HOLD_TYPES = [null, null, "CART", "RESERVED", "SHORT", "LONG", "NIGHT"] as const;
const WORDS: readonly Word[] = [
  ...(["lock", "lock", "lock", "lock", "sale", "sale"] as const),
  ...(["unlock", "revertsale", "directsale", "block", "unblock"] as const),
];
const NOTHING = {
  seats: [],
  areas: [],
  fences: new Map<number, number>(),
  fence: null,
  fromBlocked: false,
  priceIds: new Map<number, number>(),
};

/** @returns null if there is no event. */
export function askBooking(scene: Scene, house: House): Ask | null {
  const { random, model } = scene;
  const eventId = anyOf(random, eventsOf(model, house.caller.organizationId));
  if (eventId === undefined) return null;
  if (scene.hasGuards && random.once(12)) return askBest(scene, house, eventId);
  const event = model.events.get(eventId)!;
  const { caller, isForeign } = callerFor(scene, house, 40);
  const asked = random.once(100) ? UNKNOWN_EVENT : eventId;
  if (scene.hasGuards && random.once(8)) {
    const holding = eventsOf(model, house.caller.organizationId).filter((id) => {
      const { status, seats } = model.events.get(id)!;
      return status === "PUBLISHED" && [...seats.values()].some(({ hold }) => hold?.untilMs);
    });
    const id = anyOf(random, holding) ?? asked;
    const found = model.events.get(id) ?? event;
    return askExtend(scene, found, { caller, isForeign, asked: id });
  }
  const { request, body } = drawBooking(scene, event, { caller, isForeign, asked });
  const isForeignEvent = isForeign || asked === UNKNOWN_EVENT;
  if (request.word === "lock" && scene.hasGuards && random.once(3)) {
    return {
      command: commandOf("lockBestEffort", caller, { eventId: asked, body }),
      isForeign: isForeignEvent,
      twin: (): Twin => ({ expect: (twin, ...at) => twin.lockBestEffort(request, ...at) }),
    };
  }
  return {
    command: commandOf(request.word, caller, { eventId: asked, body }),
    isForeign: isForeignEvent,
    twin: (): Twin => ({ expect: (twin, ...at) => twin.book(request, ...at) }),
  };
}

/** A random booking call of an event. */
export function drawBooking(scene: Scene, event: ModelEvent, { caller, asked }: Asking) {
  const { random } = scene;
  const word = random.pick(WORDS);
  const seats = chooseSeats(scene, event, word);
  const areas = random.once(3) || seats.length === 0 ? chooseAreas(scene, event) : [];
  const held = event.seats.get(seats[0]?.id ?? 0)?.hold ?? null;
  const sessionId = held !== null && !random.once(3) ? held.session : random.pick(SESSIONS);
  const holdType = random.pick(HOLD_TYPES);
  const { organizationId: organization } = caller;
  const of = { word, organization, event: asked };
  const fences = chooseFences(scene, event, word, seats);
  const guards = chooseGuards(scene, event, word, [...seats, ...areas]);
  const all = scene.hasGuards && random.once(8);
  // Beside all nothing is named, but once in a while.
  const named = all && !random.once(8) ? NOTHING : { seats, areas, fences, ...guards };
  const { toBlocked } = guards;
  const channel = chooseChannel(scene, event);
  const session = { sessionId, holdType, channel };
  const request: BookingRequest = { ...of, ...session, all, ...named, toBlocked };
  const { fence, fromBlocked, priceIds } = named;
  const body = {
    sessionId,
    holdType,
    seats: named.seats,
    groupOfSeats: named.areas,
    fences: named.fences.size === 0 ? null : Object.fromEntries(named.fences),
    ...(all ? { all } : {}),
    ...(fence === null ? {} : { fence }),
    ...(fromBlocked ? { fromBlocked } : {}),
    ...(toBlocked ? { toBlocked } : {}),
    ...(priceIds.size === 0 ? {} : { priceIds: Object.fromEntries(priceIds) }),
    ...(channel === null ? {} : { channel }),
  };
  return { request, body };
}

export interface Asking {
  readonly caller: Caller;
  readonly isForeign: boolean;
  /** The id of the event. */
  readonly asked: string;
}

/** Holds by their seats, by their number or by their session; now and then of another one. */
function askExtend(scene: Scene, event: ModelEvent, asking: Asking): Ask {
  const { request, body } = drawExtension(scene, event, asking);
  const { caller, isForeign, asked } = asking;
  return {
    command: commandOf("extend", caller, { eventId: asked, body }),
    isForeign: isForeign || asked === UNKNOWN_EVENT,
    twin: (): Twin => ({ expect: (twin, nowMs) => twin.extend(request, nowMs) }),
  };
}

/** As `drawBooking`, of an extension. */
export function drawExtension(scene: Scene, event: ModelEvent, { caller, asked }: Asking) {
  const { random } = scene;
  const ofSeats = [...event.seats.values()].flatMap(({ hold }) => hold ?? []);
  const ofAreas = [...event.areas.values()].flatMap(({ held }) => held.map(({ hold }) => hold));
  const hold = anyOf(random, [...ofSeats, ...ofAreas]);
  const isRight = hold !== undefined && !random.once(5);
  const by = random.pick(["seats", "fence", "session"] as const);
  const ownSeats = [...event.seats.values()].filter((seat) => isRight && seat.hold === hold);
  const ofHold = ownSeats.slice(0, 1 + random.below(2)).map(({ id }): Choice => ({ id }));
  const seats = by === "seats" ? (isRight ? ofHold : chooseSeats(scene, event, "sale")) : [];
  const fences = chooseFences(scene, event, "sale", seats);
  const fence = (hold?.fence ?? 1) + (isRight ? 0 : 1);
  const request: ExtendRequest = {
    organization: caller.organizationId,
    event: asked,
    sessionId: isRight && !random.once(4) ? hold.session : random.pick(SESSIONS),
    seats,
    hasAreas: random.once(60),
    fences,
    fence: by === "fence" || random.once(12) ? fence : null,
    seconds: 1 + random.below(random.once(4) ? 120 : 4_000),
  };
  const body = {
    sessionId: request.sessionId,
    seats,
    ...(request.hasAreas ? { groupOfSeats: [] } : {}),
    fence: request.fence,
    fences: fences.size === 0 ? null : Object.fromEntries(fences),
    seconds: request.seconds,
  };
  return { request, body };
}

function askBest(scene: Scene, house: House, eventId: string): Ask {
  const { caller, isForeign } = callerFor(scene, house, 40);
  const event = scene.model.events.get(eventId)!;
  const { request, body } = drawBest(scene, event, { caller, isForeign, asked: eventId });
  return {
    command: commandOf("best", caller, { eventId, body }),
    isForeign,
    twin: () => ({ expect: (twin, ...at) => twin.best(request, ...at) }),
  };
}

/** As `drawBooking`, of a request for the best places. */
export function drawBest(scene: Scene, event: ModelEvent, { caller, asked }: Asking) {
  const { random } = scene;
  const { seats, areas, prices } = event;
  const groups = [...seats.values()].flatMap(({ row, section }) => [row, section]);
  const some = (ids: readonly number[], once: number) =>
    random.once(once) && ids.length > 0 ? [random.pick(ids), random.pick(ids)] : [];
  const quantity = 1 + random.below(random.once(4) ? 12 : 4);
  const wish = {
    quantity,
    priceIds: [...some([...prices.keys()], 4), ...(random.once(60) ? [UNKNOWN_ID] : [])],
    groupIds: [...some([...areas.keys()], 4), ...some(groups, 4)],
    accessible: random.once(20) ? random.below(quantity + 2) : 0,
    includeAccessible: random.once(4),
    isPreferred: random.once(2),
    avoidOrphans: !random.once(3),
    channel: chooseChannel(scene, event),
  };
  const [sessionId, holdType] = [random.pick(SESSIONS), random.pick(HOLD_TYPES)];
  const { priceIds, groupIds, accessible, includeAccessible, isPreferred, avoidOrphans } = wish;
  const body = {
    sessionId,
    quantity,
    priceIds,
    groupOfSeatsIds: groupIds,
    accessible,
    includeAccessible,
    adjacent: isPreferred ? "preferred" : "required",
    avoidOrphans,
    holdType,
    ...(wish.channel === null ? {} : { channel: wish.channel }),
  } as const;
  const { organizationId: organization } = caller;
  const request: BestAsk = { ...wish, organization, event: asked, sessionId, holdType };
  return { request, body };
}

/** The caller of the house, or once in this many times the caller of another one. */
export function callerFor(
  { random, houses }: Scene,
  house: House,
  once: number,
): { caller: Caller; isForeign: boolean } {
  const { caller } = random.once(once) ? random.pick(houses) : house;
  return { caller, isForeign: caller !== house.caller };
}

/** Usually neighbouring seats fit for the command. */
function chooseSeats({ random }: Scene, event: ModelEvent, word: Word): Choice[] {
  const all = [...event.seats.values()];
  if (all.length === 0) return [];
  const fitting = all.filter(({ state }) => state === FROM[word]);
  const from = fitting.length === 0 || random.once(6) ? all : fitting;
  const start = random.below(from.length);
  const chosen: Choice[] = from.slice(start, start + random.below(4)).map(({ id }) => ({ id }));
  if (random.once(8)) chosen.push({ id: random.pick(all).id });
  if (random.once(80)) chosen.push({ id: UNKNOWN_ID });
  if (random.once(150)) chosen.push({ id: random.pick(from).id, capacity: 1 });
  if (random.once(10)) chosen.reverse();
  return chosen;
}

/**
 * For some holds, sales and blocks their fences, now and then an old one or one of another seat. Nothing is drawn:
 * the stored seeds keep their requests.
 */
function chooseFences(
  { hasGuards }: Scene,
  event: ModelEvent,
  word: Word,
  seats: readonly Choice[],
): Map<number, number> {
  const fences = new Map<number, number>();
  for (const { id } of seats) {
    const { hold, fence: ofRecord } = event.seats.get(id) ?? { hold: null, fence: 0 };
    const fence = hold?.fence ?? (hasGuards ? ofRecord : 0);
    if (fence === 0 || fence % 3 > 0) continue;
    if (hasGuards && !comparesFences(word) && fence % 13 > 0) continue;
    fences.set(id, hasGuards && fence % 11 === 0 ? fence - 1 : fence);
    if (hasGuards && fence % 17 === 0) fences.set(id + 1, fence);
  }
  return fences;
}

function comparesFences(word: Word): boolean {
  return COMPARES_HOLDS.has(word) || COMPARES_RECORDS.has(word);
}

/** A hold, sale or block, moves from and to BLOCKED, and prices of some objects, now and then another one. */
function chooseGuards(
  { random, hasGuards }: Scene,
  event: ModelEvent,
  word: Word,
  choices: readonly Choice[],
): Pick<BookingRequest, "fence" | "fromBlocked" | "toBlocked" | "priceIds"> {
  const priceIds = new Map<number, number>();
  if (!hasGuards) return { fence: null, fromBlocked: false, toBlocked: false, priceIds };
  const known = choices.flatMap(({ id }) => {
    const ofArea = event.areas.get(id)?.held.map(({ hold }) => hold.fence) ?? [];
    const seat = event.seats.get(id);
    return [...ofArea, seat?.hold?.fence ?? seat?.fence ?? 0].filter((each) => each > 0);
  });
  const isNamed = random.once(comparesFences(word) ? 4 : 30) && known.length > 0;
  const fence = isNamed ? random.pick(known) + (random.once(6) ? 1 : 0) : null;
  const [fromBlocked, toBlocked] = [random.once(4), random.once(4)];
  if (random.once(6)) {
    for (const { id } of choices) {
      const { price } = event.seats.get(id) ?? event.areas.get(id) ?? { price: 1 };
      priceIds.set(id, random.once(8) ? price + 1 : price);
    }
    if (random.once(20)) priceIds.set(UNKNOWN_ID + 1, 1);
  }
  return { fence, fromBlocked, toBlocked, priceIds };
}

/** Nothing is drawn without channels: the stored seeds keep their requests. */
function chooseChannel({ random }: Scene, { channels }: ModelEvent): string | null {
  if (channels.size === 0 || random.once(3)) return null;
  return random.once(12) ? "nobody" : random.pick([...channels.keys()]);
}

function chooseAreas({ random }: Scene, event: ModelEvent): Choice[] {
  const ids = [...event.areas.keys()];
  if (ids.length === 0) return [];
  const count = random.once(60) ? 0 : random.once(3) ? 2 : 1;
  return Array.from({ length: count }, (_, i) => {
    const id = random.once(80) ? UNKNOWN_ID : ids[(i + random.below(30)) % ids.length]!;
    const odd = random.pick([0, -1, 1.5, null, 100]);
    return { id, capacity: random.once(50) ? odd : 1 + random.below(3) };
  });
}

export function askPrices(scene: Scene, house: House): Ask | null {
  const { random, model } = scene;
  const eventId = anyOf(random, eventsOf(model, house.caller.organizationId));
  if (eventId === undefined) return null;
  const choice = random.below(10);
  if (choice < 6) return askAssign(scene, house, eventId);
  if (choice < 7) return askClear(scene, house, eventId);
  if (choice < 8) return askDelete(scene, house, eventId);
  return askCreate(scene, house, eventId);
}

/** Assigns a price to everything, for sale. */
export function askPriceAll(scene: Scene, house: House, eventId: string): Ask {
  const event = scene.model.events.get(eventId)!;
  const [price] = event.prices.keys();
  const item = (id: number): PriceItem => ({ id, price: price!, activeCount: null });
  const seats = [...event.seats.keys()].map(item);
  const groups = [...event.areas.keys()].map(item);
  return assignment(house.caller, eventId, { seats, groups, onlyActive: false });
}

function askAssign(scene: Scene, house: House, eventId: string): Ask | null {
  const { random, model } = scene;
  const event = model.events.get(eventId)!;
  if (event.prices.size === 0 || event.seats.size === 0) return null;
  if (random.once(3)) return askPriceAll(scene, house, eventId);
  const { caller, isForeign } = callerFor(scene, house, 20);
  const anothers = [...model.events.values()].flatMap(({ prices }) => [...prices.keys()]);
  const item = (id: number): PriceItem => ({
    id: random.once(40) ? UNKNOWN_ID : id,
    price: random.once(40) ? random.pick(anothers) : random.pick([...event.prices.keys()]),
    activeCount: random.once(4) ? null : random.below(10),
  });
  const list = [...event.seats.values()];
  const seats = Array.from({ length: random.below(4) }, () => item(random.pick(list).id));
  const groupIds = [...event.areas.keys(), ...list.flatMap(({ row, section }) => [row, section])];
  const groups = Array.from({ length: random.below(3) }, () => item(random.pick(groupIds)));
  const onlyActive = random.once(4);
  return { ...assignment(caller, eventId, { seats, groups, onlyActive }), isForeign };
}

function assignment(
  caller: Caller,
  eventId: string,
  { seats, groups, onlyActive }: Pick<PriceRequest, "seats" | "groups" | "onlyActive">,
): Ask {
  const wire = ({ id, price, activeCount }: PriceItem) => ({
    objectId: id,
    assignmentId: price,
    activeCount,
  });
  const body = { seats: seats.map(wire), groupOfSeats: groups.map(wire), onlyActive };
  const of = { organization: caller.organizationId, event: eventId };
  const request = { ...of, seats, groups, onlyActive };
  return {
    command: commandOf("assignPrices", caller, { eventId, body }),
    twin: () => ({ expect: (model, nowMs) => model.assign(request, nowMs) }),
  };
}

function askClear(scene: Scene, house: House, eventId: string): Ask {
  const { caller, isForeign } = callerFor(scene, house, 8);
  return {
    command: commandOf("clearPrices", caller, { eventId }),
    isForeign,
    twin: () => ({
      expect: (model, nowMs) => model.clearPrices(caller.organizationId, eventId, nowMs),
    }),
  };
}

function askDelete({ random, model }: Scene, { caller }: House, eventId: string): Ask | null {
  const priceId = anyOf(random, model.events.get(eventId)!.prices.keys());
  if (priceId === undefined) return null;
  return {
    command: commandOf("deletePrice", caller, { eventId, priceId }),
    twin: () => ({ expect: (twin, nowMs) => twin.deletePrice(eventId, priceId, nowMs) }),
  };
}

function askCreate({ model }: Scene, { caller }: House, eventId: string): Ask | null {
  if (model.events.get(eventId)!.prices.size >= 4) return null;
  return {
    command: commandOf("createPrices", caller, { eventId, body: [{ name: "New", eventId }] }),
    twin: () => ({ effect: priced(eventId) }),
  };
}

/** Gives the created prices, of one amount, to the event. */
export function priced(
  eventId: string,
  { amount, currency }: Partial<Money> = {},
): NonNullable<Twin["effect"]> {
  const money = amount === undefined || currency === undefined ? null : { amount, currency };
  return (model, rows: readonly { readonly id: number }[]) => {
    for (const { id } of rows) model.events.get(eventId)!.prices.set(id, money);
  };
}
